/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir check: does a recording hold what is required of it?  For continuous integration. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "answer/folder.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/read_file.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/checking.h"
#include "cli/command.h"
#include "cli/filtering.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "cli/say.h"
#include "cli/waiting.h"
#include "query/responsible.h"

#define NAME "check"
#define SAY "memoir " NAME
#define FILE_MAX (64u << 20) /* bytes of a baseline or of suppressions */
#define STACKS_SHOWN 5

static struct checking checking;
static bool update, widen, annotate;
static const char *color, *junit, *markdown;
static uint64_t top = STACKS_SHOWN;

static const char *add_word(const struct command_option *row, const char *value)
{
	checking_add_word((struct check_words *)row->context, value);
	return NULL;
}

static const char *set_limit(const struct command_option *row, const char *value)
{
	const struct check_measure_row *m = row->context;
	static struct err err;

	return checking_add_limit(&checking, (enum check_measure)(m - check_measure_rows), value,
				  &err)
		       ? err.text
		       : NULL;
}

static const char *set_growth(const struct command_option *row, const char *value)
{
	static struct err err;

	return checking_add_growth(&checking, value, &err) ? err.text : NULL;
}

/* --max-… for each measure. */
static const struct command_option *more_options(unsigned shared)
{
	static struct command_option rows[CHECK_MEASURES + 1];
	static char names[CHECK_MEASURES][32], helps[CHECK_MEASURES][120];

	for (unsigned i = 0; i < CHECK_MEASURES && !rows[CHECK_MEASURES - 1].name; i++) {
		const struct check_measure_row *m = &check_measure_rows[i];

		snprintf(names[i], sizeof(names[i]), "max-%s", m->name);
		snprintf(helps[i], sizeof(helps[i]), "%s", m->help);
		rows[i] = (struct command_option){
			.name = names[i],
			.argument = value_name(m->type),
			.help = helps[i],
			.type = COMMAND_CALL,
			.set = set_limit,
			.context = m,
		};
	}
	return rows;
}

static int read_whole(const char *path, struct buf *out, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : read_to_end(fd, out, FILE_MAX);

	if (!error && out->size > FILE_MAX)
		return err_set(err, -EFBIG, "it is too long");
	if (error)
		return err_set(err, error, "%s", strerror(-error));
	buf_text(out, "");
	return 0;
}

/* Nothing can be told any more: 2, so that it is not taken for a regression. */
static bool say_unknown(const char *path, const struct err *err)
{
	say_failed(SAY, path, err);
	return false;
}

static bool read_suppressions(void)
{
	for (size_t i = 0; i < checking.suppression_files.count; i++) {
		struct err err = { .offset = ERR_NO_OFFSET };
		auto_buf struct buf text = { 0 };

		if (read_whole(checking.suppression_files.rows[i], &text, &err) ||
		    suppressions_read(&checking.suppressions, text.data, text.size, &err))
			return say_unknown(checking.suppression_files.rows[i], &err);
	}
	return true;
}

/* What the line's filters choose, without what is checking.ignored. */
static bool take_filter(struct filter **ret)
{
	struct filter *f = filtering_take();

	for (size_t i = 0; i < checking.ignored.count; i++) {
		struct err err = { .offset = ERR_NO_OFFSET };
		struct filter *not = filter_new();

		if (filter_parse(not, checking.ignored.rows[i], &err)) {
			say_wrong(SAY, "--ignore: %s", err.text);
			filter_free(not );
			filter_free(f);
			return false;
		}
		not = filter_not(not );
		f = f ? filter_and(f, not ) : not ;
	}
	*ret = f;
	return true;
}

static bool add_snapshot(struct run_figures *f, const struct snapshot *s,
			 const struct filter *filter)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct view *v;

	open_naming_start();
	v = view_new(s->model, s->locations, filter, &err);
	if (v)
		run_figures_add(f, v, &checking.suppressions);
	open_naming_end();
	if (s->model->loss.kind != LOSS_NONE)
		checking.status = STATUS_CANNOT_TELL;
	view_free(v);
	return v || say_unknown(s->name, &err);
}

