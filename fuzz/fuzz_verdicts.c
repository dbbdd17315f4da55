/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of verdicts that were kept, on bytes that are anything but what was written.
 *
 * The input is a list of changes to good ones: two bytes of where, one of how many, and that many
 * bytes to put there.  What decides whether they fit the recording is left as it is, and the sum of
 * the file is another's (model/cache.c). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "fuzz.h"
#include "query/known_pools.h"
#include "query/verdict_cache.h"
#include "random_recording.h"

#define GROUPING sizeof(uint64_t) /* at the beginning */

static struct view view;
static struct buf good;

static void make_good(void)
{
	struct verdicts both[2];

	view.model = random_recording(
		&(struct random_options){ .seed = 3, .events = 2000, .nodes = 12 });
	view.locations = locations_new(view.model, NULL);
	verdicts_init_both(&both[0], &both[1], &view);
	verdict_cache_pack(&good, both, &view);
	verdicts_release(&both[0]);
	verdicts_release(&both[1]);
}

static volatile uint64_t sink;

/* As those do who believe them. */
static void walk(const struct verdicts *v)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	for (uint32_t i = 0; i < v->count; i++) {
		const struct verdict *row = &v->rows[i];

		json_object(&j, NULL);
		verdict_json(&j, row, 1000000000);
		json_end_object(&j);
		for (uint32_t k = 0; k < row->stacks; k++)
			sink += view.model->tables.nodes.frame[row->stack_list[k]];
		sink += (uint64_t)*locations_call(view.locations, row->call);
	}
	buf_release(&out);
}

FUZZ(verdicts, data, size)
{
	struct buf bytes = { 0 };
	struct verdicts both[2];

	if (!good.size)
		make_good();
	buf_add(&bytes, good.data, good.size);
	while (size >= 3) {
		size_t at = GROUPING + (size_t)(data[0] | data[1] << 8);
		size_t count = data[2] < size - 3 ? data[2] : size - 3;

		for (size_t i = 0; i < count && at + i < bytes.size; i++)
			bytes.data[at + i] = (char)data[3 + i];
		data += 3 + count;
		size -= 3 + count;
	}
	if (size)
		bytes.size -= *data < bytes.size ? *data : bytes.size;
	if (verdict_cache_unpack(bytes.data, bytes.size, both, &view)) {
		walk(&both[0]);
		walk(&both[1]);
		verdicts_release(&both[0]);
		verdicts_release(&both[1]);
	}
	buf_release(&bytes);
	return 0;
}
