/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir threads: what each thread allocated, kept and left to others. */
#include <inttypes.h>

#include "answer/threads.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/shape.h"
#include "cli/table.h"

#define CURVE_WIDTH 110 /* columns of the terminal from which on curves are shown */

static const struct table_column columns[] = {
	{ "ALLOCATED", false, STYLE_STRONG, 0 },
	{ "BLOCKS", false, STYLE_PLAIN, 0 },
	{ "AT PEAK", false, STYLE_PLAIN, 0 },
	{ "LEAKED", false, STYLE_NUMBER, 0 },
	{ "TEMPORARY", false, STYLE_PLAIN, 90 },
	{ "FREED BY OTHERS", false, STYLE_PLAIN, 0 },
	{ "FIRST", false, STYLE_DIM, 130 },
	{ "LAST", false, STYLE_DIM, 130 },
	{ "ALIVE", true, STYLE_NUMBER, CURVE_WIDTH },
	{ "THREAD", true, STYLE_FUNCTION, 0 },
	{ 0 },
};

static void size_cell(struct table *t, uint64_t bytes)
{
	table_cell(t, bytes ? size_text(bytes) : "");
}

/* ▁▂▅█: bytes alive over the run. */
static void curve_cell(struct table *t, const struct sparks *s, uint32_t curve)
{
	const int64_t *values = s->values + (size_t)curve * s->points;
	auto_buf struct buf text = { 0 };
	int64_t most = 0;

	buf_text(&text, "");
	for (uint32_t i = 0; i < s->points; i++)
		most = values[i] > most ? values[i] : most;
	for (uint32_t i = 0; i < s->points; i++)
		shape_cell(&text, shape_eighths((uint64_t)(values[i] > 0 ? values[i] : 0),
						(uint64_t)most, 1));
	table_cell(t, text.data);
}

static void print_threads(struct printing *p, const void *answer)
{
	const struct answer_threads *a = answer;
	struct table t;

	answering_about(p);
	buf_char(p->out, '\n');
	answering_page(p, "thread that allocated", "threads that allocated", a->shown, a->count);
	buf_text(p->out, "\n\n");
	if (!a->shown)
		return;
	table_init(&t, columns);
	for (uint32_t i = 0; i < a->shown; i++) {
		uint32_t row = a->order[a->skip + i];
		const struct thread_sums *s = &a->sums[row];
		const struct thread *thread = &p->model->tables.threads.rows[row];

		size_cell(&t, s->allocated_bytes);
		table_cell(&t, count_text(s->allocated_count));
		size_cell(&t, s->peak_bytes);
		size_cell(&t, s->leaked_bytes);
		size_cell(&t, s->temporary_bytes);
		size_cell(&t, s->freed_by_other_bytes);
		table_cell(&t, duration_text(s->first_ns));
		table_cell(&t, duration_text(s->last_ns));
		curve_cell(&t, &a->sparks, i);
		table_cellf(&t, "%" PRIu64 " %s", thread->tid, thread->name);
	}
	table_print(&t, &p->term, false, p->out);
	table_release(&t);
}

static const struct answering answering = {
	.question = &question_threads,
	.defaults = "count=20&spark=16",
	.print = print_threads,
};

const struct command command_threads = {
	.name = "threads",
	.args = "FILE",
	.help = "what each thread allocated, kept and left to others",
	.examples = "  memoir threads app.dat\n"
		    "  memoir threads --sort leaked_bytes -F 'size >= 1k' app.dat\n",
	.answers = &answering,
};
