/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector as a process, on a recorder that is made up (fake_recorder.h): what is published
 * before the program dies is in the file, with the stacks and modules that it refers to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "collector/futex.h"
#include "fake_recorder.h"
#include "recording/reader.h"
#include "wire/codec.h"
#include "wire/varint.h"

static const char *collector_path;
static char directory[] = "/tmp/memoir-test-XXXXXX";
static char output[200];

/* What a recording was found to hold. */
struct found {
	uint64_t events, event_chunks, sum, nodes, last_node, modules, files, chunks;
	bool ended, trailer, ordered;
	uint64_t horizon, cores; /* of the chunks so far; as the collector counts them */
	bool horizons_hold;	 /* no event of stack 1 is behind a horizon that is later */
	uint64_t last_stamp[8];	 /* by ring */
	char end_reason[32];
	uint64_t node_ids[64];
	/* What is embedded under the name of the file that is open as `compare_fd`. */
	uint64_t embedded, embedded_size;
};

static int compare_fd = -1;
static char compare_path[4096];

static uint64_t number(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	assert_true(varint_get(p, end, &v));
	return v;
}

static void find_events(struct found *f, const struct chunk *c)
{
	static struct event events[CODEC_CHUNK_EVENTS];
	struct codec_decoder d;
	uint32_t ring, count;

	assert_true(codec_open(&d, c->payload, c->payload_size));
	while (codec_next_run(&d, &ring, &count)) {
		assert_true(codec_read(&d, events, count));
		for (uint32_t i = 0; i < count; i++) {
			f->events++;
			f->sum += events[i].stamp * 31 + events[i].word1 + events[i].word2 * 7 +
				  events[i].word3;
			f->ordered &= events[i].stamp > f->last_stamp[ring];
			if (event_stack(&events[i]) == 1)
				f->horizons_hold &= events[i].stamp >= f->horizon;
			f->last_stamp[ring] = events[i].stamp;
			/* Its stack came before it. */
			assert_true(event_stack(&events[i]) <= f->last_node);
		}
	}
	assert_true(d.horizon >= f->horizon);
	f->horizon = d.horizon;
}

static void find_counters(struct found *f, const struct chunk *c)
{
	static const char name[] = "collector_cores";
	const uint8_t *p = c->payload, *end = p + c->payload_size;

	while (p < end) {
		uint64_t size = number(&p, end), value;
		const uint8_t *key = p;

		p += size;
		value = number(&p, end);
		if (size == sizeof(name) - 1 && !memcmp(key, name, size))
			f->cores = value;
	}
}

static void find_info(struct found *f, const struct chunk *c)
{
	const uint8_t *p = c->payload, *end = p + c->payload_size;

	while (p < end) {
		uint64_t key_size = number(&p, end);
		const char *key = (const char *)p;
		uint64_t value_size;

		p += key_size;
		value_size = number(&p, end);
		if (key_size == 10 && !memcmp(key, "end_reason", 10))
			snprintf(f->end_reason, sizeof(f->end_reason), "%.*s", (int)value_size,
				 (const char *)p);
		p += value_size;
	}
}

static void find_nodes(struct found *f, const struct chunk *c)
{
	const uint8_t *p = c->payload, *end = p + c->payload_size;
	uint64_t first = number(&p, end), count = number(&p, end);

	for (uint64_t i = 0; i < count; i++) {
		number(&p, end);
		number(&p, end);
		number(&p, end);
		number(&p, end);
		if (f->nodes < 64)
			f->node_ids[f->nodes] = first + i;
		f->nodes++;
		if (first + i > f->last_node)
			f->last_node = first + i;
	}
	assert_ptr_equal(p, end);
}

static void find_file(struct found *f, const struct chunk *c)
{
	static uint8_t expected[1 << 20];
	const uint8_t *p = c->payload, *end = p + c->payload_size;
	uint64_t size, offset, n;

	f->files++;
	number(&p, end);
	size = number(&p, end);
	offset = number(&p, end);
	n = number(&p, end);
	p += n;
	n = number(&p, end);
	if (compare_fd < 0 || n != strlen(compare_path) || memcmp(p, compare_path, n))
		return;
	p += n;
	n = (uint64_t)(end - p);
	assert_true(n <= sizeof(expected));
	assert_int_equal(pread(compare_fd, expected, n, (off_t)offset), n);
	assert_memory_equal(p, expected, n);
	assert_int_equal(offset, f->embedded);
	f->embedded += n;
	f->embedded_size = size;
}

