/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir script: an analysis as a program, in Lua; from a file, from the line, or at a prompt. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/kind.h"
#include "base/buf.h"
#include "base/human.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "cli/prompt.h"
#include "cli/waiting.h"
#include "query/value.h"
#include "script/script.h"

#define SCRIPT_SIZE_MAX (16u << 20)

static struct script_limits limits;
static const char *line;
static bool sandbox;
static char **recordings;
static size_t recording_count, recording_room;
static atomic_bool stop;
static int open_status; /* the worst of the files */

static const char *add_recording(const struct command_option *row, const char *value)
{
	recordings = xgrow(recordings, recording_count, &recording_room, sizeof(*recordings));
	recordings[recording_count++] = xstrdup(value);
	return NULL;
}

/* The row's context is what kind of value it is, its target where that goes. */
static const char *set_limit(const struct command_option *row, const char *text)
{
	static struct err err;
	struct value v;
	bool time = !strcmp(row->name, "time");

	if (value_parse(&v,
			time			       ? ARG_DURATION
			: !strcmp(row->name, "memory") ? ARG_SIZE
						       : ARG_COUNT,
			text, &err))
		return err.text;
	if (time)
		limits.time_ns = v.number;
	else if (!strcmp(row->name, "memory"))
		limits.memory = v.number;
	else
		limits.instructions = v.number;
	value_release(&v);
	return NULL;
}

static const struct command_option options[] = {
	{ "data", 'd', "FILE", "a recording, the script's data(); may be given again", COMMAND_CALL,
	  .set = add_recording },
	{ "execute", 'e', "TEXT", "this text is the script", COMMAND_TEXT, &line },
	{ "sandbox", 0, NULL, "let it reach no files and no programs", COMMAND_FLAG, &sandbox },
	{ "time", 0, "DURATION", "end it after so long", COMMAND_CALL, .set = set_limit },
	{ "memory", 0, "SIZE", "let its own values take no more", COMMAND_CALL, .set = set_limit },
	{ "instructions", 0, "N", "end it after so many steps", COMMAND_CALL, .set = set_limit },
	WAITING_ROWS,
	{ 0 },
};

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	struct buf picture = { 0 };

	if (kind != SCRIPT_PICTURE)
		return fwrite(bytes, 1, size, stdout) == size ? 0 : -EIO;
	buf_release(&picture);
	fprintf(stderr, "memoir script: %s was not written: --sandbox\n", name);
	return 0;
}

static struct snapshot *open_any(const char *path, struct err *err)
{
	struct open_options how = { .quiet = true };
	const struct kind *kind = NULL;
	char id[ID_SIZE];
	struct snapshot *s;
	int status;

	err->text[0] = '\0';
	if (!processes_is_folder(path)) {
		kind = kind_of(path, true, id, err);
		if (!kind)
			return NULL;
	}
	s = open_kind("script", (char *)path,
		      !kind				 ? "processes"
		      : !strcmp(kind->name, "recording") ? NULL
							 : kind->name,
		      &how, &status);
	if (status > open_status)
		open_status = status;
	return s;
}

static struct snapshot *open_for_script(void *context, const char *path, struct err *err)
{
	struct snapshot *s = open_any(path, err);
	struct err what = *err;

	if (!s && *what.text)
		err_set(err, -EINVAL, "%.100s: %.120s", path, what.text);
	return s;
}

/* The second one ends the command as it would have without this. */
static void on_interrupt(int signal_number)
{
	atomic_store(&stop, true);
	signal(SIGINT, SIG_DFL);
}

static struct script *make_script(int argc, char **argv)
{
	struct script_options o = {
		.host = { .put = put,
			  .open = sandbox ? NULL : open_for_script,
			  .open_source = answering_open_source },
		.limits = limits,
		.sandbox = sandbox,
		.stop = &stop,
		.argc = argc,
		.argv = argv,
	};

	return script_new(&o);
}

static bool add_recordings(struct script *s)
{
	struct err err;

	for (size_t i = 0; i < recording_count; i++) {
		struct snapshot *snapshot = open_any(recordings[i], &err);

		if (!snapshot) {
			if (*err.text)
				fprintf(stderr, "memoir script: %s: %s\n", recordings[i], err.text);
			return false;
		}
		script_add(s, snapshot);
		snapshot_drop(snapshot);
	}
	return true;
}

/* What the command ends with. */
static int tell_end(const struct script_end *end)
{
	if (end->status == SCRIPT_EXITED)
		return end->code & 0xff;
	if (end->status == SCRIPT_DONE)
		return open_status;
	fflush(stdout);
	fprintf(stderr, "memoir script: %s\n", end->text);
	return end->status == SCRIPT_SYNTAX ? STATUS_WRONG : STATUS_FAILED;
}

static int run_text(struct script *s, const char *name, const char *text, size_t size)
{
	struct script_end end;
	int status;

	signal(SIGINT, on_interrupt);
	script_run(s, name, text, size, &end);
	status = tell_end(&end);
	if (fflush(stdout)) {
		fprintf(stderr, "memoir script: the output cannot be written: %s\n",
			strerror(errno));
		status = STATUS_FAILED;
	}
	return status;
}

static int run_file(struct script *s, const char *path)
{
	auto_close int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : dup(0);
	struct buf text = { 0 };
	int status = STATUS_FAILED, error = fd < 0 ? -errno : 0;

	if (!error)
		error = read_to_end(fd, &text, SCRIPT_SIZE_MAX);
	if (error)
		fprintf(stderr, "memoir script: %s: %s\n", path, strerror(-error));
	else if (text.size > SCRIPT_SIZE_MAX)
		fprintf(stderr, "memoir script: %s: that is no script: it is too long\n", path);
	else
		status = run_text(s, path, text.data ? text.data : "", text.size);
	buf_release(&text);
	return status;
}

/* memoir script RECORDING: a prompt about it. */
static bool is_data(const char *path)
{
	struct err err;
	char id[ID_SIZE];
	struct stat st;

	return !stat(path, &st) &&
	       (processes_is_folder(path) ||
		(S_ISREG(st.st_mode) && kind_of(path, false, id, &err) != NULL));
}

static int run_script(int argc, char **argv)
{
	const char *file = NULL;
	struct script *s;
	int status = STATUS_FAILED;

	while (!line && argc && is_data(argv[0])) {
		add_recording(NULL, argv[0]);
		argc--;
		argv++;
	}
	if (!line && argc) {
		file = argv[0];
		argc--;
		argv++;
	}
	s = make_script(argc, argv);
	if (add_recordings(s)) {
		if (line)
			status = run_text(s, "-e", line, strlen(line));
		else if (file)
			status = run_file(s, file);
		else
			status = prompt_run(s, &stop);
	}
	script_free(s);
	return status;
}

const struct command command_script = {
	.name = "script",
	.args = "[FILE] [ARGUMENT…]",
	.help = "an analysis as a program, in Lua; a prompt without one",
	.examples = "  memoir script -d app.dat                       # a prompt; help() helps\n"
		    "  memoir script -d app.dat -e 'print(allocations():only_leaked():len())'\n"
		    "  memoir script report.lua -d before.dat -d after.dat\n"
		    "  memoir script leaks.rhai -d app.dat            # Bytehound's language\n",
	.options = options,
	.run = run_script,
};