/* A recording, or a folder of those that ran together. */
static bool add_run(struct baseline *to, char *path, const struct filter *filter)
{
	bool is_folder = processes_is_folder(path), ret = true;
	struct open_options how = { .quiet = true };
	struct run_figures f;
	int status;
	struct snapshot *s = open_kind(NAME, path, is_folder ? "processes" : NULL, &how, &status);

	if (!s)
		return false;
	if (status)
		checking.status = STATUS_CANNOT_TELL;
	run_figures_init(&f);
	if (!is_folder)
		ret = add_snapshot(&f, s, filter);
	for (size_t i = 0; is_folder && i < s->folder->count; i++) {
		struct err err = { .offset = ERR_NO_OFFSET };
		struct snapshot *member = folder_take(s->folder, i, &err);

		if (!member || !add_snapshot(&f, member, filter))
			checking.status = STATUS_CANNOT_TELL;
		snapshot_drop(member);
	}
	if (ret)
		baseline_add(to, &f);
	if (f.suppressed_blocks > checking.suppressed_blocks) {
		checking.suppressed_blocks = f.suppressed_blocks;
		checking.suppressed_bytes = f.suppressed_bytes;
	}
	run_figures_release(&f);
	snapshot_drop(s);
	return ret;
}

/* Text, or recordings. */
static bool read_baselines(const struct filter *filter)
{
	for (size_t i = 0; i < checking.baselines.count; i++) {
		struct err err = { .offset = ERR_NO_OFFSET };
		char *path = checking.baselines.rows[i], head[64] = "";
		auto_buf struct buf text = { 0 };

		if (read_short_file(path, head, sizeof(head)) <= 0 ||
		    !baseline_is_text(head, strlen(head))) {
			if (!add_run(&checking.answer.before, path, filter))
				return false;
			continue;
		}
		if (checking.baselines.count > 1) {
			say_wrong(SAY, "%s is a whole baseline: it stands alone", path);
			return false;
		}
		if (read_whole(path, &text, &err) ||
		    baseline_read(&checking.answer.before, text.data, text.size, &err))
			return say_unknown(path, &err);
	}
	checking.before_path = checking.baselines.count ? checking.baselines.rows[0] : NULL;
	return true;
}

static bool write_file(const char *path, struct buf *text)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink sink;

	if (sink_to_file(&sink, path, SINK_PLAIN, &err))
		return say_unknown(path, &err);
	buf_add(&sink.buf, text->data, text->size);
	return !sink_finish(&sink, &err) || say_unknown(path, &err);
}

static bool write_report(const char *path,
			 void (*report)(const struct checking *c, struct buf *out))
{
	auto_buf struct buf text = { 0 };

	if (!path)
		return true;
	report(&checking, &text);
	return write_file(path, &text);
}

static int write_baseline(char **paths, int count, const struct filter *filter)
{
	struct baseline *to = &checking.answer.now;
	auto_buf struct buf text = { 0 };

	if (checking.baselines.count != 1)
		return say_wrong(SAY, "--baseline names the file that is written");
	if (widen) {
		if (!read_baselines(filter))
			return STATUS_CANNOT_TELL;
		to = &checking.answer.before;
	}
	for (int i = 0; i < count; i++)
		if (!add_run(to, paths[i], filter))
			return STATUS_CANNOT_TELL;
	if (checking.status) {
		fprintf(stderr, "memoir " NAME ": %s is left as it is: a recording is not whole\n",
			checking.baselines.rows[0]);
		return checking.status;
	}
	baseline_write(to, &text);
	if (!write_file(checking.baselines.rows[0], &text))
		return STATUS_CANNOT_TELL;
	printf("%s: baseline of %u run%s\n", checking.baselines.rows[0], to->runs,
	       to->runs == 1 ? "" : "s");
	return STATUS_DONE;
}

static int show(void)
{
	auto_buf struct buf out = { 0 };
	struct term term;

	if (checking.as_json) {
		struct json j = { .out = &out, .compact = true };

		json_object(&j, NULL);
		requirements_json(&j, &checking.answer);
		json_end_object(&j);
	} else {
		term_init(&term, 1, color);
		check_print(&checking, &term, &out);
	}
	if (annotate)
		check_annotations(&checking, &out);
	if (buf_flush(&out, 1) || !write_report(junit, check_junit) ||
	    !write_report(markdown, check_markdown))
		return STATUS_CANNOT_TELL;
	return checking.answer.check.holds ? checking.status : STATUS_DOES_NOT_HOLD;
}

