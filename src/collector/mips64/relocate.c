/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions are not hooked where they are on MIPS64: each is refused.  See relocate.h. */
#include "collector/relocate.h"

#include "wire/arch.h"

const char relocate_features[] = "x86_Thread_features:"; /* no such line */

const char *relocate_entry(__attribute__((unused)) const struct relocate_code *code,
			   __attribute__((unused)) bool shadow_stack,
			   __attribute__((unused)) struct shm_site *site)
{
	return ARCH_NO_HOOKS_IN_PLACE;
}

/* There are no sites. */
int relocate_jump_into(__attribute__((unused)) const uint8_t *bytes,
		       __attribute__((unused)) size_t size,
		       __attribute__((unused)) uint64_t address,
		       __attribute__((unused)) const struct shm_site *sites,
		       __attribute__((unused)) unsigned count)
{
	return -1;
}
