/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views of a fleet.  See view.h. */
#include "fleet/view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/rows.h"
#include "fleet/sql.h"
#include "model/named.h"
#include "query/responsible.h"
#include "query/view_source.h"

#define NS UINT64_C(1000000000)
#define FRAMES_MAX 100000 /* of one stack */
#define HASH 16

struct fleet_view {
	struct view_source source; /* first */
	const struct fleet *fleet;
	struct fleet_facts facts;
	struct buf condition;
	bool has_time; /* the condition speaks of buckets */
	struct named named;
	struct responsible *responsible; /* the view's */
	struct map node_of;		 /* by the first half of a stack's hash */
};

uint64_t fleet_bucket_before(uint64_t ns, uint32_t step)
{
	uint64_t end = (ns + NS / 2000) / NS / step * step; /* a moment is exact to a millisecond */

	return end > step ? end - step : 0;
}

static const char *column_of(enum measure measure)
{
	switch (measure) {
	case MEASURE_LEAKED:
		return "leaked";
	case MEASURE_PEAK:
		return "peak";
	case MEASURE_ALLOCATED:
		return "allocated";
	case MEASURE_TEMPORARY:
		return "temporary";
	case MEASURE_ALIVE_AT:
		return "live";
	case MEASURE_SHORT_LIVED:
	case MEASURE_PINNED:
	case MEASURE_COUNT:
		break;
	}
	return NULL;
}

/* `totals` has what no bucket is asked for. */
static const char *table_of(const struct fleet_view *v, const struct measuring *how)
{
	return v->has_time || how->measure == MEASURE_ALIVE_AT ? "samples" : "totals";
}

static void write_where(const struct fleet_view *v, const struct measuring *how, struct buf *out)
{
	buf_printf(out, " FROM %s WHERE %s_count > 0 AND %s", table_of(v, how),
		   column_of(how->measure), v->condition.data);
	if (how->measure == MEASURE_ALIVE_AT)
		buf_printf(out, " AND bucket = toDateTime(%" PRIu64 ")",
			   fleet_bucket_before(how->at, v->facts.step));
}

/* The columns of one stack, as they come. */
struct columns_read {
	struct buf texts;
	size_t count;
	size_t *functions, *files, *modules; /* where in texts */
	uint32_t *lines;
	uint64_t *addresses;
	uint8_t *kinds;
	size_t room;
};

static bool make_room(struct columns_read *c, uint64_t count)
{
	if (count > FRAMES_MAX)
		return false;
	if (count > c->room) {
		c->room = count;
		c->functions = xreallocarray(c->functions, count, sizeof(*c->functions));
		c->files = xreallocarray(c->files, count, sizeof(*c->files));
		c->modules = xreallocarray(c->modules, count, sizeof(*c->modules));
		c->lines = xreallocarray(c->lines, count, sizeof(*c->lines));
		c->addresses = xreallocarray(c->addresses, count, sizeof(*c->addresses));
		c->kinds = xreallocarray(c->kinds, count, sizeof(*c->kinds));
	}
	c->count = count;
	return true;
}

static void release_columns(struct columns_read *c)
{
	buf_release(&c->texts);
	free(c->functions);
	free(c->files);
	free(c->modules);
	free(c->lines);
	free(c->addresses);
	free(c->kinds);
}

static bool same_count(struct rows *r, const struct columns_read *c)
{
	if (rows_take_size(r) != c->count)
		r->bad = true;
	return !r->bad;
}

static void read_columns(struct rows *r, struct columns_read *c)
{
	buf_clear(&c->texts);
	if (!make_room(c, rows_take_size(r))) {
		r->bad = true;
		return;
	}
#define COLUMN(field, value)                                                                       \
	for (size_t i = 0; i < c->count && !r->bad; i++)                                           \
		c->field[i] = value;
	COLUMN(functions, rows_take_text(r, &c->texts))
	if (same_count(r, c))
		COLUMN(files, rows_take_text(r, &c->texts))
	if (same_count(r, c))
		COLUMN(modules, rows_take_text(r, &c->texts))
	if (same_count(r, c))
		COLUMN(lines, (uint32_t)rows_take(r, 4))
	if (same_count(r, c))
		COLUMN(addresses, rows_take(r, 8))
	if (same_count(r, c))
		COLUMN(kinds, (uint8_t)rows_take(r, 1))
#undef COLUMN
}

/* Rows have the innermost frame first. */
static uint32_t add_stack(struct fleet_view *v, const struct columns_read *c)
{
	uint32_t node = 0;

	for (size_t i = c->count; i-- > 0;) {
		struct named_frame f = {
			.function = c->texts.data + c->functions[i],
			.file = c->texts.data + c->files[i],
			.module = c->texts.data + c->modules[i],
			.line = c->lines[i],
			.address = c->addresses[i],
			.kind = c->kinds[i] < FRAME_KINDS ? c->kinds[i] : FRAME_PROGRAM,
		};

		node = named_add(&v->named, node, &f);
	}
	return node;
}

static uint64_t key_of(const unsigned char *hash)
{
	return hash ? XXH3_64bits(hash, HASH) : 0;
}

