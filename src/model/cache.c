/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which recordings are cached, and under which name.  See cache.h. */
#include "model/cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf_type.h"
#include "base/read_file.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/cache_format.h"

#define SEAL_AFTER 300 /* seconds: by then the kernel has written it, and asking takes no time */

void cache_boot_id(char *ret_text, size_t room)
{
	ssize_t n = read_short_file("/proc/sys/kernel/random/boot_id", ret_text, room);

	memset(ret_text + (n > 0 ? n : 0), 0, room - (size_t)(n > 0 ? n : 0));
}

uint64_t cache_header_sum(const struct cache_header *h)
{
	return XXH3_64bits(h, offsetof(struct cache_header, sum));
}

uint64_t cache_tables_sum(const void *tables, size_t size)
{
	return XXH3_64bits(tables, size);
}

/* The build id of this program: its notes are mapped. */
static int hash_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t *hash = context;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE)
			*hash = XXH3_64bits_withSeed((const void *)(info->dlpi_addr + p->p_vaddr),
						     p->p_memsz, *hash);
	}
	return 1; /* the first is the program; the others are of no interest */
}

uint64_t cache_build(void)
{
	static const uint64_t sizes[] = { CACHE_VERSION,
					  sizeof(struct cache_header),
					  sizeof(struct cache_fixed),
					  sizeof(struct stack_sum),
					  sizeof(struct thread),
					  sizeof(struct summary_row) };
	uint64_t hash = XXH3_64bits_withSeed(sizes, sizeof(sizes),
					     XXH3_64bits(MEMOIR_VERSION, sizeof(MEMOIR_VERSION)));

	dl_iterate_phdr(hash_build_id, &hash);
	return hash;
}

static bool key_of(const struct reader *r, struct cache_key *ret_key)
{
	struct stat st;

	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return false;
	*ret_key = (struct cache_key){
		.size = (uint64_t)st.st_size,
		.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.build = cache_build(),
	};
	memcpy(ret_key->id, r->header.id, sizeof(ret_key->id));
	return true;
}

static void name_of(const struct cache_key *key, const char *kind, char *ret_name)
{
	char id[2 * sizeof(key->id) + 1];

	for (unsigned i = 0; i < sizeof(key->id); i++)
		snprintf(id + (size_t)2 * i, 3, "%02x", key->id[i]);
	snprintf(ret_name, CACHE_NAME_MAX, "%s-%016" PRIx64 "%s", id,
		 (uint64_t)XXH3_64bits(key, sizeof(*key)), kind);
}

/* A file that was not known to be on the disk is known to be so now. */
static void seal(int dir, const char *name, int fd)
{
	uint64_t sealed = CACHE_SEALED;
	struct stat a, b;
	auto_close int writable = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (writable >= 0 && fstat(fd, &a) == 0 && fstat(writable, &b) == 0 &&
	    a.st_ino == b.st_ino && fsync(writable) == 0)
		(void)!pwrite(writable, &sealed, sizeof(sealed),
			      offsetof(struct cache_header, sealed));
}

static void seal_if_old(int dir, const char *name, int fd)
{
	struct cache_header h;

	if (pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) && h.sealed != CACHE_SEALED &&
	    time(NULL) - h.built_at > SEAL_AFTER)
		seal(dir, name, fd);
}

static bool is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* What is found and cannot be used is removed, and will be made again. */
static bool use_file(struct model *m, int dir, const char *name, const struct cache_key *key)
{
	int fd = cache_dir_find(dir, name);

	if (fd < 0)
		return false;
	if (!is_own(fd)) {
		close(fd);
	} else if (cache_map(m, fd, key)) {
		seal_if_old(dir, name, fd);
		return true;
	}
	unlinkat(dir, name, 0);
	return false;
}

bool cache_open(struct model *m, const struct cache_options *options)
{
	struct cache_key key;
	struct cache *c;
	char name[CACHE_NAME_MAX];
	int dir;

	if (!options->dir || !key_of(&m->reader, &key) || reader_is_being_written(&m->reader))
		return false;
	m->beside = xcalloc(1, sizeof(*m->beside));
	*m->beside =
		(struct cache_beside){ key, xstrdup(options->dir), options->limit, options->least };
	name_of(&key, ".columns", name);
	dir = cache_dir_open(options->dir, false);
	if (dir >= 0 && use_file(m, dir, name, &key)) {
		close(dir);
		return true;
	}
	c = xcalloc(1, sizeof(*c));
	c->key = key;
	c->dir = dir;
	c->fd = -1;
	c->limit = options->limit;
	c->least = options->least;
	c->path = xstrdup(options->dir);
	memcpy(c->name, name, sizeof(name));
	m->cache = c;
	return false;
}

