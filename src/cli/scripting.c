/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings and limits of scripts.  See scripting.h. */
#include "cli/scripting.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/kind.h"
#include "base/xalloc.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "query/value.h"

struct script_limits scripting_limits;
static char **recordings;
static size_t recording_count, recording_room;

const char *scripting_add_data(const struct command_option *row, const char *value)
{
	*xpush(recordings, recording_count, recording_room) = xstrdup(value);
	return NULL;
}

const char *scripting_set_limit(const struct command_option *row, const char *text)
{
	static struct err err;
	struct value v;
	bool time = !strcmp(row->name, "time"), memory = !strcmp(row->name, "memory");

	if (value_parse(&v, time ? ARG_DURATION : memory ? ARG_SIZE : ARG_COUNT, text, &err))
		return err.text;
	if (time)
		scripting_limits.time_ns = v.number;
	else if (memory)
		scripting_limits.memory = v.number;
	else
		scripting_limits.instructions = v.number;
	value_release(&v);
	return NULL;
}

bool scripting_is_data(const char *path)
{
	struct err err;
	char id[ID_SIZE];
	struct stat st;

	return !stat(path, &st) &&
	       (processes_is_folder(path) ||
		(S_ISREG(st.st_mode) && kind_of(path, false, id, &err) != NULL));
}

struct snapshot *scripting_open(const char *path, struct err *err, int *status)
{
	struct open_options how = { .quiet = true };
	const struct kind *kind = &kind_processes;
	char id[ID_SIZE];
	struct snapshot *s;
	int opened;

	err->text[0] = '\0';
	if (!processes_is_folder(path)) {
		kind = kind_of(path, true, id, err);
		if (!kind)
			return NULL;
	}
	s = open_kind("script", (char *)path, !strcmp(kind->name, "recording") ? NULL : kind->name,
		      &how, &opened);
	if (opened > *status)
		*status = opened;
	return s;
}

bool scripting_give_data(struct script *s, int *status)
{
	struct err err;

	for (size_t i = 0; i < recording_count; i++) {
		struct snapshot *snapshot = scripting_open(recordings[i], &err, status);

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
