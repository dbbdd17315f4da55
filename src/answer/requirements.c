/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question requirements: does a recording hold what is required of it?  See requirements.h. */
#include "answer/requirements.h"

#include <errno.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

static void requirements_init(struct answer_requirements *r)
{
	*r = (struct answer_requirements){ 0 };
	baseline_init(&r->now);
	baseline_init(&r->before);
}

static void requirements_release(struct answer_requirements *r)
{
	check_release(&r->check);
	baseline_release(&r->now);
	baseline_release(&r->before);
	free(r->wanted);
}

void requirements_add(struct answer_requirements *r, const struct requirement *one)
{
	*xpush(r->wanted, r->wanted_count, r->wanted_room) = *one;
}

int requirements_complete(struct answer_requirements *r, struct err *err)
{
	bool growth = ANY(i, r->wanted_count, r->wanted[i].is_growth);

	if (growth && !r->has_before)
		return err_set(err, -EINVAL, "a growth is compared with a baseline");
	if (r->has_before && !growth)
		for (const char *const *text = requirement_defaults; *text; text++) {
			struct requirement usual;

			requirement_growth(&usual, *text, NULL);
			requirements_add(r, &usual);
		}
	return 0;
}

void requirements_judge(struct answer_requirements *r)
{
	check_init(&r->check, &r->now, &r->before, r->wanted, r->wanted_count);
}

uint32_t requirements_told(const struct answer_requirements *r, const struct check_result *of)
{
	return of->stack_count < r->top ? of->stack_count : r->top;
}

static void write_range(struct json *j, const char *key, const struct range *r)
{
	json_object(j, key);
	JSON_MEMBERS(j, r, low, high);
	json_end_object(j);
}

static void write_functions(struct json *j, const char *key)
{
	json_array(j, "functions");
	while (key) {
		const char *next = strstr(key, FIGURE_BETWEEN);

		json_bytes(j, NULL, key, next ? (size_t)(next - key) : strlen(key));
		key = next ? next + strlen(FIGURE_BETWEEN) : NULL;
	}
	json_end_array(j);
}

static void write_stack(struct json *j, const struct check_result *of, const struct check_stack *s)
{
	write_functions(j, s->key);
	if (*s->file) {
		json_text(j, "source", s->file);
		json_number(j, "line", s->line);
	}
	json_number(j, "now", s->now);
	if (!of->wanted->is_growth)
		return;
	write_range(j, "baseline", &s->before);
	json_number(j, "grown", s->grown);
	json_bool(j, "new", s->is_new);
}

static void write_result(struct json *j, const struct answer_requirements *r,
			 const struct check_result *of)
{
	bool expected = of->wanted->is_expected;

	json_text(j, "required", of->wanted->text);
	if (!expected || of->wanted->found)
		json_text(j, "measure", check_measure_rows[of->wanted->measure].name);
	json_bool(j, "per_function", of->wanted->per_function);
	json_bool(j, "holds", of->holds);
	if (!expected || of->wanted->found)
		write_range(j, "now", &of->now);
	if (of->wanted->is_growth)
		write_range(j, "baseline", &of->before);
	if (!of->wanted->per_function && !expected)
		json_number(j, "limit", of->limit);
	json_number(j, "stack_total", of->stack_count);
	JSON_ROWS(j, "stacks", i, requirements_told(r, of))
		write_stack(j, of, &of->stacks[i]);
}

void requirements_json(struct json *j, const struct answer_requirements *r)
{
	json_bool(j, "holds", r->check.holds);
	json_number(j, "runs", r->now.runs);
	json_number_if(j, "baseline_runs", r->has_before, r->before.runs);
	JSON_ROWS(j, "requirements", i, r->check.count)
		write_result(j, r, &r->check.results[i]);
}

static void add_run(struct baseline *to, const struct view *v)
{
	struct run_figures f;

	run_figures_init(&f);
	run_figures_add(&f, v, NULL);
	baseline_add(to, &f);
	run_figures_release(&f);
}

static const char *const limit_names[CHECK_MEASURES] = {
#define MEASURE(id, word, ...) [CHECK_##id] = "max_" #word,
#include "check/measures.def"
#undef MEASURE
};

static int take_requirements(struct ask *a, struct answer_requirements *ret)
{
	struct requirement one;
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *text = ask_text(a, "fail_on");

	for (unsigned m = 0; m < CHECK_MEASURES; m++) {
		if (!ask_has(a, limit_names[m]))
			continue;
		if (requirement_limit(&one, m, ask_text(a, limit_names[m]), &err))
			return ask_fail_err(a, limit_names[m], &err);
		requirements_add(ret, &one);
	}
	while (text) {
		const char *end = strchrnul(text, ',');
		auto_free char *word = xmemdup0(text, (size_t)(end - text));

		if (requirement_growth(&one, word, &err))
			return ask_fail_err(a, "fail_on", &err);
		requirements_add(ret, &one);
		text = *end ? end + 1 : NULL;
	}
	ret->has_before = ask_has(a, "baseline");
	return requirements_complete(ret, &err) ? ask_fail_err(a, NULL, &err) : 0;
}

static int requirements_compute(struct ask *a, void *answer)
{
	struct answer_requirements *ret = answer;
	struct other other = { 0 };
	const struct view *v;

	requirements_init(ret);
	ret->top = ask_count(a, "count");
	if (take_requirements(a, ret))
		return -EINVAL;
	v = ask_view(a);
	if (!v || (ret->has_before && !ask_other(a, "baseline", ask_text(a, "baseline"), &other)))
		return -EINVAL;
	add_run(&ret->now, v);
	if (ret->has_before) {
		add_run(&ret->before, other.held->view);
		ask_give(&other);
	}
	requirements_judge(ret);
	return 0;
}

static void requirements_write(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	requirements_json(j, answer);
}

static void requirements_drop(void *answer)
{
	requirements_release(answer);
}

static const struct param_row params[] = {
#define MEASURE(id, word, unit, title, help)                                                       \
	{ "max_" #word, PARAM_TEXT, NULL, "at most so much: " help },
#include "check/measures.def"
#undef MEASURE
	{ "baseline", PARAM_RECORDING, NULL, "what growth is compared with" },
	{ "fail_on", PARAM_TEXT, NULL,
	  "what growth is too much: +5% peak, +0 leaks per function; several with commas" },
	{ "count", PARAM_COUNT, "5", "stacks at most that are told of what does not hold",
	  .option = "top", .letter = 'n' },
	{ 0 },
};

const struct question question_requirements = {
	.name = "requirements",
	.help = "does it hold what is required of it: limits, and growth since a baseline",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_requirements),
	.compute = requirements_compute,
	.write_members = requirements_write,
	.release = requirements_drop,
};
