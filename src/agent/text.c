/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Mapped bytes.  See text.h.  Only the agent's thread is here. */
#include "agent/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ROOM (64u << 10)
#define ROOM_MAX ((size_t)1 << (sizeof(size_t) < 8 ? 30 : 32))
#define SPARES 4u
#define SPARE_ROOM (256u << 10)

static struct text spares[SPARES]; /* data NULL: there is none */

void text_release(struct text *t)
{
	struct text *s = spares;

	while (s < spares + SPARES && s->data)
		s++;
	if (t->data && t->room <= SPARE_ROOM && s < spares + SPARES)
		*s = (struct text){ .data = t->data, .room = t->room, .used = t->used };
	else if (t->data)
		munmap(t->data, t->room);
	*t = (struct text){ 0 };
}

bool text_spares(void)
{
	for (unsigned i = 0; i < SPARES; i++)
		if (spares[i].data)
			return true;
	return false;
}

void text_let_go(void)
{
	for (unsigned i = 0; i < SPARES; i++)
		if (spares[i].data)
			munmap(spares[i].data, spares[i].room);
	memset(spares, 0, sizeof(spares));
}

/* The smallest spare one that has room for so much. */
static bool take_spare(struct text *t, size_t size)
{
	struct text *best = NULL;

	for (struct text *s = spares; s < spares + SPARES; s++)
		if (s->data && s->room >= size && (!best || s->room < best->room))
			best = s;
	if (!best)
		return false;
	t->data = best->data;
	t->room = best->room;
	memset(t->data, 0, best->used);
	best->data = NULL;
	return true;
}

static bool text_grow(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : FIRST_ROOM;
	void *p;

	if (more > ROOM_MAX - t->size)
		return false;
	if (!t->data && take_spare(t, more))
		return true;
	while (room - t->size < more)
		room *= 2;
	p = t->data ? mremap(t->data, t->room, room, MREMAP_MAYMOVE)
		    : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	t->data = p;
	t->room = room;
	return true;
}

bool text_reserve(struct text *t, size_t more)
{
	if (t->room - t->size < more && !text_grow(t, more)) {
		t->failed = true;
		return false;
	}
	if (t->used < t->size + more)
		t->used = t->size + more;
	return true;
}

void text_add(struct text *t, const void *bytes, size_t size)
{
	if (!size || !text_reserve(t, size))
		return;
	memcpy(t->data + t->size, bytes, size);
	t->size += size;
}

void text_str(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_char(struct text *t, char c)
{
	text_add(t, &c, 1);
}

void text_printf(struct text *t, const char *format, ...)
{
	char small[512];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(small, sizeof(small), format, list);
	va_end(list);
	if (n < (int)sizeof(small)) {
		text_add(t, small, n > 0 ? (size_t)n : 0);
		return;
	}
	if (!text_reserve(t, (size_t)n + 1))
		return;
	va_start(list, format);
	vsnprintf(t->data + t->size, (size_t)n + 1, format, list);
	va_end(list);
	t->size += (size_t)n;
}

void text_json(struct text *t, const char *s)
{
	text_char(t, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			text_printf(t, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			text_printf(t, "\\u%04x", *s);
		else if ((unsigned char)*s < 0x7f)
			text_char(t, *s);
	}
	text_char(t, '"');
}
