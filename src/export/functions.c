/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions by number.  See functions.h. */
#include "export/functions.h"

#include <string.h>

#include "base/xalloc.h"

uint32_t functions_id(struct functions *f, const struct stack_frame *frame)
{
	struct map *map = frame->function ? &f->named : &f->unnamed;
	uint64_t key = frame->function ? (uint64_t)frame->function << 32 | frame->file
				       : frame->address ^ (uint64_t)frame->module << 48;
	uint64_t id;

	if (map_get(map, key, &id))
		return (uint32_t)id;
	f->rows = xgrow(f->rows, f->count, &f->room, sizeof(*f->rows));
	f->rows[f->count] = (struct functions_row){
		.function = frame->function,
		.file = frame->file,
		.module = frame->module,
		.line = frame->line,
		.address = frame->address,
	};
	map_set(map, key, f->count);
	return (uint32_t)f->count++;
}

void functions_release(struct functions *f)
{
	free(f->rows);
	map_release(&f->named);
	map_release(&f->unnamed);
	memset(f, 0, sizeof(*f));
}
