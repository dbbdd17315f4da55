/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir postprocess: a recording that needs no other file, and tells no more than it should. */
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/save.h"
#include "cli/waiting.h"
#include "rewrite/postprocess.h"

static const char *path;
static enum anonymity anonymity;
static bool debuginfod;
static const char **debug_paths;
static size_t debug_path_count, debug_path_room;

static const char *add_debug_path(const struct command_option *row, const char *value)
{
	*xpush(debug_paths, debug_path_count, debug_path_room) = value;
	return NULL;
}

static const char *set_anonymity(const struct command_option *row, const char *value)
{
	static const char *const words[] = { "none", "partial", "full" };

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(value, words[i])) {
			anonymity = (enum anonymity)i;
			return NULL;
		}
	return "none, partial or full";
}

static const struct command_option options[] = {
	VALUE("output", 'o', "OUT", "the file to write; needed", &path),
	CALL("debug-symbols", 'd', "PATH",
	     "a file, or a folder, with debug information; may repeat", add_debug_path),
	FLAG("debuginfod", 0, "ask the servers of DEBUGINFOD_URLS", &debuginfod),
	CALL("anonymize", 'a', "HOW", "none, partial or full (none)", set_anonymity,
	     .words = "none|partial|full"),
	WAITING_ROW,
	{ 0 },
};

static int run_postprocess(int argc, char **argv)
{
	struct postprocess_result result = { 0 };
	struct postprocess_options how = { .anonymity = anonymity };
	struct err err;
	struct save s;
	int status = save_open(&s, "postprocess", argc, argv, path, NULL), error;

	if (!status) {
		how.progress = how.locations.progress = save_progress;
		how.context = how.locations.context = &s;
		how.locations.debug_paths = debug_paths;
		how.locations.debug_path_count = debug_path_count;
		how.locations.debuginfod = debuginfod;
		error = postprocess(&s.source, s.input, s.output, &how, &result, &err);
		status = save_close(&s, error, &err, &result.loss);
		if (s.size)
			save_say(&s, "; %s of %s addresses have names, %s of files left out",
				 count_text(result.named), count_text(result.locations),
				 size_text(result.file_bytes));
	}
	free(debug_paths);
	return status;
}

const struct command command_postprocess = {
	.name = "postprocess",
	.args = "FILE",
	.help = "look up all names and keep them in the recording; hide what is private",
	.examples = "  memoir postprocess -o named.dat app.dat\n"
		    "  memoir postprocess -d /srv/debug -o named.dat app.dat\n"
		    "  memoir postprocess -a full -o give-away.dat app.dat\n",
	.options = options,
	.run = run_postprocess,
};
