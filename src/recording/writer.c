/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recording's file.  See writer.h.  One thread at a time; a failed write is kept as
 * an errno for the loop to find, since nothing here knows whom to tell. */
#include "recording/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY /* for the one parameter below: refused is as good as not known   \
				  */
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/now.h"
#include "base/open_output.h"
#include "base/write_at.h"
#include "recording/file_name.h"
#include "wire/varint.h"

/* Measured on columns of perl, sqlite3, python3, cc1 and of a loop with random sizes, nanoseconds
 * and bytes an event:
 * zstd 1      7 to 24 and 0.6 to 3.7
 * zstd -5     5 to 13 and 1.0 to 4.7
 * LZ4         4 to 10 and 1.0 to 4.6
 * LZ4, 8      3 to 6  and 1.1 to 5.0    LZ4_ACCELERATION: in haste
 * zstd 1, *   5 to 19 and 0.7 to 3.8    the parameters below: long strides, long matches, a table
 *                                       that fits the first-level cache, entropy coding kept
 * So what comes fast is compressed by LZ4: a collector at its limit stops the program.  Below that
 * rate the difference is a few percent of one core, and the file a third smaller. */
#define LZ4_ACCELERATION 8

static const struct {
	ZSTD_cParameter name;
	int value;
} event_parameters[] = {
	{ ZSTD_c_strategy, ZSTD_fast },
	{ ZSTD_c_hashLog, 12 },
	{ ZSTD_c_minMatch, 7 },
	{ ZSTD_c_targetLength, 4 },
	{ ZSTD_c_literalCompressionMode, ZSTD_ps_enable },
};

/* Of a frame that is written here: its head, and a window that the block must fit in. */
#define FRAME_HEAD 9
#define FRAME_WINDOW_LOG 14

/* Payloads below this are not worth a compressor's start. */
#define SMALL_PAYLOAD 128

static uint64_t checksum(const struct format_chunk *chunk, const void *payload)
{
	uint64_t seed = XXH3_64bits(chunk, offsetof(struct format_chunk, checksum));

	return XXH3_64bits_withSeed(payload, chunk->stored_size, seed);
}
_Static_assert(offsetof(struct format_chunk, checksum) == 24, "what the seed covers");

/* A full disk must not leave half a chunk: readers would take it for a live file's end and wait. */
static bool fail(struct recording *r, int error)
{
	r->error = error;
	if (ftruncate(r->fd, (off_t)r->size) < 0)
		lseek(r->fd, (off_t)r->size, SEEK_SET);
	return false;
}

/* How often the calling thread has given up its processor by itself. */
static long times_blocked(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

static bool append(struct recording *r, struct iovec *parts, size_t count)
{
	uint64_t total = 0, began_ns = now_ns(), cpu_ns = now_on(CLOCK_THREAD_CPUTIME_ID), took_ns;
	long blocked = times_blocked();
	int error;

	for (size_t i = 0; i < count; i++)
		total += parts[i].iov_len;
	error = write_vectors(r->fd, parts, count);
	cpu_ns = now_on(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	took_ns = now_ns() - began_ns;
	/* Whoever only had to let another thread run was not blocked. */
	if (times_blocked() != blocked && took_ns > cpu_ns)
		r->blocked_ns += took_ns - cpu_ns;
	if (error)
		return fail(r, -error);
	r->size += total;
	return true;
}

static bool remember(struct recording *r, enum format_chunk_type type, uint32_t events)
{
	if (r->index_count == r->index_room) {
		size_t room = r->index_room ? r->index_room * 2 : 256;
		void *grown = realloc(r->index, room * sizeof(*r->index));

		if (!grown)
			return fail(r, ENOMEM);
		r->index = grown;
		r->index_room = room;
	}
	r->index[r->index_count++] = (struct recording_entry){ r->size, events, (uint8_t)type };
	return true;
}

static ZSTD_CCtx *new_compressor(const struct recording *r, enum recording_effort effort)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (!z)
		return NULL;
	if (r->one_codec) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, r->level);
		return z;
	}
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1);
	if (effort != EFFORT_EVENTS)
		return z;
	for (size_t i = 0; i < sizeof(event_parameters) / sizeof(event_parameters[0]); i++)
		ZSTD_CCtx_setParameter(z, event_parameters[i].name, event_parameters[i].value);
	return z;
}

