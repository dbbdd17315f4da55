/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading the text of smaps.  See smaps.h. */
#include "collector/smaps.h"

#include <string.h>

#include "wire/event.h"

struct text {
	const char *p, *end;
};

/* At most 16 digits. */
static bool hexadecimal(struct text *t, uint64_t *ret_value)
{
	uint64_t v = 0;
	unsigned digits = 0;

	for (; t->p < t->end; t->p++, digits++) {
		unsigned c = (unsigned char)*t->p, low = c | 32;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (low - 'a' + 10);
		else
			break;
		if (digits >= 16)
			return false;
	}
	*ret_value = v;
	return digits > 0;
}

static bool decimal(struct text *t, uint64_t *ret_value)
{
	uint64_t v = 0;
	const char *start = t->p;

	for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*t->p - '0');
	}
	*ret_value = v;
	return t->p > start;
}

static bool passed(struct text *t, char c)
{
	if (t->p >= t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

/* start-end: what every head begins with, and no figure does. */
static bool is_head(struct text *line, struct smaps_entry *e)
{
	memset(e, 0, sizeof(*e));
	return hexadecimal(line, &e->start) && passed(line, '-') && hexadecimal(line, &e->end) &&
	       passed(line, ' ');
}

/* perms offset major:minor inode   name */
static bool parse_head(struct text line, struct smaps_entry *e)
{
	uint64_t major, minor;

	if (line.end - line.p < 5)
		return false;
	e->flags |= line.p[0] == 'r' ? MAP_CAN_READ : 0;
	e->flags |= line.p[1] == 'w' ? MAP_CAN_WRITE : 0;
	e->flags |= line.p[2] == 'x' ? MAP_CAN_EXECUTE : 0;
	e->flags |= line.p[3] == 's' ? MAP_IS_SHARED : 0;
	line.p += 4;
	if (!passed(&line, ' ') || !hexadecimal(&line, &e->offset) || !passed(&line, ' ') ||
	    !hexadecimal(&line, &major) || !passed(&line, ':') || !hexadecimal(&line, &minor) ||
	    !passed(&line, ' ') || !decimal(&line, &e->inode))
		return false;
	if (e->start >= e->end || e->start >= REGION_ADDRESS_MAX || e->end > REGION_ADDRESS_MAX ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	e->major = (uint32_t)major;
	e->minor = (uint32_t)minor;
	while (passed(&line, ' '))
		;
	e->name = line.p;
	e->name_size = (size_t)(line.end - line.p);
	if (e->name_size > SMAPS_NAME_MAX)
		e->name_size = SMAPS_NAME_MAX;
	return true;
}

static const struct {
	const char *key;
	size_t offset;
} figures[] = {
	{ "Rss:", offsetof(struct smaps_entry, usage.rss) },
	{ "Shared_Clean:", offsetof(struct smaps_entry, usage.shared_clean) },
	{ "Shared_Dirty:", offsetof(struct smaps_entry, usage.shared_dirty) },
	{ "Private_Clean:", offsetof(struct smaps_entry, usage.private_clean) },
	{ "Private_Dirty:", offsetof(struct smaps_entry, usage.private_dirty) },
	{ "Anonymous:", offsetof(struct smaps_entry, usage.anonymous) },
	{ "AnonHugePages:", offsetof(struct smaps_entry, huge) },
	{ "Swap:", offsetof(struct smaps_entry, usage.swap) },
};

/* Rss:                  12 kB */
static void parse_figure(struct text line, struct smaps_entry *e)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		size_t size = strlen(figures[i].key);
		uint64_t value;

		if ((size_t)(line.end - line.p) < size || memcmp(line.p, figures[i].key, size))
			continue;
		line.p += size;
		while (passed(&line, ' '))
			;
		if (decimal(&line, &value) && value <= REGION_USAGE_MAX)
			memcpy((char *)e + figures[i].offset, &value, sizeof(value));
		return;
	}
}

bool smaps_next(const char **at, const char *end, struct smaps_entry *ret_entry)
{
	bool found = false;

	while (*at < end) {
		const char *newline = memchr(*at, '\n', (size_t)(end - *at));
		struct text line = { *at, newline ? newline : end };
		struct text rest = line;
		struct smaps_entry next;

		if (is_head(&rest, &next)) {
			if (found)
				return true; /* it is the next one's */
			found = parse_head(rest, &next);
			*ret_entry = next;
		} else if (found) {
			parse_figure(line, ret_entry);
		}
		*at = newline ? newline + 1 : end;
	}
	return found;
}
