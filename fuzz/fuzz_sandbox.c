/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Any text as a script in the sandbox, in Rhai if it begins with "//": it ends, within its limits,
 * with a reason where it failed, and reaches no file and no program.
 *
 * What would reach one is this program's own: see below. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "random_recording.h"
#include "script/state.h"

#define MEMORY (16u << 20)
#define INSTRUCTIONS 300000
#define TIME_NS 2000000000u
#define OUTPUT_MAX (1u << 20)

static bool inside; /* a script runs */

/* Lua's libraries, and loadfile(), would call these. */
#define KEPT_OUT(type, name, args, values)                                                         \
	type name args                                                                             \
	{                                                                                          \
		static type(*real) args;                                                           \
                                                                                                   \
		if (inside)                                                                        \
			abort();                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		return real values;                                                                \
	}

KEPT_OUT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
KEPT_OUT(FILE *, freopen, (const char *path, const char *mode, FILE *file), (path, mode, file))
KEPT_OUT(FILE *, popen, (const char *command, const char *mode), (command, mode))
KEPT_OUT(FILE *, tmpfile, (void), ())
KEPT_OUT(int, system, (const char *command), (command))
KEPT_OUT(int, remove, (const char *path), (path))
KEPT_OUT(int, rename, (const char *from, const char *to), (from, to))

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	size_t *left = context;
	unsigned char sum = 0;

	if (size > *left)
		return -EFBIG;
	*left -= size;
	/* Read all of it, as who takes it would. */
	for (size_t i = 0; i < size; i++)
		sum += ((const unsigned char *)bytes)[i];
	__asm__ volatile("" : : "r"(sum));
	return 0;
}

static struct snapshot *recording(void)
{
	static struct snapshot *s;

	if (!s) {
		s = snapshot_new();
		s->model = random_recording(
			&(struct random_options){ .seed = 5, .events = 300, .nodes = 12 });
		s->locations = locations_new(s->model, NULL);
		s->name = xstrdup("made");
	}
	return s;
}

FUZZ(sandbox, data, size)
{
	size_t left = OUTPUT_MAX;
	struct script_options o = {
		.host = { .put = put, .takes_tables = true, .context = &left },
		.limits = { .memory = MEMORY, .instructions = INSTRUCTIONS, .time_ns = TIME_NS },
		.sandbox = true,
		.shows = true,
	};
	bool rhai = size > 2 && !memcmp(data, "//", 2);
	struct snapshot *snapshot = recording();
	struct script *s = script_new(&o);
	struct script_end end;

	script_add(s, snapshot);
	inside = true;
	script_run(s, rhai ? "fuzz.rhai" : "fuzz", (const char *)data, size, &end);
	inside = false;
	if (end.status > SCRIPT_EXITED || s->memory > MEMORY)
		abort();
	if (end.status != SCRIPT_DONE && end.status != SCRIPT_EXITED && !*end.text)
		abort();
	script_free(s);
	return 0;
}
