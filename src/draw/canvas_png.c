/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Charts as PNG.  See canvas.h.
 *
 * There is little to draw: areas between curves that are functions of x, upright and level lines,
 * rectangles and letters (stroke_font.h).  A library that does more would bring a dozen others. */
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "draw/canvas.h"
#include "draw/stroke_font.h"

#define CHANNELS 3
#define BOX_COLUMNS 7 /* of pixels in which a letter is */
#define BOX_ROWS 13
#define STROKE 1.15 /* distance from a stroke's middle at which nothing is left of it */

struct png {
	struct canvas canvas;
	uint8_t *pixels; /* rows from above, red, green and blue of each */
};

/* Lays a colour over a pixel: all of it at 1. */
static void blend(struct png *p, long x, long y, uint32_t colour, double part)
{
	uint8_t *at;

	if (x < 0 || y < 0 || x >= (long)p->canvas.width || y >= (long)p->canvas.height)
		return;
	at = p->pixels + ((size_t)y * p->canvas.width + (size_t)x) * CHANNELS;
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	for (unsigned i = 0; i < CHANNELS; i++) {
		double to = colour >> (16 - 8 * i) & 0xff;

		at[i] = (uint8_t)lround(at[i] + (to - at[i]) * part);
	}
}

static void fill(struct png *p, double x, double y, double width, double height, uint32_t colour,
		 double part)
{
	for (long row = lround(y); row < lround(y + height); row++)
		for (long column = lround(x); column < lround(x + width); column++)
			blend(p, column, row, colour, part);
}

static void outline(struct png *p, double x, double y, double width, double height, uint32_t colour)
{
	fill(p, x, y, width + 1, 1, colour, 1);
	fill(p, x, y + height, width + 1, 1, colour, 1);
	fill(p, x, y, 1, height, colour, 1);
	fill(p, x + width, y, 1, height, colour, 1);
}

static void fill_column(struct png *p, long x, double upper, double lower, uint32_t colour)
{
	for (long y = (long)floor(upper); y < lower; y++) {
		double from = upper > (double)y ? upper : (double)y;
		double to = lower < (double)y + 1 ? lower : (double)y + 1;

		blend(p, x, y, colour, to - from);
	}
}

static void png_area(struct canvas *c, const struct canvas_area *a)
{
	struct png *p = (struct png *)c;
	size_t i = 0;

	if (a->count < 2)
		return;
	for (long x = lround(a->x[0]); x < lround(a->x[a->count - 1]); x++) {
		double middle = (double)x + 0.5, part;

		while (i + 2 < a->count && a->x[i + 1] < middle)
			i++;
		part = (middle - a->x[i]) / (a->x[i + 1] - a->x[i]);
		fill_column(p, x, a->upper[i] + (a->upper[i + 1] - a->upper[i]) * part,
			    a->lower[i] + (a->lower[i + 1] - a->lower[i]) * part, a->colour);
	}
}

static void png_line(struct canvas *c, double x1, double y1, double x2, double y2)
{
	fill((struct png *)c, x1, y1, x2 > x1 ? x2 - x1 : 1, y2 > y1 ? y2 - y1 : 1, 0, 0.12);
}

static void png_frame(struct canvas *c, double x, double y, double width, double height)
{
	outline((struct png *)c, x, y, width, height, 0x888888);
}

static void png_sheet(struct canvas *c, double x, double y, double width, double height)
{
	fill((struct png *)c, x, y, width, height, 0xffffff, 0.85);
	outline((struct png *)c, x, y, width, height, 0xbbbbbb);
}

static void png_patch(struct canvas *c, double x, double y, double width, double height,
		      uint32_t colour)
{
	fill((struct png *)c, x, y, width, height, colour, 1);
}

static double digit(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* From a point to what lies between two others. */
static double distance(double x, double y, double x1, double y1, double x2, double y2)
{
	double dx = x2 - x1, dy = y2 - y1, length = dx * dx + dy * dy;
	double part = length > 0 ? ((x - x1) * dx + (y - y1) * dy) / length : 0;

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return hypot(x - x1 - dx * part, y - y1 - dy * part);
}

/* From a point to the nearest of a letter's strokes. */
static double stroke_distance(const char *strokes, double x, double y)
{
	double nearest = 100;

	for (const char *at = strokes; *at; at += at[2] == ' ' ? 3 : 2) {
		bool goes_on = at[2] && at[2] != ' ', begins = at == strokes || at[-1] == ' ';
		const char *to = goes_on ? at + 2 : at;

		if (goes_on || begins)
			nearest = fmin(nearest, distance(x, y, digit(at[0]), digit(at[1]),
							 digit(to[0]), digit(to[1])));
	}
	return nearest;
}

static void draw_letter(struct png *p, long left, long top, uint32_t character)
{
	const char *strokes = stroke_font(character);

	for (long y = -1; y < BOX_ROWS - 1; y++)
		for (long x = -1; x < BOX_COLUMNS - 1; x++) {
			double part = STROKE - stroke_distance(strokes, (double)x, (double)y);

			if (part > 0)
				blend(p, left + x, top + y, 0x000000, part);
		}
}

/* The next character of a text; bytes that are no UTF-8 are one each. */
static uint32_t next_character(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	size_t size = utf8_sequence(s, strlen(*text));
	uint32_t character = size > 1 ? s[0] & (0x7fu >> size) : s[0];

	for (size_t i = 1; i < size; i++)
		character = character << 6 | (s[i] & 0x3f);
	*text += size ? size : 1;
	return character;
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; count++)
		next_character(&text);
	return count;
}