static enum format_codec codec_for(const struct recording *r, enum recording_effort effort)
{
	if (r->one_codec)
		return (enum format_codec)r->codec;
	return effort == EFFORT_HASTE ? CODEC_LZ4 : CODEC_ZSTD;
}

/* 0: it is stored as it is. */
static size_t compress(const struct recording *r, struct recording_packer *p,
		       enum recording_effort effort, const void *payload, size_t size)
{
	enum format_codec codec = codec_for(r, effort);
	ZSTD_CCtx **compressor = &p->compressors[effort];
	size_t limit = size - size / 32; /* what saves less is not worth decompressing */
	size_t n;

	if (size < SMALL_PAYLOAD || limit > p->stored_room || codec == CODEC_RAW)
		return 0;
	if (codec == CODEC_LZ4) {
		int written =
			LZ4_compress_fast_extState(p->lz4, payload, (char *)p->stored, (int)size,
						   (int)limit, r->one_codec ? 1 : LZ4_ACCELERATION);

		return written > 0 ? (size_t)written : 0;
	}
	if (!*compressor && !(*compressor = new_compressor(r, effort)))
		return 0;
	n = ZSTD_compress2(*compressor, p->stored, limit, payload, size);
	return ZSTD_isError(n) ? 0 : n;
}

int recording_packer_init(struct recording_packer *p, size_t payload_room)
{
	*p = (struct recording_packer){ .stored_room = payload_room };
	p->lz4 = malloc((size_t)LZ4_sizeofState());
	p->stored = mmap(NULL, payload_room, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->stored == MAP_FAILED)
		p->stored = NULL;
	return p->stored && p->lz4 ? 0 : -ENOMEM;
}

void recording_packer_release(struct recording_packer *p)
{
	for (int i = 0; i < EFFORT_COUNT; i++)
		ZSTD_freeCCtx(p->compressors[i]);
	if (p->stored)
		munmap(p->stored, p->stored_room);
	free(p->lz4);
	*p = (struct recording_packer){ 0 };
}

/* Header and payload, in two parts at most. */
static bool write_chunk(struct recording *r, struct format_chunk *chunk, size_t raw_size,
			const void *stored, size_t stored_size, uint32_t events)
{
	struct iovec parts[] = { { chunk, sizeof(*chunk) }, { (void *)stored, stored_size } };

	chunk->stored_size = (uint32_t)stored_size;
	chunk->raw_size = (uint32_t)raw_size;
	chunk->sequence = r->sequence++;
	chunk->checksum = checksum(chunk, stored);
	if (!append(r, parts, stored_size ? 2 : 1))
		return false;
	r->raw_bytes += raw_size;
	r->event_count += events;
	return true;
}

struct recording_packed recording_pack(const struct recording *r, struct recording_packer *p,
				       enum recording_effort effort, const void *payload,
				       size_t size)
{
	size_t compressed = compress(r, p, effort, payload, size);

	if (!compressed)
		return (struct recording_packed){ payload, size, size, CODEC_RAW };
	return (struct recording_packed){ p->stored, compressed, size,
					  (uint8_t)codec_for(r, effort) };
}

bool recording_write_stored(struct recording *r, enum format_chunk_type type,
			    const struct recording_packed *packed, uint32_t events)
{
	struct format_chunk chunk = { .magic = FORMAT_CHUNK_MAGIC,
				      .type = (uint8_t)type,
				      .codec = packed->codec };

	return !r->error && remember(r, type, events) &&
	       write_chunk(r, &chunk, packed->raw_size, packed->stored, packed->stored_size,
			   events);
}

bool recording_write(struct recording *r, enum format_chunk_type type, enum recording_effort effort,
		     const void *payload, size_t size, uint32_t events)
{
	struct recording_packed packed;

	if (r->error)
		return false;
	packed = recording_pack(r, &r->packer, effort, payload, size);
	return recording_write_stored(r, type, &packed, events);
}

