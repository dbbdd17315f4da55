/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sentences on the memory of the whole process: what is not blocks.  See sentence_rules.h. */
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "query/sentence_rules.h"
#include "query/sentence_words.h"

#define MAPPED_BYTES (1u << 20)
#define RESIDENT_BYTES (8u << 20)

/* It names the function that called mmap, and is about what has that in its stack. */
static void name_mapper(const struct view *v, struct sentence *s, bool alone)
{
	struct buf name = { 0 }, term = { 0 };

	if (!process_memory_mapper(v, s->stack, &name)) {
		buf_text(&name, "(no stack)");
	} else if (alone) {
		buf_text(&term, "function = ");
		filter_print_text(name.data, &term);
		sentence_about(s, term.data);
	}
	s->function = name.data;
	buf_release(&term);
}

void find_mapped(struct sentence_list *to, const struct figures *f)
{
	const struct process_memory *p = f->from->memory;
	struct sentence *s;

	if (!p || p->most.mapped < MAPPED_BYTES || p->most.mapped < f->all[FIGURE_PEAK].bytes / 10)
		return;
	s = sentence_add(to, SENTENCE_MAPPED);
	s->bytes = p->most.mapped;
	s->part_bytes = p->mapped_by.bytes;
	s->count = p->mapped_by.maps;
	s->functions = p->mapped_by_functions;
	s->at_ns = model_ns(f->view->model, p->most.at);
	s->resident_bytes = p->peak_mapped_rss;
	s->stack = p->mapped_by.stack;
	name_mapper(f->view, s, s->functions == 1);
	if (s->functions == 1 || sentence_reads_same(s->part_bytes, s->bytes))
		sentence_say(s, "{part} is mapped by {function}, not malloc'ed");
	else
		sentence_say(s, "{bytes} is mapped, not malloc'ed: {part} of it by {function}");
	if (s->resident_bytes)
		sentence_say(s, "; {resident} of it was seen resident");
}

/* At the moment when the difference was largest, of those that are known. */
void find_resident(struct sentence_list *to, const struct figures *f)
{
	const struct process_memory *p = f->from->memory;
	const struct process_moment *at = NULL;
	uint64_t beyond = 0, blocks = 0;
	struct sentence *s;

	if (!p || !p->sampled || !f->rows_are_whole || !f->is_whole)
		return;
	for (unsigned i = 0; i < 2; i++) {
		const struct process_moment *moment = i ? &p->last : &p->peak;
		struct measuring how = { .measure = MEASURE_ALIVE_AT, .at = moment->at };
		uint64_t alive = measuring_total(f->view->model, &how).bytes;

		if (moment->unmapped > alive && moment->unmapped - alive > beyond) {
			beyond = moment->unmapped - alive;
			blocks = alive;
			at = moment;
		}
	}
	if (!at || beyond < RESIDENT_BYTES || beyond < at->rss / 4)
		return;
	s = sentence_add(to, SENTENCE_RESIDENT);
	s->bytes = beyond;
	s->whole = at->rss;
	s->part_bytes = blocks;
	s->at_ns = model_ns(f->view->model, at->at);
	sentence_say(s, "{bytes} of {whole} resident at {at} is neither blocks ({part}) nor mapped "
			"by the program: what the allocator keeps, stacks, static data");
}
