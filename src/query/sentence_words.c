/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Templates of sentences.  See sentence_words.h. */
#include "query/sentence_words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"

/* What may stand in braces. */
static const struct figure {
	const char *name;
	enum sentence_part_kind kind;
	size_t value, whole; /* in struct sentence; whole: what a share is of */
} figures[] = {
#define FIGURE(name, kind, value)                                                                  \
	{                                                                                          \
		name, kind, offsetof(struct sentence, value), 0                                    \
	}
#define SHARE(name, value, of)                                                                     \
	{                                                                                          \
		name, PART_SHARE, offsetof(struct sentence, value), offsetof(struct sentence, of)  \
	}
	FIGURE("bytes", PART_BYTES, bytes),
	FIGURE("whole", PART_BYTES, whole),
	FIGURE("part", PART_BYTES, part_bytes),
	FIGURE("pool", PART_BYTES, pool_bytes),
	FIGURE("count", PART_COUNT, count),
	FIGURE("all_count", PART_COUNT, all_count),
	FIGURE("part_count", PART_COUNT, part_count),
	FIGURE("functions", PART_COUNT, functions),
	FIGURE("threads", PART_COUNT, threads),
	FIGURE("at", PART_NS, at_ns),
	FIGURE("since", PART_NS, since_ns),
	FIGURE("rate", PART_BYTES_PER_SECOND, bytes_per_second),
	FIGURE("resident", PART_BYTES, resident_bytes),
	FIGURE("thread", PART_THREAD, thread),
	FIGURE("function", PART_FUNCTION, stack),
	SHARE("share", bytes, whole),
	SHARE("count_share", count, all_count),
#undef SHARE
#undef FIGURE
};

static void add_part(struct sentence *s, enum sentence_part_kind kind, uint64_t value,
		     const char *text, size_t size)
{
	struct buf copy = { 0 };

	if (!size)
		return;
	s->parts = xgrow(s->parts, s->part_total, &s->part_room, sizeof(*s->parts));
	buf_add(&copy, text, size);
	s->parts[s->part_total++] =
		(struct sentence_part){ .kind = kind, .value = value, .text = copy.data };
}

static uint64_t figure_value(const struct sentence *s, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)s + offset, sizeof(value));
	return value;
}

static void say_figure(struct sentence *s, const struct figure *f)
{
	uint64_t value = f->kind == PART_FUNCTION ? s->stack : figure_value(s, f->value);
	auto_buf struct buf words = { 0 };
	const char *unit = "";
	struct human text;

	switch (f->kind) {
	case PART_BYTES_PER_SECOND:
		unit = "/s";
		/* fall through */
	case PART_BYTES:
		human_size(&text, value);
		break;
	case PART_COUNT:
		human_count(&text, value);
		break;
	case PART_SHARE:
		human_share(&text, value, figure_value(s, f->whole));
		break;
	case PART_NS:
		human_duration(&text, value);
		break;
	case PART_THREAD:
		buf_decimal(&words, value);
		*text.text = 0;
		break;
	case PART_FUNCTION:
		add_part(s, PART_FUNCTION, s->stack, s->function, strlen(s->function));
		return;
	case PART_TEXT:
		break;
	}
	buf_printf(&words, "%s%s", text.text, unit);
	add_part(s, f->kind, value, words.data, words.size);
}

static const struct figure *figure_find(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (strlen(figures[i].name) == size && !memcmp(figures[i].name, name, size))
			return &figures[i];
	abort(); /* a template of this folder's own */
}

void sentence_say(struct sentence *s, const char *template)
{
	for (const char *p = template; *p;) {
		size_t plain = strcspn(p, "{"), inside, name;
		const struct figure *f;

		add_part(s, PART_TEXT, 0, p, plain);
		p += plain;
		if (!*p)
			break;
		inside = strcspn(++p, "}");
		name = strcspn(p, "|}");
		f = figure_find(p, name);
		say_figure(s, f);
		if (name < inside) {
			add_part(s, PART_TEXT, 0, " ", 1);
			add_part(s, PART_TEXT, 0, p + name + 1, inside - name - 1);
			add_part(s, PART_TEXT, 0, "s", figure_value(s, f->value) != 1);
		}
		p += inside + 1;
	}
}

void sentence_say_plain(struct sentence *s, const char *text)
{
	add_part(s, PART_TEXT, 0, text, strlen(text));
}

bool sentence_reads_same(uint64_t a, uint64_t b)
{
	struct human x, y;

	return !strcmp(human_size(&x, a), human_size(&y, b));
}