/* A zstd frame of one block as it is.  It does not say how much it holds, so that a reader does not
 * take that for the size of the whole chunk, which has a second frame; zstd's own function says so
 * at times whatever it is told. */
static size_t put_plain_frame(uint8_t *out, const void *bytes, size_t size)
{
	const uint32_t block = (uint32_t)size << 3 | 1; /* the last one, of type 0 */
	const uint8_t head[] = { 0x28,
				 0xb5,
				 0x2f,
				 0xfd, /* magic */
				 0,    /* no size, no checksum */
				 (FRAME_WINDOW_LOG - 10) << 3,
				 block & 255,
				 block >> 8 & 255,
				 block >> 16 & 255 };

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), bytes, size);
	return sizeof(head) + size;
}

bool recording_write_packed(struct recording *r, enum format_chunk_type type, const void *head,
			    size_t head_size, const void *frame, size_t frame_size, size_t raw_size)
{
	struct format_chunk chunk = { .magic = FORMAT_CHUNK_MAGIC,
				      .type = (uint8_t)type,
				      .codec = CODEC_ZSTD };
	size_t n;

	if (r->error || head_size > 1u << FRAME_WINDOW_LOG ||
	    FRAME_HEAD + head_size + frame_size > r->packer.stored_room || !remember(r, type, 0))
		return false;
	n = put_plain_frame(r->packer.stored, head, head_size);
	memcpy(r->packer.stored + n, frame, frame_size);
	return write_chunk(r, &chunk, head_size + raw_size, r->packer.stored, n + frame_size, 0);
}

/* Was it written before the family began?  File systems are a little behind the clock. */
static bool is_old(const char *name, uint64_t family_ns)
{
	struct stat st;
	uint64_t ns;

	if (stat(name, &st) < 0)
		return errno != ENOENT;
	if (!S_ISREG(st.st_mode))
		return true;
	ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return ns + 20000000 < family_ns;
}

/* The nth name: where the pattern does not count, and another of the family may have the same one,
 * a number comes before the suffix. */
static bool name_of(char *out, size_t size, const char *pattern, pid_t pid, const char *program,
		    unsigned n)
{
	char name[RECORDING_PATH_SIZE];
	size_t stem;

	if (!file_name_expand(name, sizeof(name), pattern, pid, program, n))
		return false;
	stem = file_name_stem(name);
	if (!n || file_name_has(pattern, 'n'))
		return (size_t)snprintf(out, size, "%s", name) < size;
	return (size_t)snprintf(out, size, "%.*s.%u%s", (int)stem, name, n, name + stem) < size;
}

static bool set_path(struct recording *r, const char *name)
{
	if (name[0] == '/' || !getcwd(r->path, sizeof(r->path)))
		r->path[0] = 0;
	if (strlen(r->path) + strlen(name) + 2 > sizeof(r->path))
		return false;
	if (r->path[0] && strcmp(r->path, "/"))
		strcat(r->path, "/");
	strcat(r->path, name);
	return true;
}

static int open_new(const char *name, int flags)
{
	int fd = open(name, flags | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);

	return fd < 0 ? -errno : fd;
}

/* The first name that is free where it must be; else the name as it is, emptied. */
static int create(struct recording *r, const char *pattern, pid_t pid, const char *program)
{
	int flags = O_RDWR | O_CREAT;

	for (unsigned n = 0;; n++) {
		char name[RECORDING_PATH_SIZE];
		bool must_be_free;
		int fd;

		if (!name_of(name, sizeof(name), pattern, pid, program, n) || !set_path(r, name))
			return -ENAMETOOLONG;
		must_be_free = file_name_has(pattern, 'n') ||
			       (r->family_ns && !is_old(name, r->family_ns));
		fd = must_be_free ? open_new(name, flags)
				  : open_output(name, flags, 0600, OPEN_OUTPUT_SOON_MS);
		if (fd >= 0)
			return fd;
		if (!must_be_free || fd != -EEXIST || n == 1000000)
			return fd;
	}
}

