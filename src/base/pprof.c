/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto.  See pprof.h. */
#include "base/pprof.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"

enum profile {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
};
enum value_type { TYPE_TYPE = 1, TYPE_UNIT };
enum sample { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum label { LABEL_KEY = 1, LABEL_STRING };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_RAW_NAME, FUNCTION_FILE };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		buf_char(out, (char)(value | 128));
	buf_char(out, (char)value);
}

/* A number; 0 is what a reader assumes, and is left out. */
static void put_number(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	put_varint(out, field << 3 | WIRE_VARINT);
	put_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t size)
{
	put_varint(out, field << 3 | WIRE_BYTES);
	put_varint(out, size);
	buf_add(out, bytes, size);
}

/* A message that was put together elsewhere, which is cleared for the next. */
static void put_message(struct buf *out, unsigned field, struct buf *message)
{
	put_bytes(out, field, message->data ? message->data : "", message->size);
	buf_clear(message);
}

uint32_t pprof_string(struct pprof *p, const char *text)
{
	auto_free char *copy = text ? utf8_copy(text) : NULL;

	return strings_add(&p->strings, copy);
}

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	put_number(&p->message, TYPE_TYPE, pprof_string(p, type));
	put_number(&p->message, TYPE_UNIT, pprof_string(p, unit));
	put_message(&p->out->buf, field, &p->message);
}

void pprof_begin(struct pprof *p, struct sink *out, size_t location_count, bool ever,
		 const struct pprof_head *head)
{
	*p = (struct pprof){ .out = out, .ever = ever };
	strings_init(&p->strings);
	p->thread_key = pprof_string(p, "thread");
	p->numbers = xcalloc(location_count + 1, sizeof(*p->numbers));
	p->locations = xcalloc(location_count + 1, sizeof(*p->locations));
	if (ever) {
		put_type(p, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
		put_type(p, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	}
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	put_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(&out->buf, PROFILE_PERIOD, head->rate);
	put_number(&out->buf, PROFILE_DEFAULT_TYPE, pprof_string(p, head->default_type));
	put_number(&out->buf, PROFILE_TIME, head->time_ns);
	put_number(&out->buf, PROFILE_DURATION, head->duration_ns);
	put_number(&out->buf, PROFILE_COMMENT, pprof_string(p, head->comment));
}

void pprof_frame(struct pprof *p, size_t location)
{
	if (!p->numbers[location]) {
		p->locations[p->location_count++] = (uint32_t)location;
		p->numbers[location] = p->location_count;
	}
	put_varint(&p->stack, p->numbers[location]);
}

void pprof_sample(struct pprof *p, const int64_t values[4], uint32_t thread)
{
	put_message(&p->message, SAMPLE_LOCATION, &p->stack);
	for (unsigned i = p->ever ? 0 : 2; i < 4; i++)
		put_varint(&p->stack, (uint64_t)values[i]);
	put_message(&p->message, SAMPLE_VALUE, &p->stack);
	if (thread) {
		put_number(&p->stack, LABEL_KEY, p->thread_key);
		put_number(&p->stack, LABEL_STRING, thread);
		put_message(&p->message, SAMPLE_LABEL, &p->stack);
	}
	put_message(&p->out->buf, PROFILE_SAMPLE, &p->message);
}

static uint64_t function_number(struct pprof *p, const struct pprof_function *f)
{
	const char *raw = f->raw && *f->raw ? f->raw : f->name;
	uint64_t number;

	if (f->key && map_get(&p->functions, f->key, &number))
		return number;
	number = ++p->function_count;
	if (f->key)
		map_set(&p->functions, f->key, number);
	put_number(&p->stack, FUNCTION_ID, number);
	put_number(&p->stack, FUNCTION_NAME, pprof_string(p, f->name));
	put_number(&p->stack, FUNCTION_RAW_NAME, pprof_string(p, raw));
	put_number(&p->stack, FUNCTION_FILE, pprof_string(p, f->file));
	put_message(&p->out->buf, PROFILE_FUNCTION, &p->stack);
	return number;
}

void pprof_line(struct pprof *p, const struct pprof_function *f, uint64_t line, uint64_t column)
{
	uint64_t number = function_number(p, f);

	put_number(&p->stack, LINE_FUNCTION, number);
	put_number(&p->stack, LINE_LINE, line);
	put_number(&p->stack, LINE_COLUMN, column);
	put_message(&p->lines, LOCATION_LINE, &p->stack);
}

void pprof_location(struct pprof *p, size_t location, uint32_t mapping, uint64_t address)
{
	put_number(&p->message, LOCATION_ID, p->numbers[location]);
	put_number(&p->message, LOCATION_MAPPING, mapping);
	put_number(&p->message, LOCATION_ADDRESS, address);
	if (p->lines.size)
		buf_add(&p->message, p->lines.data, p->lines.size);
	buf_clear(&p->lines);
	put_message(&p->out->buf, PROFILE_LOCATION, &p->message);
}

void pprof_mapping(struct pprof *p, const struct pprof_mapping *m)
{
	put_number(&p->message, MAPPING_ID, m->number);
	put_number(&p->message, MAPPING_START, m->start);
	put_number(&p->message, MAPPING_LIMIT, m->end);
	put_number(&p->message, MAPPING_FILE, pprof_string(p, m->path));
	put_number(&p->message, MAPPING_BUILD_ID, pprof_string(p, m->build_id));
	put_number(&p->message, MAPPING_HAS_FUNCTIONS, m->functions);
	put_number(&p->message, MAPPING_HAS_FILES, m->lines);
	put_number(&p->message, MAPPING_HAS_LINES, m->lines);
	put_number(&p->message, MAPPING_HAS_INLINES, m->lines);
	put_message(&p->out->buf, PROFILE_MAPPING, &p->message);
}

void pprof_end(struct pprof *p)
{
	for (uint32_t i = 0; i < strings_count(&p->strings) && !sink_turn(p->out); i++) {
		const char *text = strings_at(&p->strings, i);

		put_bytes(&p->out->buf, PROFILE_STRING, text, strlen(text));
	}
	strings_release(&p->strings);
	map_release(&p->functions);
	free(p->numbers);
	free(p->locations);
	buf_release(&p->message);
	buf_release(&p->stack);
	buf_release(&p->lines);
}
