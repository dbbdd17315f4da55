/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Python's frames among the C frames of a stack.
 *
 * Called by take_stack() when a stack's C frames are known, on any thread, and not in signal
 * handlers that interrupted a hook.  Does something only for the thread that holds Python's global
 * lock: the interpreter itself says who that is, by two functions that only read.  So nothing here
 * needs a lock of its own, what Python has linked stays as it is meanwhile, and other threads'
 * state is never looked at.
 *
 * What can go wrong: the layout may be another than the version says, or Python may be in the midst
 * of something.  So before it is read, memory is known to be readable (a page was asked for, since
 * anything was unmapped), what was found is compared with what has to be there (types, places
 * inside the code, places on the C stack), and with any doubt the stack keeps its C frames.
 *
 * Where Python's frames belong: each run of the interpreter's loop has a struct on the C stack. The
 * C frame that it lies in is the loop's, whatever its function is called, and Python's frames of
 * that run stand in its place. */
#include "recorder/python.h"

#include <string.h>

#include "recorder/python_layout.h"
#include "recorder/sys.h"
#include "target/elf.h"
#include "wire/python.h"

#define FRAMES_MAX 256u /* innermost ones; with more the rest is cut */
#define RUNS_MAX 128u
#define KNOWN_FRAMES 512u
#define FRAME_SIZE 72
#define CHASE_MAX 65536u /* frames between the last that is taken and the end of its run */
#define PAGES 1024u
#define PATIENCE 1000000u
#define KNOWN_STACKS 65536u
#define FIRST_CODES 4096u
#define CODES_MAX (1u << 22)

struct run_of_loop {
	uint64_t at;  /* on the C stack */
	uint32_t end; /* of its frames in the list: the index behind the outermost */
};

/* A frame as it was found there the last time, in memory that was readable. */
struct known_frame {
	uint64_t frame, code, instruction;
	uint64_t sum;	  /* see known_code */
	uint64_t address; /* of its node */
};

struct known_code {
	uint64_t code; /* 0: free */
	uint64_t sum;  /* of what makes it another one at the same place */
	uint32_t number;
};

/* All of it is for who holds the global lock; `layout` is set once. */
static struct {
	const struct python_layout *layout;
	void *(*current)(void), *(*own)(void);
	uint64_t code_type, text_type, bytes_type;
	uint64_t interpreter; /* the first that was met: others have locks of their own */
	bool checked, refused, late;
	_Atomic uint32_t unloading, inside; /* threads; only where it came late */
	_Atomic uint32_t unmapped;	    /* times that something was */
	uint32_t pages_of;		    /* its value when the pages were asked for */
	uint64_t pages[PAGES];
	struct known_code *codes;
	uint32_t code_room, code_count, next_code;
	struct python_record *segment;
	uint32_t segment_used;
	struct rt_known_stack *stacks;
	struct walk *walk;
	uint32_t walk_generation;
	/* The stack that is being taken, innermost first. */
	uint64_t frames[FRAMES_MAX];
	struct known_frame known[KNOWN_FRAMES];
	struct run_of_loop runs[RUNS_MAX];
	uint32_t frame_count, run_count;
	bool cut;
	/* Of the stack before: most loops that allocate have the same one again and again. */
	uint64_t changed; /* 0: up to here this stack is that one */
	uint64_t sum;	  /* of its frames and runs */
	uint32_t summed_frames, summed_runs;
	bool summed_cut;
} py;

void python_forget_pages(void)
{
	if (unlikely(py.layout))
		atomic_fetch_add_explicit(&py.unmapped, 1, memory_order_relaxed);
}

