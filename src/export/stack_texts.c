/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks as JSON that are written once.  See stack_texts.h. */
#include "export/stack_texts.h"

#include <string.h>

#include "base/buf_type.h"
#include "base/ordered.h"
#include "base/rope.h"
#include "base/xalloc.h"
#include "query/responsible.h"
#include "query/steps.h"

#define BLOCK 1024u /* places that are written at a time */

struct marking {
	const struct view *v;
	bool of_frees;
	uint8_t *used;
};

static void mark_stack(struct marking *m, uint32_t stack)
{
	/* Several threads may say the same of one stack. */
	if (stack < m->v->model->tables.nodes.count)
		__atomic_store_n(&m->used[stack], 1, __ATOMIC_RELAXED);
}

static void mark_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct marking *m = context;
	const struct model *model = m->v->model;
	const struct columns *c = &model->allocations;

	VIEW_EACH(m->v, first, count, row)
	{
		mark_stack(m, columns_stack(c, row));
		if (!m->of_frees)
			continue;
		mark_stack(m, columns_free_stack(c, row));
		/* A row tells of the end of its chain too. */
		if (columns_chain(c, row) != NO_CHAIN)
			mark_stack(m, columns_free_stack(
					      c, model->chains[columns_chain(c, row)].last));
	}
}

struct writing {
	struct stack_texts *texts;
	struct buf *bufs; /* by worker */
};

static void write_frames_of_nodes(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct writing *w = context;
	struct stack_texts *t = w->texts;
	struct buf *out = &w->bufs[worker];

	for (uint64_t place = first; place < first + count; place++) {
		struct json j = { .out = out, .compact = true, .filled = true };
		size_t start = out->size;

		j.depth = 1;
		answer_frames(&t->answer, &j, t->spines.order[place]);
		t->at[place] = out->size - start;
	}
}

static int keep_frames_of_nodes(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct writing *w = context;
	struct stack_texts *t = w->texts;
	struct buf *out = &w->bufs[worker];

	for (uint64_t place = first; place < first + count; place++) {
		size_t size = t->at[place];

		t->at[place] = place ? t->at[place - 1] + size : size;
	}
	if (t->size + out->size > t->text.size)
		scratch_resize(&t->text, (t->size + out->size) * 3 / 2);
	if (out->size)
		memcpy((char *)t->text.data + t->size, out->data, out->size);
	t->size += out->size;
	buf_clear(out);
	return 0;
}

static void write_frames(struct stack_texts *t)
{
	struct writing w = { .texts = t };
	unsigned workers = parallel_workers();

	w.bufs = xcalloc(workers, sizeof(*w.bufs));
	t->at = xcalloc((size_t)t->spines.count + 1, sizeof(*t->at));
	scratch_resize(&t->text, 4096);
	ordered_for(t->spines.count, BLOCK, false, write_frames_of_nodes, keep_frames_of_nodes, &w);
	scratch_seal(&t->text);
	for (unsigned i = 0; i < workers; i++)
		buf_release(&w.bufs[i]);
	free(w.bufs);
}

static void write_calls(struct stack_texts *t)
{
	t->call_at = xcalloc(CALLS_MAX + 1, sizeof(*t->call_at));
	for (unsigned call = 0; call < CALLS_MAX; call++) {
		struct json j = { .out = &t->calls, .compact = true, .filled = true };

		j.depth = 1;
		answer_call(&t->answer, &j, call);
		t->call_at[call + 1] = t->calls.size;
	}
}

void stack_texts_init(struct stack_texts *t, const struct view *v, bool of_frees)
{
	const struct nodes *nodes = &v->model->tables.nodes;
	struct marking m = { .v = v, .of_frees = of_frees };

	parallel_whole(); /* each text is found by where the one before it ends */
	memset(t, 0, sizeof(*t));
	m.used = t->used = xcalloc((size_t)nodes->count + 1, sizeof(*t->used));
	parallel_for(v->model->allocations.count, VIEW_BLOCK, mark_block, &m);
	spines_init(&t->spines, nodes, t->used);
	answer_init(&t->answer, v);
	answer_count(&t->answer);
	t->answer.responsible = responsible_of_view(t->answer.view);
	write_frames(t);
	write_calls(t);
}

void stack_texts_release(struct stack_texts *t)
{
	answer_release(&t->answer);
	spines_release(&t->spines);
	scratch_release(&t->text);
	buf_release(&t->calls);
	free(t->used);
	free(t->at);
	free(t->call_at);
	memset(t, 0, sizeof(*t));
}

/* Texts with a comma before them, which the first one of an array does not have. */
static void put_stack_text(struct rope *r, struct json *j, const char *text, size_t size)
{
	size_t skip = !j->filled;

	rope_keep(r, text + skip, size - skip);
	j->filled = true;
}

static void put_runs(const struct stack_texts *t, struct rope *r, struct json *j, uint32_t stack)
{
	const char *text = t->text.data;
	struct spine_run runs[SPINES_RUNS];
	unsigned count = spines_runs(&t->spines, spines_known(&t->spines, stack), 0, runs);

	for (unsigned i = 0; i < count; i++) {
		uint32_t first = runs[i].first;
		uint64_t from = first ? t->at[first - 1] : 0;

		put_stack_text(r, j, text + from, t->at[first + runs[i].count - 1] - from);
	}
}

void stack_texts_put(const struct stack_texts *t, struct rope *r, struct json *j, const char *key,
		     uint32_t stack, unsigned call)
{
	json_array(j, key);
	put_runs(t, r, j, stack);
	call %= CALLS_MAX;
	put_stack_text(r, j, t->calls.data + t->call_at[call],
		       t->call_at[call + 1] - t->call_at[call]);
	json_end_array(j);
}

void stack_texts_put_frames(const struct stack_texts *t, struct rope *r, struct json *j,
			    const char *key, uint32_t stack)
{
	json_array(j, key);
	put_runs(t, r, j, stack);
	json_end_array(j);
}