static struct found look(const char *path)
{
	struct found f = { .ordered = true, .horizons_hold = true };
	struct reader r;
	struct chunk c = { 0 };
	struct err err;
	enum reader_status status;

	assert_int_equal(reader_open(&r, path, &err), 0);
	while ((status = reader_next(&r, &c, &err)) == READER_CHUNK) {
		assert_true(chunk_unpack(&c, &err));
		assert_int_equal(c.head.sequence, f.chunks);
		f.chunks++;
		switch (c.head.type) {
		case CHUNK_EVENTS:
			f.event_chunks++;
			find_events(&f, &c);
			break;
		case CHUNK_NODES:
			find_nodes(&f, &c);
			break;
		case CHUNK_INFO:
			find_info(&f, &c);
			break;
		case CHUNK_MODULES:
			f.modules++;
			break;
		case CHUNK_FILE:
			find_file(&f, &c);
			break;
		case CHUNK_COUNTERS:
			find_counters(&f, &c);
			break;
		}
	}
	/* Without an end it must still end between two chunks. */
	assert_int_equal(status, r.ended ? READER_END : READER_CUT);
	assert_int_equal(r.offset, r.size - (r.trailer ? sizeof(struct format_trailer) : 0));
	f.ended = r.ended;
	f.trailer = r.trailer;
	chunk_release(&c);
	reader_release(&r);
	return f;
}