void python_look_at(const struct link_map *map, bool late)
{
	struct elf_image image;
	const uint64_t *version;

	/* Layouts are those of words with 64 bits. */
	if (sizeof(void *) < 8 || py.layout || py.refused || !rt.shm->options.python ||
	    !elf_read(map, &image))
		return;
	version = elf_find_object(&image, "Py_Version");
	py.own = (void *(*)(void))elf_find(&image, "PyGILState_GetThisThreadState");
	py.current = (void *(*)(void))elf_find(&image, "_PyThreadState_UncheckedGet");
	if (!py.current)
		py.current = (void *(*)(void))elf_find(&image, "PyThreadState_GetUnchecked");
	py.code_type = (uintptr_t)elf_find_object(&image, "PyCode_Type");
	py.text_type = (uintptr_t)elf_find_object(&image, "PyUnicode_Type");
	py.bytes_type = (uintptr_t)elf_find_object(&image, "PyBytes_Type");
	if (!version || !py.own || !py.current || !py.code_type || !py.text_type || !py.bytes_type)
		return;
	for (unsigned i = 0; i < sizeof(python_layouts) / sizeof(python_layouts[0]); i++)
		if (python_layouts[i].version == (uint32_t)*version >> 16)
			py.layout = &python_layouts[i];
	if (!py.layout) {
		py.refused = true;
		rt_count(COUNTER_python_unknown, 1);
	} else {
		modules_changed(); /* every thread comes by, and learns that there is Python */
	}
	py.late = late;
	rt.python = py.layout;
}

/* In memory that is not on our stack. */
static bool is_readable(uint64_t at, uint64_t size)
{
	if (at % 8 || at < ARCH_PAGE || at >> 48)
		return false;
	for (uint64_t page = at / ARCH_PAGE; page <= (at + size - 1) / ARCH_PAGE; page++) {
		uint64_t *known = &py.pages[page % PAGES];

		if (likely(*known == page))
			continue;
		if (!sys_readable((const void *)(uintptr_t)(page * ARCH_PAGE)))
			return false;
		*known = page;
	}
	return true;
}

static inline uint64_t word_at(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at;
}

static inline uint32_t half_at(uint64_t at)
{
	return *(const uint32_t *)(uintptr_t)at;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash << 7 ^ hash >> 57 ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 31;
}

static void put_utf8(uint8_t **out, uint32_t c)
{
	uint8_t *p = *out;

	if (c < 0x80) {
		*p++ = (uint8_t)c;
	} else if (c < 0x800) {
		*p++ = (uint8_t)(0xc0 | c >> 6);
		*p++ = (uint8_t)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*p++ = (uint8_t)(0xe0 | c >> 12);
		*p++ = (uint8_t)(0x80 | (c >> 6 & 63));
		*p++ = (uint8_t)(0x80 | (c & 63));
	} else {
		*p++ = (uint8_t)(0xf0 | (c >> 18 & 7));
		*p++ = (uint8_t)(0x80 | (c >> 12 & 63));
		*p++ = (uint8_t)(0x80 | (c >> 6 & 63));
		*p++ = (uint8_t)(0x80 | (c & 63));
	}
	*out = p;
}

/* A string as UTF-8, the end of it if it is long; false if it is none. */
static bool put_text(uint64_t text, uint8_t **out)
{
	uint64_t length, data, kind, skip;
	uint32_t state;

	if (!is_readable(text, py.layout->compact) || word_at(text + 8) != py.text_type)
		return false;
	length = word_at(text + 16);
	state = half_at(text + 32);
	kind = state >> 2 & 7;
	if (!(state & 0x20) || (kind != 1 && kind != 2 && kind != 4) || length >> 32)
		return false;
	data = text + (state & 0x40 ? py.layout->ascii : py.layout->compact);
	skip = length > PYTHON_TEXT_MAX / 4 ? length - PYTHON_TEXT_MAX / 4 : 0;
	if (!is_readable((data + skip * kind) & ~7ull, (length - skip) * kind + 8))
		return false;
	for (uint64_t i = skip; i < length; i++) {
		uint64_t at = data + i * kind;

		put_utf8(out, kind == 1	  ? *(const uint8_t *)(uintptr_t)at
			      : kind == 2 ? *(const uint16_t *)(uintptr_t)at
					  : half_at(at));
	}
	return true;
}

/* Room for one record, at most; the segment's rest stays empty. */
static struct python_record *record_room(uint32_t most)
{
	struct rt_lock_state lock;
	uint64_t offset;
	uint32_t n;

