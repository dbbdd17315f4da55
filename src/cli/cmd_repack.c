/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir repack: the same recording, compressed otherwise; what is whole of a broken one. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cli/command.h"
#include "cli/save.h"
#include "cli/waiting.h"
#include "rewrite/repack.h"

/* A tenth smaller than what the recorder writes, at four million events a second. */
#define LEVEL_DEFAULT 9
#define LEVEL_MAX 22

static const char *path;
static struct output_codec codec = { CODEC_ZSTD, LEVEL_DEFAULT };

static const char *set_compression(const struct command_option *row, const char *value)
{
	char *end;
	long level;

	codec.level = LEVEL_DEFAULT;
	if (!strcmp(value, "none")) {
		codec.codec = CODEC_RAW;
	} else if (!strcmp(value, "lz4")) {
		codec.codec = CODEC_LZ4;
	} else if (!strcmp(value, "zstd")) {
		codec.codec = CODEC_ZSTD;
	} else if (!strncmp(value, "zstd:", 5)) {
		level = strtol(value + 5, &end, 10);
		if (!value[5] || *end || level < 1 || level > LEVEL_MAX)
			return "zstd's level is a number from 1 to 22";
		codec.codec = CODEC_ZSTD;
		codec.level = (int)level;
	} else {
		return "none, lz4, zstd or zstd:LEVEL";
	}
	return NULL;
}

static const char *disable_compression(const struct command_option *row, const char *value)
{
	return set_compression(row, "none");
}

static const struct command_option options[] = {
	VALUE("output", 'o', "OUT", "the file to write; needed", &path),
	CALL("compression", 'c', "HOW", "none, lz4, zstd or zstd:LEVEL, 1 to 22 (zstd:9)",
	     set_compression, .words = "none|lz4|zstd"),
	WAITING_ROW,
	CALL("disable-compression", 0, NULL, "the same as -c none", disable_compression),
	{ 0 },
};

static int run_repack(int argc, char **argv)
{
	struct repack_result result;
	struct save s;
	int status = save_open(&s, "repack", argc, argv, path, &codec);

	if (status)
		return status;
	repack(&s.source, s.output, &result);
	status = save_close(&s, result.chunks || result.loss.kind == LOSS_NONE ? 0 : -1,
			    &result.loss.err, &result.loss);
	if (s.size)
		save_say(&s, "; %s events", count_text(result.events));
	return status;
}

const struct command command_repack = {
	.name = "repack",
	.args = "FILE",
	.help = "rewrite a recording: compressed differently, or the intact part of a broken one",
	.examples = "  memoir repack -o small.dat app.dat\n"
		    "  memoir repack -c zstd:19 -o smallest.dat app.dat\n"
		    "  memoir repack -o whole.dat cut.dat      everything up to the damage\n",
	.options = options,
	.run = run_repack,
};