static pid_t start_collector(struct fake *f, pid_t target)
{
	pid_t pid = fork();

	if (!pid) {
		char fd[12], number_text[12];

		fcntl(f->fd, F_SETFD, 0);
		snprintf(fd, sizeof(fd), "%d", f->fd);
		snprintf(number_text, sizeof(number_text), "%d", (int)target);
		execl(collector_path, collector_path, "--shm-fd", fd, "--target", number_text,
		      (char *)NULL);
		_exit(99);
	}
	assert_true(pid > 0);
	for (int i = 0; i < 500 && atomic_load(&f->control->state) == SHM_STARTING; i++)
		futex_wait(&f->control->state, SHM_STARTING, 10000000);
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct event event_number(uint64_t i, uint32_t stack)
{
	bool alloc = i % 2 == 0;

	return (struct event){
		.stamp = 1000 + i * 37,
		.word1 = (0x7f0000001000ull + (i / 2 % 999) * 48) |
			 (uint64_t)(alloc ? OP_ALLOC : OP_FREE) << 56,
		.word2 = (uint64_t)(alloc ? CALL_malloc : CALL_free) << 48 | (alloc ? 40 : 0),
		.word3 = stack | (uint64_t)(alloc ? 8 : 0) << 32,
	};
}

/* A program that publishes `count` events on each of `rings` rings, tells how many it is at, and
 * goes on until it is killed. */
static pid_t start_program(struct fake *f, unsigned rings, uint64_t count, int ready_fd)
{
	pid_t pid = fork();

	if (pid)
		return pid;

	struct fake_ring ring[8];
	uint32_t stack = 0;

	while (atomic_load(&f->control->state) != SHM_READY)
		usleep(100);
	fake_module(f, (uint64_t)(uintptr_t)&errno, (uint64_t)(uintptr_t)&errno + 1,
		    "/nowhere/x.so");
	for (unsigned i = 0; i < rings; i++)
		ring[i] = fake_ring(f, 12, (uint32_t)getpid());
	for (uint64_t i = 0; i < count; i++) {
		if (i % 1000 == 0)
			stack = fake_node(f, stack, 0x1000 + i);
		for (unsigned r = 0; r < rings; r++) {
			struct event e = event_number(i, stack);

			fake_put(f, &ring[r], &e);
		}
	}
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static uint64_t expected_sum(unsigned rings, uint64_t count)
{
	uint64_t sum = 0;
	uint32_t stack = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (i % 1000 == 0)
			stack++;

		struct event e = event_number(i, stack);

		sum += rings * (e.stamp * 31 + e.word1 + e.word2 * 7 + e.word3);
	}
	return sum;
}

/* Killed at once after its last event: nothing may be missing. */
static void test_killed_program(void **state)
{
	enum { RINGS = 3, EVENTS = 200000 };
	struct fake f;
	struct found found;
	int ready[2];
	pid_t program, collector;
	char word;

	fake_init(&f, output);
	assert_int_equal(pipe(ready), 0);
	program = start_program(&f, RINGS, EVENTS, ready[1]);
	collector = start_collector(&f, program);
	assert_int_equal(atomic_load(&f.control->state), SHM_READY);
	assert_string_equal(f.control->output, output);
	assert_int_equal(read(ready[0], &word, 1), 1);
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(end_of(collector), 0);
	assert_int_equal(atomic_load(&f.control->state), SHM_CLOSED);

	found = look(output);
	assert_int_equal(found.events, RINGS * EVENTS);
	assert_int_equal(found.sum, expected_sum(RINGS, EVENTS));
	assert_true(found.ordered);
	/* Chunks are filled, unless they get old. */
	assert_true(found.event_chunks < 4 * RINGS * EVENTS / CODEC_CHUNK_EVENTS);
	assert_true(found.ended && found.trailer);
	assert_int_equal(found.nodes, EVENTS / 1000);
	assert_int_equal(found.modules, 1);
	/* Newer kernels tell how it ended. */
	assert_true(!strcmp(found.end_reason, "end") || !strcmp(found.end_reason, "signal"));
	close(ready[0]);
	close(ready[1]);
	fake_release(&f);
}

/* A program that has the shared memory mapped, and does nothing. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

/* What fills eight rings before the collector comes, and again while it works. */
static struct found record_full_rings(const char *cores, uint64_t *ret_events, uint64_t *ret_sum)
{
	enum { RINGS = 8, ORDER = 15, ROUNDS = 4, EVENTS = 32000 };
	struct fake f;
	struct fake_ring ring[RINGS];
	/* Old enough that all of the first round is before the first horizon.  Later events may be
	 * published after a pass has begun that their stamps are before. */
	uint64_t began = now_ns() - 1000000000, sum = 0;
	pid_t program, collector = 0;

	setenv("MEMOIR_THREADS", cores, 1);
	fake_init(&f, output);
	f.control->options.write_binaries = BINARIES_NONE;
	program = sleeper();
	for (unsigned r = 0; r < RINGS; r++)
		ring[r] = fake_ring(&f, ORDER, 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t stack = fake_node(&f, 0, 0x1000 + round);

		for (unsigned r = 0; r < RINGS; r++)
			for (uint64_t i = 0; i < EVENTS; i++) {
				struct event e = event_number(i, stack);

				e.stamp = round ? now_ns() : began + i * 37;
				fake_put(&f, &ring[r], &e);
				sum += e.stamp * 31 + e.word1 + e.word2 * 7 + e.word3;
			}
		if (!round)
			collector = start_collector(&f, program);
	}
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(end_of(collector), 0);
	fake_release(&f);
	unsetenv("MEMOIR_THREADS");
	*ret_events = RINGS * ROUNDS * EVENTS;
	*ret_sum = sum;
	return look(output);
}

/* Rings that are nearly full are taken by all cores at once, and the file is what one would have
 * written: every ring in its order, and no event behind a horizon that is later than it. */
static void test_several_cores(void **state)
{
	uint64_t events, sum, most = 0;

	/* On a busy machine one may have done everything before the others came. */
	for (int tries = 0; tries < 20 && most < 2; tries++) {
		struct found found = record_full_rings("4", &events, &sum);

		assert_int_equal(found.events, events);
		assert_int_equal(found.sum, sum);
		assert_true(found.ordered && found.horizons_hold && found.ended && found.trailer);
		assert_true(found.event_chunks < 2 * events / 16384 + 20);
		most = found.cores > most ? found.cores : most;
	}
	assert_in_range(most, 2, 4);
}

/* Where there is one core, nothing is different from ever. */
static void test_one_core(void **state)
{
	uint64_t events, sum;
	struct found found = record_full_rings("1", &events, &sum);

	assert_int_equal(found.events, events);
	assert_int_equal(found.sum, sum);
	assert_true(found.ordered && found.horizons_hold && found.ended && found.trailer);
	assert_int_equal(found.cores, 1);
}

/* A node that was announced but not filled is written when it is, and those behind it before. */
static void test_unfinished_node(void **state)
{
	struct fake f;
	struct found found;
	pid_t program, collector;
	struct event e;

	fake_init(&f, output);
	program = sleeper();
	collector = start_collector(&f, program);

	struct fake_ring ring = fake_ring(&f, 10, 1);
	uint32_t first = fake_node(&f, 0, 0x1000), late = fake_node(&f, first, 0),
		 third = fake_node(&f, first, 0x3000);

	e = event_number(0, third);
	fake_put(&f, &ring, &e);
	atomic_store(&f.control->flush_request, 1);
	while (atomic_load(&f.control->flush_done) != 1)
		futex_wait(&f.control->flush_done, 0, 10000000);
	fake_fill_node(&f, late, first, 0x2000);
	e = event_number(2, third);
	fake_put(&f, &ring, &e);
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(end_of(collector), 0);

	found = look(output);
	assert_int_equal(found.nodes, 3);
	assert_int_equal(found.node_ids[0], first);
	assert_int_equal(found.node_ids[1], third);
	assert_int_equal(found.node_ids[2], late);
	fake_release(&f);
}

static void test_unwritable_output(void **state)
{
	struct fake f;
	pid_t program, collector;

	fake_init(&f, "/proc/nonexistent/x.dat");
	program = sleeper();
	collector = start_collector(&f, program);
	assert_int_equal(atomic_load(&f.control->state), SHM_FAILED);
	assert_string_equal(f.control->error,
			    "cannot write /proc/nonexistent/x.dat: No such file or directory");
	assert_int_not_equal(end_of(collector), 0);
	kill(program, SIGKILL);
	end_of(program);
	fake_release(&f);
}

/* A limit that is reached in the middle: what is there can be read, and the program is told. */
static void test_full_disk(void **state)
{
	struct fake f;
	struct found found;
	struct rlimit before, limit;
	struct stat st;
	pid_t program, collector;
	struct event e;
	uint64_t seed = 1;

	fake_init(&f, output);
	program = sleeper();
	f.control->options.write_binaries = BINARIES_NONE;
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = limit.rlim_max = 1000000;
	/* Only the collector is to be limited; it is started from a child that is. */
	pid_t starter = fork();

	if (!starter) {
		setrlimit(RLIMIT_FSIZE, &limit);
		collector = start_collector(&f, program);
		_exit(WEXITSTATUS(end_of(collector)));
	}
	while (atomic_load(&f.control->state) == SHM_STARTING)
		usleep(100);

	struct fake_ring ring = fake_ring(&f, 12, 1);

	for (uint64_t i = 0; i < 10000000 && atomic_load(&f.control->state) == SHM_READY; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		e = event_number(i, 0);
		e.stamp = i * 5000 + (seed >> 52);
		e.word1 = (e.word1 & ~EVENT_ADDRESS_MASK) | (seed >> 24 & 0x7ffffffff0ull);
		/* A collector that gets little of the processor is waited for. */
		while (ring.tail - atomic_load(&ring.ring->head) >= 4096 &&
		       atomic_load(&f.control->state) == SHM_READY)
			usleep(100);
		if (ring.tail - atomic_load(&ring.ring->head) < 4096)
			fake_put(&f, &ring, &e);
	}
	assert_int_equal(end_of(starter), 1 << 8);
	assert_int_equal(atomic_load(&f.control->state), SHM_FAILED);
	assert_non_null(strstr(f.control->error, "File too large"));
	assert_int_equal(stat(output, &st), 0);
	assert_true(st.st_size <= 1000000);
	found = look(output);
	assert_true(found.events > 1000);
	assert_false(found.ended);
	kill(program, SIGKILL);
	end_of(program);
	fake_release(&f);
}

/* Nonsense in the shared memory must not bring the collector down. */
static void test_wild_program(void **state)
{
	struct fake f;
	struct found found;
	pid_t program, collector;
	struct event e = event_number(0, 0);

	fake_init(&f, output);
	program = sleeper();
	collector = start_collector(&f, program);

	struct fake_ring good = fake_ring(&f, 10, 1), bad = fake_ring(&f, 10, 2);

	fake_put(&f, &good, &e);
	atomic_store(&bad.ring->tail, 1ull << 40);
	f.control->ring_offset[2] = 12345;
	f.control->ring_offset[3] = SHM_FILE_SIZE * 2;
	f.control->ring_offset[4] = SHM_CONTROL_SIZE;
	atomic_store(&f.control->ring_count, 5);
	f.control->node_segment_offset[0] = SHM_FILE_SIZE - 4096;
	atomic_store(&f.control->node_segment_count, UINT32_MAX);
	atomic_store(&f.control->node_count, UINT32_MAX);
	f.control->module_segment_offset[0] = 1;
	atomic_store(&f.control->module_segment_count, UINT32_MAX);
	atomic_store(&f.control->module_count, UINT32_MAX);
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(end_of(collector), 0);
	found = look(output);
	assert_true(found.events >= 1);
	fake_release(&f);
}

/* It closes what it inherited, leaves the session, and keeps no directory busy. */
static void test_collector_daemonizes(void **state)
{
	struct fake f;
	pid_t program, collector;
	char path[64], target[300];
	int held[2];
	char word;
	ssize_t n;

	fake_init(&f, output);
	program = sleeper();
	assert_int_equal(pipe(held), 0);
	collector = start_collector(&f, program);
	close(held[1]);
	/* End of file at once: nobody else holds the pipe, except the sleeping program. */
	kill(program, SIGSTOP);
	assert_int_equal(getsid(collector), collector);
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)collector);
	/* It leaves the directory right after it has said that it is ready. */
	for (int i = 0; i < 1000; i++) {
		n = readlink(path, target, sizeof(target));
		if (n == 1)
			break;
		usleep(1000);
	}
	assert_int_equal(n, 1);
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)collector, fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		assert_string_equal(target, "/dev/null");
	}
	kill(collector, SIGTERM);
	kill(collector, SIGINT);
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(read(held[0], &word, 1), 0);
	assert_int_equal(end_of(collector), 0);
	assert_int_equal(look(output).ended, true);
	close(held[0]);
	fake_release(&f);
}

