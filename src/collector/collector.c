/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector's loop: pass, write, poll the program, sleep.  See collector.h. */
#include "collector/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lives.h"
#include "base/open_output.h"
#include "base/order.h"
#include "collector/clock.h"
#include "collector/cull.h"
#include "collector/daemonize.h"
#include "collector/drain.h"
#include "collector/family.h"
#include "collector/futex.h"
#include "collector/inplace.h"
#include "collector/log.h"
#include "collector/naming.h"
#include "collector/python.h"
#include "collector/regions.h"
#include "stream/serve.h"
#include "wire/layout.h"

#define MS 1000000ull
#define CHUNK_AGE_NS (250 * MS)
#define TRAFFIC_NS (100 * MS) /* how long after an event another one is expected soon */
#define SHORT_SLEEP_NS (10 * MS)
#define LONG_SLEEP_NS (100 * MS)
#define ATTACH_NS                                                                                  \
	(1000 * MS) /* how long a program may take to start, at most; then it is static            \
		     */
#define ATTACH_SLEEP_NS (1 * MS)
#define LAST_PASSES 4
#define STUB_NS (200 * MS)
#define CLOCK_EVERY_NS (1000 * MS)
#define POLL_EVERY_NS (1000 * MS)
#define POLL_SHARE 200 /* of the time, at most one part in so many goes there */
#define NAMES_EVERY_NS (1000 * MS)
#define CPU_EVERY_NS (50 * MS)
#define TITLE_SOON_NS (1000 * MS) /* a program that takes a title does so when it starts, */
#define TITLE_SOON_EVERY_NS (50 * MS)
#define TITLE_EVERY_NS (1000 * MS) /* or whenever it does something else */
#define COUNTERS_EVERY_NS (5000 * MS)

static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int collector_init(struct collector *c, int shm_fd)
{
	struct stat st;
	int error;

	memset(c, 0, sizeof(*c));
	c->shm_fd = shm_fd;
	c->pidfd = c->recording.fd = c->session = -1;
	c->next_node = c->next_module = 1;
	if (fstat(shm_fd, &st) < 0)
		return -errno;
	c->shm_device = st.st_dev;
	c->shm_inode = st.st_ino;
	c->control = mmap(NULL, SHM_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, shm_fd, 0);
	if (c->control == MAP_FAILED) {
		c->control = NULL;
		return -errno;
	}
	if (c->control->magic != SHM_MAGIC)
		return -EPROTO;
	if ((uint64_t)st.st_size < SHM_FILE_SIZE && (error = daemonize_size_memory(shm_fd)))
		return error;
	if (fstat(shm_fd, &st) < 0)
		return -errno;
	c->control->file_size = (uint64_t)st.st_size;
	c->payload.room = codec_payload_bound();
	if (c->payload.room < 2u << 20)
		c->payload.room = 2u << 20;
	c->payload.data = reserve(c->payload.room);
	c->scratch = reserve(codec_scratch_size());
	c->rings = reserve(SHM_MAX_RINGS * sizeof(*c->rings));
	c->node_segments = reserve(SHM_MAX_NODE_SEGMENTS * sizeof(*c->node_segments));
	c->module_segments = reserve(SHM_MAX_MODULE_SEGMENTS * sizeof(*c->module_segments));
	if (!c->payload.data || !c->scratch || !c->rings || !c->node_segments ||
	    !c->module_segments)
		return -ENOMEM;
	codec_start(&c->encoder, c->scratch);
	atomic_store(&c->control->collector_pid, (int32_t)getpid());
	return 0;
}

static void set_state(struct collector *c, enum shm_state state)
{
	struct shm_control *control = c->control;

	atomic_store(&control->state, state);
	futex_wake(&control->state);
	if (state == SHM_READY)
		return;
	/* Threads that wait find out now rather than at their timeout. */
	atomic_fetch_add(&control->drained, 1);
	futex_wake(&control->drained);
	futex_wake(&control->flush_done);
	futex_wake(&control->written);
}

void collector_fail(struct collector *c, const char *text)
{
	if (!c->control)
		return;
	log_line(LOG_ERROR, "%s", text);
	snprintf(c->control->error, sizeof(c->control->error), "%s", text);
	set_state(c, SHM_FAILED);
}

static void fail_writing(struct collector *c, int error)
{
	char text[sizeof(c->control->error)];

	if (error == EDESTADDRREQ) {
		collector_fail(c, "the output has no name, and the recording is not sent either");
		return;
	}
	snprintf(text, sizeof(text), "cannot write %.190s: %s", c->recording.path,
		 error == EBUSY ? "another recording is being written to it"
				: open_output_error(error));
	collector_fail(c, text);
}

