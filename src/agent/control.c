/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /control/…: changes, each with what it reads back; and /mallctl, which only reads.
 *
 * Callers may change the program (answer_may_change), and each change is one line in
 * the program's log. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/answer.h"
#include "agent/ctl.h"
#include "agent/dump.h"
#include "agent/jemalloc.h"

#define ALL_ARENAS 4096u
#define FIRST_WITH_DECAY 40100
#define FIRST_WITH_DECAY_MS 50000

/* jemalloc's answer as ours. */
static void failed(struct exchange *x, const char *name, int e)
{
	switch (e) {
	case ENOENT:
		answer_missing(x, name);
		break;
	case EPERM:
		answer_line(x, 403, "%s can only be read", name);
		break;
	case EINVAL:
	case EFAULT:
		answer_line(x, 400, "%s: jemalloc refuses this (%s)", name, strerror(e));
		break;
	default:
		answer_line(x, 500, "%s: %s", name, strerror(e));
	}
}

/* {"NAME": value} of what it is now; an action has none. */
static void read_back(struct exchange *x, const struct ctl_row *row, const char *name)
{
	int e;

	x->type = "application/json";
	text_char(&x->out, '{');
	text_json(&x->out, name);
	text_char(&x->out, ':');
	if (!(row->access & CTL_READ)) {
		text_str(&x->out, "null}\n");
		return;
	}
	e = ctl_print(row, name, &x->out);
	if (e)
		failed(x, name, e);
	else
		text_str(&x->out, "}\n");
}

/* A profiler's name where it was not enabled is not a name that is missing. */
static bool ready_for(struct exchange *x, const char *name)
{
	return strncmp(name, "prof.", 5) && strncmp(name, "experimental.prof_", 18)
		       ? answer_needs_jemalloc(x)
		       : answer_needs_prof(x);
}

static void control_set(struct exchange *x, const struct ctl_row *row, const char *name,
			const char *text)
{
	union ctl_value value = { .u64 = 0 };
	size_t size = ctl_parse(row, text, &value);
	int e;

	if (!size && row->type != CTL_ACTION) {
		answer_line(x, 400, "%s: '%.60s' is not a %s", name, text,
			    ctl_type_name(row->type));
		return;
	}
	e = jemalloc_set(name, size ? &value : NULL, size);
	if (e) {
		failed(x, name, e);
		return;
	}
	answer_log(x, "%s%s%.100s", name, size ? " = " : "", size ? text : "");
	read_back(x, row, name);
}

void control_read(struct exchange *x)
{
	char name[128];
	const struct ctl_row *row;
	uint64_t epoch = 1;

	if (!answer_param(x, "name", name, sizeof(name), true))
		return;
	row = ctl_find(name);
	if (!row || !(row->access & CTL_READ)) {
		answer_line(x, 403, "%.100s may not be read from here", name);
		return;
	}
	if (!ready_for(x, name))
		return;
	jemalloc_set("epoch", &epoch, sizeof(epoch));
	read_back(x, row, name);
}

void control_write(struct exchange *x)
{
	char name[128], value[1024] = "", type[16] = "";
	const struct ctl_row *row;
	bool given;

	if (!answer_may_change(x) || !answer_param(x, "name", name, sizeof(name), true))
		return;
	row = ctl_find(name);
	if (!row || !(row->access & CTL_WRITE)) {
		answer_line(x, 403, "%.100s may not be changed from here", name);
		return;
	}
	if (!ready_for(x, name))
		return;
	given = answer_param(x, "value", value, sizeof(value), row->type != CTL_ACTION);
	if (x->status != 200)
		return;
	if (given && row->type == CTL_ACTION) {
		answer_line(x, 400, "%s takes no value", name);
		return;
	}
	if (answer_param(x, "type", type, sizeof(type), false) &&
	    strcmp(type, ctl_type_name(row->type))) {
		answer_line(x, 400, "%s is of type %s", name, ctl_type_name(row->type));
		return;
	}
	if (x->status == 200)
		control_set(x, row, name, value);
}

