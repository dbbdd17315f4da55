/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ARM with 32 bits: functions are not hooked in place.  See relocate.h. */
#include "collector/relocate.h"

#include "wire/arch.h"

const char relocate_features[] = "x86_Thread_features:"; /* no such line */

const char *relocate_entry(const struct relocate_code *code, bool shadow_stack,
			   struct shm_site *site)
{
	(void)code;
	(void)shadow_stack;
	(void)site;
	return ARCH_NO_HOOKS_IN_PLACE;
}

int relocate_jump_into(const uint8_t *bytes, size_t size, uint64_t address,
		       const struct shm_site *sites, unsigned count)
{
	(void)bytes;
	(void)size;
	(void)address;
	(void)sites;
	(void)count;
	return -1;
}
