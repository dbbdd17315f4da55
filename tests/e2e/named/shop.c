// SPDX-License-Identifier: MIT OR Apache-2.0
// A C program whose memory has known owners.  Everything is allocated through grab(), a wrapper in
// no list, below a growing array and a pool that are containers for their callers; the functions
// that work are those from load_names() on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKS __attribute__((noinline, noclone))

WORKS static void *grab(size_t size)
{
	void *p = malloc(size);

	if (!p)
		abort();
	memset(p, 1, size);
	return p;
}

WORKS static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(grab(size), text, size);
}

struct list {
	void **items;
	size_t count, room;
};

struct row {
	char *name;
	double figures[8];
	struct row *next;
};

static struct list names, rows, pages;
static struct row *chain;
static char *report;
static void *index_of[64];

WORKS void load_names(unsigned n)
{
	char text[64];

	names.room = n;
	names.items = grab(n * sizeof(void *));
	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "name of item %u of %u", i, n);
		names.items[names.count++] = copy_text(text);
	}
}

WORKS void parse_rows(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct row *r = grab(sizeof(*r) + i % 32);

		r->name = names.items[i % names.count];
		r->next = chain;
		chain = r;
	}
}

WORKS void fill_pages(unsigned n)
{
	pages.items = grab(n * sizeof(void *));
	for (unsigned i = 0; i < n; i++)
		pages.items[i] = grab(4096 + i * 64);
}

WORKS void build_index(void)
{
	for (unsigned i = 0; i < 64; i++)
		index_of[i] = grab(200 + i * 8);
}

WORKS void write_report(void)
{
	size_t size = 1;

	report = grab(1);
	for (unsigned i = 0; i < 40; i++) {
		char *line = grab(80 + i), *more = grab(size + 80);

		memcpy(more, report, size);
		free(report);
		free(line);
		report = more;
		size += 80;
	}
}

WORKS void answer_questions(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char *answer = grab(100 + i % 700);

		if (i % 10)
			free(answer);
	}
}

int main(void)
{
	load_names(2000);
	parse_rows(4000);
	fill_pages(30);
	build_index();
	write_report();
	answer_questions(500);
	if (getenv("SHOP_STAYS"))
		pause();
	return 0;
}
