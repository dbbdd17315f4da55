/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Commands that ask a question.  See answering.h. */
#include "cli/answering.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "answer/source_file.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/filtering.h"
#include "cli/fleet/fleet_options.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "cli/shape.h"
#include "cli/waiting.h"

#define FLUSH_SIZE (1u << 20)
#define NS UINT64_C(1000000000)

static bool as_json, as_csv, follow;
static const char *color;
static struct params given;
static int other_status; /* the worst of the files besides the first */

/* The last one counts, as with every option. */
static const char *give(const char *name, const char *value)
{
	static struct err err;

	for (size_t i = 0; i < given.count; i++)
		if (!strcmp(given.rows[i].name, name)) {
			free(given.rows[i].value);
			given.rows[i].value = xstrdup(value);
			return NULL;
		}
	return params_add(&given, name, value, &err) ? err.text : NULL;
}

const char *answering_set(const struct command_option *row, const char *value)
{
	auto_release(params_release) struct params parts = { 0 };
	const char *wrong = NULL;
	struct err err;

	if (row->argument)
		return give(row->context, value);
	params_decode_query(&parts, row->context, &err);
	for (size_t i = 0; i < parts.count && !wrong; i++)
		wrong = give(parts.rows[i].name, parts.rows[i].value);
	return wrong;
}

static const char *set_param(const struct command_option *option, const char *value)
{
	const struct param_row *row = option->context;
	static struct err err;
	auto_free char *word = NULL;

	if (!value) /* a flag */
		return give(row->name, !strcmp(row->fallback, "true") ? "false" : "true");
	word = xstrdup(value);
	for (char *c = word; row->type == PARAM_CHOICE && !param_is_word(row->values, word) && *c;
	     c++)
		if (*c == '-') /* --measure short-lived */
			*c = '_';
	if (row->type == PARAM_REAL && *word && word[strlen(word) - 1] == '%')
		word[strlen(word) - 1] = 0;
	return param_check(row, word, &err) ? err.text : give(row->name, word);
}

/* "sort_by" as "sort-by", behind `prefix`. */
static char *dashed(const char *prefix, const char *name)
{
	char *copy = xasprintf("%s%s", prefix, name);

	for (char *p = copy; *p; p++)
		if (*p == '_')
			*p = '-';
	return copy;
}

/* "what is weighed: leaked or peak (peak)"; of what an option leaves out, "without …". */
static char *help_of(const struct param_row *row, bool off)
{
	struct buf text = { 0 };

	if (off && !strncmp(row->help, "with ", 5))
		buf_printf(&text, "without %s", row->help + 5);
	else
		buf_text(&text, row->help);
	if (row->values) {
		buf_text(&text, ": ");
		param_words(&text, row->values);
	}
	if (row->fallback && row->type != PARAM_BOOL && *row->fallback)
		buf_printf(&text, " (%s)", row->fallback);
	return text.data;
}

static const char *argument_of(const struct param_row *row)
{
	static const char *const names[PARAM_TYPES] = {
		[PARAM_TEXT] = "TEXT",	       [PARAM_CHOICE] = "WORD",	   [PARAM_COUNT] = "N",
		[PARAM_NUMBER] = "N",	       [PARAM_REAL] = "PERCENT",   [PARAM_TIME] = "TIME",
		[PARAM_DURATION] = "DURATION", [PARAM_RECORDING] = "FILE", [PARAM_BOOL] = "BOOL",
	};

	return names[row->type];
}

static bool is_word(const struct answering *a, const char *name)
{
	for (const char *const *w = a->words; w && *w; w++)
		if (!strcmp(*w, name))
			return true;
	return false;
}

