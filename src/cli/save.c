/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making a recording of another one, seen from the command line.  See save.h. */
#include "cli/save.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "cli/waiting.h"

int save_error(const char *path, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, "memoir: %s: %s\n", path, err->text);
	else
		fprintf(stderr, "memoir: %s: at offset %" PRIu64 ": %s\n", path, err->offset,
			err->text);
	return 1;
}

/* What is half done is taken away when the user loses patience. */
static char unfinished[RECORDING_PATH_SIZE];

static void interrupted(int signal_number)
{
	unlink(unfinished);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void watch_signals(const char *path)
{
	if (path)
		snprintf(unfinished, sizeof(unfinished), "%s", path);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		/* Not where it is ignored, as under nohup. */
		if (signal(signals[i], path ? interrupted : SIG_DFL) == SIG_IGN)
			signal(signals[i], SIG_IGN);
}

/* Between the file's making and the knowledge of its name nobody may be interrupted. */
static int open_watched(struct save *s, const struct output_codec *codec, struct err *err)
{
	sigset_t held, before;
	int error;

	sigemptyset(&held);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&held, signals[i]);
	sigprocmask(SIG_BLOCK, &held, &before);
	error = output_open(&s->output, s->path, &s->source.reader, codec, err);
	if (!error)
		watch_signals(s->output->temporary);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

int save_open(struct save *s, const char *command, int argc, char **argv, const char *path,
	      const struct output_codec *codec)
{
	const char *wrong = argc > 1 ? "one recording at a time"
			    : !argc  ? "which recording?"
			    : !path  ? "where to? -o names the file"
				     : NULL;
	struct err err;

	memset(s, 0, sizeof(*s));
	s->command = command;
	if (wrong) {
		fprintf(stderr, "memoir %s: %s (memoir %s --help says more)\n", command, wrong,
			command);
		return 2;
	}
	s->input = argv[0];
	s->path = path;
	waiting_for_file(s->input);
	if (source_open(&s->source, s->input, &err))
		return save_error(s->input, &err);
	if (open_watched(s, codec, &err)) {
		source_release(&s->source);
		return save_error(path, &err);
	}
	s->source.progress = save_progress;
	s->source.context = s;
	progress_start(&s->bar, command);
	return 0;
}

void save_progress(void *context, uint64_t done, uint64_t total)
{
	progress_update(&((struct save *)context)->bar, done, total);
}

static void say_loss(const struct save *s, const struct loss *loss)
{
	if (loss->kind == LOSS_NONE)
		return;
	fprintf(stderr, "memoir: %s: %s at offset %" PRIu64 ": %s; everything before it is in %s\n",
		s->input, loss->kind == LOSS_CUT ? "the end is missing" : "damaged",
		loss->err.offset, loss->err.text, s->path);
}

int save_close(struct save *s, int error, const struct err *err, const struct loss *loss)
{
	struct err written;
	int status = 0;

	progress_end(&s->bar);
	if (error && !output_failed(s->output))
		status = save_error(s->input, err);
	else if (output_finish(s->output, &s->size, &written))
		status = save_error(s->path, &written);
	watch_signals(NULL);
	s->output = output_free(s->output);
	source_release(&s->source);
	if (status)
		return status;
	say_loss(s, loss);
	return loss->kind == LOSS_DAMAGED ? 1 : 0;
}

void save_say(const struct save *s, const char *format, ...)
{
	va_list args;

	printf("%s: %s, was %s", s->path, size_text(s->size), size_text(s->source.reader.size));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}
