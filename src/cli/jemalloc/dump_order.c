/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The order of dumps.  See dump_order.h. */
#include "cli/jemalloc/dump_order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

bool dump_order_parse(struct dump_order *d, const char *path)
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

static int by_written(const void *a, const void *b)
{
	const struct dump_order *x = a, *y = b;

	if (x->written_ns != y->written_ns)
		return x->written_ns < y->written_ns ? -1 : 1;
	return (x->given > y->given) - (x->given < y->given);
}

static bool same_process(const struct dump_order *x, const struct dump_order *y)
{
	return x->pid == y->pid && x->prefix == y->prefix && !memcmp(x->path, y->path, x->prefix);
}

static int by_process(const void *a, const void *b)
{
	const struct dump_order *x = a, *y = b;
	int n;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	n = memcmp(x->path, y->path, x->prefix);
	if (n)
		return n;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->given > y->given) - (x->given < y->given);
}

static int by_oldest(const void *a, const void *b)
{
	const struct dump_order *x = a, *y = b;

	if (x->oldest_ns != y->oldest_ns)
		return x->oldest_ns < y->oldest_ns ? -1 : 1;
	return by_process(a, b);
}

bool dump_order_make(struct dump_order *d, char **paths, size_t count)
{
	bool named = true;

	for (size_t i = 0; i < count; i++) {
		struct stat st;

		d[i] = (struct dump_order){ .path = paths[i], .given = i };
		named &= dump_order_parse(&d[i], paths[i]);
		if (!strcmp(paths[i], "-"))
			d[i].written_ns = (int64_t)time(NULL) * 1000000000;
		else if (!stat(paths[i], &st))
			d[i].written_ns =
				(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	}
	if (!count)
		return false;
	if (!named) {
		qsort(d, count, sizeof(*d), by_written);
		return false;
	}
	qsort(d, count, sizeof(*d), by_process);
	for (size_t i = 0; i < count;) {
		int64_t oldest = d[i].written_ns;
		size_t end = i;

		for (; end < count && same_process(&d[i], &d[end]); end++)
			if (d[end].written_ns < oldest)
				oldest = d[end].written_ns;
		for (; i < end; i++)
			d[i].oldest_ns = oldest;
	}
	qsort(d, count, sizeof(*d), by_oldest);
	return true;
}
