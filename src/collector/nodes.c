/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stack nodes to chunks.  Each is written once, when it is filled: the recorder's threads hand out
 * ids before they fill them in, so a few may have to wait for a later round. */
#include <stdlib.h>
#include <sys/mman.h>

#include "collector/collector.h"
#include "collector/log.h"
#include "collector/naming.h"
#include "collector/python.h"
#include "wire/python.h"

#define NODE_BYTES (4 * VARINT_MAX)
#define ADDRESS_BITS 48

static bool map_segment(struct collector *c)
{
	uint32_t i = c->node_segment_count;
	uint64_t offset = c->control->node_segment_offset[i];
	void *p = MAP_FAILED;

	if (offset % ARCH_PAGE_MAX == 0 && offset < SHM_FILE_SIZE - SHM_NODE_SEGMENT_SIZE)
		p = mmap(NULL, SHM_NODE_SEGMENT_SIZE, PROT_READ, MAP_SHARED, c->shm_fd,
			 (off_t)offset);
	if (p == MAP_FAILED) {
		log_line(LOG_ERROR, "stack nodes from %u on cannot be mapped",
			 i * SHM_NODES_PER_SEGMENT);
		return false;
	}
	c->node_segments[i] = p;
	c->node_segment_count++;
	return true;
}

static struct shm_node *node(const struct collector *c, uint32_t id)
{
	return &c->node_segments[id / SHM_NODES_PER_SEGMENT][id % SHM_NODES_PER_SEGMENT];
}

static bool postpone(struct collector *c, uint32_t id)
{
	if (c->unfinished_count == c->unfinished_room) {
		size_t room = c->unfinished_room ? c->unfinished_room * 2 : 64;
		void *grown = realloc(c->unfinished, room * sizeof(*c->unfinished));

		if (!grown)
			return false;
		c->unfinished = grown;
		c->unfinished_room = room;
	}
	c->unfinished[c->unfinished_count++] = id;
	return true;
}

static bool is_python(uint64_t pc)
{
	return (pc & PYTHON_MODULE) == PYTHON_MODULE;
}

static void nodes_put(struct payload *p, const struct shm_node *n, uint32_t id, uint64_t pc,
		      uint64_t *previous)
{
	uint64_t address = pc & ((1ull << ADDRESS_BITS) - 1);
	uint32_t parent = n->parent < id ? n->parent : 0;

	payload_number(p, id - parent);
	payload_number(p, zigzag(address - *previous));
	payload_number(p, is_python(pc) ? 0 : pc >> ADDRESS_BITS);
	payload_number(p, n->flags & ~(uint32_t)NODE_BEHIND);
	*previous = address;
}

/* Writes filled nodes from `first` on, up to the first that is not, or `end`: returns where. */
static uint32_t write_range(struct collector *c, uint32_t first, uint32_t end)
{
	struct payload *p = &c->payload;
	uint64_t previous = 0, pc;
	uint32_t id = first, count;

	/* The count stands before the nodes: leave room for it, then close the gap. */
	p->used = 2 * VARINT_MAX;
	for (; id < end && payload_fits(p, NODE_BYTES); id++) {
		struct shm_node *n = node(c, id);

		pc = atomic_load_explicit(&n->pc, memory_order_acquire);
		if (!pc)
			break;
		nodes_put(p, n, id, pc, &previous);
		if (is_python(pc))
			python_codes_name(c->python, c, pc & ~PYTHON_MODULE);
		else if (!(pc >> ADDRESS_BITS))
			naming_meet(c->naming, pc - (n->flags & NODE_EXACT ? 0 : 1));
	}
	count = id - first;
	if (!count)
		return id;

	struct payload head = { p->data, 0, 2 * VARINT_MAX };
	uint8_t *start;

	payload_number(&head, first);
	payload_number(&head, count);
	start = p->data + 2 * VARINT_MAX - head.used;
	memmove(start, p->data, head.used);
	recording_write(&c->recording, CHUNK_NODES, EFFORT_REST, start,
			(size_t)(p->data + p->used - start), 0);
	return id;
}

static void write_unfinished(struct collector *c)
{
	size_t remaining = 0, i = 0;

	while (i < c->unfinished_count) {
		uint32_t first = c->unfinished[i], end = first + 1, reached;

		for (size_t j = i + 1; j < c->unfinished_count && c->unfinished[j] == end; j++)
			end++;
		reached = write_range(c, first, end);
		i += reached - first;
		if (reached < end)
			c->unfinished[remaining++] = c->unfinished[i++];
	}
	c->unfinished_count = remaining;
}

void nodes_write(struct collector *c)
{
	uint32_t count = atomic_load_explicit(&c->control->node_count, memory_order_acquire);
	uint32_t segments =
		atomic_load_explicit(&c->control->node_segment_count, memory_order_acquire);

	if (segments > SHM_MAX_NODE_SEGMENTS)
		segments = SHM_MAX_NODE_SEGMENTS;
	while (c->node_segment_count < segments && map_segment(c))
		;
	if (count > (uint64_t)c->node_segment_count * SHM_NODES_PER_SEGMENT)
		count = c->node_segment_count * SHM_NODES_PER_SEGMENT;
	python_codes_read(c->python, c);
	write_unfinished(c);
	while (c->next_node < count) {
		uint32_t id = write_range(c, c->next_node, count);

		if (id < count && !c->recording.error && id == c->next_node && !postpone(c, id++))
			return;
		c->next_node = id;
		if (c->recording.error)
			return;
	}
	naming_write(c->naming);
	naming_look_at_kinds(c->naming);
}
