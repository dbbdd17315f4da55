/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recorder's state inside the target, and what its files offer each other.
 *
 * All of it runs inside somebody else's process: from any thread, inside signal handlers, before
 * constructors and after exit.  Nothing here allocates through libc, takes a libc lock or prints
 * through stdio.  A function that takes a struct rt_thread may assume that it is the calling
 * thread's own.  A failure drops the event and counts it; the program goes on. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/arch.h"
#include "recorder/sys.h"
#include "target/attributes.h"
#include "unwind/walk.h"
#include "wire/page.h"
#include "wire/shm.h"

/* The first threads of a program get more memory than the many that may follow. */
#define FIRST_THREADS 8
#define SUFFIX_SETS_FIRST 16384u /* sets of cached suffixes of stacks, a quarter kilobyte each */
#define SUFFIX_SETS_LATER 256u
#define SUFFIX_SETS_NESTED 32u
#define KNOWN_FIRST 1024u	   /* entries of a thread's table of known stacks: at first, */
#define KNOWN_MAX (1u << 20)	   /* at most for the first threads (16 MiB), */
#define KNOWN_MAX_LATER (1u << 14) /* and for later ones */

#define SAMPLE_EVERY 1024u /* events: what this one took is measured */

#define RT_NESTING 3 /* levels of signal handlers inside a hook that are recorded */

/* The hash of a whole stack to its innermost node: direct-mapped, a thread's own. */
struct rt_known_stack {
	uint64_t hash;
	uint32_t node;
};

struct rt_thread {
	/* The ring.  `reserved` runs ahead of the published tail only inside a hook. */
	struct event *events;
	struct shm_ring *ring;
	uint64_t reserved, head;    /* head: as last seen */
	uint64_t mask, notify_mask; /* the latter: when to wake the collector, and to measure */
	uint32_t open;		    /* slots that are reserved and may be unwritten: see ring.h */

	uint32_t depth;	  /* hooks on this thread that are taking a stack */
	uint64_t busy_at; /* the outermost one's frame */
	/* Of modules that the walks were made with; where there is Python, all bits turned, so that
	 * take_stack() goes the long way without asking. */
	uint32_t generation;
	int tid;

	struct rt_known_stack *known;
	uint64_t known_mask, known_max, known_conflicts;
	struct walk *walks[RT_NESTING];
	uint64_t inside; /* the frame of a hook inside the executable, see inplace.c */
};

enum rt_state { RT_NEW, RT_STARTING, RT_ON, RT_OFF };

struct rt {
	_Atomic uint32_t state;
	struct shm_control *shm;
	uint32_t use_ticks;
	uint32_t stack_depth;
	bool launched;	       /* by `memoir run` */
	bool own_collector;    /* not the launcher, but one that we started */
	_Atomic uint32_t mode; /* rt_live.on as a forked child finds it */
	bool stacks_on_free, drop_when_full;
	bool maps, name_maps; /* memory maps are recorded; and named */
	bool glibc;	      /* the allocator in use is glibc's */
	bool python;	      /* its frames are wanted, and known how to take */
	bool watch_callers;   /* who calls matters: it may be an allocator */
	/* The allocator in use when it is not libc's: what it calls itself is not recorded. */
	uint64_t allocator_low, allocator_size;
	uint64_t own_low, own_size;
	uint64_t loader_low, loader_size; /* ld.so */
	uint64_t libc_low, libc_size;
	uint32_t libc_maps; /* enum shm_libc_maps: what this process has, whoever records it */
	int pid;
};

/* What is recorded now. */
enum rt_mode {
	MODE_NONE,    /* nothing, ever: not started, given up, or a child of fork */
	MODE_ON,      /* everything */
	MODE_OFF,     /* switched off: only the ends of blocks, which may have been recorded */
	MODE_WAITING, /* not switched on yet: nothing */
};

/* What a call must be recorded in. */
enum rt_need {
	NEED_ON,  /* MODE_ON: it allocates */
	NEED_END, /* MODE_OFF too: it ends a block */
	NEED_ANY, /* any but MODE_NONE */
};

/* A page of its own that becomes zero in a child of fork by itself (MADV_WIPEONFORK), however the
 * fork was made. */
struct rt_live {
	_Atomic uint32_t on; /* enum rt_mode */
	_Atomic uint32_t
		stopped;       /* recording ended before the program did: what is missed counts */
	_Atomic uint32_t here; /* 1 in the process that is recorded, 0 in a forked child */
	char pad[ARCH_PAGE_MAX - 3 * sizeof(uint32_t)];
};

