/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc ctl: asks a running process's agent, and changes things in it.
 *
 * Every word is a row of a table: what is sent, and what its arguments become; changes are those of
 * client/controls.h.  What the agent answers is printed; what it refuses is one line, and the
 * exit status is 1. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/harmless.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/say.h"
#include "client/controls.h"
#include "client/http.h"

#define NAME "memoir jemalloc ctl"
#define TIMEOUT_MS 60000

static bool as_json;
static const char *output;
static uint64_t seconds;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE",
	      "of dump, pprof, recent, log-stop (heap.PID.N.heap, .pb.gz, .json); - is standard "
	      "output",
	      &output),
	VALUE("seconds", 's', "N", "of pprof: what changes in so many seconds", &seconds),
	AGENT_TOKEN_ROWS,
	FLAG("json", 0, "answers as they come", &as_json),
	{ 0 },
};

struct word {
	const char *word;
	const char *method, *path;
	struct control_param params[CONTROL_PARAMS];
	bool files; /* the answer is one */
	const char *args, *help;
};

static const struct word words[] = {
	{ "status", "GET", "/status", { { 0 } }, false, "", "the agent, jemalloc, totals" },
	{ "stats",
	  "GET",
	  "/stats",
	  { { "opts", CONTROL_TEXT, false } },
	  false,
	  "[LETTERS]",
	  "malloc_stats_print(); J: JSON" },
	{ "metrics", "GET", "/metrics", { { 0 } }, false, "", "for Prometheus" },
	{ "get",
	  "GET",
	  "/mallctl",
	  { { "name", CONTROL_TEXT, true } },
	  false,
	  "NAME",
	  "a value by its mallctl name" },
	{ "dump", "GET", "/pprof/heap", { { 0 } }, true, "", "a heap profile dump into a file" },
	{ "pprof", "GET", "/debug/pprof/heap", { { 0 } }, true, "", "the same for Go's pprof" },
	{ "recent",
	  "GET",
	  "/prof/recent",
	  { { 0 } },
	  true,
	  "",
	  "the last blocks that were sampled, for memoir jemalloc log" },
};

#define WORDS (sizeof(words) / sizeof(*words))

static const struct word *find_word(const char *text)
{
	static struct word change;
	static char path[64];
	const char *names[WORDS + 64] = { NULL };
	const char *nearest;
	size_t n = 0;

	for (size_t i = 0; i < WORDS; i++) {
		names[n++] = words[i].word;
		if (!strcmp(words[i].word, text))
			return &words[i];
	}
	for (const struct control *c = controls; c->name && n < WORDS + 63; c++) {
		names[n++] = c->word;
		if (strcmp(c->word, text) != 0)
			continue;
		snprintf(path, sizeof(path), "/control/%s", c->name);
		change = (struct word){ .word = c->word,
					.method = "POST",
					.path = path,
					.files = c->file,
					.args = c->args,
					.help = c->help };
		memcpy(change.params, c->params, sizeof(change.params));
		return &change;
	}
	nearest = args_nearest(text, names);
	fprintf(stderr, NAME ": '%s' is not a command%s%s%s\n", text,
		nearest ? "; did you mean " : "; see memoir jemalloc ctl --help",
		nearest ? nearest : "", nearest ? "?" : "");
	return NULL;
}

/* Path and query; 0, or 2 after saying what is wrong. */
static int make_target(const struct word *w, int argc, char **argv, struct buf *target)
{
	unsigned most = 0, needed = 0;

	for (; most < CONTROL_PARAMS && w->params[most].name; most++)
		needed += w->params[most].required;
	if ((unsigned)argc < needed || (unsigned)argc > most) {
		fprintf(stderr, NAME ": %s%s%s: %s\n", w->word, *w->args ? " " : "", w->args,
			w->help);
		return 2;
	}
	buf_text(target, w->path);
	for (int i = 0; i < argc; i++) {
		const char *value = argv[i];

		if (w->params[i].type == CONTROL_SWITCH) {
			if (!strcmp(value, "on"))
				value = "true";
			else if (!strcmp(value, "off"))
				value = "false";
			else
				return say_wrong(NAME, "on or off");
		}
		http_add_param(target, w->params[i].name, value);
	}
	if (seconds > 3600)
		return say_wrong(NAME, "--seconds is at most 3600");
	if (seconds && !strcmp(w->word, "pprof"))
		buf_printf(target, "?seconds=%" PRIu64, seconds);
	else if (seconds)
		return say_wrong(NAME, "--seconds is for pprof");
	if (output && !w->files)
		return say_wrong(NAME, "--output is for dump, pprof, recent and log-stop");
	return 0;
}