	if (py.segment && PYTHON_SEGMENT_SIZE - py.segment_used >= most)
		return (struct python_record *)((char *)py.segment + py.segment_used);
	if (!rt_lock(&lock))
		return NULL;
	n = atomic_load(&rt.shm->python_segment_count);
	py.segment = n < PYTHON_SEGMENTS_MAX ? rt_map_segment(PYTHON_SEGMENT_SIZE, &offset) : NULL;
	py.segment_used = 0;
	if (py.segment) {
		rt.shm->python_segment_offset[n] = offset;
		atomic_store_explicit(&rt.shm->python_segment_count, n + 1, memory_order_release);
	}
	rt_unlock(&lock);
	return py.segment;
}

/* Tells the collector about a code object that was never met: its number, or -1. */
static int64_t describe_code(uint64_t code)
{
	const struct python_layout *l = py.layout;
	uint64_t lines = word_at(code + l->line_table), lines_size;
	struct python_record *r;
	uint8_t *p;

	if (word_at(code + 8) != py.code_type || py.next_code >= PYTHON_CODES_MAX ||
	    !is_readable(lines, 32) || word_at(lines + 8) != py.bytes_type)
		return -1;
	lines_size = word_at(lines + 16);
	if (lines_size > PYTHON_LINES_MAX)
		lines_size = 0;
	if (!is_readable(lines, 32 + lines_size + 1))
		return -1;
	r = record_room((uint32_t)(sizeof(*r) + 2 * PYTHON_TEXT_MAX + lines_size + 8));
	if (!r)
		return -1;
	p = r->bytes;
	if (!put_text(word_at(code + l->name), &p))
		return -1;
	r->name_size = (uint16_t)(p - r->bytes);
	if (!put_text(word_at(code + l->file), &p))
		return -1;
	r->file_size = (uint16_t)(p - r->bytes - r->name_size);
	memcpy(p, (const void *)(uintptr_t)(lines + 32), lines_size);
	r->lines_size = (uint32_t)lines_size;
	r->first_line = half_at(code + l->first_line);
	r->number = py.next_code++;
	lines_size = (uint64_t)(p + lines_size - (uint8_t *)r + 7) / 8;
	atomic_store_explicit(&r->size, (uint32_t)lines_size, memory_order_release);
	py.segment_used += (uint32_t)lines_size * 8;
	return r->number;
}

static struct known_code *place_of(struct known_code *codes, uint32_t room, uint64_t code)
{
	uint32_t i = (uint32_t)(mix(0, code) & (room - 1));

	while (codes[i].code && codes[i].code != code)
		i = (i + 1) & (room - 1);
	return &codes[i];
}

static bool grow_codes(void)
{
	uint32_t room = py.code_room ? py.code_room * 4 : FIRST_CODES;
	struct known_code *old = py.codes, *bigger;

	if (room > CODES_MAX || !(bigger = rt_map(room * sizeof(*bigger))))
		return false;
	for (uint32_t i = 0; i < py.code_room; i++)
		if (old[i].code)
			*place_of(bigger, room, old[i].code) = old[i];
	py.codes = bigger;
	if (old)
		rt_unmap(old, py.code_room * sizeof(*old));
	py.code_room = room;
	return true;
}

/* At a place where a code object was freed another may be: it is the same if it has the same name,
 * file, line and table of lines. */
static inline uint64_t sum_of(const struct python_layout *l, uint64_t code)
{
	return (word_at(code + l->name) * 3 + word_at(code + l->file) * 5 +
		half_at(code + l->first_line)) *
		       7 +
	       word_at(code + l->line_table);
}

static int64_t number_of(uint64_t code, uint64_t sum)
{
	struct known_code *k;
	int64_t number;

	if (py.code_count * 2 >= py.code_room && !grow_codes())
		return -1;
	k = place_of(py.codes, py.code_room, code);
	if (likely(k->code && k->sum == sum))
		return k->number;
	number = describe_code(code);
	if (number < 0)
		return -1;
	py.code_count += !k->code;
	*k = (struct known_code){ code, sum, (uint32_t)number };
	return number;
}

static inline struct known_frame *known_frame(uint64_t frame)
{
	return &py.known[frame / 16 % KNOWN_FRAMES];
}