extern struct rt rt HIDDEN;
extern struct rt_live rt_live HIDDEN;
extern __thread struct rt_thread *rt_self HIDDEN __attribute__((tls_model("initial-exec")));

static inline void rt_count(enum shm_counter counter, uint64_t n)
{
	if (rt.shm)
		atomic_fetch_add_explicit(&rt.shm->counters[counter], n, memory_order_relaxed);
}

/* clock.c: what time it is where the counter is not to be read, or not to be believed. */
void clock_init(void) HIDDEN;
uint64_t rt_now_slow(void) HIDDEN;
/* The same for the first event of two that have one time: the second one must ask again. */
uint64_t rt_now_first(void) HIDDEN;
/* The calling thread's next event has this time of CLOCK_MONOTONIC. */
void clock_override(uint64_t microseconds) HIDDEN;
/* The program is about to forbid itself to read the time stamp counter, */
void rt_lose_clock(void) HIDDEN;
/* or the call that is the clock where there is no such counter. */
void rt_lose_clock_call(void) HIDDEN;

static inline uint64_t rt_now(void)
{
	return likely(rt.use_ticks) ? arch_ticks() : rt_now_slow();
}

/* environment.c: the environment that the kernel put on the stack. */
char **rt_environment(void) HIDDEN;
const char *rt_variable(const char *name) HIDDEN;
/* Takes out what is not for the program, nor for those that it starts. */
void environment_leave(bool children_are_recorded) HIDDEN;
/* Before main(): `environ` is what is left. */
void environment_show(void) HIDDEN;
/* The file that we are, as LD_PRELOAD has it (`memoir run` hides it from other loaders); not ended
 * by a zero. */
const char *environment_own_name(size_t *ret_length) HIDDEN;
/* Without the empty slots in front that a constructor, or a program without libc's start, has. */
char *const *environment_to_hand_over(char *const *env) HIDDEN;

/* start.c: the life of a recording. */
const char *rt_own_name(void) HIDDEN; /* the file that we are, as the loader was told */
/* New shared memory and a collector for it; `like`: an earlier recording to be like.  NULL: said.
 */
struct shm_control *rt_new_recording(const struct shm_control *like) HIDDEN;
/* The rest of the start, once there is shared memory. */
bool rt_use(struct shm_control *control) HIDDEN;
bool rt_start(void) HIDDEN;
void rt_stop(const char *reason) HIDDEN;

/* control.c: on and off. */
void control_init(const struct options *options) HIDDEN;
/* A child that is not recorded, or has not asked for them, has no use for our signal handlers. */
void control_in_child(bool recorded) HIDDEN;
/* Is it one of those that switch recording? */
bool control_is_handler(void (*handler)(int)) HIDDEN;

/* family.c: recordings that belong together, of a program, its children and what it becomes. */
/* Was this program started from a recorded one that it may be recorded with? */
bool family_follows(const struct shm_control *launcher) HIDDEN;
/* Was it started from a recorded program?  Then nobody waits for a word about it. */
bool family_has_parent(void) HIDDEN;
/* Fills in where a new recording comes from. */
void family_describe(struct shm_control *control, const struct shm_control *like) HIDDEN;
void family_before_fork(void) HIDDEN;
/* For a program that cannot reach the launcher: a descriptor of memory with the options, or -errno.
 */
long family_hand_over(void) HIDDEN;
/* In that program: the descriptor is not for it. */
void family_close_handed_over(const char *path) HIDDEN;
/* The program adopts orphans from now on. */
void family_adopts(void) HIDDEN;
/* In a forked child: it gets a recording of its own, or none.  True: it is recorded. */
bool family_in_child(void) HIDDEN;

/* exec.c: the exec family.  MEMOIR_PARENT=… for programs that this one starts. */
extern char exec_parent[112] HIDDEN;
void exec_init(void) HIDDEN;

/* spawn.c: the collector process.  Returns its pid, or -errno. */
long spawn_collector(const char *path, int memfd, char *const *environment,
		     const struct shm_control *control) HIDDEN;
/* Is it below this process, which has to let it end first? */
bool spawn_stays(void) HIDDEN;
/* Waits for its end for a while, and takes notice of it. */
bool spawn_ended(uint64_t timeout_ns) HIDDEN;

/* end.c: the end of the process, or of the program. */
void end_init(void) HIDDEN;
/* It is about to become another program.  True: its recording is closed. */
bool end_before_exec(void) HIDDEN;