static void png_text(struct canvas *c, double x, double y, enum canvas_anchor anchor,
		     const char *text, size_t columns)
{
	size_t all = count_characters(text), shown = all < columns ? all : columns;
	size_t head = columns / 2;
	double width = (double)shown * STROKE_ADVANCE;
	long left = lround(x - (anchor == CANVAS_END	  ? width - 2
				: anchor == CANVAS_MIDDLE ? width / 2
							  : 0));

	for (size_t i = 0, column = 0; i < all; i++) {
		uint32_t character = next_character(&text);

		/* The middle of what is too long. */
		if (all > columns && i == head)
			character = 0x2026;
		else if (all > columns && i > head && i <= head + all - columns)
			continue;
		draw_letter((struct png *)c, left + (long)column++ * STROKE_ADVANCE,
			    lround(y) - STROKE_ASCENT - 1, character);
	}
}

static void put_u32(struct buf *out, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_char(out, (char)(value >> shift));
}

static void put_chunk(struct buf *out, const char type[4], const void *bytes, size_t size)
{
	size_t start = out->size + 4;

	put_u32(out, (uint32_t)size);
	buf_add(out, type, 4);
	buf_add(out, bytes, size);
	put_u32(out, (uint32_t)crc32(0, (const Bytef *)out->data + start, (uInt)(size + 4)));
}

/* Each row as its difference from the one above: areas and letters are alike there. */
static void put_rows(const struct png *p, struct buf *out)
{
	size_t row_size = (size_t)p->canvas.width * CHANNELS;
	auto_free uint8_t *row = xcalloc(row_size + 1, 1);
	Bytef *packed = xmalloc(65536);
	z_stream z = { 0 };

	if (deflateInit(&z, 6) != Z_OK)
		abort();
	for (unsigned y = 0; y <= p->canvas.height; y++) {
		bool end = y == p->canvas.height;
		const uint8_t *now = p->pixels + y * row_size;

		row[0] = y ? 2 : 0;
		for (size_t i = 0; i < row_size && !end; i++)
			row[i + 1] = (uint8_t)(y ? now[i] - now[i - row_size] : now[i]);
		z.next_in = row;
		z.avail_in = end ? 0 : (uInt)row_size + 1;
		do {
			z.next_out = packed;
			z.avail_out = 65536;
			deflate(&z, end ? Z_FINISH : Z_NO_FLUSH);
			buf_add(out, packed, 65536 - z.avail_out);
		} while (!z.avail_out);
	}
	deflateEnd(&z);
	free(packed);
}

static void png_finish(struct canvas *c, struct buf *out)
{
	struct png *p = (struct png *)c;
	auto_buf struct buf head = { 0 }, rows = { 0 };

	put_u32(&head, c->width);
	put_u32(&head, c->height);
	buf_add(&head, "\x08\x02\0\0", 5); /* 8 bits each of red, green and blue */
	put_rows(p, &rows);
	buf_add(out, "\x89PNG\r\n\x1a\n", 8);
	put_chunk(out, "IHDR", head.data, head.size);
	put_chunk(out, "IDAT", rows.data, rows.size);
	put_chunk(out, "IEND", "", 0);
	free(p->pixels);
	free(p);
}

static const struct canvas_kind png_kind = {
	.area = png_area,
	.line = png_line,
	.frame = png_frame,
	.sheet = png_sheet,
	.patch = png_patch,
	.text = png_text,
	.finish = png_finish,
};

struct canvas *canvas_png_new(unsigned width, unsigned height)
{
	struct png *p = xcalloc(1, sizeof(*p));
	size_t size = (size_t)width * height * CHANNELS;

	p->canvas = (struct canvas){ &png_kind, width, height };
	p->pixels = xmalloc(size);
	memset(p->pixels, 0xff, size);
	return &p->canvas;
}