static void drain_all(struct collector *c)
{
	drain_pass(c);
	if (c->cull)
		cull_let_go(c->cull);
	drain_close_chunk(c);
}

/* A forked child wants to know what there is: not that it is safe on the disk. */
static void write_if_asked(struct collector *c)
{
	uint32_t request = atomic_load(&c->control->family.write_request);

	if (request == c->written)
		return;
	c->written = request;
	drain_all(c);
}

/* The program ends, and waits: what there was to record is in the file when it goes, and what only
 * a living program tells.  Files can be embedded without it. */
static void write_at_end(struct collector *c)
{
	struct shm_control *control = c->control;

	if (atomic_load(&control->ending) != ENDING_WRITE || atomic_load(&control->written))
		return;
	drain_all(c);
	naming_look_once_more(c->naming);
	threads_write(c);
	if (c->attached) {
		title_look(c);
		info_write_clock(c);
	}
	lives_mark(c->recording.fd, false);
	log_line(LOG_INFO, "the program ends; %" PRIu64 " events so far", c->recording.event_count);
	atomic_store(&control->written, 1);
	futex_wake(&control->written);
}

static void flush(struct collector *c)
{
	uint32_t request = atomic_load(&c->control->flush_request);

	if (request == atomic_load_explicit(&c->control->flush_done, memory_order_relaxed))
		return;
	drain_all(c); /* what was published before the request */
	/* A pipe cannot be synced, and need not be. */
	if (fdatasync(c->recording.fd) < 0 && errno != EINVAL && errno != EROFS)
		c->recording.error = errno;
	if (c->recording.error)
		return; /* the run ends: a thread that waits sees the state */
	atomic_store(&c->control->flush_done, request);
	futex_wake(&c->control->flush_done);
}

static bool due(struct collector *c, uint64_t *last_ns, uint64_t every_ns)
{
	if (c->now_ns - *last_ns < every_ns)
		return false;
	*last_ns = c->now_ns;
	return true;
}

static bool poll_modules(struct collector *c)
{
	uint64_t start = now_ns(), taken;
	bool replaced = modules_poll(c);

	taken = now_ns() - start;
	c->poll_every_ns = taken * POLL_SHARE > POLL_EVERY_NS ? taken * POLL_SHARE : POLL_EVERY_NS;
	return replaced;
}

/* What is done now and then.  True if the program was replaced by another. */
static bool poll_program(struct collector *c, bool traffic)
{
	if (!c->attached) {
		if (atomic_load_explicit(&c->control->target_pid, memory_order_acquire) <= 0)
			return false;
		c->attached = true;
		info_write_attached(c);
		info_write_clock(c);
		c->last_clock_ns = c->last_poll_ns = c->last_counters_ns = c->now_ns;
		c->last_names_ns = c->now_ns;
		return poll_modules(c);
	}
	if (traffic && due(c, &c->last_clock_ns, CLOCK_EVERY_NS))
		info_write_clock(c);
	if (due(c, &c->last_names_ns, NAMES_EVERY_NS)) {
		threads_write(c);
		naming_look(c->naming);
	}
	if (due(c, &c->last_title_ns,
		c->now_ns - c->opened_ns < TITLE_SOON_NS ? TITLE_SOON_EVERY_NS : TITLE_EVERY_NS))
		title_look(c);
	if (due(c, &c->last_counters_ns, COUNTERS_EVERY_NS))
		info_write_counters(c, false);
	regions_sample_if_due(c->regions);
	if (due(c, &c->last_poll_ns, c->poll_every_ns) ||
	    atomic_load_explicit(&c->control->family.exec_pending, memory_order_relaxed))
		return poll_modules(c);
	return false;
}

static int open_recording(struct collector *c, const char *program)
{
	struct shm_family *family = &c->control->family;
	char pattern[RECORDING_PATH_SIZE];
	int error;

	if (!family->directory[0] && !getcwd(family->directory, sizeof(family->directory)))
		family->directory[0] = 0;
	c->session = family_session(c->control);
	c->recording.family_ns = family->origin == ORIGIN_START ? 0 : family->began_ns;
	if (!c->control->options.output[0] && !c->control->options.stream)
		return -EDESTADDRREQ;
	if (!family_pattern(c->control, c->target, pattern, sizeof(pattern)))
		return -ENAMETOOLONG;
	error = !pattern[0] ? recording_open_nameless(&c->recording, c->payload.room)
			    : recording_open(&c->recording, pattern, c->target, program,
					     c->payload.room);
	if (error)
		return error;
	lives_mark(c->recording.fd, true);
	memcpy(family->id, c->recording.id, sizeof(family->id));
	c->next_node = MAX(c->next_node, family->first_node);
	c->cull = cull_new(c);
	c->regions = regions_sampler_new(c);
	c->naming = naming_new(c);
	c->python = python_codes_new();
	return 0;
}