static inline void put_address(uint64_t address)
{
	uint64_t *place = &py.frames[py.frame_count++];

	py.changed |= *place ^ address;
	*place = address;
}

static inline bool put_frame(const struct python_layout *l, struct known_frame *k, uint64_t number)
{
	int64_t place = (int64_t)(k->instruction - k->code - l->instructions) / 2;

	/* Before the first instruction it has not begun. */
	if (place < -1 || place >= (int64_t)(word_at(k->code + 16)))
		return false;
	if (place < 0)
		place = 0;
	if (place > PYTHON_PLACE_MASK)
		place = PYTHON_PLACE_MASK;
	k->address = python_address((uint32_t)number, (uint32_t)place);
	put_address(k->address);
	return true;
}

static __attribute__((noinline)) bool take_new_frame(uint64_t frame)
{
	const struct python_layout *l = py.layout;
	struct known_frame *k = known_frame(frame);
	int64_t number;

	/* Not what was there the last time, whatever comes. */
	k->frame = 0;
	k->code = word_at(frame + l->code);
	k->instruction = word_at(frame + l->instruction);
	if (!is_readable(k->code, l->instructions))
		return false;
	k->sum = sum_of(l, k->code);
	number = number_of(k->code, k->sum);
	if (number < 0 || !put_frame(l, k, (uint64_t)number))
		return false;
	k->frame = frame;
	return true;
}

/* Takes one frame; false if it makes no sense.  Most of them are those of the last stack. */
static inline bool take_frame(const struct python_layout *l, uint64_t frame)
{
	struct known_frame *k = known_frame(frame);
	uint64_t instruction;

	if (unlikely(k->frame != frame || word_at(frame + l->code) != k->code ||
		     sum_of(l, k->code) != k->sum))
		return take_new_frame(frame);
	instruction = word_at(frame + l->instruction);
	if (unlikely(instruction != k->instruction)) {
		k->instruction = instruction;
		return put_frame(l, k, (k->address & PYTHON_REST_MASK) >> PYTHON_PLACE_BITS);
	}
	put_address(k->address);
	return true;
}

/* Before anything of a frame is read. */
static inline bool may_read_frame(uint64_t frame)
{
	return likely(known_frame(frame)->frame == frame) || is_readable(frame, FRAME_SIZE);
}

static inline bool on_stack(uint64_t at, uint64_t low, uint64_t high)
{
	return at > low && at < high && at % 8 == 0;
}

static bool end_run(uint64_t at)
{
	struct run_of_loop *run = &py.runs[py.run_count];

	if (py.run_count == RUNS_MAX || (py.run_count && run[-1].at >= at))
		return false;
	py.run_count++;
	py.changed |= run->end ^ py.frame_count;
	*run = (struct run_of_loop){ at, py.frame_count };
	return true;
}

/* 3.11: runs by their structs on the C stack. */
static bool take_runs(uint64_t state, uint64_t low, uint64_t high)
{
	const struct python_layout *l = py.layout;
	uint64_t run = word_at(state + l->cframe);

	for (; run != state + l->root_cframe; run = word_at(run + l->cframe_previous)) {
		uint64_t frame;

		if (!on_stack(run, low, high))
			return false;
		for (frame = word_at(run + l->cframe_current);;
		     frame = word_at(frame + l->previous)) {
			if (py.frame_count == FRAMES_MAX) {
				py.cut = true;
				return end_run(run);
			}
			if (!may_read_frame(frame) || !take_frame(l, frame))
				return false;
			if (*(const uint8_t *)(uintptr_t)(frame + l->is_entry))
				break;
		}
		if (!end_run(run))
			return false;
	}
	return true;
}

