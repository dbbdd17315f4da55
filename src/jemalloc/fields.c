/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers by name.  See fields.h. */
#include "jemalloc/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool fields_bytes(const char *name)
{
	static const char *const words[] = { "allocated", "active",  "mapped",	 "retained",
					     "resident",  "base",    "internal", "metadata",
					     "size",	  "page",    "quantum",	 "tcache_max",
					     "pinned",	  "cactive", "hugepage", "abandoned_vm" };
	size_t n = strlen(name);

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(name, words[i]))
			return true;
	return (n > 6 && !strcmp(name + n - 6, "_bytes")) ||
	       (n > 10 && !strcmp(name + n - 10, "_allocated")) ||
	       (!strncmp(name, "metadata_", 9) && strcmp(name, "metadata_thp") != 0);
}

/* "4096.curregs" */
static const char *parse_class(struct fields_name *f, const char *rest)
{
	char *end;

	errno = 0;
	f->size = strtoull(rest, &end, 10);
	return *rest >= '0' && *rest <= '9' && *end == '.' && !errno ? end + 1 : NULL;
}

int fields_parse(struct fields_name *f, const char *text, size_t size, struct err *err)
{
	static const struct {
		const char *prefix;
		enum fields_kind kind;
		const struct stats_field *fields;
	} kinds[] = { { "stats.", FIELDS_TOTAL, stats_total_fields },
		      { "bin.", FIELDS_BIN, stats_bin_fields },
		      { "large.", FIELDS_LARGE, stats_large_fields },
		      { "", FIELDS_ARENA, stats_arena_fields } };
	const char *name = f->text;

	memset(f, 0, sizeof(*f));
	f->field = -1;
	if (!size || size >= sizeof(f->text))
		return err_set(err, -EINVAL, "a field's name is expected");
	memcpy(f->text, text, size);
	for (unsigned i = 0; i < 4; i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(name, kinds[i].prefix, n) != 0)
			continue;
		f->kind = kinds[i].kind;
		name += n;
		if (f->kind == FIELDS_BIN || f->kind == FIELDS_LARGE)
			name = parse_class(f, name);
		if (name && f->kind == FIELDS_ARENA && !strcmp(name, "total"))
			name = "total_allocated";
		if (name)
			f->field = stats_find(kinds[i].fields, false, name, strlen(name), -1);
		break;
	}
	if (f->field < 0)
		return err_set(err, -EINVAL,
			       "there is no field '%s'; total, active, pdirty …, stats.resident …, "
			       "bin.SIZE.curregs …, large.SIZE.allocated …",
			       f->text);
	f->bytes = fields_bytes(name);
	return 0;
}

static uint64_t of_class(const struct fields_name *f, const struct stats_rows *r, unsigned size)
{
	for (size_t i = 0; i < r->count; i++)
		if (stats_row(r, i)[size] == f->size)
			return stats_row(r, i)[f->field];
	return r->count ? 0 : STATS_NONE;
}

uint64_t fields_value(const struct fields_name *f, const struct stats *s,
		      const struct stats_arena *a)
{
	switch (f->kind) {
	case FIELDS_TOTAL:
		return s->total[f->field];
	case FIELDS_BIN:
		return of_class(f, &a->bins, STATS_BIN_SIZE);
	case FIELDS_LARGE:
		return of_class(f, &a->large, STATS_LARGE_SIZE);
	default:
		return a->value[f->field];
	}
}
