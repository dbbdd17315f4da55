/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /diff: what changed between two recordings, or two moments. */
#include "query/diff.h"

#include <string.h>

#include "server/request.h"

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
	while (n--)
		json_text(j, NULL, strings_at(&d->names, path[n]));
	json_end_array(j);
}

static void write_stacks(struct request *r, struct json *j, const struct diff *d, struct sink *out)
{
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");

	json_array(j, "stacks");
	for (uint32_t i = skip; i < d->stack_count && i - skip < most; i++) {
		json_object(j, NULL);
		write_pair(j, d, &d->stacks[i].weight);
		write_stack(j, d, d->stacks[i].node);
		json_end_object(j);
		sink_turn(out);
	}
	json_end_array(j);
}

static void write_functions(struct request *r, struct json *j, const struct diff *d,
			    struct sink *out)
{
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");

	json_array(j, "functions");
	for (uint32_t i = skip; i < d->function_count && i - skip < most; i++) {
		const struct diff_function *f = &d->functions[i];

		json_object(j, NULL);
		json_text(j, "function", strings_at(&d->names, f->name));
		write_pair(j, d, &f->total);
		json_number(j, "before_self_bytes", f->self.before.bytes);
		json_number(j, "after_self_bytes", f->self.after.bytes);
		json_number(j, "before_self_count", f->self.before.count);
		json_number(j, "after_self_count", f->self.after.count);
		json_end_object(j);
		sink_turn(out);
	}
	json_end_array(j);
}

static void write_side(struct json *j, const char *key, const struct other *o,
		       const struct measuring *how)
{
	json_object(j, key);
	json_text(j, "id", o->snapshot->id);
	json_text(j, "name", o->snapshot->name);
	ask_measuring_json(j, o->snapshot->model, how);
	json_end_object(j);
}

static void write_diff(struct request *r, const struct diff *d, const struct other sides[2],
		       const struct measuring how[2], struct sink *out)
{
	uint64_t counts[DIFF_STATUSES] = { 0 };
	const char *by = ask_text(&r->ask, "by");
	struct json j;

	for (uint32_t i = 0; i < d->stack_count; i++)
		counts[diff_status(d, &d->stacks[i].weight)]++;
	request_json(&j, out);
	json_object(&j, NULL);
	write_side(&j, "before", &sides[0], &how[0]);
	write_side(&j, "after", &sides[1], &how[1]);
	json_text(&j, "measure",
		  how[0].measure == MEASURE_ALIVE_AT ? "alive" : measure_rows[how[0].measure].name);
	json_text(&j, "weight", d->by_count ? "count" : "bytes");
	json_object(&j, "total");
	write_pair(&j, d, &d->nodes[0].total);
	json_end_object(&j);
	json_object(&j, "stack_counts");
	for (unsigned i = 0; i < DIFF_STATUSES; i++)
		json_number(&j, diff_statuses[i], counts[i]);
	json_end_object(&j);
	json_number(&j, "stack_total", d->stack_count);
	json_number(&j, "function_total", d->function_count);
	if (strcmp(by, "function") != 0)
		write_stacks(r, &j, d, out);
	if (strcmp(by, "stack") != 0)
		write_functions(r, &j, d, out);
	json_end_object(&j);
}

/* What is compared of one side: 0, or after ask_fail(&->ask). */
static int measure_side(struct request *r, const struct model *m, const char *at,
			struct measuring *ret)
{
	const char *word = ask_text(&r->ask, "measure");
	bool two_times = ask_has(&r->ask, "at_a") || ask_has(&r->ask, "at_b");
	uint64_t ns;

	if (!two_times)
		return ask_measuring(&r->ask, m, ret);
	if (ask_has(&r->ask, "measure") && strncmp(word, "alive", 5) != 0)
		return ask_fail(&r->ask, 400, at, "a moment is for measure=alive, not %s", word);
	if (ask_has(&r->ask, "below"))
		return ask_fail(&r->ask, 400, "below", "it is for measure=short_lived");
	if (!ask_time(&r->ask, at, m, &ns))
		return ask_fail(&r->ask, 400, at, "the other moment is needed too");
	*ret = measuring_of(m, MEASURE_ALIVE_AT, ns);
	return 0;
}

static int answer(struct request *r, struct sink *out)
{
	struct other sides[2] = { 0 };
	struct measuring how[2];
	struct diff d;
	int error = -1;

	if (!ask_other(&r->ask, "a", ask_text(&r->ask, "a"), &sides[0]))
		return -1;
	if (ask_other(&r->ask, "b", ask_text(&r->ask, "b"), &sides[1]) &&
	    !measure_side(r, sides[0].snapshot->model, "at_a", &how[0]) &&
	    !measure_side(r, sides[1].snapshot->model, "at_b", &how[1])) {
		diff_init(&d, sides[0].held->view, &how[0], sides[1].held->view, &how[1],
			  ask_by_count(&r->ask));
		write_diff(r, &d, sides, how, out);
		diff_release(&d);
		error = 0;
	}
	if (sides[1].snapshot)
		ask_give(&sides[1]);
	ask_give(&sides[0]);
	return error;
}

static const struct param_row params[] = {
	{ "a", PARAM_RECORDING, NULL, "before", .required = true },
	{ "b", PARAM_RECORDING, NULL, "after", .required = true },
	{ "measure", PARAM_CHOICE, "peak", "what is compared", .values = PARAM_MEASURES },
	{ "at_a", PARAM_TIME, NULL, "the moment of a: means alive" },
	{ "at_b", PARAM_TIME, NULL, "the moment of b" },
	{ "below", PARAM_DURATION, NULL, "for short_lived" },
	PARAM_WEIGHT,
	{ "by", PARAM_CHOICE, "both", "which list", .values = "stack|function|both" },
	PARAMS_PAGE("100"),
	{ 0 },
};

const struct route routes_diff[] = {
	{ "/diff", METHOD_GET, "what changed between two recordings, or two moments",
	  .params = params, .filters = true, .answer = answer },
	{ 0 },
};