/* Paths that are one name each. */
static const struct {
	const char *path, *name;
} singles[] = {
	{ "/control/prof/active", "prof.active" },
	{ "/control/prof/thread_active_init", "prof.thread_active_init" },
	{ "/control/prof/gdump", "prof.gdump" },
	{ "/control/prof/prefix", "prof.prefix" },
	{ "/control/prof/recent", "experimental.prof_recent.alloc_max" },
	{ "/control/background_thread", "background_thread" },
	{ "/control/max_background_threads", "max_background_threads" },
	{ "/control/mutexes/reset", "stats.mutexes.reset" },
};

void control_single(struct exchange *x)
{
	const char *name = NULL;
	const struct ctl_row *row;
	char value[1024] = "";

	for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++)
		if (!strcmp(singles[i].path, x->request.path))
			name = singles[i].name;
	row = ctl_find(name);
	if (!answer_may_change(x) || !ready_for(x, name))
		return;
	if (row->type != CTL_ACTION && !answer_param(x, "value", value, sizeof(value), true))
		return;
	control_set(x, row, name, value);
}

/* prof.reset, which forgets all samples, with another rate if one is given. */
void control_prof_reset(struct exchange *x)
{
	bool rate = !strcmp(x->request.path, "/control/prof/rate"), given;
	char text[32];
	size_t lg = 0, now = 0;
	int e;

	if (!answer_may_change(x) || !answer_needs_prof(x))
		return;
	given = answer_param(x, "lg_sample", text, sizeof(text), false);
	if (given) {
		char *end;

		lg = strtoull(text, &end, 10);
		if (*end || end == text || *text == '-' || lg > 63) {
			answer_line(x, 400, "lg_sample is a number from 0 to 63");
			return;
		}
	} else if (x->status == 200 && answer_param(x, "bytes", text, sizeof(text), false)) {
		unsigned long long bytes = strtoull(text, NULL, 10);

		given = true;
		while (lg < 63 && 1ull << lg < bytes)
			lg++;
		if (!bytes || 1ull << lg != bytes) {
			answer_line(x, 400, "bytes is a power of two");
			return;
		}
	}
	if (x->status != 200)
		return;
	if (rate && !given) {
		answer_line(x, 400, "lg_sample= or bytes= is missing");
		return;
	}
	e = jemalloc_set("prof.reset", given ? &lg : NULL, given ? sizeof(lg) : 0);
	if (e) {
		failed(x, "prof.reset", e);
		return;
	}
	jemalloc_get("prof.lg_sample", &now);
	answer_log(x, "prof.reset, a sample every 2^%zu bytes", now);
	x->type = "application/json";
	text_printf(&x->out, "{\"prof.lg_sample\":%zu}\n", now);
}

/* The arena that is asked for, or all; false: answered. */
static bool choose_arena(struct exchange *x, unsigned *ret)
{
	char text[16], *end;

	*ret = ALL_ARENAS;
	if (!answer_param(x, "arena", text, sizeof(text), false))
		return x->status == 200;
	if (!strcmp(text, "all"))
		return true;
	*ret = (unsigned)strtoull(text, &end, 10);
	if (*end || end == text || *ret >= ALL_ARENAS) {
		answer_line(x, 400, "arena is a number, or all");
		return false;
	}
	return true;
}

static size_t resident(void)
{
	uint64_t epoch = 1;
	size_t value = 0;

	jemalloc_set("epoch", &epoch, sizeof(epoch));
	jemalloc_get("stats.resident", &value);
	return value;
}

/* /control/purge and /control/decay */
void control_purge(struct exchange *x)
{
	const char *what = strrchr(x->request.path, '/') + 1;
	unsigned arena;
	char name[64];
	size_t before;
	int e;

	if (!answer_may_change(x) || !answer_needs_jemalloc(x) || !choose_arena(x, &arena))
		return;
	before = resident();
	snprintf(name, sizeof(name), "arena.%u.%s",
		 arena == ALL_ARENAS ? jemalloc_all_arenas() : arena, what);
	e = jemalloc_set(name, NULL, 0);
	if (e) {
		failed(x, name, e);
		return;
	}
	answer_log(x, "%s", name);
	x->type = "application/json";
	text_printf(&x->out, "{\"resident_before\":%zu,\"resident\":%zu}\n", before, resident());
}

/* What this version calls it.  Before 5.0 there is one time for all unused pages, in seconds, and
 * only where it was chosen at the start.  False: answered. */
