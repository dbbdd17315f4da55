/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a recording says about itself: INFO, CLOCK and COUNTERS chunks. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/read_file.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "collector/cull.h"
#include "collector/drain.h"
#include "wire/statistics.h"

#define CMDLINE_MAX 65536

static void put_bytes(struct payload *p, const char *key, const void *value, size_t size)
{
	if (!payload_fits(p, 2 * VARINT_MAX + strlen(key) + size))
		return;
	payload_text(p, key);
	payload_counted(p, value, size);
}

static void put_text(struct payload *p, const char *key, const char *value)
{
	put_bytes(p, key, value, strlen(value));
}

static void put_number(struct payload *p, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(p, key, text);
}

static void write_info(struct collector *c)
{
	struct payload *p = &c->payload;

	recording_write(&c->recording, CHUNK_INFO, EFFORT_REST, p->data, p->used, 0);
}

void info_write_text(struct collector *c, const char *key, const char *value)
{
	c->payload.used = 0;
	put_text(&c->payload, key, value);
	write_info(c);
}

void info_write_start(struct collector *c)
{
	struct payload *p = &c->payload;
	static const char *const kinds[] = { "none", "tables", "full" };
	char host[256] = "";

	p->used = 0;
	put_text(p, "version", MEMOIR_VERSION);
	put_text(p, "arch", ARCH_NAME);
	put_number(p, "page_size", (uint64_t)sysconf(_SC_PAGESIZE));
	put_number(p, "pointer_size", sizeof(void *));
	if (!gethostname(host, sizeof(host) - 1))
		put_text(p, "hostname", host);
	put_number(p, "pid", (uint64_t)c->target);
	put_text(p, "binaries", kinds[c->control->options.write_binaries % 3]);
	if (c->executable[0])
		put_text(p, "executable", c->executable);
	if (c->control->options.cull)
		put_number(p, INFO_REMOVED_BELOW, c->control->options.cull_lifetime * 1000000);
	write_info(c);
}

/* The parent, from /proc/PID/stat: after the name in brackets, which may hold anything. */
static uint64_t parent_of(pid_t pid)
{
	char path[40], text[512];
	int parent = 0;
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_short_file(path, text, sizeof(text));
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %d", &parent) != 1)
		return 0;
	return (uint64_t)parent;
}

/* A file of /proc/PID as the value of a key; where there is none, other words, each with its NUL.
 */
static void put_words(struct collector *c, const char *key, const char *const *otherwise)
{
	struct payload *p = &c->payload;
	size_t key_room = 64, n = 0;
	char path[40], *text;
	ssize_t got = 0;
	int fd;

	if (!payload_fits(p, CMDLINE_MAX + key_room))
		return;
	/* Read behind what is there, then put in front of itself with its length. */
	text = (char *)p->data + p->used + key_room;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)collector_in_proc(c), key);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		while (n < CMDLINE_MAX && (got = read(fd, text + n, CMDLINE_MAX - n)) > 0)
			n += (size_t)got;
		close(fd);
	}
	if (atomic_load(&c->control->family.exec_pending))
		n = 0;
	/* A child that has written a title over its arguments leaves NULs behind it. */
	while (c->control->family.origin == ORIGIN_FORK && n > 1 && !text[n - 1] && !text[n - 2])
		n--;
	for (const char *const *a = n ? NULL : otherwise; a && *a; a++) {
		size_t length = strlen(*a) + 1;

		if (n + length > CMDLINE_MAX)
			break;
		memcpy(text + n, *a, length);
		n += length;
	}
	if (!n)
		return;
	payload_text(p, key);
	payload_number(p, n);
	memmove(p->data + p->used, text, n);
	p->used += n;
}

static void put_family(struct payload *p, const struct shm_family *family)
{
	static const char *const origins[] = { "start", "exec", "fork" };
	char id[33];

	put_text(p, "origin", origins[family->origin <= ORIGIN_FORK ? family->origin : 0]);
	if (family->origin == ORIGIN_START)
		return;
	for (int i = 0; i < 16; i++)
		snprintf(id + 2 * i, 3, "%02x", family->parent_id[i]);
	put_number(p, "parent_pid", (uint64_t)family->parent_pid);
	put_text(p, "parent_id", id);
	if (family->origin == ORIGIN_FORK)
		put_number(p, "forked_at", family->forked_at);
}

