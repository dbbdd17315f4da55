/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who holds the memory of several processes.  See process_holders.h. */
#include "answer/process_holders.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "query/responsible.h"
#include "query/weigh.h"

void process_holders_init(struct process_holders *h)
{
	*h = (struct process_holders){ 0 };
	strings_init(&h->strings);
}

void process_holders_release(struct process_holders *h)
{
	strings_release(&h->strings);
	map_release(&h->row_of);
	free(h->rows);
}

static struct process_holder *holder_of(struct process_holders *h, const struct view *v,
					uint32_t stack, struct buf *text)
{
	const struct responsible *r = responsible_of_view(v);
	struct responsible_frame f;
	uint32_t name, module = 0;
	uint64_t key, row;

	buf_clear(text);
	if (responsible_find(r, stack, &f)) {
		const struct location *at = locations_at(v->locations, f.location);

		responsible_name(r, &f, text);
		module = strings_add(&h->strings,
				     path_base(locations_module_path(v->locations, at->module)));
	} else {
		buf_text(text, "(no stack)");
	}
	name = strings_add(&h->strings, text->data);
	key = (uint64_t)name << 32 | module;
	if (map_number(&h->row_of, key, &row))
		*xpush(h->rows, h->count, h->room) =
			(struct process_holder){ .name = name, .module = module, .last = SIZE_MAX };
	return &h->rows[row];
}

void process_holders_add(struct process_holders *h, const struct view *v,
			 const struct measuring *how, size_t member)
{
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };
	auto_buf struct buf text = { 0 };

	weigh_stacks(&weights, v, how, false);
	for (uint32_t i = 0; i < weights.count; i++) {
		const struct weight *w = &weights.rows[i].weight;
		struct process_holder *row;

		row = holder_of(h, v, weights.rows[i].stack, &text);
		if (row->last != member || !row->processes) {
			row->last = member;
			row->here = 0;
			row->processes++;
		}
		row->weight.bytes += w->bytes;
		row->weight.count += w->count;
		row->here += w->bytes;
		if (row->here > row->most_bytes || row->processes == 1) {
			row->most_bytes = row->here;
			row->most = member;
		}
		h->total.bytes += w->bytes;
		h->total.count += w->count;
	}
}

ORDER_WITH(by_bytes, struct process_holder, struct strings,
	   FALLING(weight.bytes)
		   ?: strcmp(strings_at(context, x->name), strings_at(context, y->name)))

void process_holders_sort(struct process_holders *h)
{
	SORT_WITH(h->rows, h->count, by_bytes, &h->strings);
}