/* What is mapped is in the file, byte for byte and once; unless it is not wanted. */
static void test_embedded_program(void **state)
{
	struct fake f;
	struct found found;
	struct stat st;
	pid_t program, collector;
	ssize_t n = readlink("/proc/self/exe", compare_path, sizeof(compare_path) - 1);

	assert_true(n > 0);
	compare_path[n] = 0;
	compare_fd = open(compare_path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(compare_fd, &st), 0);
	/* Tables are test_binaries.py's. */
	for (int wanted = 1; wanted >= 0; wanted--) {
		fake_init(&f, output);
		f.control->options.write_binaries = wanted ? BINARIES_FULL : BINARIES_NONE;
		program = sleeper();
		collector = start_collector(&f, program);
		kill(program, SIGKILL);
		end_of(program);
		assert_int_equal(end_of(collector), 0);
		found = look(output);
		assert_int_equal(found.embedded, wanted ? st.st_size : 0);
		assert_int_equal(found.embedded_size, wanted ? st.st_size : 0);
		assert_true(wanted ? found.files > 3 : found.files == 0);
		fake_release(&f);
	}
	close(compare_fd);
	compare_fd = -1;
}

/* Two recordings to one file: the second is refused, the first stays whole. */
static void test_output_in_use(void **state)
{
	struct fake first, second;
	pid_t program, collector, late;

	fake_init(&first, output);
	first.control->options.write_binaries = BINARIES_NONE;
	program = sleeper();
	collector = start_collector(&first, program);
	fake_init(&second, output);
	late = start_collector(&second, program);
	assert_int_equal(atomic_load(&second.control->state), SHM_FAILED);
	assert_non_null(strstr(second.control->error, "another recording"));
	assert_int_not_equal(end_of(late), 0);
	kill(program, SIGKILL);
	end_of(program);
	assert_int_equal(end_of(collector), 0);
	assert_true(look(output).ended);
	fake_release(&first);
	fake_release(&second);
}

static int set_up(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(output, sizeof(output), "%s/out.dat", directory);
	return 0;
}

static int tear_down(void **state)
{
	unlink(output);
	return rmdir(directory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_program),
		cmocka_unit_test(test_several_cores),
		cmocka_unit_test(test_one_core),
		cmocka_unit_test(test_unfinished_node),
		cmocka_unit_test(test_unwritable_output),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_wild_program),
		cmocka_unit_test(test_collector_daemonizes),
		cmocka_unit_test(test_embedded_program),
		cmocka_unit_test(test_output_in_use),
	};

	collector_path = argc > 1 ? argv[1] : "build/memoir-collector";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
