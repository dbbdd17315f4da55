/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loaded files.  See objects.h. */
#include "agent/objects.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wire/page.h"

#define TABLE_MAX ((uint64_t)512 << 20) /* of symbols, or of their names */

struct file_symbols {
	struct text symbols, strings;
	size_t count;
};

static pthread_mutex_t walking = PTHREAD_MUTEX_INITIALIZER;
static bool held; /* by a thread that forks */

/* Not for ever: who forks may be the one that a walk waits for. */
void objects_before_fork(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	held = !pthread_mutex_clocklock(&walking, CLOCK_MONOTONIC, &until);
}

void objects_after_fork(void)
{
	if (held)
		pthread_mutex_unlock(&walking);
}

static void each_object(int (*take)(struct dl_phdr_info *, size_t, void *), void *context)
{
	pthread_mutex_lock(&walking);
	dl_iterate_phdr(take, context);
	pthread_mutex_unlock(&walking);
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	unsigned long long *seen = context;

	*seen = info->dlpi_adds + 1;
	return 1;
}

bool objects_changed(unsigned long long *seen)
{
	unsigned long long now = 0;

	each_object(count_loaded, &now);
	if (now == *seen)
		return false;
	*seen = now;
	return true;
}

static void read_build_id(struct object *o, uint64_t size)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = (const uint8_t *)(uintptr_t)o->notes, *end = p + size;

	while (end - p >= 12) {
		uint32_t name, desc, type;

		memcpy(&name, p, 4);
		memcpy(&desc, p + 4, 4);
		memcpy(&type, p + 8, 4);
		p += 12;
		if (name > 64 || desc > 4096 || (int64_t)((name + 3) & ~3u) + desc > end - p)
			return;
		if (type == NT_GNU_BUILD_ID && name == 4 && !memcmp(p, "GNU", 4) && desc < 40) {
			p += 4;
			for (uint32_t i = 0; i < desc; i++) {
				o->build_id[2 * i] = digits[p[i] >> 4];
				o->build_id[2 * i + 1] = digits[p[i] & 15];
			}
			return;
		}
		p += ((name + 3) & ~3u) + ((desc + 3) & ~3u);
	}
}

static int take_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct objects *list = context;
	struct object *o = &list->objects[list->count];

	if (list->count == OBJECTS_MAX)
		return 1;
	*o = (struct object){ .bias = info->dlpi_addr, .main = !list->count };
	snprintf(o->path, sizeof(o->path), "%s", o->main ? "/proc/self/exe" : info->dlpi_name);
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (!o->start || at < o->start))
			o->start = page_down(at);
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			if (!o->code_start)
				o->code_start = at;
			o->code_end = at + p->p_memsz;
		} else if (p->p_type == PT_DYNAMIC) {
			o->dynamic = (ElfW(Dyn) *)(uintptr_t)at;
		} else if (p->p_type == PT_NOTE && !*o->build_id) {
			o->notes = at;
			o->notes_size = p->p_filesz;
			read_build_id(o, p->p_filesz);
		}
	}
	list->count++;
	return 0;
}

void objects_list(struct objects *ret)
{
	*ret = (struct objects){ .room_bytes = OBJECTS_MAX * sizeof(struct object) };
	ret->objects = mmap(NULL, ret->room_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ret->objects == MAP_FAILED)
		ret->objects = NULL;
	else
		each_object(take_object, ret);
}

void objects_release(struct objects *o)
{
	if (o->objects)
		munmap(o->objects, o->room_bytes);
	*o = (struct objects){ 0 };
}

static bool read_at(int fd, uint64_t offset, uint64_t size, uint64_t file_size, struct text *out)
{
	if (size > TABLE_MAX || offset > file_size || size > file_size - offset ||
	    !text_reserve(out, size + 1))
		return false;
	while (out->size < size) {
		ssize_t n = pread(fd, out->data + out->size, size - out->size,
				  (off_t)(offset + out->size));

		if (n <= 0)
			return false;
		out->size += (size_t)n;
	}
	out->data[size] = 0; /* the last name ends, whatever the file says */
	return true;
}

/* Is it the file that was loaded?  Its notes, build id among them, say so. */
static bool same_file(const struct object *o, int fd, const ElfW(Ehdr) * head, uint64_t file_size)
{
	struct text headers = { 0 }, notes = { 0 };
	bool same = head->e_phentsize == sizeof(ElfW(Phdr)) &&
		    read_at(fd, head->e_phoff, (uint64_t)head->e_phnum * sizeof(ElfW(Phdr)),
			    file_size, &headers);

	for (unsigned i = 0; same && o->notes && i < head->e_phnum; i++) {
		const ElfW(Phdr) *p = (const ElfW(Phdr) *)headers.data + i;

		if (p->p_type != PT_NOTE || p->p_vaddr + o->bias != o->notes)
			continue;
		same = p->p_filesz == o->notes_size &&
		       read_at(fd, p->p_offset, p->p_filesz, file_size, &notes) &&
		       !memcmp(notes.data, (const void *)(uintptr_t)o->notes, o->notes_size);
		break;
	}
	text_release(&headers);
	text_release(&notes);
	return same;
}

