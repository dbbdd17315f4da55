/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Charts as SVG.  See canvas.h. */
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "draw/canvas.h"
#include "draw/xml.h"

#define TITLE_COLUMNS 240

struct svg {
	struct canvas canvas;
	struct buf out;
};

static struct buf *out_of(struct canvas *c)
{
	return &((struct svg *)c)->out;
}

static void svg_area(struct canvas *c, const struct canvas_area *a)
{
	struct buf *out = out_of(c);

	buf_printf(out, "<path fill=\"#%06x\" d=\"", a->colour);
	for (size_t i = 0; i < a->count; i++)
		buf_printf(out, "%s%.1f %.1f", i ? "L" : "M", a->x[i], a->upper[i]);
	for (size_t i = a->count; i--;)
		buf_printf(out, "L%.1f %.1f", a->x[i], a->lower[i]);
	buf_text(out, "Z\"><title>");
	xml_text(out, a->label, TITLE_COLUMNS);
	buf_text(out, "</title></path>\n");
}

static void svg_line(struct canvas *c, double x1, double y1, double x2, double y2)
{
	buf_printf(out_of(c),
		   "<line class=\"g\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1,
		   x2, y2);
}

static void put_rectangle(struct canvas *c, double x, double y, double width, double height,
			  const char *class)
{
	buf_printf(out_of(c),
		   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x,
		   y, width, height, class);
}

static void svg_frame(struct canvas *c, double x, double y, double width, double height)
{
	put_rectangle(c, x, y, width, height, "a");
}

static void svg_sheet(struct canvas *c, double x, double y, double width, double height)
{
	put_rectangle(c, x, y, width, height, "l");
}

static void svg_patch(struct canvas *c, double x, double y, double width, double height,
		      uint32_t colour)
{
	buf_printf(out_of(c),
		   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" fill=\"#%06x\"/>\n",
		   x, y, width, height, colour);
}

static void svg_text(struct canvas *c, double x, double y, enum canvas_anchor anchor,
		     const char *text, size_t columns)
{
	static const char *const classes[] = { "", " class=\"m\"", " class=\"e\"" };
	struct buf *out = out_of(c);

	buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, classes[anchor]);
	xml_text(out, text, columns);
	buf_text(out, "</text>\n");
}

static void svg_finish(struct canvas *c, struct buf *out)
{
	struct svg *s = (struct svg *)c;

	buf_add(out, s->out.data, s->out.size);
	buf_text(out, "</svg>\n");
	buf_release(&s->out);
	free(s);
}

static const struct canvas_kind svg_kind = {
	.area = svg_area,
	.line = svg_line,
	.frame = svg_frame,
	.sheet = svg_sheet,
	.patch = svg_patch,
	.text = svg_text,
	.finish = svg_finish,
};

static struct canvas *canvas_svg_new(unsigned width, unsigned height)
{
	struct svg *s = xcalloc(1, sizeof(*s));

	s->canvas = (struct canvas){ &svg_kind, width, height };
	buf_printf(&s->out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		   "<style>.g{stroke:#000;stroke-opacity:.12}.a{fill:none;stroke:#888}"
		   ".l{fill:#fff;fill-opacity:.85;stroke:#bbb}.e{text-anchor:end}"
		   ".m{text-anchor:middle}</style>\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		   width, height, width, height);
	return &s->canvas;
}

struct canvas *canvas_new(enum canvas_format format, unsigned width, unsigned height)
{
	return format == CANVAS_PNG ? canvas_png_new(width, height) : canvas_svg_new(width, height);
}