static int read_stacks(struct fleet_view *v, const struct measuring *how, struct err *err)
{
	auto_buf struct buf sql = { 0 }, out = { 0 };
	auto_release(release_columns) struct columns_read c = { 0 };
	struct rows r;
	uint64_t known;
	int error;

	buf_text(&sql, "SELECT hash, functions, files, modules, lines, addresses, kinds FROM "
		       "stacks WHERE hash GLOBAL IN (SELECT stack");
	write_where(v, how, &sql);
	buf_text(&sql, ") FORMAT RowBinary");
	error = fleet_ask(v->fleet, sql.data, &out, err);
	r = (struct rows){ (unsigned char *)out.data, (unsigned char *)out.data + out.size, false };
	while (!error && rows_more(&r)) {
		uint64_t key = key_of(rows_take_bytes(&r, HASH));

		read_columns(&r, &c);
		if (!r.bad && !map_get(&v->node_of, key, &known))
			map_set(&v->node_of, key, add_stack(v, &c));
	}
	if (!error && r.bad)
		error = err_set(err, -EBADMSG, "the server's answer is not what was asked for");
	responsible_tell(v->responsible, v->named.kinds);
	return error;
}

ORDER(compare_weights, struct stack_weight, RISING(stack))

/* Stacks that differ in the call alone are one here. */
static void merge_rows(struct stack_weights *w)
{
	uint32_t count = 0;

	SORT(w->rows, w->count, compare_weights);
	for (uint32_t i = 0; i < w->count; i++) {
		struct stack_weight *last = count ? &w->rows[count - 1] : NULL;

		if (!last || last->stack != w->rows[i].stack) {
			w->rows[count++] = w->rows[i];
			continue;
		}
		weight_add(&last->weight, &w->rows[i].weight);
		last->first = MIN(last->first, w->rows[i].first);
		last->last = MAX(last->last, w->rows[i].last);
	}
	w->count = count;
}

static int read_weights(struct fleet_view *v, struct stack_weights *ret,
			const struct measuring *how, struct err *err)
{
	const char *column = column_of(how->measure);
	bool totals = !strcmp(table_of(v, how), "totals");
	auto_buf struct buf sql = { 0 }, out = { 0 };
	size_t room = 0;
	struct rows r;
	int error;

	buf_printf(&sql,
		   "SELECT stack, sum(%s_bytes), sum(%s_count), toUInt64(toUInt32(min(%s))), "
		   "toUInt64(toUInt32(max(%s)))",
		   column, column, totals ? "first" : "bucket", totals ? "last" : "bucket");
	write_where(v, how, &sql);
	buf_text(&sql, " GROUP BY stack FORMAT RowBinary");
	error = fleet_ask(v->fleet, sql.data, &out, err);
	if (error)
		return error;
	r = (struct rows){ (unsigned char *)out.data, (unsigned char *)out.data + out.size, false };
	while (rows_more(&r)) {
		uint64_t node = 0, key = key_of(rows_take_bytes(&r, HASH));
		struct stack_weight row = { 0 };

		map_get(&v->node_of, key, &node);
		row.stack = (uint32_t)node;
		row.weight.bytes = rows_take(&r, 8);
		row.weight.count = rows_take(&r, 8);
		row.first = rows_take(&r, 8) * NS;
		row.last = rows_take(&r, 8) * NS;
		*xpush(ret->rows, ret->count, room) = row;
		weight_add(&ret->total, &row.weight);
	}
	if (r.bad)
		return err_set(err, -EBADMSG, "the server's answer is not what was asked for");
	merge_rows(ret);
	return 0;
}

static int weigh_fleet(struct view_source *s, struct stack_weights *ret_weights,
		       const struct measuring *how, bool by_thread, struct err *err)
{
	struct fleet_view *v = (struct fleet_view *)s;
	int error;

	if (by_thread)
		return err_set(err, -EINVAL, "a fleet does not know threads");
	if (!column_of(how->measure))
		return err_set(err, -EINVAL,
			       "a fleet does not know single blocks, so not %s: leaked, peak, "
			       "allocated, temporary or alive",
			       measure_rows[how->measure].name);
	error = read_stacks(v, how, err);
	return error ? error : read_weights(v, ret_weights, how, err);
}

static void release_fleet_view(struct view_source *s)
{
	struct fleet_view *v = (struct fleet_view *)s;

	named_release(&v->named);
	buf_release(&v->condition);
	map_release(&v->node_of);
	free(v);
}

struct view *fleet_view_new(const struct fleet *f, const struct fleet_facts *facts,
			    const struct filter *filter, struct err *err)
{
	struct fleet_view *v = xcalloc(1, sizeof(*v));
	struct view *view;

	v->source = (struct view_source){ .weigh = weigh_fleet, .release = release_fleet_view };
	v->fleet = f;
	v->facts = *facts;
	v->has_time = sql_asks_for_time(filter);
	if (sql_condition(&v->condition, filter, facts->step, err)) {
		buf_release(&v->condition);
		free(v);
		return NULL;
	}
	named_init(&v->named);
	v->responsible = responsible_untold(v->named.model, v->named.locations);
	responsible_tell(v->responsible, v->named.kinds);
	view = xcalloc(1, sizeof(*view));
	*view = (struct view){ .model = v->named.model,
			       .locations = v->named.locations,
			       .responsible = v->responsible,
			       .source = &v->source };
	return view;
}