static void give_away(struct collector *c, uint64_t user)
{
	if (user == OPTION_NOBODY || !fchown(c->recording.fd, (uid_t)user, getegid()))
		return;
	snprintf(c->warning, sizeof(c->warning), "the recording cannot be given to user %u: %s",
		 (unsigned)user, strerror(errno));
	log_line(LOG_ERROR, "%s", c->warning);
}

int collector_open(struct collector *c, pid_t target, const char *program)
{
	int error;

	c->target = target;
	c->now_ns = c->opened_ns = c->last_traffic_ns = now_ns();
	error = open_recording(c, program);
	if (!error) {
		snprintf(c->control->output, sizeof(c->control->output), "%s", c->recording.path);
		give_away(c, c->control->options.chown_output);
		info_write_start(c);
		if (c->control->options.include_file[0])
			binaries_include(c, c->control->options.include_file);
		/* A program that waits for us is looked at before it goes on, and perhaps ends. */
		poll_program(c, false);
		error = -c->recording.error;
		sending_start(c);
		if (c->recording.nameless && !c->may_send)
			error = -EDESTADDRREQ;
	}
	if (error) {
		fail_writing(c, -error);
		if (c->recording.fd >= 0 && error != -EBUSY)
			recording_remove(&c->recording);
		recording_release(&c->recording);
		return error;
	}
	family_report_start(c->session, target, c->recording.path);
	set_state(c, SHM_READY);
	log_line(LOG_INFO, "recording %d to %s", (int)target, c->recording.path);
	return 0;
}

/* Until a ring is half full, or for a moment.  The recorder looks at `asleep` after it raised its
 * tail, this side looks at the tails after it raised `asleep`.  Where a processor lets one of them
 * look too early, a ring that fills up rings anyway. */
static void sleep_a_while(struct collector *c, uint32_t bell)
{
	struct shm_control *control = c->control;
	uint64_t timeout_ns = SHORT_SLEEP_NS;

	if (c->now_ns - c->last_traffic_ns < TRAFFIC_NS)
		c->idle_rounds = 0;
	else if (c->idle_rounds < 8)
		c->idle_rounds++;
	timeout_ns <<= c->idle_rounds;
	timeout_ns = MIN(timeout_ns, LONG_SLEEP_NS);
	/* A short program is best looked at while it is there. */
	if (!c->attached && c->now_ns - c->opened_ns < ATTACH_NS)
		timeout_ns = ATTACH_SLEEP_NS;
	atomic_store(&control->asleep, 1);
	if (!drain_pending(c))
		futex_wait(&control->doorbell, bell, timeout_ns);
	atomic_store(&control->asleep, 0);
}

/* The child of a shell between fork and exec: its files are its parent's, and it is soon gone. */
static bool needs_no_files(struct collector *c)
{
	const struct shm_family *family = &c->control->family;

	/* Where nothing was recorded there is nothing to look up either. */
	if (family->origin != ORIGIN_START && !c->recording.event_count && !c->encoder.event_count)
		return true;
	if (family->origin != ORIGIN_FORK || c->now_ns - c->opened_ns > STUB_NS)
		return false;
	return atomic_load_explicit(&family->exec_pending, memory_order_relaxed) ||
	       (!atomic_load(&c->control->ending) && !c->target_gone(c));
}

const char *collector_run(struct collector *c)
{
	for (;;) {
		struct drain_result pass;

		/* Both before the pass: what the program published before its end is then in it,
		 * and a bell that rings from here on ends the sleep after it. */
		uint32_t bell = atomic_load(&c->control->doorbell);
		bool gone = c->target_gone(c);

		if (gone)
			lives_mark(c->recording.fd, false);
		c->now_ns = now_ns();
		if (gone || due(c, &c->last_cpu_ns, CPU_EVERY_NS))
			info_look_at_program(c);
		pass = drain_pass(c);
		if (pass.taken)
			c->last_traffic_ns = c->now_ns;
		flush(c);
		write_if_asked(c);
		write_at_end(c);
		inplace_answer(c);
		/* At once: a library may leave as quickly as it came. */
		if (atomic_load_explicit(&c->control->module_count, memory_order_relaxed) >
		    c->next_module)
			modules_write(c);
		if (c->encoder.event_count && c->now_ns >= c->chunk_started_ns + CHUNK_AGE_NS)
			drain_close_chunk(c);
		sending_look(c);
		if (gone)
			return "end";
		if (poll_program(c, pass.taken != 0))
			return "exec";
		if (c->recording.error)
			return "error";
		if (atomic_load_explicit(&c->control->ending, memory_order_acquire) == ENDING_CLOSE)
			return "exit";
		if (atomic_load_explicit(&c->control->gave_up, memory_order_acquire))
			return "gave_up";
		if (pass.busy || (!needs_no_files(c) && binaries_step(c)))
			continue;
		sleep_a_while(c, bell);
	}
}

