/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rules: what scripts require of recordings, beside what options say.  See checking.h.
 *
 * The script is run for every recording, and what it requires is the same thing each time if it has
 * the same words: an expectation holds if it does for each of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/checking.h"
#include "cli/scripting.h"
#include "query/filter.h"
#include "script/script.h"

#define RULES_MAX (16u << 20) /* bytes of a script */

void checking_add_word(struct check_words *w, const char *word)
{
	if (!ANY(i, w->count, !strcmp(w->rows[i], word)))
		*xpush(w->rows, w->count, w->room) = xstrdup(word);
}

static struct requirement *find_requirement(struct checking *c, const struct requirement *like)
{
	return FIND(it, c->answer.wanted, c->answer.wanted_count,
		    it->is_expected == like->is_expected && !strcmp(it->text, like->text));
}

static void add_requirement(struct checking *c, const struct requirement *r)
{
	if (!find_requirement(c, r))
		requirements_add(&c->answer, r);
}

int checking_add_limit(struct checking *c, enum check_measure m, const char *value, struct err *err)
{
	struct requirement r;
	int error = requirement_limit(&r, m, value, err);

	if (!error)
		add_requirement(c, &r);
	return error;
}

int checking_add_growth(struct checking *c, const char *text, struct err *err)
{
	struct requirement r;
	int error = requirement_growth(&r, text, err);

	if (!error)
		add_requirement(c, &r);
	return error;
}

static int add_limit(struct checking *c, const struct script_rule *rule, struct err *err)
{
	enum check_measure m = check_measure_find(rule->text, strlen(rule->text));

	if (m == CHECK_MEASURES)
		return err_set(err, -EINVAL, "there is no measure '%.60s'", rule->text);
	return checking_add_limit(c, m, rule->amount, err);
}

static int add_ignored(struct checking *c, const struct script_rule *rule, struct err *err)
{
	struct filter *f = filter_new();
	int error = filter_parse(f, rule->text, err);

	filter_free(f);
	if (!error)
		checking_add_word(&c->ignored, rule->text);
	return error;
}

/* What speaks against it is kept as the runs of a baseline, whose stacks are named. */
static void add_expected(struct checking *c, const struct script_rule *rule)
{
	struct requirement new = { .is_expected = true, .holds = true, .measure = CHECK_ALLOCATED };
	struct requirement *r;
	struct run_figures figures;

	snprintf(new.text, sizeof(new.text), "%s", rule->text);
	r = find_requirement(c, &new);
	if (!r) {
		requirements_add(&c->answer, &new);
		r = find_requirement(c, &new);
	}
	r->holds &= rule->holds;
	if (rule->holds || !rule->view)
		return;
	if (!r->found) {
		r->found = xcalloc(1, sizeof(*r->found)); /* until the command's end */
		baseline_init(r->found);
	}
	run_figures_init(&figures);
	run_figures_add(&figures, rule->view, NULL);
	baseline_add(r->found, &figures);
	run_figures_release(&figures);
}

/* A file's path is from the folder of the rules on: tests run in folders of their own. */
static void add_path(const struct checking *c, struct check_words *w, const char *path)
{
	const char *slash = strrchr(c->rules_now, '/');
	auto_free char *joined = NULL;

	if (*path != '/' && slash)
		joined = xasprintf("%.*s/%s", (int)(slash - c->rules_now), c->rules_now, path);
	checking_add_word(w, joined ? joined : path);
}

static int take_rule(void *context, const struct script_rule *rule, struct err *err)
{
	struct checking *c = context;

	switch (rule->kind) {
	case RULE_LIMIT:
		return add_limit(c, rule, err);
	case RULE_GROWTH:
		return checking_add_growth(c, rule->text, err);
	case RULE_BASELINE:
		add_path(c, &c->baselines, rule->text);
		return 0;
	case RULE_IGNORE:
		return add_ignored(c, rule, err);
	case RULE_SUPPRESSIONS:
		add_path(c, &c->suppression_files, rule->text);
		return 0;
	case RULE_EXPECT:
		add_expected(c, rule);
		return 0;
	}
	return -EINVAL;
}

/* What rules print is beside the report, never in the JSON. */
static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	const struct checking *c = context;

	return fwrite(bytes, 1, size, c->as_json ? stderr : stdout) == size ? 0 : -EIO;
}

static struct snapshot *open_other(void *context, const char *path, struct err *err)
{
	struct checking *c = context;

	return scripting_open(path, err, &c->status);
}

static bool run_rules(struct checking *c, const char *path, const struct buf *text,
		      struct snapshot *snapshot)
{
	struct script_options options = {
		.host = { .put = put,
			  .open = open_other,
			  .rule = take_rule,
			  .open_source = answering_open_source,
			  .context = c },
	};
	struct script *s = script_new(&options);
	struct script_end end;
	bool ret;

	c->rules_now = path;
	script_add(s, snapshot);
	script_run(s, path, text->data ? text->data : "", text->size, &end);
	script_free(s);
	fflush(stdout);
	ret = end.status == SCRIPT_DONE || (end.status == SCRIPT_EXITED && !end.code);
	if (!ret && end.status == SCRIPT_EXITED)
		fprintf(stderr, "memoir check: %s: it ended with exit(%d)\n", path, end.code);
	else if (!ret)
		fprintf(stderr, "memoir check: %s\n", end.text);
	return ret;
}

bool checking_run_rules(struct checking *c, struct snapshot *s)
{
	for (size_t i = 0; i < c->rules.count; i++) {
		const char *path = c->rules.rows[i];
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		auto_buf struct buf text = { 0 };
		int error = fd < 0 ? -errno : read_to_end(fd, &text, RULES_MAX);

		if (!error && text.size > RULES_MAX)
			error = -EFBIG;
		if (error)
			fprintf(stderr, "memoir check: %s: %s\n", path, strerror(-error));
		if (error || !run_rules(c, path, &text, s))
			return false;
	}
	return true;
}