const struct command_option *answering_options(const struct answering *a)
{
	static const struct command_option common[] = {
		/* Of recordings and folders of them: no other file is waited for. */
		WAITING_ROWS,
		FLAG("follow", 'f', "the same, showing the totals as they grow", &follow),
		FLAG("json", 0, "print JSON", &as_json),
		WORD("color", 0, "WHEN", "auto, always or never", &color),
		FLAG("csv", 0, "print comma-separated values", &as_csv),
	};
	static struct command_option *options;
	size_t first = a->question->kind || a->fleet ? WAITING_COUNT + 1 : 0, count = 0, n = 0;
	size_t commons = sizeof(common) / sizeof(*common) - !a->csv - first;

	if (options)
		return options;
	for (const struct param_row *row = a->question->params; row && row->name; row++)
		count++;
	options = xcalloc(count + WAITING_COUNT + commons + 1, sizeof(*options));
	for (const struct param_row *row = a->question->params; row && row->name; row++) {
		/* Scripts name parameters as they are over HTTP, each with its value. */
		const char *name = a->print && row->option ? row->option : row->name;
		bool flag = a->print && row->type == PARAM_BOOL;
		bool off = flag && !strcmp(row->fallback, "true");

		if (!(row->foreign && a->print) && !is_word(a, row->name))
			options[n++] = (struct command_option){
				.name = dashed(off ? "no-" : "", name),
				.letter = row->letter,
				.argument = flag ? NULL : argument_of(row),
				.help = help_of(row, off),
				.type = COMMAND_CALL,
				.set = set_param,
				.context = row,
				.words = row->values,
			};
	}
	if (a->question->kind && !strcmp(a->question->kind, "processes")) {
		memcpy(options + n, common, WAITING_COUNT * sizeof(*common));
		n += WAITING_COUNT;
	}
	memcpy(options + n, common + first, commons * sizeof(*common));
	return options;
}

bool answering_turn(struct printing *p)
{
	return p->out->size < FLUSH_SIZE || !buf_flush(p->out, 1);
}

void answering_about(struct printing *p)
{
	auto_buf struct buf filter = { 0 };

	if (!p->ask->snapshot->fleet) {
		about_text_program(p->out, &p->term, p->model);
		about_text_loss(p->out, &p->term, p->model);
		return;
	}
	about_line(p->out, &p->term, "fleet", "%s", p->ask->snapshot->name);
	if (p->ask->held)
		filter_print(p->ask->held->filter, &filter);
	if (filter.size)
		about_line(p->out, &p->term, "filter", "%s", filter.data);
}

void answering_measure(struct printing *p, const struct measuring *how)
{
	if (!p->ask->snapshot->fleet)
		shape_measure_title(p->out, p->model, how);
	else if (how->measure == MEASURE_PEAK)
		buf_text(p->out, "alive at each recording's own peak");
	else if (how->measure == MEASURE_ALIVE_AT)
		buf_printf(p->out, "alive at %s", time_text((int64_t)(how->at / NS)));
	else
		buf_text(p->out, measure_rows[how->measure].title);
}

void answering_page(struct printing *p, const char *one, const char *many, uint32_t shown,
		    uint32_t total)
{
	uint64_t skip = ask_count(p->ask, "skip");

	if (!total)
		buf_printf(p->out, "no %s", one);
	else if (shown == total || (!shown && skip < total)) /* all of them, or --count 0 */
		buf_printf(p->out, "%s %s", count_text(total), total == 1 ? one : many);
	else if (!shown)
		buf_printf(p->out, "nothing after the last of %s %s", count_text(total),
			   total == 1 ? one : many);
	else
		buf_printf(p->out, "%s to %s of %s %s", count_text(skip + 1),
			   count_text(skip + shown), count_text(total), many);
}

/* What is wrong, in the words of the command line. */
static int say_fault(const struct command *c, const struct ask *a)
{
	auto_free char *name = dashed("", a->fault.parameter);
	const struct param_row *row =
		c->answers->print ? param_row_find(a->rows, a->fault.parameter) : NULL;
	bool option = *name && !is_word(c->answers, a->fault.parameter);

	if (*a->fault.text)
		fprintf(stderr, "memoir %s: %s%s%s%s\n", c->name, option ? "--" : "",
			!option		     ? ""
			: row && row->option ? row->option
					     : name,
			option ? ": " : "", a->fault.text);
	return a->fault.status == 400 ? STATUS_WRONG : STATUS_FAILED;
}

