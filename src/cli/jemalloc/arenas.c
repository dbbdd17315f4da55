/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arenas over time.  See arenas.h. */
#include "cli/jemalloc/arenas.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "jemalloc/snapshots.h"

#define MIB (UINT64_C(1) << 20)
#define THRESHOLD_MAX (UINT64_C(1) << 40) /* MiB */

static const char *const names[] = { "total", "active", "mapped" };

static void add_iteration(struct arenas *s)
{
	s->iterations = xgrow(s->iterations, s->count, &s->room, sizeof(*s->iterations));
	s->iterations[s->count++] = (struct arenas_iteration){ .first = s->arena_count };
}

static struct arenas_row *add_arena(struct arenas *s, uint64_t id)
{
	struct arenas_row *a;

	s->arenas = xgrow(s->arenas, s->arena_count, &s->arena_room, sizeof(*s->arenas));
	a = &s->arenas[s->arena_count++];
	*a = (struct arenas_row){ id, { STATS_NONE, STATS_NONE, STATS_NONE } };
	s->iterations[s->count - 1].count++;
	return a;
}

static int by_id(const void *x, const void *y)
{
	const struct arenas_row *a = x, *b = y;

	return (a->id > b->id) - (a->id < b->id);
}

static void sort(struct arenas *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->iterations[i].count)
			qsort(s->arenas + s->iterations[i].first, s->iterations[i].count,
			      sizeof(*s->arenas), by_id);
}

static void take(struct arenas *s, const struct stats *stats)
{
	add_iteration(s);
	for (size_t i = 0; i < stats->arena_count; i++) {
		const struct stats_arena *from = &stats->arenas[i];
		struct arenas_row *a;

		if (from->id < 0)
			continue;
		a = add_arena(s, (uint64_t)from->id);
		a->value[ARENAS_TOTAL] = from->value[STATS_ARENA_TOTAL_ALLOCATED];
		a->value[ARENAS_ACTIVE] = from->value[STATS_ARENA_ACTIVE];
		a->value[ARENAS_MAPPED] = from->value[STATS_ARENA_MAPPED];
	}
}

static int load_stats(struct arenas *s, const char *path)
{
	struct err err = { .text = "" };
	struct snapshots r;
	int n = snapshots_open(&r, path, &err);

	if (!n)
		while ((n = snapshots_next(&r, &err)) == 1 || n == -EBADMSG) {
			if (n == 1) {
				take(s, &r.stats);
				continue;
			}
			fprintf(stderr, "memoir %s: %s, offset %" PRIu64 ": %s\n", s->command, path,
				err.offset, err.text);
			s->status = 1;
		}
	if (n)
		fprintf(stderr, "memoir %s: %s: %s\n", s->command, path, err.text);
	else if (!s->count && !s->status)
		fprintf(stderr, "memoir %s: %s holds no jemalloc statistics: %s\n", s->command,
			path, snapshots_guess(&r));
	snapshots_close(&r);
	return n || !s->count;
}

/* One call a line: arenas('sum') begins an iteration, arenas(N) an arena, total(N) … are of that.
 */
static void take_line(struct arenas *s, struct arenas_row **arena, const char *line)
{
	unsigned long long value;

	line += strspn(line, " \t");
	if (!strncmp(line, "arenas('sum')", 13)) {
		add_iteration(s);
		*arena = NULL;
	} else if (sscanf(line, "arenas(%llu)", &value) == 1 && s->count) {
		*arena = add_arena(s, value);
	}
	for (unsigned i = 0; i < ARENAS_VALUES && *arena; i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(line, names[i], n) && sscanf(line + n, "(%llu)", &value) == 1)
			(*arena)->value[i] = value;
	}
}

static int load_jemdata(struct arenas *s, const char *path)
{
	FILE *file = fopen(path, "re");
	struct arenas_row *arena = NULL;
	char *line = NULL;
	size_t room = 0;

	if (!file) {
		fprintf(stderr, "memoir %s: %s: %s\n", s->command, path, strerror(errno));
		return 1;
	}
	while (getline(&line, &room, file) > 0)
		take_line(s, &arena, line);
	free(line);
	fclose(file);
	if (!s->count)
		fprintf(stderr, "memoir %s: %s holds no iterations: arenas('sum') begins one\n",
			s->command, path);
	return !s->count;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static bool ends_in_py(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".py");
}

static int load(struct arenas *s, const char *path)
{
	auto_free char *data = xasprintf("%s.py", path);

	if (ends_in_py(path))
		return load_jemdata(s, path);
	if (strcmp(path, "-") != 0 && access(path, F_OK) && !access(data, F_OK))
		return load_jemdata(s, data);
	return load_stats(s, path);
}

