/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names in, binaries out.  See postprocess.h. */
#include "rewrite/postprocess.h"

#include <string.h>

#include "base/buf_type.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "recording/payload.h"
#include "rewrite/names.h"
#include "wire/regions.h"

struct work {
	struct output *output;
	struct anonymizer anonymizer;
	struct map binaries; /* numbers of embedded files that are left out */
	struct postprocess_result *result;
	struct buf payload, text;
};

static bool take_info(struct work *w, struct payload_reader *c)
{
	const void *key, *value;
	size_t key_size, size;

	if (!payload_get_counted(c, &key, &key_size) || !payload_get_counted(c, &value, &size))
		return false;
	if (anonymize_info(&w->anonymizer, key, key_size, value, size, &w->text)) {
		put_counted(&w->payload, key, key_size);
		put_counted(&w->payload, w->text.data, w->text.size);
	}
	return true;
}

static bool take_counter(struct work *w, struct payload_reader *c)
{
	const void *name;
	size_t size;
	uint64_t value;

	if (!payload_get_counted(c, &name, &size) || !payload_get(c, &value))
		return false;
	if (anonymize_counter(&w->anonymizer, name, size)) {
		put_counted(&w->payload, name, size);
		put_number(&w->payload, value);
	}
	return true;
}

static bool take_module(struct work *w, struct payload_reader *c)
{
	const void *id, *path;
	size_t id_size, path_size;
	uint64_t v[5];

	for (unsigned i = 0; i < 5; i++)
		if (!payload_get(c, &v[i]))
			return false;
	if (!payload_get_counted(c, &id, &id_size) || !payload_get_counted(c, &path, &path_size))
		return false;
	for (unsigned i = 0; i < 5; i++)
		put_number(&w->payload, v[i]);
	/* A build id names a binary as well as its path does. */
	put_counted(&w->payload, id, w->anonymizer.how == ANONYMIZE_FULL ? 0 : id_size);
	anonymize_module(&w->anonymizer, path, path_size, &w->text);
	put_counted(&w->payload, w->text.data, w->text.size);
	return true;
}

/* Rewrites a chunk that is a sequence of records. */
static void take_records(struct work *w, const struct chunk *c,
			 bool (*take)(struct work *, struct payload_reader *))
{
	struct payload_reader at = { c->payload, c->payload + c->payload_size };

	buf_clear(&w->payload);
	while (at.p < at.end && take(w, &at))
		;
	if (w->payload.size)
		output_chunk(w->output, c->head.type, w->payload.data, w->payload.size);
}

static void take_file(struct work *w, const struct chunk *c)
{
	struct payload_reader at = { c->payload, c->payload + c->payload_size };
	uint64_t file, value;

	if (w->anonymizer.how == ANONYMIZE_NONE && payload_get(&at, &file) &&
	    !map_get(&w->binaries, file, &value))
		output_chunk(w->output, c->head.type, c->payload, c->payload_size);
	else
		w->result->file_bytes += c->payload_size;
}

/* A region's name is a file's, or says what the kernel uses it for. */
static bool take_region(struct work *w, struct payload_reader *c)
{
	uint64_t kind, v[8];
	unsigned count;
	const void *name;
	size_t size;

	if (!payload_get(c, &kind))
		return false;
	count = kind == REGIONS_ADD ? 8 : kind == REGIONS_USAGE ? REGION_USAGE_COUNT + 1 : 1;
	put_number(&w->payload, kind);
	for (unsigned i = 0; i < count; i++) {
		if (!payload_get(c, &v[i]))
			return false;
		/* Which file it was is nobody's business either. */
		if (w->anonymizer.how == ANONYMIZE_FULL && kind == REGIONS_ADD && i >= 4 && i < 7)
			v[i] = v[i] != 0;
		put_number(&w->payload, v[i]);
	}
	if (kind != REGIONS_ADD)
		return true;
	if (!payload_get_counted(c, &name, &size))
		return false;
	if (size && *(const char *)name == '/')
		anonymize_module(&w->anonymizer, name, size, &w->text);
	else
		anonymize_region(&w->anonymizer, name, size, &w->text);
	put_counted(&w->payload, w->text.data, w->text.size);
	return true;
}

static void take_regions(struct work *w, const struct chunk *c)
{
	struct payload_reader at = { c->payload, c->payload + c->payload_size };
	uint64_t began, took;

	buf_clear(&w->payload);
	if (!payload_get(&at, &began) || !payload_get(&at, &took))
		return;
	put_number(&w->payload, began);
	put_number(&w->payload, took);
	while (at.p < at.end && take_region(w, &at))
		;
	output_chunk(w->output, c->head.type, w->payload.data, w->payload.size);
}

