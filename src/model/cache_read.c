/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A model out of its file.  See cache.h and cache_format.h.
 *
 * Everything that is used as an index or a length is checked here, before anybody else sees it. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "model/cache_format.h"
#include "pairing/columns_window.h"

#define BLOCK (1u << 17)

static bool survived(const struct cache_header *h)
{
	char boot[sizeof(h->boot)];

	if (h->sealed == CACHE_SEALED)
		return true;
	cache_boot_id(boot, sizeof(boot));
	return boot[0] && memcmp(boot, h->boot, sizeof(boot)) == 0;
}

static bool read_header(int fd, struct cache_header *h, const struct cache_key *key)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !read_at(fd, h, sizeof(*h), 0) ||
	    memcmp(h->magic, CACHE_MAGIC, sizeof(h->magic)) != 0 || h->version != CACHE_VERSION ||
	    h->size != sizeof(*h) || h->sum != cache_header_sum(h) ||
	    h->file_size != (uint64_t)st.st_size || !survived(h) ||
	    (key && memcmp(key, &h->key, sizeof(*key)) != 0))
		return false;
	return ALL(i, CACHE_SECTIONS,
		   !(h->sections[i].offset % COLUMNS_ALIGN ||
		     h->sections[i].offset > h->file_size ||
		     h->sections[i].size > h->file_size - h->sections[i].offset));
}

struct tables_cursor {
	const uint8_t *p, *end;
};

static bool next_record(struct tables_cursor *c, struct cache_record *ret_head,
			const uint8_t **ret_bytes)
{
	size_t padded;

	if ((size_t)(c->end - c->p) < sizeof(*ret_head))
		return false;
	memcpy(ret_head, c->p, sizeof(*ret_head));
	c->p += sizeof(*ret_head);
	if (ret_head->size > (uint64_t)(c->end - c->p))
		return false;
	*ret_bytes = c->p;
	padded = (ret_head->size + 7) & ~(size_t)7;
	c->p += padded < (size_t)(c->end - c->p) ? padded : (size_t)(c->end - c->p);
	return true;
}

static bool take_chunk(struct model *m, const struct cache_record *head, const uint8_t *bytes)
{
	struct chunk c = { .offset = head->offset,
			   .payload = bytes,
			   .payload_size = head->size,
			   .beyond = head->beyond };
	struct err err;

	/* Nodes are mapped, and events are rows. */
	if (head->type > UINT8_MAX || head->type == CHUNK_NODES || head->type == CHUNK_EVENTS ||
	    head->beyond > FORMAT_CHUNK_RAW_MAX)
		return false;
	c.head.type = (uint8_t)head->type;
	return tables_add(&m->tables, &c, &err);
}

static bool take_threads(struct model *m, const struct cache_record *head, const uint8_t *bytes)
{
	struct threads *t = &m->tables.threads;

	if (head->size % sizeof(struct thread))
		return false;
	for (size_t i = 0; i < head->size / sizeof(struct thread); i++) {
		struct thread row;
		uint32_t at;

		memcpy(&row, bytes + i * sizeof(row), sizeof(row));
		at = threads_row(t, row.tid);
		threads_name(t, at, row.name, sizeof(row.name));
		if (at != i)
			return false;
	}
	return true;
}

static bool take_slacks(struct model *m, const struct cache_record *head, const uint8_t *bytes)
{
	if (head->size % sizeof(struct cache_slack))
		return false;
	for (size_t i = 0; i < head->size / sizeof(struct cache_slack); i++) {
		struct cache_slack s;

		memcpy(&s, bytes + i * sizeof(s), sizeof(s));
		map_set(&m->allocations.large_slacks, s.row, s.slack);
	}
	return true;
}

static bool take_map_calls(struct model *m, const struct cache_record *head, const uint8_t *bytes)
{
	if (head->size % sizeof(struct map_call))
		return false;
	for (size_t i = 0; i < head->size / sizeof(struct map_call); i++) {
		struct map_call call;

		memcpy(&call, bytes + i * sizeof(call), sizeof(call));
		map_calls_add(&m->tables.map_calls, &call);
	}
	return true;
}

static bool take_fixed(struct model *m, const struct cache_fixed *f)
{
	struct reader *r = &m->reader;

	if (f->loss_kind > LOSS_DAMAGED || memchr(f->loss.text, 0, sizeof(f->loss.text)) == NULL)
		return false;
	m->totals = f->totals;
	m->recorded = f->recorded;
	m->peak_is_whole = f->peak_is_whole;
	m->derived->counts = f->counts;
	m->chunk_count = f->chunk_count;
	m->event_chunk_count = f->event_chunk_count;
	m->tables.nodes.known = f->nodes_known;
	m->loss.kind = (enum loss_kind)f->loss_kind;
	m->loss.err = f->loss;
	r->offset = f->reader_offset;
	r->sequence = f->reader_sequence;
	r->index_offset = f->reader_index_offset;
	r->size = f->reader_size;
	r->ended = f->ended;
	r->trailer = f->trailer;
	return true;
}

