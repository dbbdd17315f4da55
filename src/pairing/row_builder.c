/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Building row groups.  See row_builder.h.
 *
 * Heads of packed groups go where they stay.  Tails go to a store of their own, since those of most
 * groups are packed once more: when all ends are known, all groups are gone through, a bucket of
 * them at a time and on all cores, and tails follow behind the heads.  The lock is for the queue of
 * full groups, the stores and the table of groups. */
#include "pairing/row_builder.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "pairing/row_group.h"
#include "pairing/row_store.h"
#include "wire/event.h"

#define OPEN_GROUPS 16u
#define SPARE_SLOTS 8u	/* groups that may wait to be packed */
#define BUCKET_BITS 6u	/* groups in a bucket: 1 << BUCKET_BITS */
#define LATE_BLOCK 256u /* records */
#define PACKERS_MAX 4u
#define TAILS_IN_MEMORY ((uint64_t)64 << 20)
#define NO_CHANGE UINT64_MAX /* of a lifetime: the record is about the chain only */

/* What became of a row after its group was packed. */
struct late {
	uint64_t lifetime;
	uint32_t row, ended;
	uint32_t free_stack, chain; /* chain: plus one; 0: as it was */
};

struct bucket {
	uint32_t *blocks; /* of records, in order of time */
	size_t block_count, block_room;
	uint32_t used; /* of the last one */
};

struct group_slot {
	struct group_rows rows;
	struct row_group group;
	uint32_t number;
	struct group_slot *next;
};

struct row_builder {
	unsigned bits;
	uint32_t count;
	struct group_slot *open[OPEN_GROUPS]; /* by group number */
	uint32_t first_open; /* group number: those before it are packed, or will be */
	struct map large_slacks;

	struct bucket *buckets;
	size_t bucket_count, bucket_room;
	struct scratch late;
	uint32_t late_blocks;

	struct chain *chains;
	uint32_t chain_count, chain_room;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct group_slot *queue, **queue_end; /* full groups */
	struct group_slot *spare;
	unsigned slots; /* that there are */
	bool stop;
	pthread_t packers[PACKERS_MAX];
	unsigned packer_count;
	struct row_group *groups;
	size_t group_count, group_room;
	struct row_store heads, tails; /* in the end everything is in `heads` */
};

struct row_builder *row_builder_new(unsigned group_bits)
{
	struct row_builder *b = xcalloc(1, sizeof(*b));

	b->bits = group_bits;
	b->queue_end = &b->queue;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	row_store_init(&b->heads);
	row_store_init(&b->tails);
	return b;
}

void row_builder_into(struct row_builder *b, int fd, uint64_t start)
{
	row_store_into(&b->heads, fd, start);
}

static void stop_packers(struct row_builder *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	while (b->packer_count)
		pthread_join(b->packers[--b->packer_count], NULL);
}

static void free_slots(struct group_slot *list)
{
	while (list) {
		struct group_slot *next = list->next;

		pages_free(list, sizeof(*list));
		list = next;
	}
}

struct row_builder *row_builder_free(struct row_builder *b)
{
	if (!b)
		return NULL;
	stop_packers(b);
	for (unsigned i = 0; i < OPEN_GROUPS; i++)
		if (b->open[i])
			pages_free(b->open[i], sizeof(*b->open[i]));
	free_slots(b->queue);
	free_slots(b->spare);
	for (size_t i = 0; i < b->bucket_count; i++)
		free(b->buckets[i].blocks);
	free(b->buckets);
	scratch_release(&b->late);
	map_release(&b->large_slacks);
	pages_free(b->chains, b->chain_room * sizeof(*b->chains));
	pages_free(b->groups, b->group_room * sizeof(*b->groups));
	row_store_release(&b->heads);
	row_store_release(&b->tails);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->changed);
	free(b);
	return NULL;
}

static void move_pieces(struct row_group *g, unsigned from, unsigned to, uint64_t by)
{
	for (unsigned i = from; i < to; i++)
		g->pieces[i].offset += by;
}

