/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question diff: what changed between two recordings, or two moments. */
#include "answer/diff.h"

#include <errno.h>
#include <string.h>

#include "base/sink.h"

static void write_pair(struct json *j, const struct diff *d, const struct diff_pair *p)
{
	json_text(j, "status", diff_statuses[diff_status(d, p)]);
	json_number(j, "before_bytes", p->before.bytes);
	json_number(j, "after_bytes", p->after.bytes);
	json_number(j, "before_count", p->before.count);
	json_number(j, "after_count", p->after.count);
	json_real(j, "bytes_delta", (double)(int64_t)(p->after.bytes - p->before.bytes), 0);
	json_real(j, "count_delta", (double)(int64_t)(p->after.count - p->before.count), 0);
}

/* The names of a stack, outermost first. */
static void write_stack(struct json *j, const struct diff *d, uint32_t node)
{
	uint32_t path[4096], n = 0;

	for (; node && n < sizeof(path) / sizeof(*path); node = d->nodes[node].parent)
		path[n++] = d->nodes[node].name;
	json_array(j, "functions");
	for (size_t i = n; i-- > 0;)
		json_text(j, NULL, strings_at(&d->names, path[i]));
	json_end_array(j);
	json_array(j, "kinds");
	for (size_t i = n; i-- > 0;)
		json_text(j, NULL, frame_kind_names[d->whose[path[i]]]);
	json_end_array(j);
}

static void write_stacks(struct json *j, const struct answer_diff *a, struct sink *out)
{
	const struct diff *d = &a->diff;

	JSON_PAGE(j, "stacks", i, a->skip, a->most, d->stack_count) {
		write_pair(j, d, &d->stacks[i].weight);
		write_stack(j, d, d->stacks[i].node);
		sink_turn(out);
	}
}

static void write_functions(struct json *j, const struct answer_diff *a, struct sink *out)
{
	const struct diff *d = &a->diff;

	JSON_PAGE(j, "functions", i, a->skip, a->most, d->function_count) {
		const struct diff_function *f = &d->functions[i];

		json_text(j, "function", strings_at(&d->names, f->name));
		write_pair(j, d, &f->total);
		json_number(j, "before_own_bytes", f->own.before.bytes);
		json_number(j, "after_own_bytes", f->own.after.bytes);
		json_number(j, "before_own_count", f->own.before.count);
		json_number(j, "after_own_count", f->own.after.count);
		json_number(j, "before_self_bytes", f->self.before.bytes);
		json_number(j, "after_self_bytes", f->self.after.bytes);
		json_number(j, "before_self_count", f->self.before.count);
		json_number(j, "after_self_count", f->self.after.count);
		sink_turn(out);
	}
}

static void write_side(struct json *j, const char *key, const struct snapshot *s,
		       const struct measuring *how)
{
	json_object(j, key);
	json_text(j, "name", s->name);
	ask_measuring_json(j, s->model, how);
	json_end_object(j);
}

static void diff_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_diff *d = answer;

	write_side(j, "before", a->snapshot, &d->how[0]);
	write_side(j, "after", d->after.snapshot, &d->how[1]);
	json_text(j, "measure",
		  d->how[0].measure == MEASURE_ALIVE_AT ? "alive"
							: measure_rows[d->how[0].measure].name);
	json_text(j, "weight", d->diff.by_count ? "count" : "bytes");
	json_object(j, "total");
	write_pair(j, &d->diff, &d->diff.nodes[0].total);
	json_end_object(j);
	json_object(j, "stack_counts");
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		json_number(j, diff_statuses[i], d->counts[i]);
	json_end_object(j);
	json_number(j, "stack_total", d->diff.stack_count);
	json_number(j, "function_total", d->diff.function_count);
	if (d->stacks)
		write_stacks(j, d, out);
	if (d->functions)
		write_functions(j, d, out);
}

/* What is compared of one side: 0, or -EINVAL after ask_fail(). */
static int measure_side(struct ask *a, const struct model *m, const char *at, struct measuring *ret)
{
	const char *word = ask_text(a, "measure");
	uint64_t ns;

	if (!ask_has(a, "at_a") && !ask_has(a, "at_b"))
		return ask_measuring(a, m, ret);
	if (ask_has(a, "measure") && strncmp(word, "alive", 5) != 0 && strcmp(word, "pinned") != 0)
		return ask_fail(a, 400, at, "a moment is for measure=alive or pinned, not %s",
				word);
	if (ask_has(a, "below"))
		return ask_fail(a, 400, "below", "it is for measure=short_lived");
	if (ask_has(a, "at"))
		return ask_fail(a, 400, "at", "at_a and at_b say both moments");
	if (!ask_time(a, at, m, &ns))
		return ask_fail(a, 400, at, "the other moment is needed too");
	*ret = measuring_of(m, !strcmp(word, "pinned") ? MEASURE_PINNED : MEASURE_ALIVE_AT, ns);
	return 0;
}

static int diff_compute(struct ask *a, void *answer)
{
	struct answer_diff *ret = answer;
	const char *by = ask_text(a, "by");
	const struct view *before;

	if (!ask_other(a, "b", ask_text(a, "b"), &ret->after) ||
	    measure_side(a, a->snapshot->model, "at_a", &ret->how[0]) ||
	    measure_side(a, ret->after.snapshot->model, "at_b", &ret->how[1]))
		return -EINVAL;
	if (ask_has(a, "a") && !a->snapshot->fleet)
		return ask_fail(a, 400, "a", "it is a part of a fleet");
	if (ask_narrow(a, "a") || !(before = ask_view(a)))
		return -EINVAL;
	diff_init(&ret->diff, before, &ret->how[0], ret->after.held->view, &ret->how[1],
		  ask_by_count(a));
	if (ask_check_source(a, ret->after.held))
		return -EINVAL;
	for (uint32_t i = 0; i < ret->diff.stack_count; i++)
		ret->counts[diff_status(&ret->diff, &ret->diff.stacks[i].weight)]++;
	ret->skip = ask_count(a, "skip");
	ret->most = ask_count(a, "count");
	ret->stacks = strcmp(by, "function") != 0;
	ret->functions = strcmp(by, "stack") != 0;
	return 0;
}

static void diff_drop(void *answer)
{
	struct answer_diff *d = answer;

	diff_release(&d->diff);
	if (d->after.snapshot)
		ask_give(&d->after);
}

static const struct param_row params[] = {
	{ "a", PARAM_TEXT, NULL, "of a fleet: what is before, an expression", .foreign = true },
	{ "b", PARAM_RECORDING, NULL,
	  "after; the recording itself is a, before; of a fleet: an expression", .required = true },
	PARAMS_MEASURE("peak"),
	{ "at_a", PARAM_TIME, NULL, "the moment of a: means alive" },
	{ "at_b", PARAM_TIME, NULL, "the moment of b" },
	PARAM_WEIGHT,
	{ "by", PARAM_CHOICE, "both", "which list", .values = "stack|function|both" },
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },
	{ "count", PARAM_COUNT, "100", "rows at most", .option = "top", .letter = 'n' },
	{ 0 },
};

const struct question question_diff = {
	.name = "diff",
	.help = "what changed between two recordings, or two moments",
	.params = params,
	.filters = true,
	.fleets = true,
	.size = sizeof(struct answer_diff),
	.compute = diff_compute,
	.write_members = diff_json,
	.release = diff_drop,
};