static void file_symbols_release(struct file_symbols *f)
{
	text_release(&f->symbols);
	text_release(&f->strings);
}

static bool read_tables(struct file_symbols *f, int fd, const ElfW(Ehdr) * head, uint64_t file_size)
{
	struct text sections = { 0 };
	const ElfW(Shdr) *table = NULL, *s;
	bool ok = head->e_shentsize == sizeof(ElfW(Shdr)) &&
		  read_at(fd, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)),
			  file_size, &sections);

	s = (const ElfW(Shdr) *)sections.data;
	for (unsigned i = 0; ok && i < head->e_shnum; i++)
		if (s[i].sh_type == SHT_SYMTAB || (s[i].sh_type == SHT_DYNSYM && !table))
			table = &s[i];
	ok = ok && table && table->sh_link < head->e_shnum &&
	     read_at(fd, table->sh_offset, table->sh_size, file_size, &f->symbols) &&
	     read_at(fd, s[table->sh_link].sh_offset, s[table->sh_link].sh_size, file_size,
		     &f->strings);
	text_release(&sections);
	f->count = f->symbols.size / sizeof(ElfW(Sym));
	return ok;
}

static bool file_symbols_open(struct file_symbols *f, const struct object *o)
{
	int fd = *o->path == '/' ? open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ElfW(Ehdr) head;
	struct stat st;
	bool ok;

	*f = (struct file_symbols){ 0 };
	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	     !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
	     head.e_ident[EI_CLASS] == (sizeof(void *) < 8 ? ELFCLASS32 : ELFCLASS64) &&
	     same_file(o, fd, &head, (uint64_t)st.st_size) &&
	     read_tables(f, fd, &head, (uint64_t)st.st_size);
	close(fd);
	if (!ok)
		file_symbols_release(f);
	return ok;
}

/* The n-th symbol if it is a function that the file defines; its name, or NULL. */
static const char *function(const struct file_symbols *f, size_t n, const ElfW(Sym) * *ret)
{
	const ElfW(Sym) *s = (const ElfW(Sym) *)f->symbols.data + n;

	*ret = s;
	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || !s->st_value ||
	    s->st_name >= f->strings.size)
		return NULL;
	return f->strings.data + s->st_name;
}

void *objects_symbol(const struct object *o, const char *name)
{
	struct file_symbols f;
	void *found = NULL;

	if (!file_symbols_open(&f, o))
		return NULL;
	for (size_t i = 0; i < f.count && !found; i++) {
		const ElfW(Sym) * s;
		const char *text = function(&f, i, &s);
		uint64_t at = s->st_value + o->bias;

		if (text && !strcmp(text, name) && at >= o->code_start && at < o->code_end)
			found = (void *)(uintptr_t)at;
	}
	file_symbols_release(&f);
	return found;
}

static void sink(struct object_name *list, size_t at, size_t count)
{
	struct object_name moved = list[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && list[child].address < list[child + 1].address)
			child++;
		if (list[child].address <= moved.address)
			break;
		list[at] = list[child];
		at = child;
	}
	list[at] = moved;
}

/* A heap sort: libc's may allocate. */
void objects_sort(struct object_name *list, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sink(list, i, count);
	for (size_t i = count; i-- > 1;) {
		struct object_name last = list[i];

		list[i] = list[0];
		list[0] = last;
		sink(list, 0, i);
	}
}

static size_t first_not_below(const struct object_name *sorted, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The smallest function around an address names it; of several of one size, the first. */
static void name_from(const struct file_symbols *f, uint64_t bias, struct object_name *sorted,
		      size_t count, struct text *names)
{
	for (size_t i = 0; i < f->count; i++) {
		const ElfW(Sym) * s;
		const char *text = function(f, i, &s);
		uint64_t at = s->st_value + bias, end = at + s->st_size;
		uint32_t offset = 0;

		if (!text || !*text || end < at)
			continue;
		for (size_t k = first_not_below(sorted, count, at);
		     k < count && sorted[k].address < end; k++) {
			if (sorted[k].name && sorted[k].span <= s->st_size)
				continue;
			if (!offset && names->size < UINT32_MAX) {
				offset = (uint32_t)names->size;
				text_add(names, text, strlen(text) + 1);
			}
			sorted[k].name = names->failed ? 0 : offset;
			sorted[k].span = s->st_size;
		}
	}
}

void objects_name(const struct objects *list, struct object_name *sorted, size_t count,
		  struct text *names)
{
	text_char(names, 0);
	for (size_t i = 0; i < list->count; i++) {
		const struct object *o = &list->objects[i];
		size_t from = first_not_below(sorted, count, o->code_start);
		size_t to = first_not_below(sorted, count, o->code_end);
		struct file_symbols f;

		if (from == to || !file_symbols_open(&f, o))
			continue;
		name_from(&f, o->bias, sorted + from, to - from, names);
		file_symbols_release(&f);
	}
}