int arenas_arguments(struct arenas_arguments *a, const char *command, int argc, char **argv,
		     unsigned numbers)
{
	int word = argc && !is_number(argv[0]);

	*a = (struct arenas_arguments){ .path = word ? argv[0] : "jemdata",
					.threshold = 200 * MIB };
	for (int i = word; i < argc; i++) {
		uint64_t value;

		errno = 0;
		value = strtoull(argv[i], NULL, 10);
		if (!is_number(argv[i]) || errno || (i == word && value > THRESHOLD_MAX)) {
			fprintf(stderr, "memoir %s: '%s' is no number that can be meant here\n",
				command, argv[i]);
			return 2;
		}
		if (i == word) {
			a->threshold = value * MIB;
			a->threshold_given = true;
		} else if (a->number_count < numbers) {
			a->number[a->number_count++] = value;
		} else {
			fprintf(stderr, "memoir %s: what is '%s' for? --help says what it takes\n",
				command, argv[i]);
			return 2;
		}
	}
	return 0;
}

int arenas_load(struct arenas *s, const char *command, int argc, char **argv, unsigned numbers)
{
	struct arenas_arguments a;
	int status = arenas_arguments(&a, command, argc, argv, numbers);

	*s = (struct arenas){ .command = command,
			      .threshold = a.threshold,
			      .number_count = a.number_count };
	memcpy(s->number, a.number, sizeof(s->number));
	if (status)
		return status;
	if (load(s, a.path))
		return 1;
	sort(s);
	return 0;
}

void arenas_release(struct arenas *s)
{
	free(s->arenas);
	free(s->iterations);
}

bool arenas_range(const struct arenas *s, uint64_t from, uint64_t to)
{
	if (to <= s->count && (from < s->count || from >= to))
		return true;
	fprintf(stderr, "memoir %s: there is no iteration %" PRIu64 ": they are 0 to %zu\n",
		s->command, from >= s->count ? from : (uint64_t)s->count, s->count - 1);
	return false;
}

bool arenas_whole(const struct arenas *s, size_t iteration, const struct arenas_row *a)
{
	for (unsigned i = 0; i < ARENAS_VALUES; i++)
		if (a->value[i] == STATS_NONE) {
			fprintf(stderr, "memoir %s: iteration %zu, arena %" PRIu64 ": no '%s'\n",
				s->command, iteration, a->id, names[i]);
			return false;
		}
	return true;
}

const struct arenas_row *arenas_find(const struct arenas *s, size_t iteration, uint64_t id)
{
	const struct arenas_iteration *it = &s->iterations[iteration];
	struct arenas_row wanted = { .id = id };

	return it->count ? bsearch(&wanted, s->arenas + it->first, it->count, sizeof(wanted), by_id)
			 : NULL;
}

bool arenas_passes(const struct arenas *s, int64_t value)
{
	return (value < 0 ? -(uint64_t)value : (uint64_t)value) >= s->threshold;
}

static const char *const units[] = { "B", "KB", "MB", "GB" };

/* Twelve digits, and a point in any case. */
static void real(struct buf *out, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.12g", value);
	buf_text(out, text);
	if (!strpbrk(text, ".e"))
		buf_text(out, ".0");
}

void arenas_size(struct buf *out, int64_t bytes)
{
	double value = (double)bytes;
	unsigned unit = 0;

	for (; unit < 3 && (value >= 1024 || value <= -1024); unit++)
		value /= 1024;
	real(out, value);
	buf_printf(out, " %s", units[unit]);
}

void arenas_share(struct buf *out, uint64_t part, uint64_t whole)
{
	if (!whole) {
		buf_text(out, "-%");
		return;
	}
	real(out, (double)(uint64_t)((unsigned __int128)part * 10000 / whole) / 100);
	buf_char(out, '%');
}

void arenas_threshold(struct buf *out, const struct arenas *s)
{
	uint64_t value = s->threshold;
	unsigned unit = 0;

	for (; unit < 3 && value >= 1024; unit++)
		value /= 1024;
	buf_printf(out, "%" PRIu64 " %s", value, units[unit]);
}

static bool print_iteration(struct buf *out, const struct arenas *s, uint64_t i, const char *title,
			    void (*print)(struct buf *, const struct arenas *,
					  const struct arenas_row *))
{
	const struct arenas_iteration *it = &s->iterations[i];

	buf_printf(out, "%s from iteration # %" PRIu64 " above ", title, i);
	arenas_threshold(out, s);
	buf_text(out, ":\n");
	for (size_t k = it->first; k < it->first + it->count; k++) {
		if (!arenas_whole(s, i, &s->arenas[k]))
			return false;
		print(out, s, &s->arenas[k]);
	}
	return true;
}

int arenas_print(const char *command, int argc, char **argv, const char *title,
		 void (*print)(struct buf *, const struct arenas *, const struct arenas_row *))
{
	struct buf out = { 0 };
	struct arenas s;
	int status = arenas_load(&s, command, argc, argv, 2);
	uint64_t to = s.number_count > 1 ? s.number[1] : s.count;

	if (!status) {
		status = s.status;
		if (!arenas_range(&s, s.number[0], to))
			status = 1;
		else
			for (uint64_t i = s.number[0]; i < to; i++)
				if (!print_iteration(&out, &s, i, title, print)) {
					status = 1;
					break;
				}
		if (buf_flush(&out, 1))
			status = 1;
	}
	buf_release(&out);
	arenas_release(&s);
	return status;
}