bool collector_never_on(const struct collector *c)
{
	return c->control->options.disabled &&
	       !atomic_load(&c->control->counters[COUNTER_switched_on]);
}

static void log_spent(const struct collector *c)
{
	struct rusage usage;

	if (!log_is_on(LOG_DEBUG) || getrusage(RUSAGE_SELF, &usage))
		return;
	log_line(
		LOG_DEBUG,
		"%" PRIu64 " events of %u rings, %u modules, %zu files, %" PRIu64 " bytes written; "
		"%ld.%03ld s in the program, %ld.%03ld s in the kernel",
		c->recording.event_count, c->ring_count, c->next_module - 1, c->file_count,
		c->recording.size, (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec / 1000,
		(long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec / 1000);
}

bool collector_finish(struct collector *c, const char *reason, int status)
{
	bool ok;

	lives_mark(c->recording.fd, false);
	/* A program that is gone needs one pass.  One that waits for us may have threads that do
	 * not: they are not followed for ever. */
	for (int i = 0; i < LAST_PASSES && !c->recording.error && drain_pass(c).taken; i++)
		;
	/* One that waits for us, or was given up, is still there. */
	if (c->attached && c->target_gone && !c->target_gone(c)) {
		title_look(c);
		if (c->regions)
			regions_sample(c->regions);
	}
	title_write(c);
	if (c->cull)
		cull_finish(c->cull);
	drain_close_chunk(c);
	if (!c->attached)
		poll_program(c, false);
	naming_finish(c->naming);
	threads_write(c);
	if (c->attached)
		info_write_clock(c);
	if (!needs_no_files(c))
		binaries_finish(c);
	info_write_counters(c, true);
	/* It ended as another program, which nothing is known of here. */
	if (atomic_load(&c->control->family.exec_pending)) {
		reason = "exec";
		status = -1;
	}
	info_write_end(c, reason, status);
	ok = !c->recording.error && recording_finish(&c->recording);
	if (collector_never_on(c))
		recording_remove(&c->recording);
	sending_end(c, ok);
	log_line(LOG_INFO, "finished: %s", ok ? reason : strerror(c->recording.error));
	log_spent(c);
	c->control->family.exec_path[sizeof(c->control->family.exec_path) - 1] = 0;
	family_report_unrecorded(c->session, c->control);
	family_report_end(c->session, c->target, &c->recording, reason,
			  strcmp(reason, "exec") ? "" : c->control->family.exec_path);
	if (ok)
		set_state(c, SHM_CLOSED);
	else
		fail_writing(c, c->recording.error ? c->recording.error : EIO);
	return ok;
}

static void unreserve(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}

void collector_release(struct collector *c)
{
	c->serve = serve_free(c->serve);
	recording_release(&c->recording);
	c->cull = cull_free(c->cull);
	c->cores = drain_cores_free(c->cores);
	c->regions = regions_sampler_free(c->regions);
	c->naming = naming_free(c->naming);
	c->python = python_codes_free(c->python);
	binaries_release(c);
	maps_release(&c->maps);
	for (uint32_t i = 0; i < c->ring_count; i++)
		unreserve(c->rings[i].ring, SHM_RING_SIZE(c->rings[i].order));
	for (uint32_t i = 0; i < c->node_segment_count; i++)
		unreserve(c->node_segments[i], SHM_NODE_SEGMENT_SIZE);
	for (uint32_t i = 0; i < c->module_segment_count; i++)
		unreserve(c->module_segments[i], SHM_MODULE_SEGMENT_SIZE);
	unreserve(c->payload.data, c->payload.room);
	unreserve(c->scratch, codec_scratch_size());
	unreserve(c->rings, SHM_MAX_RINGS * sizeof(*c->rings));
	unreserve(c->node_segments, SHM_MAX_NODE_SEGMENTS * sizeof(*c->node_segments));
	unreserve(c->module_segments, SHM_MAX_MODULE_SEGMENTS * sizeof(*c->module_segments));
	unreserve(c->control, SHM_CONTROL_SIZE);
	free(c->unfinished);
	free(c->modules);
	free(c->seen);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->session >= 0)
		close(c->session);
	*c = (struct collector){ .shm_fd = -1, .pidfd = -1, .recording.fd = -1, .session = -1 };
}
