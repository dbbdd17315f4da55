/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about a loaded recording.  See model.h; loading is in load.c. */
#include "model/model.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "recording/shared_file.h"

const char *model_info(const struct model *m, const char *key)
{
	const struct tables *t = &m->tables;

	for (size_t i = 0; i < t->info_count; i++)
		if (!strcmp(t->info[i].key, key))
			return t->info[i].value;
	return NULL;
}

size_t model_info_size(const struct model *m, const char *key)
{
	const struct tables *t = &m->tables;

	for (size_t i = 0; i < t->info_count; i++)
		if (!strcmp(t->info[i].key, key))
			return t->info[i].size;
	return 0;
}

uint64_t model_info_number(const struct model *m, const char *key, uint64_t otherwise)
{
	const char *text = model_info(m, key);
	char *end;
	uint64_t value;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	value = strtoull(text, &end, 10);
	return *end ? otherwise : value;
}

struct loss model_loss(const struct model *m)
{
	const char *kind = model_info(m, INFO_LOSS_KIND), *reason = model_info(m, INFO_LOSS_REASON);
	struct loss loss = { .kind = LOSS_NONE };

	if (m->loss.kind != LOSS_NONE)
		return m->loss;
	if (!kind)
		return loss;
	loss.kind = strcmp(kind, LOSS_TEXT_CUT) ? LOSS_DAMAGED : LOSS_CUT;
	err_at(&loss.err, 0, model_info_number(m, INFO_LOSS_OFFSET, 0), "%s", reason ? reason : "");
	return loss;
}

uint64_t model_counters(const struct model *m, const char *prefix)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->tables.counter_count; i++)
		if (!strncmp(m->tables.counters[i].name, prefix, strlen(prefix)))
			sum += m->tables.counters[i].value;
	return sum;
}

/* Two readings of the clock, as far apart as there are, and the stamp that is time zero. */
static uint64_t clock_of(const struct model *m, struct clock_reading *from,
			 struct clock_reading *to)
{
	const struct tables *t = &m->tables;
	uint64_t start = model_info_number(m, "start_stamp", 0);

	*from = t->first_clock;
	*to = t->last_clock;
	if (start)
		*from = (struct clock_reading){
			start,
			model_info_number(m, "start_monotonic_ns", from->monotonic_ns),
			model_info_number(m, "start_realtime_ns", from->realtime_ns),
		};
	if (!t->clock_count)
		*to = *from;
	if (!start)
		start = from->stamp;
	return start ? start : m->totals.first_at;
}

struct model_clock model_clock(const struct model *m)
{
	struct clock_reading from, to;
	struct model_clock c = { .start = clock_of(m, &from, &to), .ns_per_tick = 1 };
	const char *clock = model_info(m, "clock");

	c.end = m->totals.last_at;
	if (m->tables.clock_count && m->tables.last_clock.stamp > c.end)
		c.end = m->tables.last_clock.stamp;
	if (clock && !strcmp(clock, "ns"))
		return c;
	if (to.stamp > from.stamp && to.monotonic_ns > from.monotonic_ns)
		c.ns_per_tick = (double)(to.monotonic_ns - from.monotonic_ns) /
				(double)(to.stamp - from.stamp);
	return c;
}

uint64_t model_ns(const struct model *m, uint64_t stamp)
{
	struct model_clock c = model_clock(m);
	double ns;

	if (stamp <= c.start)
		return 0;
	ns = (double)(stamp - c.start) * c.ns_per_tick;
	return ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

uint64_t model_runtime_ns(const struct model *m)
{
	return model_ns(m, model_clock(m).end);
}

uint64_t model_start_ns(const struct model *m)
{
	return model_info_number(m, "start_realtime_ns", m->tables.first_clock.realtime_ns);
}

bool model_has_file(const struct model *m, const struct embedded_file *f)
{
	int fd;

	if (!f->key)
		return f->held_size >= f->total_size;
	fd = shared_file_open(&m->reader, f->key);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static const struct embedded_file *find_file(const struct model *m, const uint8_t *build_id,
					     size_t build_id_size, const char *path)
{
	for (size_t i = 0; i < m->tables.file_count; i++) {
		const struct embedded_file *f = &m->tables.files[i];

		if (f->build_id_size == build_id_size &&
		    (build_id_size ? !memcmp(f->build_id, build_id, build_id_size)
				   : !strcmp(f->path, path)) &&
		    model_has_file(m, f))
			return f;
	}
	return NULL;
}

int model_file_content(const struct model *m, const struct embedded_file *f, struct buf *out,
		       struct err *err)
{
	auto_release(chunk_release) struct chunk c = { 0 };
	int error = 0;

	buf_clear(out);
	if (f->key)
		return shared_file_read(&m->reader, f->key, f->total_size, out)
			       ? 0
			       : err_set(err, -ENOENT, "%s/%s%s beside the recording is missing",
					 FORMAT_SHARED_FOLDER, f->key, FORMAT_SHARED_SUFFIX);
	buf_reserve(out, f->total_size);
	memset(out->data, 0, f->total_size);
	for (size_t i = 0; i < f->piece_count; i++) {
		const struct file_piece *p = &f->pieces[i];

		if (!reader_again(&m->reader, p->chunk_offset, &c, err) ||
		    c.payload_size < p->size) {
			error = -EIO;
			break;
		}
		memcpy(out->data + p->offset, c.payload + c.payload_size - p->size, p->size);
	}
	out->size = error ? 0 : f->total_size;
	return error;
}

int model_file(const struct model *m, const uint8_t *build_id, size_t build_id_size,
	       const char *path, struct buf *out, struct err *err)
{
	const struct embedded_file *f = find_file(m, build_id, build_id_size, path);

	return f ? model_file_content(m, f, out, err)
		 : err_set(err, -ENOENT, "not in the recording");
}
