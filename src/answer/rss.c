/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question rss: where resident memory goes, from the kernel's figure to what was asked for. */
#include "answer/rss.h"

#include <errno.h>

#include "answer/words.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"

#define POINTS_MAX 100000

/* As in resident_terms. */
#define TERM_WORDS                                                                                 \
	"requested|rounding|free_parts|free_pages|huge|allocator|stacks|code|data|files|"          \
	"anonymous|memoir|unknown"
static const char *const term_names[RESIDENT_TERMS] = {
	"requested", "rounding", "free_parts", "free_pages", "huge",   "allocator", "stacks",
	"code",	     "data",	 "files",      "anonymous",  "memoir", "unknown",
};

static int rss_compute(struct ask *a, void *answer)
{
	const struct model *m = a->snapshot->model;
	struct answer_rss *ret = answer;
	uint64_t at = NEVER;

	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	ret->asked_ns = model_runtime_ns(m);
	if (ask_time(a, "at", m, &ret->asked_ns))
		at = measure_stamp(m, ret->asked_ns);
	ret->skip = ask_count(a, "skip");
	ret->most = ask_count(a, "count");
	ret->opened = ask_choice(a, "open", term_names, RESIDENT_TERMS);
	ret->sampled = resident_init(&ret->resident, ret->view, at);
	if (ask_bool(a, "series"))
		ret->series_count =
			resident_series(ret->view, ask_count(a, "points"), &ret->series);
	return 0;
}

size_t answer_rss_parts(const struct answer_rss *shown, size_t term, size_t count)
{
	if (shown->opened < RESIDENT_TERMS && shown->opened != term)
		return 0;
	return MIN(count - answer_rss_skipped(shown, count), shown->most);
}

size_t answer_rss_skipped(const struct answer_rss *shown, size_t count)
{
	return MIN(count, shown->skip);
}

static const char *const part_kinds[] = {
	[RESIDENT_PART_MAP] = "map",
	[RESIDENT_PART_FILE] = "file",
	[RESIDENT_PART_STACK] = "stack",
	[RESIDENT_PART_BLOCKS] = "blocks",
};

static void write_part(struct answer *names, struct json *j, const struct answer_rss *shown,
		       const struct resident_part *p)
{
	const struct model *m = shown->view->model;

	json_object(j, NULL);
	json_text(j, "kind", part_kinds[p->kind]);
	json_text(j, "name", regions_name(&m->tables.regions, p->name));
	if (p->owner)
		json_text(j, "allocator", p->owner);
	json_number(j, "bytes", p->bytes);
	json_number(j, "size", p->size);
	json_number(j, "maps", p->maps);
	json_number(j, "blocks", p->blocks);
	if (p->kind == RESIDENT_PART_MAP)
		answer_address(j, p->address);
	json_number(j, "backtrace_id", p->stack);
	if (p->stack)
		answer_backtrace(names, j, "backtrace", p->stack, p->call);
	json_end_object(j);
}

static void write_terms(struct ask *a, struct json *j, const struct answer_rss *shown)
{
	const struct resident *r = &shown->resident;
	auto_release(snapshot_answer_release) struct answer names = { 0 };
	size_t at = 0;

	snapshot_answer(a->snapshot, &names, shown->view);
	JSON_ROWS(j, "terms", i, RESIDENT_TERMS) {
		size_t first = at, skipped;

		while (at < r->part_count && r->parts[at].term == i)
			at++;
		json_text(j, "name", resident_terms[i].name);
		json_text(j, "title", resident_terms[i].title);
		json_text(j, "help", resident_terms[i].help);
		json_number(j, "bytes", r->moment.terms[i]);
		json_number(j, "part_total", at - first);
		skipped = answer_rss_skipped(shown, at - first);
		JSON_EACH(j, "parts", k, answer_rss_parts(shown, i, at - first))
			write_part(&names, j, shown, &r->parts[first + skipped + k]);
	}
}

static void rss_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct model *m = a->snapshot->model;
	const struct answer_rss *shown = answer;
	const struct resident_moment *now = &shown->resident.moment;

	json_number(j, "at_ns", shown->asked_ns);
	json_number_if(j, "sampled_ns", shown->sampled, model_ns(m, now->at));
	json_number_if(j, "rss", shown->sampled, now->rss);
	json_number_if(j, "swap", shown->sampled, now->swap);
	json_number_if(j, "live_bytes", shown->sampled, now->live);
	json_number_if(j, "huge_pages", shown->sampled, now->huge);
	write_terms(a, j, shown);
	if (ask_bool(a, "series")) {
		JSON_ROWS(j, "series", i, shown->series_count) {
			json_number(j, "at_ns", model_ns(m, shown->series[i].at));
			json_number(j, "rss", shown->series[i].rss);
			json_number(j, "swap", shown->series[i].swap);
			json_number(j, "live_bytes", shown->series[i].live);
			json_number(j, "huge_pages", shown->series[i].huge);
			JSON_EACH(j, "terms", k, RESIDENT_TERMS)
				json_number(j, NULL, shown->series[i].terms[k]);
			sink_turn(out);
		}
	}
}

static void rss_drop(void *answer)
{
	struct answer_rss *a = answer;

	resident_release(&a->resident);
	free(a->series);
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL, "the moment; the end if it is not given" },
	{ "skip", PARAM_COUNT, "0", "parts of each term that are left out" },
	{ "count", PARAM_COUNT, "20", "parts of a term at most", .option = "top", .letter = 'n' },
	{ "open", PARAM_CHOICE, NULL, "the one term whose parts are given", .values = TERM_WORDS,
	  .letter = 'o' },
	{ "series", PARAM_BOOL, "false", "with the terms at each sample of the run",
	  .letter = 's' },
	{ "points", PARAM_COUNT, "1000", "samples of the series at most", .max = POINTS_MAX },
	{ 0 },
};

const struct question question_rss = {
	.name = "rss",
	.help = "where resident memory goes, from the kernel's figure to what was asked for",
	.params = params,
	.size = sizeof(struct answer_rss),
	.compute = rss_compute,
	.write_members = rss_json,
	.release = rss_drop,
};
