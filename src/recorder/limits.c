/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of the program's that our memory counts for, too.
 *
 * Address space and data (ulimit -v, -d): the recorder has at most an eighth of what would be left
 * without it, and does without more.  Limits may change at any time, so they are asked for before
 * memory is mapped, on slow paths.
 *
 * Locked memory (ulimit -l): mlockall() compares the limit with all that is mapped.  Where it fails
 * for our sake, everything but our own is locked piece by piece; and ours is unlocked where it was
 * locked with the rest, since it would count for the limit. */
#include "recorder/limits.h"
#include "recorder/real.h"
#include "recorder/sys.h"

#include <string.h>
#include <sys/resource.h>

#define SHARE 8

static _Atomic int64_t own_bytes;
static bool locks_future; /* what is mapped will be locked */

static uint64_t limit_of(int which)
{
	struct rlimit64 limit;

	if (SYS(SYS_prlimit64, 0, which, 0, &limit))
		return RLIM64_INFINITY;
	return limit.rlim_cur;
}

/* A field of /proc/self/statm, in bytes; 0 if it cannot be read. */
static uint64_t statm_field(unsigned field)
{
	long fd = SYS(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0), n;
	char text[160];
	uint64_t pages = 0;

	if (sys_failed(fd))
		return 0;
	n = SYS(SYS_read, fd, text, sizeof(text));
	SYS(SYS_close, fd);
	for (long i = 0; i < n; i++) {
		if (text[i] == ' ' && !field--)
			return pages * arch_page();
		pages = text[i] == ' ' ? 0 : pages * 10 + (uint64_t)(text[i] - '0');
	}
	return 0;
}

static size_t room_below(uint64_t limit, unsigned field)
{
	uint64_t used = limit == RLIM64_INFINITY ? 0 : statm_field(field);
	uint64_t own = (uint64_t)atomic_load(&own_bytes), share;

	if (limit == RLIM64_INFINITY)
		return SIZE_MAX;
	if (!used || used >= limit)
		return 0;
	share = (limit - used + own) / SHARE;
	return share > own ? share - own : 0;
}

size_t limits_room(void)
{
	size_t space = room_below(limit_of(RLIMIT_AS), 0);
	size_t data = room_below(limit_of(RLIMIT_DATA), 5);

	return space < data ? space : data;
}

void limits_taken(void *p, int64_t size)
{
	atomic_fetch_add(&own_bytes, size);
	if (locks_future && size > 0)
		SYS(SYS_munlock, p, size);
}

bool limits_file_may_grow(uint64_t end, size_t size)
{
	uint64_t limit = limit_of(RLIMIT_FSIZE);

	return end <= limit && size <= limit - end;
}

/* A line of /proc/self/maps. */
struct limits_region {
	uint64_t start, end;
	bool accessible, ours, special;
};

static uint64_t read_hex(const char **p)
{
	uint64_t v = 0;

	for (;; ++*p) {
		unsigned c = (unsigned char)**p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			return v;
	}
}

static struct limits_region parse_region(const char *line)
{
	struct limits_region r = { .start = read_hex(&line) };

	line += *line == '-';
	r.end = read_hex(&line);
	r.accessible = strncmp(line, " ---", 4) != 0;
	r.ours = strstr(line, "/memfd:memoir") || r.start - rt.own_low < rt.own_size;
	r.special = strstr(line, " [v");
	return r;
}

/* The first of our private ranges that ends behind `at`. */
static struct limits_region own_range_behind(uint64_t at)
{
	uint32_t count = rt.shm ? atomic_load(&rt.shm->own_count) : 0;
	struct limits_region first = { UINT64_MAX, UINT64_MAX, true, true, false };

	for (uint32_t i = 0; i < count && i < SHM_OWN_RANGES; i++) {
		uint64_t start = rt.shm->own[i].start, size = atomic_load(&rt.shm->own[i].size);

		if (start + size > at && start < first.start)
			first = (struct limits_region){ start, start + size, true, true, false };
	}
	return first;
}

static void lock_or_unlock(uint64_t start, uint64_t end, bool ours, bool lock, int flags)
{
	if (start >= end || ours == lock)
		return;
	if (!lock)
		SYS(SYS_munlock, start, end - start);
	else if (flags & MCL_ONFAULT)
		SYS(SYS_mlock2, start, end - start, 1 /* MLOCK_ONFAULT */);
	else
		SYS(SYS_mlock, start, end - start);
}

/* Locks what is not ours, or unlocks what is.  The kernel may have joined our memory with the
 * program's.  Pages that cannot be had are no error, as they are none to mlockall(). */
static void visit_region(const struct limits_region *r, bool lock, int flags)
{
	uint64_t at = r->start;

	if (r->special || !r->accessible)
		return;
	if (r->ours) {
		lock_or_unlock(r->start, r->end, true, lock, flags);
		return;
	}
	while (at < r->end) {
		struct limits_region own = own_range_behind(at);
		uint64_t start = own.start < r->end ? own.start : r->end;
		uint64_t end = own.end < r->end ? own.end : r->end;

		start = start > at ? start : at;
		lock_or_unlock(at, start, false, lock, flags);
		lock_or_unlock(start, end, true, lock, flags);
		at = end > start ? end : start;
	}
}

/* In pieces: locking changes what is read, and a line may be as long as a path. */
static bool visit_all(bool lock, int flags)
{
	static _Atomic uint32_t busy;
	static char text[8192 + 1];
	long fd, n;
	size_t used = 0;

	if (atomic_exchange(&busy, 1))
		return false;
	fd = SYS(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	while (!sys_failed(fd) &&
	       (n = SYS(SYS_read, fd, text + used, sizeof(text) - 1 - used)) > 0) {
		char *line = text, *end;

		used += (size_t)n;
		text[used] = 0;
		for (; (end = line + strcspn(line, "\n")) < text + used; line = end + 1) {
			struct limits_region r;

			*end = 0;
			r = parse_region(line);
			visit_region(&r, lock, flags);
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
	}
	if (!sys_failed(fd))
		SYS(SYS_close, fd);
	atomic_store(&busy, 0);
	return !sys_failed(fd);
}

static bool fits_without_us(void)
{
	uint64_t mapped = statm_field(0);

	return mapped &&
	       mapped - (uint64_t)atomic_load(&own_bytes) - rt.own_size <= limit_of(RLIMIT_MEMLOCK);
}

int limits_lock_all(int flags)
{
	int result = real.mlockall(flags);

	if (!SYS_ALLOWED(SYS_mlock))
		return result;
	if (result && errno == ENOMEM && flags & MCL_CURRENT && fits_without_us() &&
	    visit_all(true, flags))
		result = flags & MCL_FUTURE ? real.mlockall(flags & ~MCL_CURRENT) : 0;
	else if (!result && flags & MCL_CURRENT && limit_of(RLIMIT_MEMLOCK) != RLIM64_INFINITY)
		visit_all(false, flags);
	if (!result)
		locks_future = flags & MCL_FUTURE;
	return result;
}