/* The folder is made when there is something to put there. */
static bool make_dir(struct cache *c)
{
	if (c->dir < 0)
		c->dir = cache_dir_open(c->path, true);
	if (c->dir < 0)
		return false;
	c->limit = cache_dir_limit(c->dir, c->limit);
	cache_dir_tidy(c->dir, c->limit, NULL);
	return true;
}

int cache_spill(void *context)
{
	struct cache *c = context;

	if (c->fd < 0 && make_dir(c))
		c->fd = cache_dir_temporary(c->dir, c->name, c->temporary);
	return c->fd < 0 ? -1 : fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
}

/* Rows and chains of another's file instead of one's own: the same, and only once on the disk. */
static void adopt(struct model *m)
{
	struct cache *c = m->cache;
	struct model *other = xcalloc(1, sizeof(*other));

	other->reader = m->reader;
	if (use_file(other, c->dir, c->name, &c->key)) {
		struct columns columns = m->allocations;
		struct model was = *m;

		m->allocations = other->allocations;
		m->chains = other->chains;
		m->chain_count = other->chain_count;
		m->chain_room = other->chain_room;
		other->allocations = columns;
		other->chains = was.chains;
		other->chain_count = was.chain_count;
		other->chain_room = was.chain_room;
	}
	other->reader.fd = -1;
	model_free(other);
}

static bool is_unchanged(const struct model *m)
{
	struct cache_key now;

	return key_of(&m->reader, &now) && memcmp(&now, &m->beside->key, sizeof(now)) == 0 &&
	       m->reader.size == now.size && !reader_is_being_written(&m->reader);
}

bool cache_beside_may(const struct model *m)
{
	return m->beside && m->allocations.count >= m->beside->least && is_unchanged(m);
}

/* A sum, and the bytes that it is of. */
#define BESIDE_HEAD sizeof(uint64_t)

static bool map_beside(int fd, struct scratch *file)
{
	struct stat st;
	uint64_t sum;
	void *p;

	if (!is_own(fd) || fstat(fd, &st) < 0 || (size_t)st.st_size < BESIDE_HEAD)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return false;
	*file = (struct scratch){
		.data = p, .size = (size_t)st.st_size, .place = SCRATCH_MAPPED, .fd = -1
	};
	memcpy(&sum, p, sizeof(sum));
	return sum == XXH3_64bits((char *)p + BESIDE_HEAD, file->size - BESIDE_HEAD);
}

const void *cache_beside_map(const struct model *m, const char *kind, struct scratch *file,
			     size_t *ret_size)
{
	char name[CACHE_NAME_MAX];
	int dir = cache_beside_may(m) ? cache_dir_open(m->beside->path, false) : -1, fd;
	bool is_mapped = false;

	*file = (struct scratch){ 0 };
	if (dir < 0)
		return NULL;
	name_of(&m->beside->key, kind, name);
	fd = cache_dir_find(dir, name);
	if (fd >= 0) {
		is_mapped = map_beside(fd, file);
		close(fd);
	}
	close(dir);
	if (!is_mapped) {
		scratch_release(file);
		return NULL;
	}
	*ret_size = file->size - BESIDE_HEAD;
	return (char *)file->data + BESIDE_HEAD;
}

void cache_beside_put(const struct model *m, const char *kind, const void *bytes, size_t size)
{
	char name[CACHE_NAME_MAX];
	int dir = cache_beside_may(m) ? cache_dir_open(m->beside->path, true) : -1;
	uint64_t sum = XXH3_64bits(bytes, size);
	const struct iovec parts[] = { { &sum, sizeof(sum) }, { (void *)bytes, size } };

	if (dir < 0)
		return;
	name_of(&m->beside->key, kind, name);
	cache_dir_put(dir, name, parts, 2, m->beside->limit);
	close(dir);
}

void cache_beside_release(struct model *m)
{
	if (m->beside)
		free(m->beside->path);
	free(m->beside);
	m->beside = NULL;
}

void cache_store(struct model *m)
{
	struct cache *c = m->cache;
	int error;

	if (m->allocations.count < c->least || !is_unchanged(m))
		return;
	error = cache_write(m);
	if (error == -EFBIG && m->allocations.file && m->allocations.file->end > c->limit) {
		m->cache_needs = m->allocations.file->end;
		m->cache_limit = c->limit;
	}
	if (error < 0)
		return;
	error = cache_dir_commit(c->dir, c->temporary, c->name);
	if (!error)
		c->temporary[0] = 0;
	else if (error == -EEXIST)
		adopt(m);
	cache_dir_tidy(c->dir, c->limit, c->name);
}

void cache_release(struct model *m)
{
	struct cache *c = m->cache;

	if (!c)
		return;
	if (c->fd >= 0) {
		if (c->temporary[0])
			unlinkat(c->dir, c->temporary, 0);
		close(c->fd);
	}
	if (c->dir >= 0)
		close(c->dir);
	buf_release(&c->chunks);
	free(c->path);
	free(c);
	m->cache = NULL;
}
