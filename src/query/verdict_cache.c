/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Verdicts in a file.  See verdict_cache.h.
 *
 *	head | verdicts of what leaked … | with what was held … | stacks of each …
 *
 * The file's name holds the recording's state and this build (model/cache.h), so structs are as in
 * memory.  What else verdicts depend on is which stacks are one function's or one pool's: the head
 * holds a hash of all names, of what rules say of frames, and of the user's own rules.  Everything
 * is checked before it is used. */
#include "query/verdict_cache.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/cache.h"
#include "query/known_pools.h"
#include "query/names_hash.h"

#define KIND ".verdicts"
#define NO_POOL UINT32_MAX

struct stored_list {
	uint32_t rows, stacks;
	struct verdict_rest small;
	uint64_t end_ns, held_bytes, held_count;
	uint8_t held_matters;
};

struct head {
	uint64_t names; /* names_hash() */
	struct stored_list lists[2];
};

/* Pointers are nothing outside of memory: stacks follow each other, pools have numbers. */
struct stored_row {
	struct verdict row;
	uint32_t pool;
};

static struct stored_list list_head(const struct verdicts *from)
{
	struct stored_list to;

	memset(&to, 0, sizeof(to)); /* no byte of it is by chance */
	to.rows = from->count;
	to.small = from->small;
	to.end_ns = from->end_ns;
	to.held_bytes = from->held_bytes;
	to.held_count = from->held_count;
	to.held_matters = from->held_matters;
	for (uint32_t i = 0; i < from->count; i++)
		to.stacks += from->rows[i].stacks;
	return to;
}

static void pack_rows(struct buf *out, const struct verdicts *from)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct stored_row to;

		memset(&to, 0, sizeof(to));
		to.row = from->rows[i];
		to.pool = to.row.known ? to.row.known->number : NO_POOL;
		to.row.known = NULL;
		to.row.stack_list = NULL;
		buf_add(out, &to, sizeof(to));
	}
}

static void pack_stacks(struct buf *out, const struct verdicts *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		buf_add(out, from->rows[i].stack_list,
			from->rows[i].stacks * sizeof(*from->rows[i].stack_list));
}

void verdict_cache_pack(struct buf *out, const struct verdicts both[2], const struct view *v)
{
	struct head h;

	memset(&h, 0, sizeof(h));
	h.names = names_hash(v);
	buf_add(out, &h, sizeof(h));
	for (unsigned i = 0; i < 2; i++) {
		h.lists[i] = list_head(&both[i]);
		pack_rows(out, &both[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		pack_stacks(out, &both[i]);
	memcpy(out->data, &h, sizeof(h));
}

/* A bool with another value than these two is nothing that may be read as one. */
static bool is_bool(const struct stored_row *s, size_t offset)
{
	return ((const uint8_t *)s)[offset] <= 1;
}

static bool is_share(double x)
{
	return x >= 0 && x <= 1;
}

static bool is_row(const struct stored_row *s, const struct known_pools *pools)
{
	const struct verdict *v = &s->row;

	return is_bool(s, offsetof(struct stored_row, row.whole)) &&
	       is_bool(s, offsetof(struct stored_row, row.matters)) &&
	       is_bool(s, offsetof(struct stored_row, row.freed_at_exit)) &&
	       is_bool(s, offsetof(struct stored_row, row.rate_is_late)) && v->stacks &&
	       v->class < VERDICTS && v->reason <= REASON_SLOWING && is_share(v->confidence) &&
	       is_share(v->fit) && is_share(v->grown_work) && isfinite(v->grown_share) &&
	       isfinite(v->late_share) && isfinite(v->bytes_per_second) &&
	       isfinite(v->bytes_per_allocation) && isfinite(v->bytes_per_block) &&
	       (v->class == VERDICT_POOL ? s->pool < known_pools_count(pools) : s->pool == NO_POOL);
}

static bool unpack_rows(struct verdicts *to, const struct stored_list *l, const char *rows,
			const char *stacks, const struct nodes *nodes)
{
	uint32_t at = 0;

	to->pools = known_pools_new();
	to->small = l->small;
	to->end_ns = l->end_ns;
	to->held_bytes = l->held_bytes;
	to->held_count = l->held_count;
	to->held_matters = l->held_matters;
	to->rows = xcalloc((size_t)l->rows + 1, sizeof(*to->rows));
	to->stack_list = xcalloc((size_t)l->stacks + 1, sizeof(*to->stack_list));
	memcpy(to->stack_list, stacks, l->stacks * sizeof(*to->stack_list));
	if (!ALL(i, l->stacks, to->stack_list[i] < (nodes->count ? nodes->count : 1)))
		return false;
	for (uint32_t i = 0; i < l->rows; i++) {
		struct verdict *row = &to->rows[i];
		struct stored_row from;

		memcpy(&from, rows + i * sizeof(from), sizeof(from));
		if (!is_row(&from, to->pools) || from.row.stacks > l->stacks - at)
			return false;
		*row = from.row;
		row->stack_list = &to->stack_list[at];
		row->stack = row->stack_list[0];
		row->known = from.pool == NO_POOL ? NULL : known_pools_at(to->pools, from.pool);
		at += row->stacks;
		to->count++;
	}
	return at == l->stacks;
}

bool verdict_cache_unpack(const void *bytes, size_t size, struct verdicts ret_both[2],
			  const struct view *v)
{
	const char *rows, *stacks;
	struct head h;
	uint64_t row_size = 0, stack_size = 0;

	memset(ret_both, 0, 2 * sizeof(*ret_both));
	if (size < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	for (unsigned i = 0; i < 2; i++) {
		row_size += (uint64_t)h.lists[i].rows * sizeof(struct stored_row);
		stack_size += (uint64_t)h.lists[i].stacks * sizeof(uint32_t);
		if (h.lists[i].held_matters > 1 ||
		    ((const uint8_t *)&h.lists[i].small)[offsetof(struct verdict_rest, grows)] > 1)
			return false;
	}
	if (size != sizeof(h) + row_size + stack_size || h.names != names_hash(v))
		return false;
	rows = (const char *)bytes + sizeof(h);
	stacks = rows + row_size;
	for (unsigned i = 0; i < 2; i++) {
		if (!unpack_rows(&ret_both[i], &h.lists[i], rows, stacks,
				 &v->model->tables.nodes)) {
			verdicts_release(&ret_both[0]);
			verdicts_release(&ret_both[1]);
			return false;
		}
		rows += h.lists[i].rows * sizeof(struct stored_row);
		stacks += h.lists[i].stacks * sizeof(uint32_t);
	}
	return true;
}

void verdict_cache_both(struct verdicts *leaked, struct verdicts *held, const struct view *v)
{
	auto_buf struct buf bytes = { 0 };
	struct verdicts both[2];
	struct scratch file;
	size_t size;
	const void *found = cache_beside_map(v->model, KIND, &file, &size);

	if (!found || !verdict_cache_unpack(found, size, both, v)) {
		verdicts_init_both(&both[0], &both[1], v);
		verdict_cache_pack(&bytes, both, v);
		cache_beside_put(v->model, KIND, bytes.data, bytes.size);
	}
	scratch_release(&file);
	*leaked = both[0];
	*held = both[1];
}
