/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules: which loaded file an address belongs to.
 *
 * Found when a frame is first met in one, through the loader's own lock-free search
 * (_dl_find_object): dl_iterate_phdr would take the loader's lock, and a thread that holds a lock
 * of the program while it allocates could then wait for a constructor that wants that lock.
 * Slow path only, under the recorder's lock. */
#include "recorder/python.h"
#include "recorder/rt.h"
#include "recorder/segments.h"
#include "recorder/sys.h"

#include <elf.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/rules.h"
#include "unwind/scan.h"

/* Segments of a file that follow each other without a page between them. */
struct run {
	uint64_t start, end;
};

/* A file with more gaps than this loses names behind the last of them. */
#define MAX_RUNS 8u

struct module {
	uint64_t start, end;
	struct run runs[MAX_RUNS];
	uint32_t run_count;
	struct cfi_image image;
	const ElfW(Phdr) * segments; /* NULL: its header was not found */
	uint32_t segment_count;
	const struct link_map *map;
	uint32_t generation; /* when it was last seen to be there */
	uint32_t index;
};

#define MAX_MODULES 65535u
#define BLOCK 256u

static struct module *blocks[MAX_MODULES / BLOCK + 1]; /* of modules, by index - 1 */
static uint32_t module_count, generation = 1;
static bool came_late;
static struct shm_module *record_segments[SHM_MAX_MODULE_SEGMENTS];

/* The lock as the rule table wants it. */
static struct rt_lock_state rules_lock_state;

static bool rules_lock(void)
{
	struct rt_lock_state s;

	if (!rt_lock(&s))
		return false;
	rules_lock_state = s;
	return true;
}

static void rules_unlock(void)
{
	struct rt_lock_state s = rules_lock_state;

	rt_unlock(&s);
}

void modules_init(void)
{
	static const struct rules_host host = {
		.map = rt_map,
		.lock = rules_lock,
		.unlock = rules_unlock,
		.decode = modules_decode,
	};

	segments_init();
	rules_init(&host);
}

static struct module *module_at(uint32_t i)
{
	return &blocks[i / BLOCK][i % BLOCK];
}

static struct shm_module *record_at(uint32_t index)
{
	uint32_t segment = index / SHM_MODULES_PER_SEGMENT;

	if (!record_segments[segment]) {
		uint64_t offset;
		void *p = rt_map_segment(SHM_MODULE_SEGMENT_SIZE, &offset);

		if (!p)
			return NULL;
		record_segments[segment] = p;
		rt.shm->module_segment_offset[segment] = offset;
		atomic_store_explicit(&rt.shm->module_segment_count, segment + 1,
				      memory_order_release);
	}
	return &record_segments[segment][index % SHM_MODULES_PER_SEGMENT];
}

bool modules_copy(void)
{
	uint32_t count = module_count + 1;

	for (uint32_t s = 0; s * SHM_MODULES_PER_SEGMENT < count && record_segments[s]; s++) {
		struct shm_module *old = record_segments[s], *new;

		record_segments[s] = NULL;
		new = record_at(s * SHM_MODULES_PER_SEGMENT);
		if (new)
			memcpy(new, old, SHM_MODULE_SEGMENT_SIZE);
		rt_unmap(old, SHM_MODULE_SEGMENT_SIZE);
		if (!new)
			return false;
	}
	atomic_store(&rt.shm->module_generation, generation - 1);
	atomic_store_explicit(&rt.shm->module_count, count, memory_order_release);
	return true;
}

/* The GNU build id among the notes of an image, if there is one. */
static void find_build_id(struct shm_module *record, const uint8_t *notes, uint64_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)notes;
		uint64_t name = (n->n_namesz + 3ull) & ~3ull, desc = (n->n_descsz + 3ull) & ~3ull;
		uint64_t whole = sizeof(*n) + name + desc;

		if (whole > size)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    !memcmp(n + 1, ELF_NOTE_GNU, 4) && n->n_descsz <= sizeof(record->build_id)) {
			record->build_id_size = (uint8_t)n->n_descsz;
			memcpy(record->build_id, notes + sizeof(*n) + name, n->n_descsz);
			return;
		}
		notes += whole;
		size -= whole;
	}
}

