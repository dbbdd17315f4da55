/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sentences as lines.  See sentences_text.h. */
#include "cli/sentences_text.h"

#include <string.h>

#include "answer/sentences.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "cli/text.h"
#include "model/words.h"

#define INDENT 4
#define NAME_COLUMNS 60

/* Words of one sentence in lines.  A word may consist of several parts, each in its own style: it
 * is kept back until a blank ends it. */
struct flow {
	struct buf *out;
	struct buf word;
	size_t columns; /* of the word */
	size_t column, width;
};

static void flow_end_word(struct flow *f)
{
	if (!f->columns)
		return;
	if (f->column > INDENT && f->column + 1 + f->columns > f->width) {
		buf_char(f->out, '\n');
		buf_repeat(f->out, ' ', INDENT);
		f->column = INDENT;
	} else if (f->column > INDENT) {
		buf_char(f->out, ' ');
		f->column++;
	}
	buf_text(f->out, f->word.data);
	f->column += f->columns;
	f->columns = 0;
	buf_clear(&f->word);
}

static void flow_text(struct flow *f, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, " ");
		size_t from = f->word.size;

		buf_printable(&f->word, text, size);
		f->columns += size ? text_columns(f->word.data + from) : 0;
		text += size;
		if (*text) {
			flow_end_word(f);
			text++;
		}
	}
}

/* Blanks within it do not end the word. */
static void flow_styled(struct printing *p, struct flow *f, enum term_style style, const char *text)
{
	size_t from;

	buf_text(&f->word, term_style(&p->term, style));
	from = f->word.size;
	buf_printable(&f->word, text, strlen(text));
	f->columns += text_columns(f->word.data + from);
	buf_text(&f->word, term_style(&p->term, STYLE_PLAIN));
}

static void print_part(struct printing *p, struct flow *f, const struct sentence_part *part)
{
	auto_free char *shorter = NULL;
	struct buf name = { 0 };

	if (part->kind == PART_TEXT) {
		flow_text(f, part->text);
	} else if (part->kind == PART_FUNCTION) {
		shorter = text_abbreviated(part->text);
		text_shortened(&name, shorter, NAME_COLUMNS);
		flow_styled(p, f, STYLE_FUNCTION, name.data);
		buf_release(&name);
	} else {
		flow_styled(p, f, STYLE_STRONG, part->text);
	}
}

static void print_filter(void *out, const char *name, const char *value)
{
	if (strcmp(name, "filter") != 0)
		buf_printf(out, " --%s ", name);
	else
		buf_text(out, " -F ");
	words_quoted(out, value);
}

/* "memoir tree -m peak -F 'responsible = "parse"' app.dat" */
static void print_command(struct printing *p, const struct view *v, const struct sentence *s)
{
	buf_repeat(p->out, ' ', INDENT);
	term_printf(&p->term, p->out, "{dim}memoir %s", sentence_rules[s->kind].command);
	sentence_filters(v, s, print_filter, p->out);
	buf_char(p->out, ' ');
	words_quoted(p->out, p->path);
	term_printf(&p->term, p->out, "{}\n");
}

void sentences_text(struct printing *p, const struct view *v, const struct sentences *all,
		    bool with_commands)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const struct sentence *s = &all->rows[i];
		struct flow f = { .out = p->out, .column = INDENT, .width = p->term.width };

		buf_text(p->out, i ? "  - " : "\n  - ");
		for (size_t k = 0; k < s->part_total; k++)
			print_part(p, &f, &s->parts[k]);
		flow_text(&f, ".");
		flow_end_word(&f);
		buf_char(p->out, '\n');
		buf_release(&f.word);
		if (with_commands)
			print_command(p, v, s);
	}
}