static void take_events(struct work *w, struct source_events *e)
{
	const struct event *at = e->events;

	anonymize_events(&w->anonymizer, e->events, e->event_count);
	for (uint32_t i = 0; i < e->run_count; at += e->runs[i++].count)
		output_run(w->output, e->runs[i].ring, at, e->runs[i].count);
	output_horizon(w->output, e->horizon);
	output_flush(w->output);
}

static bool postprocess_visit(void *visitor, const struct chunk *c, struct source_events *events)
{
	struct work *w = visitor;

	switch ((enum format_chunk_type)c->head.type) {
	case CHUNK_EVENTS:
		take_events(w, events);
		break;
	case CHUNK_INFO:
		take_records(w, c, take_info);
		break;
	case CHUNK_COUNTERS:
		take_records(w, c, take_counter);
		break;
	case CHUNK_MODULES:
		take_records(w, c, take_module);
		break;
	case CHUNK_FILE:
		take_file(w, c);
		break;
	case CHUNK_SHARED_FILE: /* a binary always */
		break;
	case CHUNK_REGIONS:
		take_regions(w, c);
		break;
	case CHUNK_SYMBOLS: /* they are in the locations, and written from there */
		break;
	case CHUNK_THREADS:
		if (w->anonymizer.how != ANONYMIZE_FULL)
			output_chunk(w->output, c->head.type, c->payload, c->payload_size);
		break;
	case CHUNK_CLOCK:
	case CHUNK_NODES:
	case CHUNK_PAGES:
	case CHUNK_STATISTICS:
		output_chunk(w->output, c->head.type, c->payload, c->payload_size);
		break;
	default:
		if (w->anonymizer.how == ANONYMIZE_NONE)
			output_chunk(w->output, c->head.type, c->payload, c->payload_size);
		break;
	}
	return !output_failed(w->output);
}

/* Programs and libraries; what else was put into the recording may be wanted. */
static bool is_binary(const struct model *m, const struct embedded_file *f)
{
	auto_release(chunk_release) struct chunk c = { 0 };
	bool binary = false;

	for (size_t i = 0; i < f->piece_count && !binary; i++) {
		const struct file_piece *p = &f->pieces[i];

		binary = !p->offset && p->size >= 4 &&
			 reader_again(&m->reader, p->chunk_offset, &c, NULL) &&
			 c.payload_size >= p->size &&
			 !memcmp(c.payload + c.payload_size - p->size, "\177ELF", 4);
	}
	return binary;
}

static void find_binaries(struct work *w, const struct model *m)
{
	for (size_t i = 0; i < m->tables.file_count; i++)
		if (is_binary(m, &m->tables.files[i]))
			map_set(&w->binaries, m->tables.files[i].number, 1);
}

static void write_marks(struct work *w)
{
	static const char *const names[] = { NULL, "partial", "full" };
	const char *name = names[w->anonymizer.how];

	output_info(w->output, "postprocessed", MEMOIR_VERSION, strlen(MEMOIR_VERSION));
	if (name)
		output_info(w->output, "anonymized", name, strlen(name));
}

static void write_all(struct work *w, struct source *s, const struct model *m, struct locations *p)
{
	s->visit = postprocess_visit;
	s->visitor = w;
	s->until = m->loss.kind == LOSS_NONE ? 0 : m->loss.err.offset;
	s->progress = NULL;
	find_binaries(w, m);
	source_each(s);
	w->result->locations = locations_count(p) - 1;
	w->result->named = names_write(w->output, m, p, &w->anonymizer);
	output_loss(w->output, &m->loss);
	write_marks(w);
	map_release(&w->binaries);
	buf_release(&w->payload);
	buf_release(&w->text);
}

int postprocess(struct source *s, const char *path, struct output *o,
		const struct postprocess_options *options, struct postprocess_result *ret_result,
		struct err *err)
{
	struct model_options how = { .workers = MODEL_WORKERS_AUTO,
				     .progress = options->progress,
				     .context = options->context };
	struct work w = { .output = o, .result = ret_result };
	struct locations *p;
	struct model *m;
	int error = model_read(&m, path, &how, err);

	if (error)
		return error;
	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->loss = m->loss;
	p = locations_new(m, &options->locations);
	locations_resolve_all(p);
	anonymizer_init(&w.anonymizer, options->anonymity, model_info(m, "executable"));
	write_all(&w, s, m, p);
	anonymizer_release(&w.anonymizer);
	locations_free(p);
	model_free(m);
	return 0;
}