static const struct run *run_of(const struct module *m, uint64_t address)
{
	for (uint32_t i = 0; i < m->run_count; i++)
		if (address - m->runs[i].start < m->runs[i].end - m->runs[i].start)
			return &m->runs[i];
	return NULL;
}

/* "/proc/self/map_files/START-END", or 0 as its length where that does not fit. */
static size_t mapping_link(char *out, size_t size, uint64_t start, uint64_t end)
{
	static const char folder[] = "/proc/self/map_files/", digits[] = "0123456789abcdef";
	uint64_t bounds[] = { start, end };
	size_t n = sizeof(folder) - 1;

	if (size < sizeof(folder) + 2 * 17)
		return 0;
	memcpy(out, folder, n);
	for (int i = 0; i < 2; i++) {
		int shift = 60;

		while (shift && !(bounds[i] >> shift))
			shift -= 4;
		for (; shift >= 0; shift -= 4)
			out[n++] = digits[bounds[i] >> shift & 15];
		out[n++] = i ? 0 : '-';
	}
	return n - 1;
}

/* A library that was opened by a relative name: only this process knows what that means, and only
 * as long as it is there.  The kernel knows the file; where it does not tell, the folder that the
 * program is in now is the best that is left. */
static void make_absolute(struct shm_module *record, const char *name, uint64_t first_end)
{
	static const char deleted[] = " (deleted)";
	static char path[4096]; /* too large for a small stack; under the lock */
	size_t length = strlen(name), size = sizeof(path) - 1;
	long n = -1;

	if (mapping_link(path, sizeof(path), record->start, first_end))
		n = SYS(SYS_readlinkat, AT_FDCWD, path, path + 128, size - 128);
	if (n > 0 && path[128] == '/') {
		memmove(path, path + 128, (size_t)n);
		path[n] = 0;
		if ((size_t)n > sizeof(deleted) &&
		    !memcmp(path + n - (sizeof(deleted) - 1), deleted, sizeof(deleted)))
			path[n -= sizeof(deleted) - 1] = 0;
	} else {
		n = SYS(SYS_getcwd, path, size - length - 1);
		if (n <= 1 || path[0] != '/')
			return;
		n--; /* the kernel counts the NUL */
		if (n > 1)
			path[n++] = '/';
		if (name[0] == '.' && name[1] == '/')
			name += 2;
		memcpy(path + n, name, strlen(name) + 1);
		n += (long)strlen(name);
	}
	if ((size_t)n < sizeof(record->name))
		memcpy(record->name, path, (size_t)n + 1);
}

static bool has_folder(const char *name)
{
	while (*name && *name != '/')
		name++;
	return *name;
}

static void describe(struct shm_module *record, const struct module *m)
{
	const char *name = m->map->l_name;
	size_t length = strlen(name);
	uint64_t first_end = 0;

	record->bias = m->map->l_addr;
	record->start = m->start;
	record->end = m->end;
	record->stamp = rt_now();
	if (length >= sizeof(record->name))
		name += length - (sizeof(record->name) - 1);
	memcpy(record->name, name, strlen(name));
	for (unsigned i = 0; i < m->segment_count && !record->build_id_size; i++) {
		const ElfW(Phdr) *p = &m->segments[i];
		uint64_t at = m->map->l_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && !first_end)
			first_end = page_up(at + p->p_memsz);
		if (p->p_type == PT_NOTE && run_of(m, at) && at + p->p_memsz <= run_of(m, at)->end)
			find_build_id(record, (const uint8_t *)(uintptr_t)at, p->p_memsz);
	}
	/* Not the vdso, which has a name without a folder. */
	if (m->map->l_name[0] != '/' && has_folder(m->map->l_name))
		make_absolute(record, m->map->l_name, first_end);
}

static bool same_file(const struct module *m)
{
	static struct shm_module now; /* too large for a small stack; under the lock */
	const struct shm_module *then = record_at(m->index);

	memset(&now, 0, sizeof(now));
	describe(&now, m);

	return then && then->bias == now.bias && then->build_id_size == now.build_id_size &&
	       !memcmp(then->build_id, now.build_id, sizeof(now.build_id)) &&
	       !strcmp(then->name, now.name);
}

