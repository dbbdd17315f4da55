/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first chunks of a recording.  See head.h. */
#include "model/head.h"

#include <string.h>

#include "base/xalloc.h"

#define HEAD_CHUNKS 64 /* that may come before the last one that is looked for */

bool head_read(struct model *ret, const char *path)
{
	auto_release(chunk_release) struct chunk c = { 0 };
	struct err err;

	memset(ret, 0, sizeof(*ret));
	if (reader_open(&ret->reader, path, &err))
		return false;
	/* Two INFO chunks: what is known before the program is there, and what it is. */
	for (unsigned i = 0; i < HEAD_CHUNKS && !model_info(ret, "origin"); i++) {
		if (reader_next(&ret->reader, &c, &err) != READER_CHUNK)
			break;
		if (c.head.type == CHUNK_INFO &&
		    (!chunk_unpack(&c, &err) || !tables_add(&ret->tables, &c, &err)))
			break;
	}
	if (model_info(ret, "pid"))
		return true;
	head_release(ret);
	return false;
}

void head_release(struct model *head)
{
	tables_release(&head->tables);
	reader_release(&head->reader);
}