/* Under the lock. */
static struct row_group *group_row(struct row_builder *b, uint32_t number)
{
	while (number >= b->group_room) {
		size_t room = b->group_room ? b->group_room * 2 : 64;

		b->groups = pages_grow(b->groups, b->group_room * sizeof(*b->groups),
				       room * sizeof(*b->groups));
		b->group_room = room;
	}
	b->group_count = MAX(b->group_count, number + 1u);
	return &b->groups[number];
}

static void keep_tails(struct row_builder *b, const uint8_t *tail, size_t size, struct row_group *g)
{
	/* Most recordings are small. */
	if (b->tails.fd < 0 && b->tails.size + size > TAILS_IN_MEMORY && b->heads.fd >= 0) {
		struct row_store file;
		int fd = scratch_open();

		row_store_init(&file);
		if (fd >= 0) {
			row_store_into(&file, fd, 0);
			row_store_add(&file, b->tails.bytes, b->tails.size);
			row_store_release(&b->tails);
			b->tails = file;
		}
	}
	move_pieces(g, PACKED_TAIL_FIRST, PACKED_COLUMNS, row_store_add(&b->tails, tail, size));
}

static void pack_slot(struct row_builder *b, struct group_slot *s, uint8_t *head, uint8_t *tail)
{
	size_t head_size = packed_pack_head(&s->group, &s->rows, head, 0);
	size_t tail_size = packed_pack_tail(&s->group, &s->rows, tail, 0);

	s->group.tail_size = (uint32_t)tail_size;
	pthread_mutex_lock(&b->lock);
	move_pieces(&s->group, 0, PACKED_TAIL_FIRST, row_store_add(&b->heads, head, head_size));
	keep_tails(b, tail, tail_size, &s->group);
	*group_row(b, s->number) = s->group;
	s->next = b->spare;
	b->spare = s;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

/* The oldest full group, under the lock; NULL: there is none. */
static struct group_slot *take_full(struct row_builder *b)
{
	struct group_slot *s = b->queue;

	if (!s)
		return NULL;
	b->queue = s->next;
	if (!b->queue)
		b->queue_end = &b->queue;
	return s;
}

static void *pack_groups(void *context)
{
	struct row_builder *b = context;
	size_t bound = packed_bound(1u << b->bits);
	auto_free uint8_t *head = xcalloc(bound, 1), *tail = xcalloc(bound, 1);

	pthread_mutex_lock(&b->lock);
	for (;;) {
		struct group_slot *s = take_full(b);

		if (!s && b->stop)
			break;
		if (!s) {
			pthread_cond_wait(&b->changed, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		pack_slot(b, s, head, tail);
		pthread_mutex_lock(&b->lock);
		pthread_cond_broadcast(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void start_packers(struct row_builder *b)
{
	unsigned wanted = MIN((parallel_workers() + 1) / 2, PACKERS_MAX);

	while (b->packer_count < wanted &&
	       !pthread_create(&b->packers[b->packer_count], NULL, pack_groups, b))
		b->packer_count++;
}

/* This thread packs one, too: it is faster than all packers. */
static void pack_one_here(struct row_builder *b)
{
	size_t bound = packed_bound(1u << b->bits);
	struct group_slot *s;

	pthread_mutex_lock(&b->lock);
	s = take_full(b);
	pthread_mutex_unlock(&b->lock);
	if (s) {
		auto_free uint8_t *head = xcalloc(bound, 1), *tail = xcalloc(bound, 1);

		pack_slot(b, s, head, tail);
	}
}

static struct group_slot *empty_slot(struct row_builder *b)
{
	for (;;) {
		struct group_slot *s;
		bool more;

		pthread_mutex_lock(&b->lock);
		s = b->spare;
		if (s)
			b->spare = s->next;
		more = b->slots < OPEN_GROUPS + SPARE_SLOTS;
		b->slots += !s && more;
		pthread_mutex_unlock(&b->lock);
		if (s)
			return s;
		if (more)
			return pages_grow(NULL, 0, sizeof(*s));
		pack_one_here(b);
	}
}

static void close_group(struct row_builder *b, uint32_t number, uint32_t rows)
{
	struct group_slot *s = b->open[number % OPEN_GROUPS];

	b->open[number % OPEN_GROUPS] = NULL;
	b->first_open = number + 1;
	s->number = number;
	s->group.rows = rows;
	s->next = NULL;
	pthread_mutex_lock(&b->lock);
	*b->queue_end = s;
	b->queue_end = &s->next;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void open_group(struct row_builder *b, uint32_t number)
{
	struct group_slot *s;

	if (number >= OPEN_GROUPS) {
		if (!b->packer_count)
			start_packers(b);
		close_group(b, number - OPEN_GROUPS, 1u << b->bits);
	}
	s = empty_slot(b);
	/* What row_builder_begin() does not say is 0: STACK_NONE, never freed, no chain. */
#define X(id, type, member) memset(s->rows.member, 0, sizeof(type) << b->bits);
	X(PREVIOUS, uint32_t, previous)
	X(POSITION, uint32_t, position)
	PACKED_TAIL(X)
#undef X
	b->open[number % OPEN_GROUPS] = s;
}

uint32_t row_builder_count(const struct row_builder *b)
{
	return b->count;
}

uint32_t row_builder_begin(struct row_builder *b, uint64_t at, uint64_t address, uint64_t size,
			   uint32_t slack, uint64_t tags, uint32_t stack)
{
	uint32_t row = b->count++, i = row & ((1u << b->bits) - 1);
	struct group_rows *r;

	if (!i)
		open_group(b, row >> b->bits);
	if (slack >= SLACK_LARGE) {
		map_set(&b->large_slacks, row, slack);
		slack = SLACK_LARGE;
	}
	r = &b->open[(row >> b->bits) % OPEN_GROUPS]->rows;
	r->allocated_at[i] = at;
	r->address[i] = address;
	r->size[i] = size;
	r->slack[i] = slack;
	r->made[i] = tags_made(tags);
	r->stack[i] = stack;
	return row;
}

void row_builder_prefetch(const struct row_builder *b, uint32_t row)
{
	uint32_t number = row >> b->bits, i = row & ((1u << b->bits) - 1);

	if (number >= b->first_open) {
		const struct group_rows *r = &b->open[number % OPEN_GROUPS]->rows;

		__builtin_prefetch(&r->lifetime[i], 1);
		__builtin_prefetch(&r->free_stack[i], 1);
		__builtin_prefetch(&r->ended[i], 1);
	}
}

static struct late *late_at(const struct row_builder *b, uint32_t block, uint32_t i)
{
	return (struct late *)b->late.data + (size_t)block * LATE_BLOCK + i;
}

/* One more record about a row whose group is packed. */
static struct late *add_late(struct row_builder *b, uint32_t row)
{
	size_t number = row >> (b->bits + BUCKET_BITS);
	struct bucket *k;
	struct late *l;

	while (number >= b->bucket_count)
		*xpush(b->buckets, b->bucket_count, b->bucket_room) = (struct bucket){ 0 };
	k = &b->buckets[number];
	if (!k->block_count || k->used == LATE_BLOCK) {
		size_t size = (size_t)LATE_BLOCK * sizeof(*l);

		if ((b->late_blocks + 1) * size > b->late.size)
			scratch_resize(&b->late, MAX(b->late.size * 2, 16 * size));
		*xpush(k->blocks, k->block_count, k->block_room) = b->late_blocks++;
		k->used = 0;
	}
	l = late_at(b, k->blocks[k->block_count - 1], k->used++);
	*l = (struct late){ .row = row, .lifetime = NO_CHANGE };
	return l;
}

/* The row among those that are not packed yet; NULL: its group is. */
static struct group_rows *open_row_of(struct row_builder *b, uint32_t row)
{
	uint32_t number = row >> b->bits;

	return number >= b->first_open ? &b->open[number % OPEN_GROUPS]->rows : NULL;
}

void row_builder_end(struct row_builder *b, uint32_t row, uint64_t lifetime, uint64_t tags,
		     uint32_t stack)
{
	struct group_rows *r = open_row_of(b, row);
	uint32_t i = row & ((1u << b->bits) - 1);

	if (r) {
		r->lifetime[i] = lifetime;
		r->free_stack[i] = stack;
		r->ended[i] = tags_ended(tags);
	} else {
		struct late *l = add_late(b, row);

		l->lifetime = lifetime;
		l->free_stack = stack;
		l->ended = tags_ended(tags);
	}
}

static uint32_t start_chain(struct row_builder *b, uint32_t first)
{
	struct group_rows *r = open_row_of(b, first);
	uint32_t id = b->chain_count++;

	if (id >= b->chain_room) {
		uint32_t room = b->chain_room ? b->chain_room * 2 : 1024;

		b->chains = pages_grow(b->chains, b->chain_room * sizeof(*b->chains),
				       room * sizeof(*b->chains));
		b->chain_room = room;
	}
	b->chains[id] = (struct chain){ .first = first, .last = first, .length = 1 };
	if (r)
		r->chain[first & ((1u << b->bits) - 1)] = id + 1;
	else
		add_late(b, first)->chain = id + 1;
	return id;
}

uint32_t row_builder_link(struct row_builder *b, uint32_t row, uint32_t from, uint32_t chain)
{
	struct group_rows *r = open_row_of(b, row);
	uint32_t i = row & ((1u << b->bits) - 1);
	struct chain *c;

	r->previous[i] = row - from;
	if (chain == NO_CHAIN)
		chain = start_chain(b, from);
	c = &b->chains[chain];
	/* Only one row can follow another; were there a second, it would not belong here. */
	if (c->last != from)
		return NO_CHAIN;
	r->chain[i] = chain + 1;
	r->position[i] = c->length++;
	c->last = row;
	return chain;
}

/* The second pass, when all ends are known. */
struct finishing {
	struct row_builder *b;
	const uint8_t *heads, *tails;
	struct row_store *to; /* heads, where that does not move what is read there */
	struct finisher {
		struct group_rows *rows[1u << BUCKET_BITS]; /* made when needed, and kept */
		uint8_t *tail;
	} * workers;
};

static struct group_rows *rows_of_group(struct finishing *f, struct finisher *w, size_t first,
					size_t number, uint64_t *unpacked)
{
	const struct row_group *g = &f->b->groups[number];
	size_t i = number - first;

	if (*unpacked >> i & 1)
		return w->rows[i];
	*unpacked |= 1ull << i;
	if (!w->rows[i])
		w->rows[i] = pages_grow(NULL, 0, sizeof(*w->rows[i]));
	packed_unpack_tail(g, f->heads, f->tails, w->rows[i]);
	return w->rows[i];
}

static void put_late(struct group_rows *r, uint32_t i, const struct late *l)
{
	if (l->chain)
		r->chain[i] = l->chain;
	if (l->lifetime == NO_CHANGE)
		return;
	r->lifetime[i] = l->lifetime;
	r->free_stack[i] = l->free_stack;
	r->ended[i] = l->ended;
}

/* Returns which groups of the bucket have changed. */
static uint64_t put_all_late(struct finishing *f, struct finisher *w, size_t bucket)
{
	const struct row_builder *b = f->b;
	const struct bucket *k = bucket < b->bucket_count ? &b->buckets[bucket] : NULL;
	uint64_t changed = 0;

	for (size_t n = 0; k && n < k->block_count; n++) {
		uint32_t count = n + 1 < k->block_count ? LATE_BLOCK : k->used;

		for (uint32_t i = 0; i < count; i++) {
			const struct late *l = late_at(b, k->blocks[n], i);

			put_late(rows_of_group(f, w, bucket << BUCKET_BITS, l->row >> b->bits,
					       &changed),
				 l->row & ((1u << b->bits) - 1), l);
		}
	}
	return changed;
}

static void finish_bucket(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct finishing *f = context;
	struct finisher *w = &f->workers[worker];
	struct row_builder *b = f->b;

	if (!w->tail)
		w->tail = xcalloc(packed_bound(1u << b->bits), 1);
	for (uint64_t bucket = first; bucket < first + count; bucket++) {
		size_t from = bucket << BUCKET_BITS;
		size_t to = MIN(from + (1u << BUCKET_BITS), b->group_count);
		uint64_t changed = put_all_late(f, w, bucket);

		for (size_t i = from; i < to; i++) {
			struct row_group *g = &b->groups[i];
			const uint8_t *tail = f->tails + g->pieces[PACKED_TAIL_FIRST].offset;
			uint64_t old = g->pieces[PACKED_TAIL_FIRST].offset, now;

			if (changed >> (i - from) & 1) {
				g->tail_size = (uint32_t)packed_pack_tail(g, w->rows[i - from],
									  w->tail, 0);
				tail = w->tail;
				old = 0;
			}
			pthread_mutex_lock(&b->lock);
			now = row_store_add(f->to, tail, g->tail_size);
			pthread_mutex_unlock(&b->lock);
			move_pieces(g, PACKED_TAIL_FIRST, PACKED_COLUMNS, now - old);
		}
	}
}

static void finish_tails(struct row_builder *b)
{
	struct finishing f = { .b = b, .to = &b->heads };
	struct row_store in_memory;
	size_t tails_size, heads_size = b->heads.size;
	uint64_t before;
	void *mapped = MAP_FAILED;

	row_store_init(&in_memory);
	f.workers = xcalloc(parallel_workers(), sizeof(*f.workers));
	f.tails = row_store_map(&b->tails, &tails_size);
	if (b->heads.fd >= 0)
		mapped = mmap(NULL, heads_size, PROT_READ, MAP_SHARED, b->heads.fd,
			      (off_t)b->heads.start);
	f.heads = mapped;
	if (mapped == MAP_FAILED) {
		f.heads = b->heads.fd < 0 ? b->heads.bytes : row_store_back(&b->heads);
		f.to = &in_memory;
	}
	parallel_for((b->group_count + (1u << BUCKET_BITS) - 1) >> BUCKET_BITS, 1, finish_bucket,
		     &f);
	if (f.to == &in_memory) {
		before = row_store_add(&b->heads, in_memory.bytes, in_memory.size);
		for (size_t i = 0; i < b->group_count; i++)
			move_pieces(&b->groups[i], PACKED_TAIL_FIRST, PACKED_COLUMNS, before);
	} else {
		munmap(mapped, heads_size);
	}
	row_store_release(&in_memory);
	for (unsigned i = 0; i < parallel_workers(); i++) {
		for (unsigned k = 0; k < 1u << BUCKET_BITS; k++)
			pages_free(f.workers[i].rows[k], sizeof(*f.workers[i].rows[k]));
		free(f.workers[i].tail);
	}
	free(f.workers);
}

static void close_all(struct row_builder *b)
{
	uint32_t rows = 1u << b->bits;

	while (b->first_open << b->bits < b->count) {
		uint32_t left = b->count - (b->first_open << b->bits);

		close_group(b, b->first_open, MIN(left, rows));
	}
	if (!b->packer_count)
		while (b->queue)
			pack_one_here(b);
	stop_packers(b);
}

void row_builder_finish(struct row_builder *b, struct columns *c, struct chain **ret_chains,
			uint32_t *ret_count, uint32_t *ret_room)
{
	static const uint8_t padding[PACKED_PADDING];
	struct columns_packed *packed = xcalloc(1, sizeof(*packed));

	parallel_whole(); /* rows without their ends would be taken for leaks */
	close_all(b);
	if (b->group_count)
		finish_tails(b);
	row_store_add(&b->heads, padding, sizeof(padding));
	packed->groups = (struct row_groups){
		.bytes = row_store_map(&b->heads, &packed->bytes_size),
		.groups = b->groups,
		.count = (uint32_t)b->group_count,
		.bits = b->bits,
	};
	packed->used = b->heads.size;
	packed->groups_size = b->group_room * sizeof(*b->groups);
	c->packed = packed;
	c->count = c->room = b->count;
	c->large_slacks = b->large_slacks;
	if (b->heads.fd >= 0)
		columns_keep_file(c, b->heads.fd, b->heads.start + b->heads.size);
	row_store_init(&b->heads);
	b->groups = NULL;
	b->group_room = b->group_count = 0;
	memset(&b->large_slacks, 0, sizeof(b->large_slacks));
	*ret_chains = b->chains;
	*ret_count = b->chain_count;
	*ret_room = b->chain_room;
	b->chains = NULL;
	b->chain_count = b->chain_room = 0;
}