static struct open_options opening(void)
{
	return (struct open_options){ .follow = follow, .quiet = as_json || as_csv };
}

static struct snapshot *open_other(struct ask *a, const char *parameter, const char *path)
{
	const struct command *c = a->door;
	struct open_options how = opening();
	int status;
	const char *kind = c->answers->question->kind;
	struct snapshot *s = open_kind(c->name, (char *)path, kind, &how, &status);

	if (!s)
		ask_fail(a, 404, parameter, "%s", ""); /* it was said already */
	else if (c->answers->all_names)
		locations_resolve_all(s->locations);
	if (status > other_status)
		other_status = status;
	return s;
}

int answering_open_source(struct ask *a, const char *path, struct stat *ret_st,
			  const char **ret_why)
{
	auto_close int handle = -1;
	int fd = -ENOENT;

	*ret_why = NULL;
	if (*path == '/')
		handle = open(path, O_PATH | O_CLOEXEC);
	if (handle >= 0)
		fd = source_open_plain(handle, ret_st);
	else if (*path == '/')
		fd = -errno;
	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		*ret_why = fd == -EACCES ? strerror(EACCES) : source_why_not(fd);
	return fd;
}

/* Takes the words of the line apart: the file, or NULL after saying what is wrong. */
static char *take_words(const struct command *c, struct ask *a, int argc, char **argv)
{
	static const char *const one_file[] = { "FILE", NULL }, *const none[] = { NULL };
	const char *const *words = c->answers->words   ? c->answers->words
				   : c->answers->fleet ? none
						       : one_file;
	char *file = c->answers->fleet ? (char *)"" : NULL;
	struct err err;

	for (; *words; words++) {
		const struct param_row *row = param_row_find(a->rows, *words);

		if (!argc) {
			auto_free char *choices = row && row->values ? help_of(row, false) : NULL;

			fprintf(stderr, "memoir %s: %s%s (memoir %s --help says more)\n", c->name,
				!row		    ? "which recording?"
				: c->answers->fleet ? "two parts of the fleet are needed, such as "
						      "'build = A' and 'build = B'"
				: choices	    ? "which? "
						    : "one more file is needed",
				choices ? choices : "", c->name);
			return NULL;
		}
		if (!row)
			file = *argv;
		else
			params_add(&a->params, *words, *argv, &err);
		argc--;
		argv++;
	}
	if (!argc)
		return file;
	fprintf(stderr, "memoir %s: %s (memoir %s --help says more)\n", c->name,
		c->answers->fleet ? "there are too many words" : "one recording at a time",
		c->name);
	return NULL;
}

/* Everything that was given on the line, and what a table is asked with besides. */
static bool take_params(const struct command *c, struct ask *a)
{
	auto_release(params_release) struct params defaults = { 0 };
	struct params *filters = filtering_params();
	struct err err;

	for (size_t i = 0; i < given.count; i++)
		params_add(&a->params, given.rows[i].name, given.rows[i].value, &err);
	for (size_t i = 0; i < filters->count; i++)
		params_add(&a->params, filters->rows[i].name, filters->rows[i].value, &err);
	if (c->answers->defaults && !as_json && !as_csv)
		params_decode_query(&defaults, c->answers->defaults, &err);
	if (c->answers->fit && !as_json && !as_csv) {
		struct buf text = { 0 };
		struct term term;

		term_init(&term, 1, color);
		c->answers->fit(&term, &text);
		params_decode_query(&defaults, text.data, &err);
		buf_release(&text);
	}
	for (size_t i = 0; i < defaults.count; i++)
		if (!ask_has(a, defaults.rows[i].name))
			params_add(&a->params, defaults.rows[i].name, defaults.rows[i].value, &err);
	return ask_check(a) && !(c->answers->question->check && c->answers->question->check(a));
}

