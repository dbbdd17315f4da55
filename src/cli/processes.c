/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder of recordings as text.  See processes.h. */
#include "cli/processes.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/folder.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/table.h"

bool processes_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static const struct table_column columns[] = {
	{ .title = "process", .style = STYLE_NUMBER },
	{ .title = "ran" },
	{ .title = "peak", .style = STYLE_STRONG },
	{ .title = "leaked" },
	{ .title = "rss", .narrow = 110 },
	{ .title = "events" },
	{ .title = "file", .left = true },
	{ .title = "command", .left = true },
	{ 0 },
};

/* By row: is it the last of its parent's children that are shown? */
static bool *last_children(const struct answer_processes *all)
{
	bool *last = xcalloc((size_t)all->count + 1, sizeof(*last));
	auto_free bool *has = xcalloc((size_t)all->count + 1, sizeof(*has));

	for (uint32_t i = all->count; i-- > 0;) {
		uint32_t parent = all->rows[i].parent;

		if (!all->rows[i].shown || parent == PROCESS_NONE)
			continue;
		last[i] = !has[parent];
		has[parent] = true;
	}
	return last;
}

/* The lines that lead from the ancestors to this one. */
static void branch(struct buf *out, const struct answer_processes *all, const bool *last,
		   uint32_t row)
{
	const struct process *p = &all->rows[row];
	uint32_t *path;
	uint32_t depth = p->depth;

	if (p->parent == PROCESS_NONE)
		return;
	path = xcalloc(depth + 1, sizeof(*path));
	for (uint32_t i = row, n = depth; n; i = all->rows[i].parent)
		path[--n] = i;
	for (uint32_t i = 0; i + 1 < depth; i++)
		buf_text(out, last[path[i]] ? "   " : "│  ");
	buf_text(out, last[row] ? "└─ " : "├─ ");
	free(path);
}

/* " (exit status 2)" where it did not end well, or has not ended. */
static void put_end(struct buf *out, const struct process *p)
{
	if (p->running)
		buf_text(out, " (runs)");
	else if (p->exit_signal > 0)
		buf_printf(out, " (%s)", strsignal((int)p->exit_signal));
	else if (p->exit_status > 0)
		buf_printf(out, " (exit status %d)", (int)p->exit_status);
	else if (!p->complete)
		buf_text(out, " (its end is missing)");
}

static void text_process(struct table *t, const struct answer_processes *all,
			 const struct folder *f, const bool *last, uint32_t row)
{
	const struct process *p = &all->rows[row];
	auto_buf struct buf command = { 0 };

	branch(&command, all, last, row);
	if (p->became)
		buf_text(&command, "became ");
	else if (!strcmp(p->origin, "fork") && !strcmp(p->title, p->command))
		buf_text(&command, "fork of ");
	buf_printable(&command, p->title, strlen(p->title));
	put_end(&command, p);
	table_cellf(t, "%llu", (unsigned long long)p->pid);
	table_cell(t, duration_text(p->runtime_ns));
	table_cell(t, size_text(p->totals.peak_bytes));
	table_cell(t, size_text(p->totals.live_bytes));
	table_cell(t, p->peak_rss ? size_text(p->peak_rss) : "");
	table_cell(t, count_text(p->totals.events));
	table_cell(t, f->members[p->member].name);
	table_cell(t, command.data ? command.data : "");
}

static void text_sums(struct printing *p, const struct process_sums *s)
{
	struct buf more = { 0 };

	if (s->recordings > s->processes)
		buf_printf(&more, ", %s programs", count_text(s->recordings));
	if (s->running)
		buf_printf(&more, ", %s still running", count_text(s->running));
	about_line(p->out, &p->term, "processes", "%s%s", count_text(s->processes),
		   more.data ? more.data : "");
	buf_release(&more);
	about_line(p->out, &p->term, "ran", "%s, from the first one's start to the last one's end",
		   duration_text(s->end_ns - s->start_ns));
	about_line(p->out, &p->term, "allocations", "%s of %s altogether",
		   count_text(s->allocations), size_text(s->allocated_bytes));
	about_line(p->out, &p->term, "peak", "%s, each one's own added up; at most %s at once",
		   size_text(s->peak_bytes), size_text(s->together_bytes));
	about_line(p->out, &p->term, "leaked", "%s in %s block%s", size_text(s->leaked_bytes),
		   count_text(s->leaked_count), s->leaked_count == 1 ? "" : "s");
}

