/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Logs of single blocks of any bytes: every number in them leads inside, an error has a position,
 * and sums can be made of what was read. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "heap/churn.h"
#include "heap/log.h"

static void check(const struct log *l)
{
	for (size_t i = 0; i < l->trace_count; i++)
		if (l->traces[i].pc + l->traces[i].pc_count > l->pc_count)
			abort();
	for (size_t i = 0; i < l->block_count; i++) {
		const struct log_block *b = &l->blocks[i];

		if (b->thread >= l->thread_count || b->trace >= l->trace_count ||
		    (b->free_thread != LOG_NONE && b->free_thread >= l->thread_count) ||
		    (b->free_trace != LOG_NONE && b->free_trace >= l->trace_count))
			abort();
	}
}

FUZZ(heap_log, data, size)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct err err = { .text = "" };
	struct churn c;
	struct log l;
	int error;

	if (size)
		memcpy(exact, data, size);
	error = log_read(&l, exact, size, &err);
	if (error && (!*err.text || err.offset > size))
		abort();
	check(&l);
	churn_init(&c, &(struct profile_options){ .thread = PROFILE_ALL_THREADS },
		   &(struct heap_locations_options){ .sysroot = "/nowhere" });
	churn_add(&c, "", &l, NULL);
	if (churn_finish(&c, &err) || c.total.objects != l.block_count ||
	    c.total.freed > c.total.objects)
		abort();
	churn_release(&c);
	log_release(&l);
	free(exact);
	return 0;
}