static bool decay_name(struct exchange *x, const char *what, ssize_t *value, const char **ret)
{
	const char *purge = NULL;

	*ret = what;
	if (jemalloc.release >= FIRST_WITH_DECAY_MS)
		return true;
	if (strcmp(what, "dirty_decay_ms") || jemalloc.release < FIRST_WITH_DECAY) {
		answer_missing(x, what);
		return false;
	}
	if (jemalloc_get("opt.purge", &purge) || !purge || strcmp(purge, "decay")) {
		answer_line(x, 409,
			    "jemalloc %.20s gives pages back by their number here: start with "
			    "MALLOC_CONF=purge:decay for a time",
			    jemalloc.version);
		return false;
	}
	if (*value > 0)
		*value = (*value + 999) / 1000;
	*ret = "decay_time";
	return true;
}

/* /control/dirty_decay_ms and /control/muzzy_decay_ms: jemalloc refuses "all arenas" here. */
void control_decay_ms(struct exchange *x)
{
	const char *what = strrchr(x->request.path, '/') + 1;
	unsigned arena, done = 0, count = 0;
	char text[32], name[64], *end;
	const char *own;
	ssize_t value;
	int e = 0;

	if (!answer_may_change(x) || !answer_needs_jemalloc(x) || !choose_arena(x, &arena) ||
	    !answer_param(x, "value", text, sizeof(text), true))
		return;
	value = (ssize_t)strtoll(text, &end, 10);
	if (*end || end == text || value < -1) {
		answer_line(x, 400, "value is milliseconds, or -1 for never");
		return;
	}
	if (!decay_name(x, what, &value, &own))
		return;
	jemalloc_get("arenas.narenas", &count);
	for (unsigned i = 0; i < count && !e; i++) {
		if ((arena != ALL_ARENAS && arena != i) || !jemalloc_has_arena(i))
			continue;
		snprintf(name, sizeof(name), "arena.%u.%s", i, own);
		e = jemalloc_set(name, &value, sizeof(value));
		done += !e;
	}
	if (!e && arena == ALL_ARENAS) {
		snprintf(name, sizeof(name), "arenas.%s", own);
		e = jemalloc_set(name, &value, sizeof(value));
	} else if (!e && !done) {
		answer_line(x, 404, "there is no arena %u", arena);
		return;
	}
	if (e) {
		failed(x, name, e);
		return;
	}
	if (own != what && value > 0) /* as it is now */
		value *= 1000;
	answer_log(x, "%s = %zd in %u arenas%s", what, value, done,
		   arena == ALL_ARENAS ? " and new ones" : "");
	x->type = "application/json";
	text_printf(&x->out, "{\"%s\":%zd,\"arenas\":%u,\"default\":%s}\n", what, value, done,
		    arena == ALL_ARENAS ? "true" : "false");
}

/* To the client, or with path= into a new file of the program's user. */
void control_dump(struct exchange *x)
{
	char path[1024];
	bool to_file;
	int fd;

	if (!answer_may_change(x) || !answer_needs_prof(x))
		return;
	to_file = answer_param(x, "path", path, sizeof(path), false);
	if (x->status != 200 || !dump_answer(x))
		return;
	answer_log(x, "prof.dump%s%s", to_file ? " to " : "", to_file ? path : "");
	if (!to_file)
		return;
	fd = *path == '/' ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
			  : -1;
	if (fd < 0) {
		answer_line(x, 400, "%.500s: %s", path,
			    *path == '/' ? strerror(errno) : "the path must begin with /");
		return;
	}
	for (size_t at = 0; at < x->out.size;) {
		ssize_t n = write(fd, x->out.data + at, x->out.size - at);

		if (n < 0) {
			answer_line(x, 500, "%.500s: %s", path, strerror(errno));
			unlink(path);
			break;
		}
		at += (size_t)n;
	}
	close(fd);
	if (x->status != 200)
		return;
	x->type = "application/json";
	fd = (int)x->out.size;
	x->out.size = 0;
	text_str(&x->out, "{\"path\":");
	text_json(&x->out, path);
	text_printf(&x->out, ",\"size\":%d}\n", fd);
}