void processes_print(struct printing *p, const void *answer)
{
	const struct answer_processes *all = answer;
	const struct folder *f = p->ask->snapshot->folder;
	bool *last = last_children(all);
	struct table t;

	text_sums(p, &all->sums);
	buf_char(p->out, '\n');
	table_init(&t, columns);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->rows[i].shown)
			text_process(&t, all, f, last, i);
	table_print(&t, &p->term, !isatty(STDOUT_FILENO), p->out);
	table_release(&t);
	free(last);
	if (all->shown < all->count)
		buf_printf(p->out, "and %s more: memoir processes %s\n",
			   count_text(all->count - all->shown), f->path);
}

void processes_judge(struct printing *p, const void *answer)
{
	if (((const struct answer_processes *)answer)->failed)
		p->status = STATUS_FAILED;
}

static const struct table_column holder_columns[] = {
	{ .title = "SHARE", .style = STYLE_NUMBER },
	{ .title = "BYTES", .style = STYLE_STRONG },
	{ .title = "BLOCKS" },
	{ .title = "PROCESSES" },
	{ .title = "MOST IN", .left = true, .narrow = 80 },
	{ .title = "FUNCTION", .left = true, .style = STYLE_FUNCTION },
	{ 0 },
};

static void print_holder(struct table *t, const struct answer_processes *all,
			 const struct process_holder *row)
{
	const struct process_holders *h = &all->holders;
	const char *module = strings_at(&h->strings, row->module);
	const char *name = strings_at(&h->strings, row->name);
	bool with_module = *module && strncmp(name, module, strlen(module)) != 0;

	table_cell(t, share_text(row->weight.bytes, h->total.bytes));
	table_cell(t, size_text(row->weight.bytes));
	table_cell(t, count_text(row->weight.count));
	table_cell(t, count_text(row->processes));
	table_cellf(t, "%llu", (unsigned long long)process_of(all, row->most)->pid);
	table_cellf(t, "%s%s%s%s", name, with_module ? "  (" : "", with_module ? module : "",
		    with_module ? ")" : "");
}

static void print_report(struct printing *p, const void *answer)
{
	static const char *const when[] = {
		[MEASURE_PEAK] = "at each process's own peak",
		[MEASURE_LEAKED] = "at each process's end",
		[MEASURE_ALLOCATED] = "of all that was ever allocated",
		[MEASURE_TEMPORARY] = "of what was freed at once",
	};
	const struct answer_processes *all = answer;
	const struct process_holders *h = &all->holders;
	const struct folder *f = p->ask->snapshot->folder;
	struct table t;

	processes_print(p, answer);
	term_printf(&p->term, p->out,
		    "\n{title}WHO HOLDS IT{}  %s, of all processes: %s in %s blocks\n\n",
		    when[all->measure], size_text(h->total.bytes), count_text(h->total.count));
	table_init(&t, holder_columns);
	for (size_t i = 0; i < h->count && i < all->top; i++)
		print_holder(&t, all, &h->rows[i]);
	table_print(&t, &p->term, !isatty(STDOUT_FILENO), p->out);
	table_release(&t);
	if (h->count)
		buf_printf(p->out, "\none of them: memoir report %s/%s\n", f->path,
			   f->members[h->rows[0].most].name);
}

const struct answering processes_report = {
	.question = &question_processes,
	.defaults = "top=15&count=15",
	.print = print_report,
	.judge = processes_judge,
};
