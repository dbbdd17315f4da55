/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The memory that the recorder and the collector share.
 *
 * One memfd.  It starts with struct shm_control; everything else is a segment that the recorder
 * takes from `next_offset` and announces in one of the tables below: a ring per thread, runs of
 * trie nodes, runs of module records.  Nothing is ever given back, so an offset that was announced
 * stays good.  The recorder maps segments one by one and keeps no descriptor; the collector has
 * the descriptor and maps what it sees announced.
 *
 * Who writes what: the recorder everything, except fields marked (collector).  Tables are filled
 * before the counter that announces them is raised with a release store. */
#include <stdatomic.h>
#include <stdint.h>

#include "wire/event.h"
#include "wire/inplace.h"
#include "wire/options.h"
#include "wire/python.h"

#define SHM_MAGIC_BASE 0x32304d4853524d4dull /* "MMRSHM02"; SHM_MAGIC is in layout.h */
#define SHM_ENV "MEMOIR_SHM" /* set by `memoir run`: the path of the memfd to attach to */
#define SHM_HANDED_OVER "/proc/self/fd/" /* and a number: options only, and closed when read */
/* PID:ID:BEGAN:FIRST:ADOPTS of the recording that a program was started from: see struct
 * shm_family. */
#define SHM_PARENT_ENV "MEMOIR_PARENT"

#define SHM_FILE_SIZE (1ull << 36)	/* at most; sparse; set by the collector or the launcher */
#define SHM_FILE_SIZE_MIN (16ull << 20) /* with less there is no point in starting */
#define SHM_MAX_RINGS 16384
#define SHM_MAX_NODE_SEGMENTS 16384
#define SHM_MAX_MODULE_SEGMENTS 1024
#define SHM_NODES_PER_SEGMENT 65536u
#define SHM_MODULES_PER_SEGMENT 128u

/* A frame of a stack: the node's chain of parents is the stack, outwards.  Node 0 is the root and
 * stands for "no stack".  `pc` is written last and is not 0 once the node may be read.  The pc is
 * a return address (the call is before it), except above a signal frame (NODE_EXACT). */
struct shm_node {
	_Atomic uint64_t pc; /* address : 48, module index : 16 (0 = in no module) */
	uint32_t parent;
	uint32_t flags;
};

enum shm_node_flags {
	NODE_EXACT = 1,	    /* pc is an interrupted instruction, not a return address */
	NODE_TRUNCATED = 2, /* the outer frames are cut: there were more than the limit */
	NODE_BROKEN = 4,    /* the walk ended here because the next frame made no sense */
	NODE_BEHIND = 8,    /* it was made together with its parent, the node before it; of no
			     * meaning outside the recorder (trie.c) */
};

/* A module that a frame was found in.  A range that is used again by another file gets a new
 * index, so (index, pc) is exact however often libraries come and go. */
struct shm_module {
	uint64_t bias;	     /* run-time address minus the ELF file's */
	uint64_t start, end; /* mapped range */
	uint64_t stamp;	     /* when it was first seen */
	uint8_t build_id_size;
	uint8_t build_id[31];
	char name[448]; /* absolute; empty for the executable; the end if too long */
};

/* Head page of a ring's segment; `1 << order` events follow it. */
struct shm_ring {
	uint32_t order;
	_Atomic uint32_t owner_tid; /* kernel id of the thread that writes, 0 = nobody */
	uint64_t pad0[7];
	_Atomic uint64_t tail; /* events written and published */
	uint64_t pad1[7];
	_Atomic uint64_t head; /* (collector) events taken */
	uint64_t pad2[7];
	char pad3[4096 - 192];
	struct event events[];
};

enum shm_clock { CLOCK_TICKS, CLOCK_NANOSECONDS /* CLOCK_MONOTONIC */ };

enum shm_state {
	SHM_STARTING,
	SHM_READY,  /* the recording is open, events are taken */
	SHM_FAILED, /* `error` says why: the program runs on unrecorded */
	SHM_CLOSED, /* the collector has finished the file */
};

/* What a program waits for at its end, or before it becomes another (recorder/end.c). */
enum shm_ending {
	ENDING_NOT,
	ENDING_WRITE, /* what it has published is in the file: `written` */
	ENDING_CLOSE, /* the file is closed: SHM_CLOSED */
};

