/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recorder asks for a plan: the program's files are looked at, as it has them mapped.  It
 * waits, before any code of the program has run.  See inplace.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/collector.h"
#include "collector/futex.h"
#include "collector/inplace.h"
#include "collector/log.h"
#include "collector/relocate.h"

/* A line of /proc/PID/status, from behind its name. */
static bool status_line(pid_t pid, const char *name, char *line, size_t size)
{
	char path[40], found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, (int)size, f))
		found = !strncmp(line, name, strlen(name));
	if (f)
		fclose(f);
	return found;
}

/* Code is only changed under nobody's feet. */
static bool has_one_thread(pid_t pid)
{
	char line[100];
	int threads = 0;

	return status_line(pid, "Threads:", line, sizeof(line)) &&
	       sscanf(line, "Threads: %d", &threads) == 1 && threads == 1;
}

static bool has_shadow_stack(pid_t pid)
{
	char line[100];

	return status_line(pid, relocate_features, line, sizeof(line)) && strstr(line, "shstk");
}

/* A program that was replaced on disk can still be opened through its process. */
static int open_mapped(pid_t pid, const struct mapping *m)
{
	char link[40], path[PATH_MAX + 16];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = m->deleted ? readlink(link, path, sizeof(path) - 1) : 0;
	if (n > 10 && !strncmp(path, m->path, (size_t)n - 10) && !m->path[n - 10])
		return open(link, O_RDONLY | O_CLOEXEC);
	return maps_open(m, pid);
}

static void look_at(struct collector *c, struct shm_plan *plan, const struct mapping *m,
		    bool shadow_stack)
{
	const char *slash = strrchr(m->path, '/');
	struct inplace_file file = { .low = m->start, .shadow_stack = shadow_stack };
	int fd = open_mapped(collector_in_proc(c), m);
	struct stat st;
	uint64_t base, span;
	void *bytes;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		file.size = (size_t)st.st_size;
		bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
		file.bytes = bytes;
		if (bytes != MAP_FAILED && inplace_base(bytes, file.size, &base, &span)) {
			file.bias = m->start - base;
			file.high = m->start + span;
			file.executable = c->control->plan.executable - m->start < span;
			file.libc = c->control->plan.libc - m->start < span;
			file.name = file.executable ? "the executable"
				    : slash	    ? slash + 1
						    : m->path;
			inplace_plan(plan, &file);
		}
		if (bytes != MAP_FAILED)
			munmap(bytes, file.size);
	}
	close(fd);
}

struct collector_seen {
	uint64_t device, inode;
};

/* Is the file new?  Then it is not any more. */
static bool is_new(struct collector *c, const struct mapping *m)
{
	for (size_t i = 0; i < c->seen_count; i++)
		if (c->seen[i].inode == m->inode && c->seen[i].device == m->device)
			return false;
	if (c->seen_count == c->seen_room) {
		size_t room = c->seen_room ? c->seen_room * 2 : 64;
		void *grown = realloc(c->seen, room * sizeof(*c->seen));

		if (!grown)
			return false;
		c->seen = grown;
		c->seen_room = room;
	}
	c->seen[c->seen_count++] = (struct collector_seen){ m->device, m->inode };
	return true;
}

/* The files that have not been looked at. */
static void look_at_new(struct collector *c, struct shm_plan *plan, const struct maps *maps)
{
	bool shadow_stack = has_shadow_stack(collector_in_proc(c));

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->list[i];
		bool code = false;

		if (!m->inode || m->offset || m->path[0] != '/' ||
		    (i && m[-1].inode == m->inode && m[-1].device == m->device))
			continue;
		/* Its data, and whatever lies in gaps between its segments, may come between. */
		for (size_t k = i; k < maps->count && !code; k++)
			code = maps->list[k].inode == m->inode &&
			       maps->list[k].device == m->device && maps->list[k].executable;
		if (code && is_new(c, m))
			look_at(c, plan, m, shadow_stack);
	}
}

void inplace_look_again(struct collector *c)
{
	static struct shm_plan late; /* one thread */

	if (!atomic_load_explicit(&c->control->plan.done, memory_order_relaxed))
		return;
	late.site_count = 0;
	late.allocator[0] = late.warning[0] = 0;
	look_at_new(c, &late, &c->maps);
	if (!late.site_count || c->late[0])
		return;
	snprintf(c->late, sizeof(c->late),
		 "%.180s, which was loaded later: what it allocates there is not recorded",
		 late.allocator);
	log_line(LOG_WARN, "%s", c->late);
	info_write_allocator(c);
}

static void say_allocator(struct collector *c)
{
	struct shm_plan *plan = &c->control->plan;
	unsigned libc = 0;

	for (unsigned i = 0; i < plan->site_count; i++)
		libc += inplace_rows[plan->sites[i].row].group == INPLACE_LIBC;
	if (plan->libc)
		log_line(LOG_DEBUG, "%u of libc's calls that map memory are hooked%s%s", libc,
			 plan->libc_warning[0] ? "; not all: " : "", plan->libc_warning);
	if (!plan->allocator[0])
		return;
	info_write_allocator(c);
	log_line(LOG_INFO, "%u functions of %s are hooked where they are", plan->site_count - libc,
		 plan->allocator);
	if (plan->warning[0])
		log_line(LOG_WARN, "not all of its allocator can be hooked: %s", plan->warning);
}

void inplace_answer(struct collector *c)
{
	struct shm_plan *plan = &c->control->plan;
	uint32_t request = atomic_load_explicit(&plan->request, memory_order_acquire);
	struct maps maps = { 0 };
	const char *why = NULL;

	if (request == atomic_load_explicit(&plan->done, memory_order_relaxed))
		return;
	plan->site_count = 0;
	plan->allocator[0] = plan->warning[0] = plan->libc_warning[0] = 0;
	if (maps_read(&maps, collector_in_proc(c)) || !collector_owns(c, &maps))
		why = "the program's memory maps cannot be read";
	else if (!has_one_thread(collector_in_proc(c)))
		why = "it has started threads already";
	else
		look_at_new(c, plan, &maps);
	if (why) {
		snprintf(plan->warning, sizeof(plan->warning), "%s", why);
		snprintf(plan->libc_warning, sizeof(plan->libc_warning), "%s", why);
	}
	maps_release(&maps);
	say_allocator(c);
	atomic_store(&plan->done, request);
	futex_wake(&plan->done);
}