/* The segments in order, as the loader demands them. */
static void find_runs(struct module *m)
{
	struct run *last = NULL;

	for (uint32_t i = 0; i < m->segment_count; i++) {
		const ElfW(Phdr) *p = &m->segments[i];
		uint64_t start = page_down(m->map->l_addr + p->p_vaddr);

		if (p->p_type != PT_LOAD)
			continue;
		if (!last || (start > page_up(last->end) && m->run_count < MAX_RUNS)) {
			last = &m->runs[m->run_count++];
			last->start = start;
		}
		last->end = m->map->l_addr + p->p_vaddr + p->p_memsz;
	}
}

/* What the loader answers is one segment, where a file has gaps between them: the whole of it is
 * told by its program headers. */
static struct module describe_found(const struct dl_find_object *o)
{
	struct module m = { .map = o->dlfo_link_map, .generation = generation };
	const struct run *tables;

	m.segments = segments_of(o, &m.segment_count);
	find_runs(&m);
	if (!m.run_count)
		m.runs[m.run_count++] =
			(struct run){ (uintptr_t)o->dlfo_map_start, (uintptr_t)o->dlfo_map_end };
	m.start = m.runs[0].start;
	m.end = m.runs[m.run_count - 1].end;
	tables = run_of(&m, (uintptr_t)o->dlfo_eh_frame);
	if (tables)
		m.image = (struct cfi_image){ (const uint8_t *)(uintptr_t)tables->start,
					      (const uint8_t *)(uintptr_t)tables->end,
					      o->dlfo_eh_frame };
#if DLFO_STRUCT_HAS_EH_COUNT
	m.image.entries = (size_t)o->dlfo_eh_count;
#endif
	return m;
}

bool modules_came_late(void)
{
	return came_late;
}

static bool have_block(uint32_t block)
{
	if (!blocks[block])
		blocks[block] = rt_map(BLOCK * sizeof(struct module));
	return blocks[block];
}

/* For as many as one block holds, and the rules that they need. */
void modules_prepare(void)
{
	struct rt_lock_state lock;

	if (!rt_lock(&lock))
		return;
	have_block(module_count / BLOCK);
	record_at(module_count + 1);
	rules_prepare();
	rt_unlock(&lock);
}

static struct module *add_module(const struct module *found)
{
	struct module *m;
	struct shm_module *record;

	if (module_count >= MAX_MODULES - 1)
		return NULL;
	if (!have_block(module_count / BLOCK))
		return NULL;
	m = module_at(module_count);
	*m = *found;
	m->index = module_count + 1;
	record = record_at(m->index);
	if (!record)
		return NULL;
	describe(record, m);
	module_count++;
	python_look_at(m->map, generation > 1);
	/* Index 0 means "no module": the table in shared memory starts with an empty record. */
	atomic_store_explicit(&rt.shm->module_count, module_count + 1, memory_order_release);
	/* One that was opened while the program runs may be unloaded and removed as quickly: the
	 * collector is to open its file now. */
	if (generation > 1) {
		came_late = true;
		ring_doorbell(rt.shm);
	}
	return m;
}

/* A library that was unloaded and is there again, at the same place: it keeps its index. */
static struct module *seen_before(const struct module *found)
{
	for (uint32_t i = module_count; i-- > 0;) {
		struct module *m = module_at(i), again = *found;

		again.index = m->index;
		if (m->start == again.start && m->end == again.end && same_file(&again)) {
			*m = again;
			return m;
		}
	}
	return NULL;
}

static struct module *find_module(uint64_t address)
{
	struct dl_find_object o;
	struct module *m, found;

	for (uint32_t i = module_count; i-- > 0;) {
		m = module_at(i);
		if (m->generation == generation && run_of(m, address))
			return m;
	}
	if (!_dl_find_object || _dl_find_object((void *)(uintptr_t)address, &o))
		return NULL;
	found = describe_found(&o);
	/* The loader takes what is between a library's segments for the library's. */
	if (!run_of(&found, address))
		return NULL;
	m = seen_before(&found);
	return m ? m : add_module(&found);
}

static enum arch_switch switches_stack(const struct module *m, uint64_t key)
{
	const struct run *code = run_of(m, key);