/* text.c: in decimal digits, with a zero behind them; returns where that is. */
char *text_number(char *out, uint64_t v) HIDDEN;

/* say.c: lines on stderr, if that is still what it was at the start. */
void say_init(void) HIDDEN;
void say_describe_stderr(struct shm_control *control) HIDDEN;
void say(const char *text, const char *more) HIDDEN;

/* memory.c: the slow path's lock, private memory, segments of the shared memory. */
struct rt_lock_state {
	struct sys_signals signals;
};
/* False: this thread has it already, further down the stack, since its signals cannot be blocked;
 * or nobody can be waited for.  The caller does without. */
bool rt_lock(struct rt_lock_state *s) HIDDEN;
void rt_unlock(const struct rt_lock_state *s) HIDDEN;
void *rt_map(size_t size) HIDDEN;
/* What rt_map() or rt_map_segment() gave. */
void rt_unmap(void *p, size_t size) HIDDEN;
void rt_memory_init(struct shm_control *control) HIDDEN;
/* With the lock held.  NULL if there is none to be had. */
void *rt_map_segment(size_t size, uint64_t *ret_offset) HIDDEN;
/* In a forked child: locks that other threads held are nobody's now. */
void rt_memory_forget(void) HIDDEN;

/* thread.c: registers the calling thread; NULL if it cannot be. */
struct rt_thread *thread_register(void) HIDDEN;
struct walk *thread_walk(struct rt_thread *t, unsigned level) HIDDEN;
/* In a forked child.  How far each ring had come; returns how many there are. */
uint32_t thread_positions(struct shm_position *out, uint32_t room) HIDDEN;
/* Nobody has a ring any more, and the caller's own is his alone. */
void thread_forget(void) HIDDEN;
/* The table of known stacks has moved. */
void thread_tell_walks(struct rt_thread *t) HIDDEN;

/* ring.c: waiting for room (false: drop the event, it is counted), waking the collector and
 * measuring what an event takes, now and then. */
bool ring_make_room(struct rt_thread *t) HIDDEN;
void ring_notify(struct rt_thread *t) HIDDEN;
void ring_doorbell(struct shm_control *shm) HIDDEN;
/* Will the collector go on?  A stopped or dead one is not waited for. */
bool ring_collector_works(uint64_t waited_ns) HIDDEN;

/* trie.c: from a walked stack to its node. */
void trie_init(uint32_t first_node) HIDDEN;
void trie_prepare(void) HIDDEN; /* nothing can be had for it later */
void trie_forget(void) HIDDEN;	/* in a forked child: the nodes are the parent's */
uint32_t trie_node(struct rt_thread *t, struct walk *w) HIDDEN;
/* The node of one frame on top of another; 0 if there is no memory. */
uint32_t trie_add(uint32_t parent, uint64_t pc, uint32_t flags) HIDDEN;
uint32_t trie_add_frame(uint32_t parent, const struct walk *w, const struct walk_frame *f) HIDDEN;

/* modules.c: which file an address is in, and its unwind rule. */
void modules_init(void) HIDDEN;
void modules_prepare(void) HIDDEN; /* nothing can be had for them later */
/* In a forked child: the records, under the same numbers, for its own collector. */
bool modules_copy(void) HIDDEN;
unwind_rule modules_decode(uint64_t key) HIDDEN;
/* A library may have left, or another may take its place: everything is looked up again, */
void modules_changed(void) HIDDEN;
/* by each thread at its next event.  False: not now. */
bool modules_refresh(struct rt_thread *t) HIDDEN;
/* Was code met that came while the program ran: a library that was opened, or in no file at all? */
bool modules_came_late(void) HIDDEN;

/* frames.c: unwind information that a JIT has registered.  The address is that of its records. */
void frames_add(const void *records) HIDDEN;
void frames_remove(const void *records) HIDDEN;
/* The records that describe an address, under the lock; false if there are none. */
struct cfi_image;
bool frames_find(uint64_t address, struct cfi_image *ret_image) HIDDEN;
/* Nothing describes the address: a guess is made about it. */
void frames_guessed(uint64_t address) HIDDEN;

/* real.c: the allocator underneath. */
void real_init(void) HIDDEN;

/* zero.c: the allocator underneath gives zeroed memory from here on. */
void zero_init(void) HIDDEN;

/* redirect.c: callers that were bound past us. */
void redirect_callers(void) HIDDEN;
