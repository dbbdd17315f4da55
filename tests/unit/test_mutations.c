/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Damaged copies of every sample through every reader of the jemalloc side: statistics, dumps and
 * logs.  None may crash, hang or believe a number without looking (the sanitizers see that); an
 * error says what is wrong, and where.  The damage is the same in every run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/churn.h"
#include "heap/report.h"
#include "jemalloc/snapshots.h"
#include "unit.h"

#define BYTES_EACH (4u << 20) /* of damaged copies of one sample, about */
#define COPIES_MAX 300u

static uint64_t seed;

static uint64_t chance(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (seed >> 33) % below : 0;
}

static void splice(struct buf *b, size_t at, size_t gone, const void *bytes, size_t size)
{
	struct buf rest = { 0 };

	buf_add(&rest, b->data + at + gone, b->size - at - gone);
	b->size = at;
	buf_add(b, bytes, size);
	buf_add(b, rest.data, rest.size);
	buf_release(&rest);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void damage(struct buf *b)
{
	static const char *const words[] = { "18446744073709551615",
					     "99999999999999999999999",
					     "-1",
					     "0",
					     "",
					     "\"",
					     "{",
					     "]",
					     "\n",
					     "0x",
					     "1e999",
					     "@",
					     "\nMAPPED_LIBRARIES:\n",
					     "\n# build-id ff 0 0 \n",
					     "\\u0000",
					     "\xff\xfe" };
	size_t at = chance(b->size), length = chance(40);
	const char *word = words[chance(sizeof(words) / sizeof(*words))];
	struct buf copy = { 0 };

	if (!b->size)
		return;
	if (length > b->size - at)
		length = b->size - at;
	switch (chance(6)) {
	case 0: /* a bit */
		b->data[at] ^= (char)(1 << chance(8));
		break;
	case 1: /* cut off */
		b->size = at;
		break;
	case 2: /* a part is missing */
		splice(b, at, length, "", 0);
		break;
	case 3: /* a part comes twice */
		buf_add(&copy, b->data + at, length);
		splice(b, chance(b->size), 0, copy.data ? copy.data : "", copy.size);
		break;
	case 4: /* another number, if there is one */
		while (at < b->size && !is_digit(b->data[at]))
			at++;
		for (length = 0; at + length < b->size && is_digit(b->data[at + length]);)
			length++;
		splice(b, at, length, word, strlen(word));
		break;
	default:
		splice(b, at, chance(2) * length, word, strlen(word));
	}
	buf_release(&copy);
}

static void is_said(const struct err *err, size_t size)
{
	assert_true(*err->text);
	assert_true(err->offset == ERR_NO_OFFSET || err->offset <= size);
}

static void read_statistics(const char *bytes, size_t size)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshots r;
	int n;

	snapshots_memory(&r, bytes, size);
	while ((n = snapshots_next(&r, &err)))
		if (n < 0)
			is_said(&err, size);
	snapshots_close(&r);
}

static const struct profile_options all = { .thread = PROFILE_ALL_THREADS };
static const struct heap_locations_options nowhere = { .sysroot = "/nowhere" };

static int throw_away(void *context, const void *bytes, size_t size)
{
	return 0;
}

/* With every report, of small ones: all go through the same stacks. */
static void read_dump(const char *bytes, size_t size, bool reports)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct profile p;
	struct dump d;

	if (dump_read(&d, bytes, size, &err))
		is_said(&err, size);
	profile_init(&p, &all, &nowhere);
	profile_add(&p, &d, 1);
	assert_int_equal(profile_finish(&p, &err), 0);
	for (size_t i = 0; reports && heap_reports[i]; i++) {
		struct heap_report_options o = {
			.rows = 100, .title = "", .node_count = 80, .max_degree = 8
		};
		struct sink sink;

		if (heap_reports[i]->argument)
			continue;
		sink_to_function(&sink, throw_away, NULL, SINK_PLAIN);
		heap_reports[i]->write(&p, &o, &sink, &err);
		sink_finish(&sink, &err);
	}
	profile_release(&p);
	dump_release(&d);
}

static void read_log(const char *bytes, size_t size)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct churn c;
	struct log l;

	if (log_read(&l, bytes, size, &err))
		is_said(&err, size);
	churn_init(&c, &all, &nowhere);
	churn_add(&c, "", &l, NULL);
	assert_int_equal(churn_finish(&c, &err), 0);
	assert_int_equal(c.total.objects, l.block_count);
	churn_release(&c);
	log_release(&l);
}

static void read_all(const char *name, const struct buf *b, unsigned copy)
{
	/* Exactly as large, so that a read beyond the end is seen. */
	char *exact = xmalloc(b->size + !b->size);
	bool is_dump = strstr(name, ".heap"), is_log = !strncmp(name, "prof_", 5);

	if (b->size)
		memcpy(exact, b->data, b->size);
	/* Each in its own reader, and some in all. */
	if (!is_dump || copy % 8 == 0)
		read_statistics(exact, b->size);
	if (is_dump || copy % 8 == 0)
		read_dump(exact, b->size, is_dump && copy % 4 == 0);
	if (is_log || copy % 8 == 0)
		read_log(exact, b->size);
	free(exact);
}

static void read_sample(struct buf *b, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	do {
		buf_reserve(b, 1 << 16);
		n = fread(b->data + b->size, 1, 1 << 16, file);
		b->size += n;
	} while (n);
	fclose(file);
}

static void damaged_samples(void **state)
{
	static const char folder[] = TEST_DATA "/jemalloc";
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned samples = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		auto_free char *path = xasprintf("%s/%s", folder, e->d_name);
		struct buf sample = { 0 }, b = { 0 };
		size_t copies;

		if (*e->d_name == '.')
			continue;
		read_sample(&sample, path);
		copies = BYTES_EACH / (sample.size + 1);
		copies = copies < 2 ? 2 : copies > COPIES_MAX ? COPIES_MAX : copies;
		/* The order of files is the folder's; what happens to one is not. */
		seed = sample.size;
		for (unsigned i = 0; i <= copies; i++) {
			buf_clear(&b);
			buf_add(&b, sample.data, sample.size);
			for (unsigned k = 0; i && k <= chance(4); k++)
				damage(&b);
			read_all(e->d_name, &b, i);
		}
		samples++;
		buf_release(&sample);
		buf_release(&b);
	}
	closedir(d);
	assert_true(samples > 25);
}

UNIT(mutations)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_samples) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
