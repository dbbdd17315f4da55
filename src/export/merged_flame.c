/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees of several recordings.  See merged_flame.h. */
#include "export/merged_flame.h"

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "query/stacks.h"
#include "query/weigh.h"

void merged_flame_init(struct merged_flame *m)
{
	*m = (struct merged_flame){ 0 };
	flame_tree_init(&m->tree, 1);
	strings_init(&m->names);
}

void merged_flame_release(struct merged_flame *m)
{
	flame_tree_release(&m->tree);
	strings_release(&m->names);
}

static uint32_t name_of(struct merged_flame *m, const struct view *v, const struct stack_frame *f,
			struct buf *text)
{
	buf_clear(text);
	if (f->function)
		stack_frame_name(v, f, text);
	else
		locations_unnamed(v->locations, f->module, f->address, text);
	buf_char(text, 0);
	return strings_add(&m->names, text->data);
}

void merged_flame_add(struct merged_flame *m, const struct export *x)
{
	uint32_t process =
		flame_tree_child(&m->tree, FLAME_ROOT, strings_add(&m->names, x->process));
	auto_release(stack_frames_release) struct stack_frames frames = { 0 };
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };
	auto_buf struct buf text = { 0 };

	m->processes++;
	weigh_stacks(&weights, x->view, &x->measuring, false);
	for (uint32_t i = 0; i < weights.count; i++) {
		const struct weight *w = &weights.rows[i].weight;
		uint32_t at = process;

		stack_frames_of(&frames, x->view, weights.rows[i].stack);
		for (size_t f = frames.count; f-- > 0;)
			at = flame_tree_child(&m->tree, at,
					      name_of(m, x->view, &frames.rows[f], &text));
		if (!frames.count)
			at = flame_tree_child(&m->tree, at, strings_add(&m->names, "(no stack)"));
		flame_tree_add(&m->tree, at, 0, w->bytes, w->count);
		export_progress(x, i, weights.count);
	}
}

static void describe_name(const void *context, uint32_t function, struct buf *name,
			  struct flame_source *ret)
{
	const struct merged_flame *m = context;

	buf_text(name, strings_at(&m->names, function));
}

struct flame_names merged_flame_names(struct merged_flame *m)
{
	flame_tree_sum(&m->tree);
	return (struct flame_names){ m, strings_count(&m->names), describe_name };
}