static int check_runs(char **paths, int count, const struct filter *filter)
{
	struct err err;
	char subject[64];

	checking.answer.has_before = checking.baselines.count != 0;
	if (requirements_complete(&checking.answer, &err))
		return say_wrong(SAY, "%s: --baseline FILE", err.text);
	if (!checking.answer.wanted_count)
		return say_wrong(SAY, "what is required? --max-peak 200M, --baseline FILE …");
	if (!read_baselines(filter))
		return STATUS_CANNOT_TELL;
	for (int i = 0; i < count; i++)
		if (!add_run(&checking.answer.now, paths[i], filter))
			return STATUS_CANNOT_TELL;
	snprintf(subject, sizeof(subject), "%d runs", count);
	checking.subject = count == 1 ? paths[0] : subject;
	requirements_judge(&checking.answer);
	return show();
}

/* The rules on each process of a run. */
static bool run_rules(char *path)
{
	bool is_folder = processes_is_folder(path), ret = true;
	struct open_options how = { .quiet = true };
	int status;
	struct snapshot *s = open_kind(NAME, path, is_folder ? "processes" : NULL, &how, &status);

	if (!s)
		return false;
	if (!is_folder)
		ret = checking_run_rules(&checking, s);
	for (size_t i = 0; ret && is_folder && i < s->folder->count; i++) {
		struct err err = { .offset = ERR_NO_OFFSET };
		struct snapshot *member = folder_take(s->folder, i, &err);

		if (member)
			ret = checking_run_rules(&checking, member);
		snapshot_drop(member);
	}
	snapshot_drop(s);
	return ret;
}

static bool is_rules(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && (!strcmp(end, ".lua") || !strcmp(end, ".rhai"));
}

static int run_check(int argc, char **argv)
{
	struct filter *filter = NULL;
	int status, count = 0;

	for (int i = 0; i < argc; i++)
		if (is_rules(argv[i]))
			checking_add_word(&checking.rules, argv[i]);
		else
			argv[count++] = argv[i];
	argc = count;
	if (!argc)
		return say_wrong(SAY, "which recording?");
	baseline_init(&checking.answer.now);
	baseline_init(&checking.answer.before);
	checking.answer.top = top > UINT32_MAX ? UINT32_MAX : (uint32_t)top;
	for (int i = 0; checking.rules.count && i < argc; i++)
		if (!run_rules(argv[i]))
			return STATUS_CANNOT_TELL;
	if (!take_filter(&filter))
		return STATUS_WRONG;
	if (!read_suppressions())
		status = STATUS_CANNOT_TELL;
	else if (update || widen)
		status = write_baseline(argv, argc, filter);
	else
		status = check_runs(argv, argc, filter);
	filter_free(filter);
	return status;
}

static const struct command_option options[] = {
	CALL("baseline", 'b', "FILE",
	     "compare with it: what --update-baseline wrote, or a recording; may be given again",
	     add_word, &checking.baselines),
	CALL("fail-on", 0, "GROWTH",
	     "what is too much: '+5% peak', '+64KiB leaked', '+0 leaks per function'; may be given "
	     "again",
	     set_growth),
	CALL("ignore", 0, "EXPRESSION", "leave out what a filter's expression chooses", add_word,
	     &checking.ignored),
	CALL("suppressions", 0, "FILE", "leaks that are known, in LeakSanitizer's format", add_word,
	     &checking.suppression_files),
	CALL("rules", 0, "FILE", "what this script requires, too; so does a file *.lua or *.rhai",
	     add_word, &checking.rules),
	FLAG("update-baseline", 0, "write the baseline: of these recordings", &update),
	FLAG("widen-baseline", 0, "the same, of those it was made of, too", &widen),
	VALUE("junit", 0, "FILE", "write a report for JUnit's readers", &junit),
	VALUE("markdown", 0, "FILE", "write a report in Markdown", &markdown),
	FLAG("github", 0, "print annotations for GitHub's actions, too", &annotate),
	VALUE("top", 'n', "N", "stacks that are shown of what does not hold (5)", &top),
	FLAG("json", 0, "print JSON", &checking.as_json),
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	WAITING_ROWS,
	{ 0 },
};

const struct command command_check = {
	.name = NAME,
	.args = "RECORDING… [RULES.lua]",
	.help = "does it hold what is required? for continuous integration",
	.examples = "  memoir check --max-peak 200M --max-leaked 0 app.dat\n"
		    "  memoir check --baseline memory.txt --update-baseline run1.dat run2.dat "
		    "run3.dat\n"
		    "  memoir check --baseline memory.txt --junit memory.xml new.dat\n"
		    "  memoir check --baseline old.dat --fail-on '+5% peak' new.dat\n"
		    "  memoir check app.dat rules.lua\n",
	.options = options,
	.more_options = more_options,
	.takes_filters = true,
	.run = run_check,
};
