/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sentences with their evidence.  See sentences.h. */
#include "answer/sentences.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "query/answer.h"

void sentences_of_view(struct sentences *ret, const struct snapshot *s, const struct view *v,
		       const struct verdicts *verdicts, const struct process_memory *memory)
{
	const struct sentence_sources from = {
		.view = v,
		.verdicts = verdicts,
		.memory = v->bits ? NULL : memory,
		.open_end = s->live || !v->model->reader.ended ||
			    model_loss(v->model).kind != LOSS_NONE,
	};

	sentences_init(ret, &from);
}

void sentence_filters(const struct view *v, const struct sentence *s,
		      void (*tell)(void *context, const char *name, const char *value),
		      void *context)
{
	auto_buf struct buf filter = { 0 }, frames = { 0 };
	char *own;

	if (v->filter && !filter_is_empty(v->filter))
		filter_print(v->filter, &filter);
	if (*s->term)
		buf_printf(&filter, "%s%s", filter.size ? " and " : "", s->term);
	if (filter.size)
		tell(context, "filter", filter.data);
	filter_print_frames(v->filter, &frames);
	own = strchr(frames.data, '\n');
	*own++ = 0;
	if (*frames.data)
		tell(context, "hide", frames.data);
	if (*own)
		tell(context, "own", own);
}

static void write_parts(struct json *j, const struct sentence *s)
{
	static const char *const keys[] = {
		[PART_BYTES] = "bytes",	  [PART_BYTES_PER_SECOND] = "bytes_per_second",
		[PART_COUNT] = "count",	  [PART_NS] = "ns",
		[PART_THREAD] = "thread",
	};

	JSON_ROWS(j, "parts", i, s->part_total) {
		const struct sentence_part *p = &s->parts[i];

		json_text(j, "text", p->text);
		if (p->kind == PART_FUNCTION)
			json_bool(j, "function", true);
		else if (p->kind < sizeof(keys) / sizeof(*keys) && keys[p->kind])
			json_number(j, keys[p->kind], p->value);
	}
}

static void write_filter(void *context, const char *name, const char *value)
{
	json_text(context, name, value);
}

static void write_evidence(struct json *j, const struct view *v, const struct sentence *s)
{
	const struct sentence_rule *rule = &sentence_rules[s->kind];
	auto_release(params_release) struct params given = { 0 };
	struct err err;

	params_decode_query(&given, rule->parameters, &err);
	json_object(j, "evidence");
	json_text(j, "question", rule->question);
	json_object(j, "parameters");
	for (size_t i = 0; i < given.count; i++)
		json_text(j, given.rows[i].name, given.rows[i].value);
	sentence_filters(v, s, write_filter, j);
	json_end_object(j);
	json_text(j, "view", rule->view);
	json_text(j, "term", s->term);
	json_end_object(j);
}

/* What is 0 says nothing. */
static void write_figure(struct json *j, const char *key, uint64_t value)
{
	if (value)
		json_number(j, key, value);
}

static void write_sentence(struct json *j, const struct view *v, const struct sentence *s)
{
	struct buf text = { 0 };

	json_object(j, NULL);
	json_text(j, "kind", sentence_rules[s->kind].name);
	for (size_t i = 0; i < s->part_total; i++)
		buf_text(&text, s->parts[i].text);
	json_text(j, "text", text.data);
	buf_release(&text);
	write_parts(j, s);
	json_number(j, "bytes", s->bytes);
	write_figure(j, "whole_bytes", s->whole);
	write_figure(j, "count", s->count);
	write_figure(j, "whole_count", s->all_count);
	write_figure(j, "functions", s->functions);
	if (s->function) {
		json_text(j, "function", s->function);
		json_number(j, "backtrace_id", answer_stack(v->model, s->stack));
	}
	write_figure(j, "part_bytes", s->part_bytes);
	write_figure(j, "part_count", s->part_count);
	write_figure(j, "pool_bytes", s->pool_bytes);
	write_figure(j, "resident_bytes", s->resident_bytes);
	write_figure(j, "threads", s->threads);
	write_figure(j, "thread", s->thread);
	write_figure(j, "at_ns", s->at_ns);
	write_figure(j, "since_ns", s->since_ns);
	write_figure(j, "bytes_per_second", s->bytes_per_second);
	write_evidence(j, v, s);
	json_end_object(j);
}

void sentences_json(struct json *j, const struct view *v, const struct sentences *all)
{
	JSON_EACH(j, "sentences", i, all->count)
		write_sentence(j, v, &all->rows[i]);
}

void sentences_memory_json(struct json *j, const struct model *m, const struct process_memory *p)
{
	json_object(j, "memory");
	if (p->sampled) {
		json_object(j, "rss");
		json_number(j, "bytes", p->peak.rss);
		json_number(j, "at_ns", model_ns(m, p->peak.at));
		json_end_object(j);
	}
	if (p->most.mapped) {
		json_object(j, "mapped");
		json_number(j, "bytes", p->most.mapped);
		json_number(j, "at_ns", model_ns(m, p->most.at));
		json_end_object(j);
	}
	json_end_object(j);
}
