/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The search for allocators in a program's files, and the planning of their hooks, on hostile
 * bytes: what comes out must be a plan that the recorder may carry out. */
#include <stdlib.h>
#include <string.h>

#include "collector/inplace.h"
#include "fuzz.h"

static void check(const struct shm_plan *plan)
{
	if (plan->site_count > INPLACE_SITES || !memchr(plan->warning, 0, sizeof(plan->warning)) ||
	    !memchr(plan->allocator, 0, sizeof(plan->allocator)))
		abort();
	for (unsigned i = 0; i < plan->site_count; i++) {
		const struct shm_site *s = &plan->sites[i];

		if (s->row >= inplace_row_count || s->displaced < ARCH_JUMP ||
		    s->displaced > INPLACE_DISPLACED_MAX || s->code_size > INPLACE_CODE_MAX ||
		    s->fix_count > INPLACE_FIXES)
			abort();
		for (unsigned k = 0; k < s->fix_count; k++)
			if (s->fixes[k].at + 4u > s->code_size || s->fixes[k].end > s->code_size)
				abort();
	}
}

FUZZ(inplace, data, size)
{
	static struct shm_plan plan;
	struct inplace_file file = { .size = size, .name = "a file", .bias = 0x555500000000 };
	uint8_t *copy = malloc(size ? size : 1);
	uint64_t base, span;

	memcpy(copy, data, size);
	file.bytes = copy;
	inplace_base(copy, size, &base, &span);
	for (int executable = 0; executable < 2; executable++) {
		file.executable = executable;
		plan.site_count = 0;
		plan.warning[0] = plan.allocator[0] = 0;
		inplace_plan(&plan, &file);
		check(&plan);
	}
	free(copy);
	return 0;
}