static bool take_records(struct model *m, struct tables_cursor c)
{
	while (c.p < c.end) {
		struct cache_record head;
		const uint8_t *bytes;
		bool fine = false;

		if (!next_record(&c, &head, &bytes))
			return false;
		switch (head.kind) {
		case CACHE_CHUNK:
			fine = take_chunk(m, &head, bytes);
			break;
		case CACHE_THREADS:
			fine = take_threads(m, &head, bytes);
			break;
		case CACHE_MARKER:
			markers_add(&m->tables.markers, head.offset, head.type, (const char *)bytes,
				    head.size);
			fine = true;
			break;
		case CACHE_SLACKS:
			fine = take_slacks(m, &head, bytes);
			break;
		case CACHE_MAP_CALLS:
			fine = take_map_calls(m, &head, bytes);
			break;
		default:
			break;
		}
		if (!fine)
			return false;
	}
	return true;
}

static bool read_tables(struct model *m, int fd, const struct cache_header *h)
{
	uint64_t size = h->sections[CACHE_TABLES].size;
	struct cache_fixed fixed;
	auto_free uint8_t *bytes = NULL;

	if (size < sizeof(fixed) || size > CACHE_TABLES_MAX)
		return false;
	bytes = xmalloc(size);
	if (!read_at(fd, bytes, size, h->sections[CACHE_TABLES].offset) ||
	    cache_tables_sum(bytes, size) != h->tables_sum)
		return false;
	memcpy(&fixed, bytes, sizeof(fixed));
	return take_fixed(m, &fixed) &&
	       take_records(m, (struct tables_cursor){ bytes + sizeof(fixed), bytes + size });
}

/* An array of `*ret_count` elements, or NULL and none. */
static bool map_section(int fd, const struct cache_header *h, enum cache_section s, size_t element,
			void **ret_data, uint64_t *ret_count)
{
	uint64_t size = h->sections[s].size;
	void *p;

	*ret_data = NULL;
	*ret_count = size / element;
	if (size % element || *ret_count >= UINT32_MAX)
		return false;
	if (!size)
		return true;
	p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)h->sections[s].offset);
	if (p == MAP_FAILED)
		return false;
	*ret_data = p;
	return true;
}

static bool map_nodes(struct model *m, int fd, const struct cache_header *h)
{
	struct nodes *n = &m->tables.nodes;
	uint64_t frames = 0, parents = 0, flags = 0;
	bool fine =
		map_section(fd, h, CACHE_FRAMES, sizeof(*n->frame), (void **)&n->frame, &frames) &&
		map_section(fd, h, CACHE_PARENTS, sizeof(*n->parent), (void **)&n->parent,
			    &parents) &&
		map_section(fd, h, CACHE_FLAGS, sizeof(*n->flags), (void **)&n->flags, &flags);

	if (fine && frames == parents && frames == flags) {
		n->count = n->room = (uint32_t)frames;
		return true;
	}
	pages_free(n->frame, h->sections[CACHE_FRAMES].size);
	pages_free(n->parent, h->sections[CACHE_PARENTS].size);
	pages_free(n->flags, h->sections[CACHE_FLAGS].size);
	*n = (struct nodes){ 0 };
	return false;
}

static bool map_rest(struct model *m, int fd, const struct cache_header *h)
{
	struct stack_sums *sums = &m->derived->sums;
	uint64_t chains, rows;

	if (!map_section(fd, h, CACHE_CHAINS, sizeof(*m->chains), (void **)&m->chains, &chains))
		return false;
	m->chain_count = m->chain_room = (uint32_t)chains;
	if (!map_section(fd, h, CACHE_SUMS, sizeof(*sums->rows), (void **)&sums->rows, &rows))
		return false;
	sums->count = (uint32_t)rows;
	m->derived->mapped = true;
	return true;
}

static bool map_summary(struct model *m, int fd, const struct cache_header *h)
{
	struct summary *s = xcalloc(1, sizeof(*s));
	uint32_t nodes = m->tables.nodes.count ? m->tables.nodes.count : 1;
	uint64_t rows, node_count;

	s->mapped = true;
	m->summary = s;
	if (!map_section(fd, h, CACHE_SUMMARY, sizeof(*s->rows), (void **)&s->rows, &rows))
		return false;
	s->count = (uint32_t)rows;
	if (!map_section(fd, h, CACHE_SUMMARY_OF, sizeof(*s->row_of), (void **)&s->row_of,
			 &node_count))
		return false;
	s->node_count = (uint32_t)node_count;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->rows[i].stack >= nodes)
			return false;
	return node_count == nodes;
}