/* The library whose malloc does the work, and what the program's files bring along. */
static void put_allocator(struct payload *p, const struct shm_control *control)
{
	char text[sizeof(control->allocator) + sizeof(control->plan.allocator) + 8];
	const char *library = control->allocator, *inside = control->plan.allocator;

	snprintf(text, sizeof(text), "%.*s%s%.*s", (int)sizeof(control->allocator), library,
		 *library && *inside ? ", and " : "", (int)sizeof(control->plan.allocator), inside);
	put_text(p, "allocator", text);
	put_text(p, INFO_MARKS_INSIDE, "1");
}

void info_write_allocator(struct collector *c)
{
	const struct shm_plan *plan = &c->control->plan;
	char text[sizeof(plan->warning) + sizeof(c->late) + 4];

	c->payload.used = 0;
	put_allocator(&c->payload, c->control);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)sizeof(plan->warning), plan->warning,
		 plan->warning[0] && c->late[0] ? "; " : "", c->late);
	if (text[0])
		put_text(&c->payload, "not_hooked", text);
	write_info(c);
}

void info_write_attached(struct collector *c)
{
	const struct shm_control *control = c->control;
	struct payload *p = &c->payload;
	char path[40], executable[sizeof(c->executable)];
	ssize_t n;

	p->used = 0;
	put_number(p, "pid", (uint64_t)c->target);
	put_number(p, "ppid", parent_of(collector_in_proc(c)));
	put_text(p, "clock", control->clock == CLOCK_TICKS ? "tsc" : "ns");
	put_allocator(p, control);
	put_number(p, "start_stamp", control->start_stamp);
	put_number(p, "start_monotonic_ns", control->start_monotonic_ns);
	put_number(p, "start_realtime_ns", control->start_realtime_ns);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)collector_in_proc(c));
	n = readlink(path, executable, sizeof(executable) - 1);
	/* Not that of the next program, if this one was as quick as that. */
	if (n > 0 && !atomic_load(&control->family.exec_pending)) {
		executable[n] = 0;
		/* What the kernel adds to the name of a file that was replaced. */
		if (n > 10 && !strcmp(executable + n - 10, " (deleted)"))
			executable[n -= 10] = 0;
		memcpy(c->executable, executable, (size_t)n + 1);
	}
	put_text(p, "executable", c->executable);
	put_words(c, "cmdline", c->arguments);
	if (control->options.write_environment)
		put_words(c, "environ", c->environment);
	put_family(p, &control->family);
	write_info(c);
	title_start(c);
}

void info_write_inherited(struct collector *c, uint64_t count, uint64_t bytes, const char *why)
{
	struct payload *p = &c->payload;

	p->used = 0;
	put_number(p, "inherited_blocks", count);
	put_number(p, "inherited_bytes", bytes);
	if (*why)
		put_text(p, "inherited_incomplete", why);
	write_info(c);
}

/* Are libc's own calls seen that map memory?  Else why not. */
static void put_libc_maps(struct payload *p, const struct shm_control *control)
{
	const char *why = control->plan.libc_warning;

	switch (atomic_load_explicit(&control->libc_maps, memory_order_relaxed)) {
	case LIBC_MAPS_SEEN:
		put_text(p, INFO_LIBC_MAPS, INFO_LIBC_MAPS_SEEN);
		break;
	case LIBC_MAPS_IN_PART:
		put_text(p, INFO_LIBC_MAPS, *why ? why : "some of its functions are not found");
		break;
	case LIBC_MAPS_REFUSED:
		put_text(p, INFO_LIBC_MAPS, "the system does not let us change its code");
		break;
	default:
		break;
	}
}

void info_write_end(struct collector *c, const char *reason, int status)
{
	struct payload *p = &c->payload;

	p->used = 0;
	put_text(p, "end_reason", reason);
	put_libc_maps(p, c->control);
	if (c->peak_rss)
		put_number(p, "peak_rss", c->peak_rss * 1024);
	if (!strcmp(reason, "exec") && c->control->family.exec_path[0])
		put_text(p, "exec_path", c->control->family.exec_path);
	if (status != -1 && WIFSIGNALED(status))
		put_number(p, "exit_signal", (uint64_t)WTERMSIG(status));
	else if (status != -1)
		put_number(p, "exit_status", (uint64_t)WEXITSTATUS(status));
	write_info(c);
}