/* What could not be recorded, or only in part; in this order in the recording. */
#define SHM_COUNTERS(X)                                                                            \
	X(dropped_ring_full, "events dropped because the ring was full (MEMOIR_WHEN_FULL=drop)")   \
	X(dropped_no_ring, "events of threads that got no ring")                                   \
	X(dropped_nested, "events in signal handlers nested too deep in a hook")                   \
	X(dropped_no_collector, "events after the collector was gone")                             \
	X(realloc_failed, "realloc calls that failed")                                             \
	X(stacks_truncated, "stacks deeper than the limit")                                        \
	X(stacks_broken, "stacks that ended at a frame without usable unwind information")         \
	X(stacks_lost,                                                                             \
	  "events without a stack for lack of memory (or of calls that a filter forbids)")         \
	X(ring_waits, "times that a thread waited for the collector")                              \
	X(ring_wait_ns, "nanoseconds spent in those waits")                                        \
	X(sampled_events, "events whose cost was measured")                                        \
	X(sampled_ticks, "ticks of the clock that they took")                                      \
	X(setup_ns, "nanoseconds spent on starting and on preparing threads")                      \
	X(switched_on, "times that recording was switched on")                                     \
	X(switched_off, "times that recording was switched off")                                   \
	X(private_bytes, "bytes of memory that the recorder took for itself")                      \
	X(dropped_sandbox,                                                                         \
	  "events for which a seccomp filter of the program's forbade a system call")              \
	X(sandboxed, "system calls of the recorder that such a filter forbids")                    \
	X(python_unmatched, "stacks whose Python frames could not be told for sure")               \
	X(python_unknown, "interpreters of Python whose functions are not known how to find")

enum shm_counter {
#define X(name, help) COUNTER_##name,
	SHM_COUNTERS(X)
#undef X
		COUNTER_COUNT
};

/* Are the calls seen that libc makes for itself: mmap, brk, …? */
enum shm_libc_maps {
	LIBC_MAPS_NOT_ASKED,
	LIBC_MAPS_SEEN,
	LIBC_MAPS_IN_PART, /* shm_plan.libc_warning says why not all */
	LIBC_MAPS_REFUSED, /* its code may not be changed */
};

#define SHM_FORKS 64u
#define SHM_OWN_RANGES 4096u
#define SHM_UNRECORDED 16u

/* Memory that the recorder took for itself.  `size` is written last, and 0 before. */
struct shm_range {
	uint64_t start;
	_Atomic uint64_t size;
};

/* How a recorded program came to be. */
enum shm_origin {
	ORIGIN_START, /* nobody before it was recorded */
	ORIGIN_EXEC,  /* a recorded process executed it: its child, or itself (the same pid) */
	ORIGIN_FORK,  /* the child of fork in a recorded program */
};

/* How far a thread of the parent had come at the moment of a fork: what the child inherited. */
struct shm_position {
	uint64_t events; /* written to this ring, ever */
	uint64_t stamp;	 /* of the last of them; 0: not known */
};

/* A program that was started without us, since it cannot be recorded: for who tells the user. */
struct shm_unrecorded {
	_Atomic uint32_t answer; /* enum loadable; written last, and 0 before */
	uint32_t machine;
	int32_t pid;	/* of who started it, or became it */
	char path[244]; /* the end if too long */
};

/* What a recording has to do with others: recorder/family.c, collector/family.c. */
struct shm_family {
	uint32_t origin;    /* enum shm_origin */
	int32_t parent_pid; /* of the program before it; 0: there is none */
	int32_t first_pid;  /* of the first of the family */
	uint8_t parent_id[16];
	uint8_t id[16];		   /* (collector) this recording's */
	uint64_t began_ns;	   /* CLOCK_REALTIME when the first of the family was started */
	uint64_t forked_at;	   /* stamp */
	uint64_t inherited_offset; /* of `inherited_rings` positions, by the parent's ring */
	uint32_t inherited_rings;
	uint32_t first_node;		 /* smaller numbers are the parent's */
	_Atomic uint32_t inheriting;	 /* the parent's recording is still being read */
	_Atomic uint32_t write_request;	 /* raised by a child: what there is goes to the file */
	_Atomic uint32_t exec_pending;	 /* the program is about to become another */
	_Atomic uint32_t other_programs; /* started by this one, and not recorded */
	_Atomic uint32_t adopts; /* this program, or one above it, adopts orphans: a subreaper */
	/* Stamps from before each fork whose child will be recorded: what was alive then must not
	 * be left out as short-lived.  The last SHM_FORKS of them. */
	_Atomic uint64_t fork_count;
	_Atomic uint64_t fork_stamps[SHM_FORKS];
	_Atomic uint32_t unrecorded_count; /* there may be more than are named */
	struct shm_unrecorded unrecorded[SHM_UNRECORDED];
	char exec_path[512]; /* which */
	char parent_output[4200];
	char directory[4096]; /* where relative names of outputs start; "": where we are */
	char session[64];     /* the launcher's pipe, where collectors report; "": there is none */
};

