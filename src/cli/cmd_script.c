/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir script: an analysis as a program, in Lua; from a file, from the line, or at a prompt. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "cli/answering.h"
#include "cli/prompt.h"
#include "cli/scripting.h"
#include "cli/waiting.h"
#include "script/script.h"

#define SCRIPT_SIZE_MAX (16u << 20)

static const char *line;
static bool sandbox, rhai;
static atomic_bool stop;
static int open_status; /* the worst of the files */

static const struct command_option options[] = {
	SCRIPTING_ROWS,
	VALUE("execute", 'e', "TEXT", "this text is the script", &line),
	FLAG("sandbox", 0, "let it reach no files and no programs", &sandbox),
	FLAG("rhai", 0, "it is in Rhai, whatever the file's name is; so is a prompt", &rhai),
	WAITING_ROWS,
	{ 0 },
};

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	if (kind != SCRIPT_PICTURE)
		return fwrite(bytes, 1, size, stdout) == size ? 0 : -EIO;
	fprintf(stderr, "memoir script: %s was not written: --sandbox\n", name);
	return 0;
}

static struct snapshot *open_for_script(void *context, const char *path, struct err *err)
{
	struct snapshot *s = scripting_open(path, err, &open_status);
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
		.limits = scripting_limits,
		.sandbox = sandbox,
		.rhai = rhai,
		.stop = &stop,
		.argc = argc,
		.argv = argv,
	};

	return script_new(&o);
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
	auto_buf struct buf text = { 0 };
	int status = STATUS_FAILED, error = fd < 0 ? -errno : 0;

	if (!error)
		error = read_to_end(fd, &text, SCRIPT_SIZE_MAX);
	if (error)
		fprintf(stderr, "memoir script: %s: %s\n", path, strerror(-error));
	else if (text.size > SCRIPT_SIZE_MAX)
		fprintf(stderr, "memoir script: %s: that is no script: it is too long\n", path);
	else
		status = run_text(s, path, text.data ? text.data : "", text.size);
	return status;
}

static int run_script(int argc, char **argv)
{
	const char *file = NULL;
	struct script *s;
	int status = STATUS_FAILED;

	/* memoir script RECORDING: a prompt about it. */
	while (!line && argc && scripting_is_data(argv[0])) {
		scripting_add_data(NULL, argv[0]);
		argc--;
		argv++;
	}
	if (!line && argc) {
		file = argv[0];
		argc--;
		argv++;
	}
	s = make_script(argc, argv);
	if (scripting_give_data(s, &open_status)) {
		if (line)
			status = run_text(s, "-e", line, strlen(line));
		else if (file)
			status = run_file(s, file);
		else
			status = prompt_run(s, rhai, &stop);
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