/* A file that another collector writes to is not touched; a reader may hold it for a moment. */
static int claim(int fd)
{
	struct stat st;

	/* A device or a pipe stays as it is, and may be several collectors'. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++) {
		if (i == 10)
			return -EBUSY;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	/* The file may have been there already, with other rights. */
	fchmod(fd, 0600);
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

static void make_id(uint8_t *id, size_t size)
{
	struct timespec now;

	if (getrandom(id, size, GRND_NONBLOCK) == (ssize_t)size)
		return;
	clock_gettime(CLOCK_REALTIME, &now);

	uint64_t parts[] = { (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
			     (uint64_t)getpid() };
	XXH128_hash_t hash = XXH3_128bits(parts, sizeof(parts));

	memcpy(id, &hash, size);
}

/* What is needed to write chunks, and the header. */
static int recording_begin(struct recording *r, size_t payload_room)
{
	struct format_header header = { .version = FORMAT_VERSION, .size = sizeof(header) };
	struct iovec part = { &header, sizeof(header) };
	int error = claim(r->fd);

	if (error < 0)
		return error;
	error = recording_packer_init(&r->packer, payload_room);
	if (error)
		return error;
	memcpy(header.magic, FORMAT_MAGIC, sizeof(header.magic));
	make_id(header.id, sizeof(header.id));
	memcpy(r->id, header.id, sizeof(r->id));
	return append(r, &part, 1) ? 0 : -r->error;
}

int recording_open(struct recording *r, const char *pattern, pid_t pid, const char *program,
		   size_t payload_room)
{
	int fd;

	r->fd = -1;
	fd = create(r, pattern, pid, program);
	if (fd < 0)
		return fd;
	r->fd = fd;
	return recording_begin(r, payload_room);
}

int recording_open_nameless(struct recording *r, size_t payload_room)
{
	const char *chosen = getenv("TMPDIR");
	const char *const folders[] = { chosen && *chosen ? chosen : "/var/tmp", "/var/tmp",
					"/tmp" };

	r->fd = -1;
	r->nameless = true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && r->fd < 0; i++)
		r->fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (r->fd < 0)
		r->fd = memfd_create("recording", MFD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	snprintf(r->path, sizeof(r->path), "/proc/%d/fd/%d", (int)getpid(), r->fd);
	return recording_begin(r, payload_room);
}

int recording_create(struct recording *r, const char *path, size_t payload_room)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	if (strlen(path) >= sizeof(r->path))
		return -ENAMETOOLONG;
	strcpy(r->path, path);
	r->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
	return r->fd < 0 ? -errno : recording_begin(r, payload_room);
}

void recording_use_codec(struct recording *r, enum format_codec codec, int level)
{
	r->one_codec = true;
	r->codec = (uint8_t)codec;
	r->level = level;
}

static bool write_index(struct recording *r)
{
	size_t room = r->index_count * (3 * VARINT_MAX) + 1;
	uint8_t *bytes = malloc(room), *p = bytes;
	uint64_t offset = 0;
	bool ok;

	if (!bytes)
		return fail(r, ENOMEM);
	for (size_t i = 0; i < r->index_count; i++) {
		p = varint_put(p, r->index[i].type);
		p = varint_put(p, r->index[i].offset - offset);
		p = varint_put(p, r->index[i].events);
		offset = r->index[i].offset;
	}
	ok = (size_t)(p - bytes) <= FORMAT_CHUNK_RAW_MAX &&
	     recording_write(r, CHUNK_INDEX, EFFORT_REST, bytes, (size_t)(p - bytes), 0);
	free(bytes);
	return ok;
}

bool recording_finish(struct recording *r)
{
	struct format_trailer trailer;
	struct iovec part = { &trailer, sizeof(trailer) };
	bool ok = recording_write(r, CHUNK_END, EFFORT_REST, NULL, 0, 0);

	memcpy(trailer.magic, FORMAT_TRAILER_MAGIC, sizeof(trailer.magic));
	trailer.index_offset = r->size;
	ok = ok && write_index(r) && append(r, &part, 1);
	recording_release(r);
	return ok;
}

void recording_remove(const struct recording *r)
{
	struct stat st;

	if (!lstat(r->path, &st) && S_ISREG(st.st_mode))
		unlink(r->path);
}

void recording_release(struct recording *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	recording_packer_release(&r->packer);
	free(r->index);
	r->index = NULL;
	r->index_count = r->index_room = 0;
}