/* From 3.12 on: one list, with frames on the C stack between the runs. */
static bool take_list(uint64_t state, uint64_t low, uint64_t high)
{
	const struct python_layout *l = py.layout;
	uint64_t frame, chased = 0;

	if (l->cframe == PYTHON_NONE) {
		frame = word_at(state + l->current_frame);
	} else {
		uint64_t run = word_at(state + l->cframe);

		if (run != state + l->root_cframe && !on_stack(run, low, high))
			return false;
		frame = word_at(run + l->cframe_current);
	}
	for (; frame; frame = word_at(frame + l->previous)) {
		bool ours = on_stack(frame, low, high);

		if (!ours && !may_read_frame(frame))
			return false;
		if (*(const uint8_t *)(uintptr_t)(frame + l->owner) == PYTHON_OWNED_BY_C) {
			if (!ours || !end_run(frame))
				return false;
			if (py.cut)
				return true;
		} else if (ours) {
			return false;
		} else if (py.frame_count < FRAMES_MAX) {
			if (!take_frame(l, frame))
				return false;
		} else {
			py.cut = true;
			if (++chased > CHASE_MAX)
				return false;
		}
	}
	return !py.run_count || py.runs[py.run_count - 1].end == py.frame_count;
}

/* The offsets are believed when the state that they lead to is this thread's. */
static bool looks_right(const struct rt_thread *t, uint64_t state)
{
	py.checked = true;
	if (!is_readable(state, py.layout->native_thread_id + 8u) ||
	    word_at(state + py.layout->native_thread_id) != (uint64_t)t->tid)
		return false;
	py.interpreter = word_at(state + py.layout->interp);
	py.next_code += !py.next_code;
	py.stacks = rt_map(KNOWN_STACKS * sizeof(*py.stacks));
	return py.interpreter && py.stacks;
}

/* Every C frame again, with its place on the stack. */
static struct walk *walk_again(const struct rt_thread *t, const uint64_t *frame)
{
	const struct walk *own = t->walks[0];

	if (!py.walk) {
		void *memory = rt_map(walk_size(rt.stack_depth, 1));

		if (!memory)
			return NULL;
		py.walk = walk_init(memory, rt.stack_depth, 1, own->probe);
	}
	if (py.walk_generation != t->generation)
		walk_forget(py.walk);
	py.walk_generation = t->generation;
	walk_set_stack(py.walk, own->stack_high);
	py.walk->stack_low = own->stack_low;
	walk_slowly(py.walk, arch_caller(frame));
	return py.walk;
}

/* Puts both together, from the outermost frame on.  0: they do not fit. */
static uint32_t merge_frames(const struct rt_thread *t, const uint64_t *frame)
{
	struct walk *w = walk_again(t, frame);
	uint32_t run = py.run_count, node = 0, taken = 0;

	if (!w || w->careful)
		return 0;
	for (struct walk_frame *f = w->frames; f <= w->top; f++) {
		/* A handler that has interrupted Python, in the midst of anything. */
		if (f->flags & FRAME_EXACT)
			return 0;
		/* Where the outermost frame that is known ends is not known. */
		while (run && f == w->frames && w->outcome != WALK_COMPLETE &&
		       py.runs[run - 1].at > f->slot)
			run--;
		if (!run || py.runs[run - 1].at <= f->slot) {
			if (!py.cut || taken)
				node = trie_add_frame(node, w, f);
		} else {
			uint32_t end = py.runs[run - 1].end;
			uint32_t first = run > 1 ? py.runs[run - 2].end : 0;

			run--;
			for (uint32_t i = end; i-- > first; taken++)
				node = trie_add(node, py.frames[i],
						NODE_EXACT |
							(py.cut && !taken ? NODE_TRUNCATED : 0));
		}
		if (!node && (taken || !py.cut))
			return 0;
	}
	return run || !taken ? 0 : node;
}

static bool take_python_frames(uint64_t state, uint64_t low, uint64_t high)
{
	py.frame_count = py.run_count = 0;
	py.cut = false;
	py.changed = 0;
	return py.layout->is_entry != PYTHON_NONE ? take_runs(state, low, high)
						  : take_list(state, low, high);
}