struct checking {
	const struct model *m;
	atomic_bool wrong;
};

static void check_nodes(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct checking *k = context;
	const struct nodes *n = &k->m->tables.nodes;
	const struct summary *s = k->m->summary;
	bool wrong = false;

	for (uint64_t i = first; i < first + count; i++) {
		wrong |= n->frame[i] && (i == 0 || n->parent[i] >= i);
		wrong |= s->row_of[i] != NO_SUMMARY && s->row_of[i] >= s->count;
	}
	if (wrong)
		k->wrong = true;
}

static void check_chains(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct checking *k = context;
	uint32_t rows = k->m->allocations.count;
	bool wrong = false;

	for (uint64_t i = first; i < first + count; i++) {
		const struct chain *c = &k->m->chains[i];

		wrong |= c->first >= rows || c->last >= rows || c->length > rows;
	}
	if (wrong)
		k->wrong = true;
}

#define WANT_checked                                                                               \
	(WANT_tags | WANT_allocated_at | WANT_freed_at | WANT_previous | WANT_chain |              \
	 WANT_position | WANT_stack)

/* `before`: when the row before them was allocated; the last of them then. */
static bool rows_are_good(const struct model *m, const struct columns *c, uint32_t first,
			  uint32_t count, uint64_t *before)
{
	size_t threads = m->tables.threads.count;
	bool wrong = false;

	for (uint32_t i = first; i < first + count; i++) {
		uint64_t tags = columns_tags(c, i);

		wrong |= columns_allocated_at(c, i) < *before;
		*before = columns_allocated_at(c, i);
		wrong |= columns_freed_at(c, i) < columns_allocated_at(c, i);
		wrong |= columns_previous(c, i) != NO_ALLOCATION && columns_previous(c, i) >= i;
		wrong |= columns_chain(c, i) != NO_CHAIN &&
			 (columns_chain(c, i) >= m->chain_count ||
			  columns_position(c, i) >= m->chains[columns_chain(c, i)].length);
		wrong |= summary_row_of(m->summary, columns_stack(c, i)) == NO_SUMMARY;
		wrong |= tags_thread(tags) >= threads || tags_free_thread(tags) >= threads;
	}
	return !wrong;
}

static void check_rows(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct checking *k = context;
	const struct model *m = k->m;
	const struct columns *all = &m->allocations;
	uint64_t before = first ? columns_allocated_at(all, (uint32_t)first - 1) : 0;
	struct columns_window w;
	bool wrong = false;

	EACH_WINDOW(at, n, first, count)
	wrong |= !rows_are_good(m, columns_window(&w, all, at, n, WANT_checked), at, n, &before);
	if (wrong)
		k->wrong = true;
}

static bool check_model(const struct model *m)
{
	const struct stack_sums *sums = &m->derived->sums;
	const struct summary *s = m->summary;
	struct checking k = { .m = m };

	parallel_whole(); /* what was not looked at is not known to be right */
	/* Without nodes the root has one place all the same. */
	if (s->row_of[0] != NO_SUMMARY && s->row_of[0] >= s->count)
		return false;
	parallel_for(m->tables.nodes.count, BLOCK, check_nodes, &k);
	for (uint32_t i = 0; i < sums->count; i++)
		if (sums->rows[i].stack && sums->rows[i].stack >= m->tables.nodes.count)
			return false;
	if (m->allocations.count <= CACHE_CHECK_ROWS) {
		parallel_for(m->chain_count, BLOCK, check_chains, &k);
		parallel_for(m->allocations.count, BLOCK, check_rows, &k);
	}
	return !k.wrong;
}

static int map_rows(struct columns *c, int fd, const struct cache_header *h)
{
	if (h->packed.group_bits)
		return columns_map_packed(c, fd, h->file_size, &h->packed, h->rows);
	return columns_map(c, fd, h->file_size, h->groups, h->group_count, h->rows);
}

bool cache_map(struct model *m, int fd, const struct cache_key *key)
{
	struct cache_header h;
	struct reader before = m->reader;

	if (!read_header(fd, &h, key) || map_rows(&m->allocations, fd, &h)) {
		close(fd);
		return false;
	}
	m->derived = xcalloc(1, sizeof(*m->derived));
	if (read_tables(m, fd, &h) && map_nodes(m, fd, &h) && map_rest(m, fd, &h) &&
	    map_summary(m, fd, &h) && check_model(m))
		return true;
	model_empty(m);
	m->reader = before;
	return false;
}