struct shm_control {
	uint64_t magic;
	_Atomic uint32_t state; /* (collector) enum shm_state; a futex the recorder waits on */
	uint32_t pad;
	char error[256];	       /* (collector) */
	uint32_t clock;		       /* enum shm_clock */
	_Atomic int32_t target_pid;    /* 0 until a program has attached: the first one does */
	_Atomic int32_t collector_pid; /* (collector) */
	_Atomic uint32_t gave_up;      /* the recorder found the collector gone and went on alone */
	_Atomic uint32_t ending;       /* enum shm_ending */
	_Atomic uint32_t written;      /* (collector) futex: the answer to ENDING_WRITE */
	_Atomic int32_t exit_status;   /* as waitpid has it, good once `ending`; -1: not known */

	_Atomic uint32_t doorbell; /* futex the collector sleeps on; the recorder adds and wakes */
	_Atomic uint32_t asleep;   /* (collector) 1 while it sleeps */
	_Atomic uint32_t drained;  /* (collector) futex: raised after a pass; full rings wait */
	_Atomic uint32_t flush_request; /* futex pair: raised by the recorder ... */
	_Atomic uint32_t flush_done;	/* (collector) ... and copied here once it is on disk */

	/* Raised by the collector when a file left the address space, and by dlclose: cached unwind
	 * rules and modules must be looked up again. */
	_Atomic uint32_t module_generation;

	_Atomic uint64_t next_offset; /* of the next segment */
	_Atomic uint32_t ring_count, node_count, node_segment_count, module_count,
		module_segment_count;
	_Atomic uint64_t counters[COUNTER_COUNT];

	uint64_t file_size;   /* (collector) of the memfd */
	char allocator[256];  /* the file whose malloc does the work */
	uint64_t start_stamp; /* ticks, monotonic and real time at attach */
	uint64_t start_monotonic_ns, start_realtime_ns;
	char output[4200]; /* (collector) the recording's path */
	/* What the program's stderr is, for the log of a collector that it started itself; inode 0:
	 * there is none. */
	uint64_t stderr_device, stderr_inode, stderr_special;
	struct options options;
	struct shm_family family;
	struct shm_plan plan;	    /* (collector) allocators inside the executable */
	_Atomic uint32_t libc_maps; /* enum shm_libc_maps */

	/* For the collector's samples of memory maps; what does not fit is left out. */
	_Atomic uint32_t own_count;
	struct shm_range own[SHM_OWN_RANGES];

	uint64_t ring_offset[SHM_MAX_RINGS];
	uint64_t node_segment_offset[SHM_MAX_NODE_SEGMENTS];
	uint64_t module_segment_offset[SHM_MAX_MODULE_SEGMENTS];
	_Atomic uint32_t python_segment_count;
	uint64_t python_segment_offset[PYTHON_SEGMENTS_MAX];
};

#define SHM_CONTROL_SIZE ((sizeof(struct shm_control) + 65535) & ~(size_t)65535)
/* What a recorder makes before its collector makes the file as large as it may become. */
#define SHM_START_SIZE                                                                             \
	(SHM_CONTROL_SIZE +                                                                        \
	 ((SHM_MAX_RINGS * sizeof(struct shm_position) + 65535) & ~(size_t)65535))
/* Segments are mapped one by one: in whole pages, whatever the kernel's are. */
#define SHM_PAGES(size) (((size) + ARCH_PAGE_MAX - 1) & ~(size_t)(ARCH_PAGE_MAX - 1))
#define SHM_NODE_SEGMENT_SIZE SHM_PAGES(SHM_NODES_PER_SEGMENT * sizeof(struct shm_node))
#define SHM_MODULE_SEGMENT_SIZE SHM_PAGES(SHM_MODULES_PER_SEGMENT * sizeof(struct shm_module))
#define SHM_RING_SIZE(order) SHM_PAGES(sizeof(struct shm_ring) + (sizeof(struct event) << (order)))

_Static_assert(sizeof(struct event) == 32, "two events a cache line");
_Static_assert(sizeof(struct shm_node) == 16, "the budget is 64 bytes a node with its index");
_Static_assert(sizeof(struct shm_module) == 512, "");
_Static_assert(sizeof(struct shm_ring) == 4096, "");