/* An object of JSON as lines "name: value"; the agent's own, so it is one. */
static void print_lines(const struct buf *body, struct buf *out)
{
	bool quoted = false;
	unsigned depth = 0;

	for (size_t i = 0; i < body->size; i++) {
		char c = body->data[i];

		if (c == '"') {
			quoted = !quoted;
		} else if (quoted) {
			size_t n = 1;
			bool control = false;

			if (c == '\\' && i + 1 < body->size)
				c = body->data[++i];
			else
				n = harmless_next(body->data + i, body->size - i, &control);
			if (n > 1 && !control)
				buf_add(out, body->data + i, n);
			else
				buf_printable(out, &c, 1);
			i += n - 1;
		} else if (c == '{' || c == ',') {
			depth += c == '{';
			if (depth > 1 || c == ',') {
				if (c == '{') /* no blank behind its name */
					out->size--;
				buf_char(out, '\n');
				buf_repeat(out, ' ', 2 * (depth - 1));
			}
		} else if (c == '}') {
			depth -= depth > 0;
		} else if (c == ':') {
			buf_text(out, ": ");
		} else if (c != '\n') {
			buf_char(out, c);
		}
	}
	buf_char(out, '\n');
}

static int save_file(const struct agents_entry *agent, const struct word *w, const struct buf *body)
{
	const char *ending = !strcmp(w->word, "dump")	 ? "heap"
			     : !strcmp(w->word, "pprof") ? "pb.gz"
							 : "json";
	auto_free char *chosen = NULL;
	struct sink sink;
	struct err err;

	for (unsigned i = 0; !output && !chosen; i++) {
		chosen = xasprintf("heap.%d.%u.%s", (int)agent->pid, i, ending);
		if (!access(chosen, F_OK) && i < 100000) {
			free(chosen);
			chosen = NULL;
		}
	}
	if (output && !strcmp(output, "-"))
		sink_to_fd(&sink, STDOUT_FILENO, SINK_PLAIN);
	else if (sink_to_file(&sink, output ? output : chosen, SINK_PLAIN, &err))
		goto failed;
	buf_add(&sink.buf, body->data, body->size);
	if (sink_finish(&sink, &err))
		goto failed;
	if (!output)
		printf("%s\n", chosen);
	return 0;
failed:
	fprintf(stderr, NAME ": %s: %s\n", output ? output : chosen, err.text);
	return 1;
}

static int run_jemalloc_ctl(int argc, char **argv)
{
	auto_buf struct buf target = { 0 }, body = { 0 }, out = { 0 };
	struct agents_entry agent;
	const struct word *w;
	struct err err = { .offset = ERR_NO_OFFSET };
	int status;

	if (argc < 2)
		return say_wrong(NAME, "which process, and what? See memoir jemalloc ctl --help");
	w = find_word(argv[1]);
	status = w ? make_target(w, argc - 2, argv + 2, &target) : 2;
	if (!status && agents_find(argv[0], &agent, &err))
		status = say_failed(NAME, NULL, &err);
	if (!status)
		status = agent_ask(NAME, &agent, w->method, target.data,
				   TIMEOUT_MS + (int)seconds * 1000, &body);
	if (!status && w->files) {
		status = save_file(&agent, w, &body);
	} else if (!status && body.size) {
		if (body.data[0] == '{' && !as_json && strcmp(w->word, "stats") != 0)
			print_lines(&body, &out);
		else
			buf_add(&out, body.data, body.size);
		status = buf_flush(&out, STDOUT_FILENO) ? 1 : 0;
	}
	return status;
}

static const char *word_at(unsigned i, const char **ret_help)
{
	if (i < WORDS) {
		*ret_help = words[i].help;
		return words[i].word;
	}
	*ret_help = controls[i - WORDS].help;
	return controls[i - WORDS].name ? controls[i - WORDS].word : NULL;
}

const struct command command_jemalloc_ctl = {
	.argument_word = word_at,
	.name = "jemalloc ctl",
	.args = "PID|ADDRESS COMMAND [ARGUMENT…]",
	.help = "asks a running process's agent, and changes things in it",
	.examples =
		"  memoir jemalloc ctl 1234 status | metrics | stats [LETTERS]\n"
		"  memoir jemalloc ctl 1234 get arenas.narenas\n"
		"  memoir jemalloc ctl 1234 set arena.0.dirty_decay_ms 1000\n"
		"  memoir jemalloc ctl 1234 purge [ARENA] | decay [ARENA]\n"
		"  memoir jemalloc ctl 1234 dirty-decay MS [ARENA] | muzzy-decay MS [ARENA]\n"
		"  memoir jemalloc ctl 1234 background on|off | background-max N | mutex-reset\n"
		"  memoir jemalloc ctl 1234 prof on|off | prof-threads on|off | gdump on|off\n"
		"  memoir jemalloc ctl 1234 reset [LG] | rate LG | prefix PREFIX\n"
		"  memoir jemalloc ctl 1234 log-start | log-stop | recent-max N | recent\n"
		"  memoir jemalloc ctl unix:/run/app.sock dump -o now.heap\n"
		"  memoir jemalloc ctl -s 10 http://localhost:7790 pprof\n"
		"  memoir jemalloc ctl 1234 dump-there /var/tmp/app.heap\n",
	.options = options,
	.numbers_are_arguments = true,
	.run = run_jemalloc_ctl,
};
