/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The prompt of memoir script.  See prompt.h.
 *
 * libedit is loaded when a prompt is shown on a terminal: no other command has a use for it.
 * Without it lines are read as they are. */
#include "cli/prompt.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "script/script.h"

/* What libedit has of readline's functions. */
typedef char *match_generator(const char *word, int state);
typedef char **match_all(const char *word, int start, int end);

static struct {
	char *(*readline)(const char *prompt);
	int (*add_history)(const char *line);
	int (*read_history)(const char *path);
	int (*write_history)(const char *path);
	char **(*matches)(const char *word, match_generator *generator);
	match_all **completer;
	const char **word_breaks;
	char **buffer;
	int *append;
	int *over;
	FILE **output;
} edit;

static struct script *completed; /* whose names are completed */
static char *words, *next_word;
static char *history;
static atomic_bool *stopped;
static struct termios terminal_before;

static bool load_edit(void)
{
	void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&edit.readline = dlsym(library, "readline");
	*(void **)&edit.add_history = dlsym(library, "add_history");
	*(void **)&edit.read_history = dlsym(library, "read_history");
	*(void **)&edit.write_history = dlsym(library, "write_history");
	*(void **)&edit.matches = dlsym(library, "rl_completion_matches");
	edit.completer = dlsym(library, "rl_attempted_completion_function");
	edit.word_breaks = dlsym(library, "rl_basic_word_break_characters");
	edit.buffer = dlsym(library, "rl_line_buffer");
	edit.append = dlsym(library, "rl_completion_append_character");
	edit.over = dlsym(library, "rl_attempted_completion_over");
	edit.output = dlsym(library, "rl_outstream");
	return edit.readline && edit.add_history && edit.read_history && edit.write_history &&
	       edit.matches && edit.completer && edit.word_breaks && edit.buffer && edit.append &&
	       edit.over && edit.output;
}

static char *next_match(const char *word, int state)
{
	char *found = next_word;

	if (!found || !*found)
		return NULL;
	next_word = strchr(found, '\n');
	if (next_word)
		*next_word++ = '\0';
	return strdup(found); /* libedit frees it */
}

static char **complete(const char *word, int start, int end)
{
	auto_free char *text = xmemdup0(*edit.buffer, (size_t)end);
	struct buf out = { 0 };

	script_complete(completed, text, &out);
	free(words);
	next_word = words = out.data ? out.data : xstrdup("");
	*edit.over = 1; /* no names of files */
	*edit.append = '\0';
	return edit.matches(word, next_match);
}

/* libedit prints the prompt before it takes the terminal over.  A Ctrl-D in between, or while a
 * line runs, would be an end of file for nobody, and then a zero byte in the next line, which so is
 * not empty, and which no Ctrl-D ends.  Without a meaning for the terminal it waits for libedit. */
static void keep_end_keys(void)
{
	struct termios t;

	if (tcgetattr(0, &terminal_before))
		return;
	t = terminal_before;
	t.c_cc[VEOF] = _POSIX_VDISABLE;
	tcsetattr(0, TCSANOW, &t);
}

static void start_edit(struct script *s)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	/* Our stdout has no descriptor any more (harmless.h), and libedit asks for one. */
	if (!*edit.output)
		*edit.output = fdopen(dup(1), "w");
	keep_end_keys();
	completed = s;
	*edit.completer = complete;
	*edit.word_breaks = " \t\n.:()[]{},;+-*/<>=~#\"'&|";
	if (state && *state == '/')
		history = xasprintf("%s/memoir_script_history", state);
	else if (home && *home)
		history = xasprintf("%s/.memoir_script_history", home);
	if (history)
		edit.read_history(history);
}

/* The next line, to be freed, or NULL at the end of input. */
static char *next_line(bool editing, bool more)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t size;

	fflush(stdout);
	if (editing)
		return edit.readline(more ? ">> " : "> ");
	size = getline(&line, &room, stdin);
	if (size < 0) {
		free(line);
		return NULL;
	}
	if (size && line[size - 1] == '\n')
		line[size - 1] = '\0';
	return line;
}

static void on_interrupt(int signal_number)
{
	atomic_store(stopped, true);
}

/* "only_leaked?" is a question, and no beginning of anything. */
static bool is_question(const struct buf *text)
{
	return text->size > 1 && text->data[text->size - 1] == '?' &&
	       !memchr(text->data, '\n', text->size) && !memchr(text->data, '"', text->size);
}

/* One line, with those before it that it goes on: false at exit(). */
static bool run_line(struct script *s, struct buf *text, struct script_end *end)
{
	struct sigaction stop = { .sa_handler = on_interrupt }, before;

	atomic_store(stopped, false);
	sigaction(SIGINT, &stop, &before);
	end->status = SCRIPT_DONE;
	if (is_question(text)) {
		text->data[text->size - 1] = '\0';
		script_explain(s, text->data);
		buf_clear(text);
	} else if (script_run_line(s, text->data, text->size, end)) {
		buf_clear(text);
	} else {
		end->status = SCRIPT_DONE;
	}
	sigaction(SIGINT, &before, NULL);
	atomic_store(stopped, false);
	if (end->status == SCRIPT_EXITED)
		return false;
	fflush(stdout);
	if (end->status != SCRIPT_DONE)
		fprintf(stderr, "%s\n", end->text);
	return true;
}

int prompt_run(struct script *s, bool rhai, atomic_bool *stop)
{
	bool terminal = isatty(0) && isatty(1), editing = terminal && load_edit();
	struct script_end end = { .status = SCRIPT_DONE };
	auto_buf struct buf text = { 0 };
	bool failed = false;
	char *line;

	stopped = stop;
	if (editing)
		start_edit(s);
	if (terminal)
		printf("%s; help() lists what there is, a name and ? explain it, Ctrl-D ends.\n",
		       rhai ? "Rhai" : "Lua");
	while ((line = next_line(editing, text.size > 0))) {
		if (editing && *line)
			edit.add_history(line);
		buf_printf(&text, "%s%s", text.size ? "\n" : "", line);
		free(line);
		if (!run_line(s, &text, &end))
			break;
		failed |= end.status != SCRIPT_DONE;
	}
	if (text.size && end.status != SCRIPT_EXITED) {
		fprintf(stderr, "memoir script: the last line is not complete\n");
		failed = true;
	}
	if (editing && history)
		edit.write_history(history);
	if (editing)
		tcsetattr(0, TCSANOW, &terminal_before);
	if (terminal && !line)
		puts("");
	free(words);
	free(history);
	words = next_word = history = NULL;
	if (end.status == SCRIPT_EXITED)
		return end.code & 0xff;
	return failed && !terminal ? STATUS_FAILED : STATUS_DONE;
}