	return code && code->end - key >= ARCH_SWITCH_SIZE
		       ? arch_switches_stack((const uint8_t *)(uintptr_t)key)
		       : SWITCH_NOT;
}

/* What the code itself says, where that is better than `rule`. */
static unwind_rule read_code(const struct module *m, uint64_t key, unwind_rule rule)
{
#ifdef ARCH_READS_CODE
	static struct scan_scratch scratch; /* under the lock, too */
	bool exact = key & 1;
	const uint8_t *at = (const uint8_t *)(key & ~1ull), *low, *high;
	const struct run *code = m ? run_of(m, (uint64_t)at - !exact) : NULL;
	unwind_rule read;

	if (!code || (rule_kind(rule) != RULE_GUESS && !exact))
		return rule;
	low = (const uint8_t *)code->start;
	high = (const uint8_t *)code->end;
	read = scan_ahead(low, high, at, exact, &scratch);
	if (rule_kind(read) == RULE_BROKEN && rule_kind(rule) == RULE_GUESS)
		read = scan_back(low, high, at, exact, &scratch);
	if (rule_kind(read) != RULE_BROKEN || rule_kind(rule) == RULE_GUESS)
		return rule_with_module(read, m->index);
#endif
	return rule;
}

/* Do handlers return to this address?  Then where the kernel's frame is, from the stack register
 * on; else a negative number. */
static int signal_frame_at(uint64_t key, unwind_rule rule)
{
	if (!ARCH_SIGNAL_RETURN_SIZE || key & 1)
		return -1;
#ifdef ARCH_TWO_FRAME_REGISTERS
	/* libc's have tables, which say where each register is; others say too little. */
	(void)rule;
	return sys_readable((const void *)(uintptr_t)(key & ~7ull)) &&
			       sys_readable((const void *)(uintptr_t)((key + 7) & ~7ull))
		       ? arch_signal_frame((const uint8_t *)(uintptr_t)key)
		       : -1;
#else
	return rule_kind(rule) == RULE_GUESS && !(key & 3) &&
			       sys_readable((const void *)(uintptr_t)key) &&
			       arch_returns_from_signal((const uint8_t *)(uintptr_t)key)
		       ? 0
		       : -1;
#endif
}

unwind_rule modules_decode(uint64_t key)
{
	static struct cfi_scratch scratch; /* under the lock, which the caller has */
	struct module *m;
	struct cfi_image jitted;
	unwind_rule rule = rule_make(RULE_GUESS, 2, 2);
	enum arch_switch to;
	int signal_frame;

	m = find_module(key - 1);
	/* Code that is in no file: its names are looked for while the program is there. */
	came_late |= !m;
	if (m)
		rule = rule_with_module(cfi_rule(&m->image, key - 1, &scratch), m->index);
	signal_frame = signal_frame_at(key, rule);
	if (signal_frame >= 0)
		return rule_with_module(rule_make(RULE_SIGNAL, signal_frame / ARCH_WORD, 0),
					rule_module(rule));
	rule = read_code(m, key, rule);
	if (rule_kind(rule) == RULE_GUESS && frames_find(key - 1, &jitted))
		rule = rule_with_module(cfi_rule(&jitted, key - 1, &scratch), m ? m->index : 0);
	if (rule_kind(rule) == RULE_GUESS && m && (to = switches_stack(m, key)) != SWITCH_NOT)
		return rule_with_module(rule_make(RULE_SWITCH, to, 2), m->index);
	if (rule_kind(rule) == RULE_GUESS)
		frames_guessed(key - 1);
	return rule;
}

void modules_changed(void)
{
	if (rt.shm)
		atomic_fetch_add(&rt.shm->module_generation, 1);
}

bool modules_refresh(struct rt_thread *t)
{
	struct rt_lock_state lock;
	uint32_t now;

	/* All of it under the lock: a thread that sees that another was first finds the rules
	 * forgotten, and the generation never goes back. */
	if (!rt_lock(&lock))
		return false;
	now = atomic_load(&rt.shm->module_generation);
	if (generation != now + 1)
		rules_forget();
	generation = now + 1;
	rt_unlock(&lock);
	t->generation = rt.python ? ~now : now;
	for (int i = 0; i < RT_NESTING; i++)
		if (t->walks[i])
			walk_forget(t->walks[i]);
	return true;
}