/* A hash of the stack's Python frames and where they belong. */
static uint64_t sum_of_frames(void)
{
	uint64_t sum = py.cut;

	if (likely(py.frame_count == py.summed_frames && py.run_count == py.summed_runs &&
		   py.cut == py.summed_cut))
		return py.sum;
	/* Parts that do not wait for each other. */
	for (uint32_t i = 0; i < py.frame_count; i++) {
		uint64_t part = (py.frames[i] ^ (uint64_t)i << 50) * 0x9e3779b97f4a7c15ull;

		sum += (part ^ part >> 29) * 0xbf58476d1ce4e5b9ull;
	}
	for (uint32_t i = 0; i < py.run_count; i++)
		sum = mix(sum, py.runs[i].end);
	py.summed_frames = py.frame_count;
	py.summed_runs = py.run_count;
	py.summed_cut = py.cut;
	py.sum = sum;
	return sum;
}

static uint32_t known_or_merged(struct rt_thread *t, const uint64_t *frame, uint32_t node)
{
	uint64_t hash = mix(sum_of_frames(), node);
	struct rt_known_stack *k;
	uint32_t merged;

	k = &py.stacks[hash & (KNOWN_STACKS - 1)];
	if (likely(k->hash == hash))
		return k->node;
	merged = merge_frames(t, frame);
	if (!merged) {
		rt_count(COUNTER_python_unmatched, 1);
		merged = node;
	}
	*k = (struct rt_known_stack){ hash, merged };
	return merged;
}

static uint32_t python_stack_now(struct rt_thread *t, const uint64_t *frame, uint32_t node,
				 bool unsure)
{
	const struct walk *w = t->walks[0];
	uint64_t state, low = (uintptr_t)frame, high = w->stack_high;
	uint32_t unmapped;
	bool taken;

	if (py.refused || !node)
		return node;
	state = (uintptr_t)py.own();
	if (!state || (uintptr_t)py.current() != state || low < w->stack_low || low >= high)
		return node;
	unmapped = atomic_load_explicit(&py.unmapped, memory_order_relaxed);
	if (unlikely(unsure || unmapped != py.pages_of)) {
		memset(py.pages, 0, sizeof(py.pages));
		memset(py.known, 0, sizeof(py.known));
		py.pages_of = unmapped;
	}
	if (unlikely(!py.checked) && !looks_right(t, state)) {
		py.refused = true;
		rt_count(COUNTER_python_unknown, 1);
		return node;
	}
	if (word_at(state + py.layout->interp) != py.interpreter)
		return node;
	taken = take_python_frames(state, low, high);
	if (py.changed)
		py.summed_frames = UINT32_MAX;
	if (!taken) {
		rt_count(COUNTER_python_unmatched, 1);
		return node;
	}
	return py.run_count ? known_or_merged(t, frame, node) : node;
}

/* An interpreter that was opened while the program ran may be closed: then it is not asked any
 * more, not even by who is about to. */
uint32_t python_stack(struct rt_thread *t, const uint64_t *frame, uint32_t node, bool unsure)
{
	if (likely(!py.late))
		return python_stack_now(t, frame, node, unsure);
	atomic_fetch_add(&py.inside, 1);
	if (!atomic_load(&py.unloading))
		node = python_stack_now(t, frame, node, unsure);
	atomic_fetch_sub(&py.inside, 1);
	return node;
}

void python_before_unloading(void)
{
	if (!py.layout || !py.late)
		return;
	atomic_fetch_add(&py.unloading, 1);
	for (uint32_t i = 0; i < PATIENCE && atomic_load(&py.inside); i++)
		arch_pause();
}

/* It stays out of use where it is gone, for good: another may come to the same place. */
void python_after_unloading(void)
{
	struct dl_find_object o;

	if (!py.layout || !py.late)
		return;
	if (_dl_find_object((void *)(uintptr_t)py.own, &o) == 0)
		atomic_fetch_sub(&py.unloading, 1);
}

void python_forget(void)
{
	if (py.codes)
		memset(py.codes, 0, py.code_room * sizeof(*py.codes));
	if (py.stacks)
		memset(py.stacks, 0, KNOWN_STACKS * sizeof(*py.stacks));
	memset(py.known, 0, sizeof(py.known));
	py.code_count = 0;
	if (py.segment)
		rt_unmap(py.segment, PYTHON_SEGMENT_SIZE);
	py.segment = NULL;
}