void info_write_clock(struct collector *c)
{
	struct clock_reading now = clock_read(c->control->clock);

	recording_write(&c->recording, CHUNK_CLOCK, EFFORT_REST, &now, sizeof(now), 0);
}
_Static_assert(sizeof(struct clock_reading) == 24, "as the format has it");

static void put_counter(struct payload *p, const char *name, uint64_t value)
{
	payload_text(p, name);
	payload_number(p, value);
}

static uint64_t own_cpu_ns(void)
{
	return now_on(CLOCK_PROCESS_CPUTIME_ID);
}

void info_look_at_program(struct collector *c)
{
	unsigned long long ran, delay;
	char path[40], text[100];
	struct timespec t;
	clockid_t clock;

	waits_look(c);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)collector_in_proc(c));
	read_short_file(path, text, sizeof(text));
	if (sscanf(text, "%llu %llu", &ran, &delay) == 2)
		c->program_delay_ns = delay;
	if (!clock_getcpuclockid(c->target, &clock) && !clock_gettime(clock, &t) &&
	    (t.tv_sec || t.tv_nsec))
		c->program_cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What recording took of the program's time: the mean of the events that were measured, for all. */
static uint64_t recording_ns(const struct collector *c)
{
	const struct shm_control *control = c->control;
	uint64_t samples = atomic_load(&control->counters[COUNTER_sampled_events]);
	uint64_t ticks = atomic_load(&control->counters[COUNTER_sampled_ticks]);
	uint64_t stamp = clock_stamp(control->clock), now = now_ns();
	double ns_per_tick = 1;

	if (control->clock == CLOCK_TICKS && stamp > control->start_stamp)
		ns_per_tick = (double)(now - control->start_monotonic_ns) /
			      (double)(stamp - control->start_stamp);
	if (!samples)
		return 0;
	return (uint64_t)((double)ticks / (double)samples * ns_per_tick *
			  (double)c->recording.event_count);
}

void info_write_counters(struct collector *c, bool always)
{
	static const char *const names[] = {
#define X(name, help) #name,
		SHM_COUNTERS(X)
#undef X
	};
	struct payload *p = &c->payload;
	uint64_t hash = 0;

	if (c->cull) {
		cull_write_statistics(c->cull, always);
		hash = c->now_ns;
	}
	p->used = 0;
	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t v = atomic_load_explicit(&c->control->counters[i], memory_order_relaxed);

		put_counter(p, names[i], v);
		hash = (hash ^ v) * 0x9e3779b97f4a7c15ull;
	}
	if (hash == c->counters_hash && !always)
		return;
	c->counters_hash = hash;
	put_counter(p, "events", c->recording.event_count);
	put_counter(p, "recording_ns", recording_ns(c));
	put_counter(p, "program_cpu_ns", c->program_cpu_ns);
	put_counter(p, "program_delay_ns", c->program_delay_ns);
	put_counter(p, "collector_cpu_ns", own_cpu_ns());
	put_counter(p, "collector_cores", c->cores ? drain_cores_used(c->cores) : 1);
	put_counter(p, "waited_for_disk_ns", c->waits.disk_ns);
	put_counter(p, "waited_for_encoding_ns", c->waits.encoding_ns);
	put_counter(p, "waited_for_processors_ns", c->waits.processors_ns);
	put_counter(p, "chunks", c->recording.sequence);
	put_counter(p, "raw_bytes", c->recording.raw_bytes);
	put_counter(p, "stored_bytes", c->recording.size);
	put_counter(p, "shm_bytes",
		    atomic_load_explicit(&c->control->next_offset, memory_order_relaxed));
	if (c->cull)
		cull_put_counters(c->cull, p);
	recording_write(&c->recording, CHUNK_COUNTERS, EFFORT_REST, p->data, p->used, 0);
}

void info_write_switched(struct collector *c)
{
	const struct shm_control *control = c->control;

	if (c->switched ||
	    (!atomic_load_explicit(&control->counters[COUNTER_switched_on], memory_order_relaxed) &&
	     !atomic_load_explicit(&control->counters[COUNTER_switched_off], memory_order_relaxed)))
		return;
	c->switched = true;
	info_write_counters(c, true);
}
