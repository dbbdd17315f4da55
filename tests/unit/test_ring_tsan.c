/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ring between recorder and collector under ThreadSanitizer: the recorder's own writer
 * (recorder/ring.h) in some threads, the collector's own drain in another, on the same addresses,
 * since the sanitizer cannot see that two mappings are one memory.
 *
 * Signal handlers that write in the middle of a write are there too: a timer per thread.  Built
 * with WITHOUT_RELEASE, where the writer orders nothing, it must fail: see order.h. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/collector.h"
#ifdef WITHOUT_RELEASE
#define memory_order_release memory_order_relaxed
#endif
#include "recorder/ring.h"
#include "wire/layout.h"

#define WRITERS 3
#define ORDER 10
#define EVENTS 100000u

static struct shm_control *control;
static struct rt_thread threads[WRITERS];
static uint64_t written[WRITERS];
static _Atomic unsigned writers_left = WRITERS;
static __thread struct rt_thread *self;

bool ring_make_room(struct rt_thread *t)
{
	for (;;) {
		t->head = atomic_load_explicit(&t->ring->head, memory_order_acquire);
		if (t->reserved - t->head + RING_MARGIN <= t->mask)
			return true;
		if (t->open)
			return false;
		sched_yield();
	}
}

void ring_notify(struct rt_thread *t)
{
	if (atomic_load(&control->asleep))
		atomic_fetch_add(&control->doorbell, 1);
}

static void put(struct rt_thread *t, uint64_t i)
{
	uint64_t word1 = (0x1000 + i * 16) | (uint64_t)OP_ALLOC << 56;

	if (!ring_has_room(t))
		return;
	ring_put(t, clock_stamp(CLOCK_NANOSECONDS), word1, 32 | (uint64_t)CALL_malloc << 48, 1);
	__atomic_fetch_add(&written[t - threads], 1, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
	if (self)
		put(self, (uint64_t)sig);
}

static void *write_events(void *argument)
{
	self = argument;
	for (uint64_t i = 0; i < EVENTS; i++) {
		put(self, i);
		if (i % 1024 == 0)
			raise(SIGUSR1);
	}
	atomic_fetch_sub(&writers_left, 1);
	return NULL;
}

/* Signals at arbitrary moments. */
static void *disturb(void *argument)
{
	pthread_t *writers = argument;

	while (atomic_load(&writers_left) == WRITERS) {
		for (unsigned i = 0; i < WRITERS; i++)
			pthread_kill(writers[i], SIGUSR1);
		usleep(50);
	}
	return NULL;
}

static bool never_gone(struct collector *c)
{
	return false;
}

int main(void)
{
	static struct collector c;
	pthread_t writers[WRITERS], disturber;
	char output[] = "/tmp/memoir-ring-XXXXXX";
	int fd = memfd_create("memoir", MFD_CLOEXEC), out = mkstemp(output);
	uint64_t total = 0;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (fd < 0 || out < 0 || ftruncate(fd, SHM_FILE_SIZE))
		return 77;
	control = mmap(NULL, SHM_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	control->clock = CLOCK_NANOSECONDS;
	options_init(&control->options);
	control->options.write_binaries = BINARIES_NONE;
	strcpy(control->options.output, output);
	control->magic = SHM_MAGIC;
	if (collector_init(&c, fd))
		return 77;
	c.target_gone = never_gone;
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < WRITERS; i++) {
		struct shm_ring *ring = aligned_alloc(4096, SHM_RING_SIZE(ORDER));

		memset(ring, 0, SHM_RING_SIZE(ORDER));
		ring->order = ORDER;
		threads[i] = (struct rt_thread){ .ring = ring,
						 .events = ring->events,
						 .mask = (1u << ORDER) - 1,
						 .notify_mask = (1u << (ORDER - 1)) - 1 };
		c.rings[i] = (struct collector_ring){ .ring = ring, .order = ORDER };
	}
	c.ring_count = WRITERS;
	atomic_store(&control->ring_count, WRITERS);
	if (collector_open(&c, getpid(), "test"))
		return 1;
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, write_events, &threads[i]);
	pthread_create(&disturber, NULL, disturb, writers);
	while (atomic_load(&writers_left))
		drain_pass(&c);
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(disturber, NULL);
	collector_finish(&c, "end", -1);
	for (unsigned i = 0; i < WRITERS; i++)
		total += written[i];
	printf("%llu events written, %llu taken\n", (unsigned long long)total,
	       (unsigned long long)c.recording.event_count);
	unlink(output);
	return total >= WRITERS * EVENTS && total == c.recording.event_count ? 0 : 1;
}