static int write_answer(const struct command *c, struct ask *a, const char *path,
			const void *answer, int status)
{
	const struct question *q = c->answers->question;
	struct err err = { .offset = ERR_NO_OFFSET };
	struct printing p = {
		.ask = a, .path = path, .model = a->snapshot->model, .status = status
	};
	struct sink sink;

	sink_to_fd(&sink, 1, SINK_PLAIN);
	p.out = &sink.buf;
	term_init(&p.term, 1, color);
	if (as_json) {
		question_write(q, a, answer, &sink);
	} else if (as_csv) {
		c->answers->csv(&p, answer);
	} else {
		c->answers->print(&p, answer);
	}
	if (sink_finish(&sink, &err)) {
		fprintf(stderr, "memoir %s: %s\n", c->name, err.text);
		p.status = STATUS_FAILED;
	}
	if (c->answers->judge)
		c->answers->judge(&p, answer);
	return p.status;
}

/* Opens the file, asks, shows. */
static int ask_about(const struct command *c, struct ask *a, char *path)
{
	const struct question *q = c->answers->question;
	auto_free void *answer = xcalloc(1, q->size);
	struct open_options how = opening();
	int status, error;

	if (c->answers->fleet)
		a->snapshot = fleet_options_snapshot(c->name, &status);
	else
		a->snapshot = open_kind(c->name, path, q->kind, &how, &status);
	if (!a->snapshot)
		return status;
	open_naming_start();
	if (c->answers->all_names && !c->answers->fleet)
		locations_resolve_all(a->snapshot->locations);
	error = question_compute(q, a, answer);
	open_naming_end();
	if (a->fault.status)
		status = say_fault(c, a);
	else if (error) {
		fprintf(stderr, "memoir %s: %s\n", c->name, strerror(-error));
		status = STATUS_FAILED;
	} else {
		status = write_answer(c, a, path, answer,
				      other_status > status ? other_status : status);
	}
	if (q->release)
		q->release(answer);
	return status;
}

int answering_run(const struct command *c, int argc, char **argv)
{
	struct command asked = *c;
	struct ask a = {
		.fault = FAULT_NONE,
		.open = open_other,
		.open_source = answering_open_source,
		.door = &asked,
		.filters_repeat = true,
	};
	int status = STATUS_WRONG;
	auto_free char *found = NULL;
	char *path;

	if (c->answers->instead && c->answers->instead())
		asked.answers = c->answers->instead();
	c = &asked;
	a.rows = c->answers->question->params;
	a.filters = c->answers->question->filters;

	as_json |= !c->answers->print;
	if (as_json && as_csv) {
		fprintf(stderr, "memoir %s: --json or --csv, not both\n", c->name);
		return STATUS_WRONG;
	}
	path = take_words(c, &a, argc, argv);
	if (path && c->answers->find) {
		struct err err = { .offset = ERR_NO_OFFSET };

		path = found = c->answers->find(path, &err);
		if (!path) {
			fprintf(stderr, "memoir %s: %s\n", c->name, err.text);
			status = STATUS_FAILED;
		}
	}
	if (path && c->answers->of_folder && processes_is_folder(path)) {
		asked.answers = c->answers->of_folder;
		a.rows = asked.answers->question->params;
	}
	if (path && !take_params(c, &a))
		status = say_fault(c, &a);
	else if (path && (!c->answers->check || c->answers->check(&a)) &&
		 !(c->answers->show &&
		   c->answers->show(&a, path, color, !as_json && !as_csv, &status)))
		status = ask_about(c, &a, path);
	ask_release(&a);
	return status;
}

int answering_show(const struct command *c, char *path, bool json, const char *when_coloured)
{
	as_json = json;
	color = when_coloured;
	return answering_run(c, 1, &path);
}
