/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The order of dumps.  See dump_order.h. */
#include "heap/dump_order.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/order.h"
#include "base/xalloc.h"

struct named_dump {
	const char *path;
	int64_t written_ns; /* since 1970; of a file that is not there: 0 */
	size_t prefix;	    /* bytes of the path that are before .PID */
	uint64_t pid, number;
	size_t given;	   /* its place on the command line */
	int64_t oldest_ns; /* of the same process's files */
};

/* The number that ends before `end`, and the point before it; NULL: there is none. */
static const char *number_before(const char *start, const char *end, uint64_t *ret)
{
	const char *at = end;
	uint64_t scale = 1;

	*ret = 0;
	while (at > start && at[-1] >= '0' && at[-1] <= '9' && end - at < 18) {
		*ret += scale * (uint64_t)(*--at - '0');
		scale *= 10;
	}
	return at < end && at > start && at[-1] == '.' ? at - 1 : NULL;
}

/* Does the name say so?  Fills prefix, pid and number. */
static bool parse_name(struct named_dump *d, const char *path)
{
	const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
	const char *end = path + strlen(path), *at;

	if (end - start < 5 || strcmp(end - 5, ".heap") != 0)
		return false;
	/* One letter, and a number that f (the last one) does not have. */
	for (at = end - 5; at > start && at[-1] >= '0' && at[-1] <= '9';)
		at--;
	if (at - start < 2 || !strchr("imuf", at[-1]) || at[-2] != '.')
		return false;
	at = number_before(start, at - 2, &d->number);
	at = at ? number_before(start, at, &d->pid) : NULL;
	if (!at || at == start)
		return false;
	d->prefix = (size_t)(at - path);
	return true;
}

static int compare_numbers(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

ORDER(by_written, struct named_dump, RISING(written_ns) ?: compare_numbers(x->given, y->given))

static int compare_processes(const struct named_dump *x, const struct named_dump *y)
{
	if (x->pid != y->pid)
		return compare_numbers(x->pid, y->pid);
	if (x->prefix != y->prefix)
		return compare_numbers(x->prefix, y->prefix);
	return memcmp(x->path, y->path, x->prefix);
}

ORDER(by_process, struct named_dump,
      compare_processes(x, y)
	      ?: compare_numbers(x->number, y->number)
	      ?: compare_numbers(x->given, y->given))

ORDER(by_oldest, struct named_dump, RISING(oldest_ns) ?: by_process(x, y))

/* The rows are by process. */
static void find_oldest(struct named_dump *d, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		int64_t oldest = d[i].written_ns;

		for (end = i; end < count && !compare_processes(&d[i], &d[end]); end++)
			oldest = MIN(oldest, d[end].written_ns);
		for (size_t k = i; k < end; k++)
			d[k].oldest_ns = oldest;
	}
}

bool dump_order(const char **paths, size_t count)
{
	auto_free struct named_dump *d = xcalloc(count + 1, sizeof(*d));
	bool named = true;

	for (size_t i = 0; i < count; i++) {
		struct stat st;

		d[i] = (struct named_dump){ .path = paths[i], .given = i };
		named &= parse_name(&d[i], paths[i]);
		if (!strcmp(paths[i], "-"))
			d[i].written_ns = (int64_t)time(NULL) * 1000000000;
		else if (!stat(paths[i], &st))
			d[i].written_ns =
				(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	}
	SORT(d, count, named ? by_process : by_written);
	if (named) {
		find_oldest(d, count);
		SORT(d, count, by_oldest);
	}
	for (size_t i = 0; i < count; i++)
		paths[i] = d[i].path;
	return named;
}
