/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The process beside the program: takes the events out of shared memory and writes the recording.
 *
 * Used by memoir-collector (main.c), which the recorder starts, and by `memoir run`, which is a
 * collector itself.  One thread, and the pool of base/parallel.h for a pass over
 * rings that are nearly full (drain_cores.c).  The order of use: collector_init, collector_open,
 * collector_run, collector_finish, collector_release.
 *
 * Everything in the shared memory was written by the program, which may be broken and may die in
 * the middle of any store: offsets and counts from there are checked before they are used. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/maps.h"
#include "collector/payload.h"
#include "recording/writer.h"
#include "wire/codec.h"
#include "wire/shm.h"

struct collector;

struct collector_ring {
	struct shm_ring *ring; /* NULL: could not be mapped, or makes no sense */
	uint64_t head;	       /* events taken; the shared one is only for the recorder */
	uint32_t order;
	int32_t named_tid; /* whose name was looked up last */
	bool active;	   /* had events since the names were looked at */
	char name[16];
};

struct collector_module {
	uint64_t start, end;
	uint64_t device, inode; /* what was mapped there when it was written; 0: not known */
	bool gone;
};

/* What the program's threads waited for while their rings were full: waits.c. */
struct collector_waits {
	uint64_t seen_ns;			      /* of those waits, */
	uint64_t blocked_ns, cpu_ns, delay_ns;	      /* and of what was done meanwhile */
	uint64_t disk_ns, encoding_ns, processors_ns; /* what they were for */
};

struct binary_store;
struct collector_file;
struct collector_seen;
struct cull;
struct drain_cores;
struct naming;
struct python_codes;
struct serve;
struct regions_sampler;

struct collector {
	struct shm_control *control;
	int shm_fd;
	uint64_t shm_device, shm_inode;
	pid_t target;
	pid_t in_proc; /* its number in /proc, where that is another namespace's; 0: the same */
	/* Is the program gone?  Asked between passes. */
	bool (*target_gone)(struct collector *c);
	int pidfd;

	/* What is known of the program where /proc says nothing any more. */
	char executable[4096];
	const char *const *arguments, *const *environment; /* borrowed; may be NULL */

	char warning[256]; /* what could not be done, though the recording goes on; "" if nothing */
	struct recording recording;
	struct cull *cull;		 /* NULL: everything is written */
	struct serve *serve;		 /* NULL: nobody is sent anything; see sending.c */
	struct regions_sampler *regions; /* NULL: memory maps are not sampled */
	struct naming *naming;		 /* of code that is in no file */
	struct python_codes *python;
	struct codec_encoder encoder;
	void *scratch;
	uint64_t horizon;	   /* when the last whole pass began */
	struct drain_cores *cores; /* NULL until a pass is made on several */
	bool one_core;		   /* there are no others, or no memory for them */
	struct payload payload;

	struct collector_ring *rings; /* SHM_MAX_RINGS of them, touched as they come */
	uint32_t ring_count;
	uint32_t name_cursor;

	struct shm_node **node_segments;
	uint32_t node_segment_count, next_node;
	uint32_t *unfinished; /* nodes that were passed over because they were not filled yet */
	size_t unfinished_count, unfinished_room;

	struct shm_module **module_segments;
	uint32_t module_segment_count, next_module;
	struct collector_module *modules; /* by index */
	size_t module_room;
	struct maps maps;
	struct collector_seen *seen; /* files that were searched for allocators */
	size_t seen_count, seen_room;
	char late[256]; /* allocators in files that came too late to be hooked */

	struct collector_file *files; /* to embed, and embedded */
	size_t file_count, file_room, next_file;
	struct binary_store *store; /* NULL until the first file is looked at */
	struct ZSTD_CCtx_s *compressor;
	bool impatient; /* files that other collectors make are not waited for any more */

	uint64_t opened_ns;
	uint64_t poll_every_ns;	   /* more for a program with very many mappings */
	uint64_t now_ns;	   /* CLOCK_MONOTONIC of this time round */
	uint64_t chunk_started_ns; /* when the open chunk got its first event */
	uint64_t last_traffic_ns, last_clock_ns, last_poll_ns, last_counters_ns, last_names_ns,
		last_cpu_ns, last_title_ns;
	uint64_t counters_hash;
	uint64_t program_cpu_ns, program_delay_ns; /* as last seen */
	struct collector_waits waits;
	char title[256];      /* the command line, and then what the program made of it */
	char title_seen[256]; /* the same as last seen, to be written */
	uint64_t peak_rss;    /* KiB; 0: not known */
	unsigned idle_rounds;
	bool attached;	  /* the program's side has been written down */
	bool switched;	  /* written down: recording was switched on or off */
	bool mapped;	  /* the program was seen to have the shared memory mapped */
	int session;	  /* the launcher's pipe, or -1: see family.h */
	uint32_t written; /* requests to write what there is that were met */
	bool may_send;	  /* it is to be sent, and nothing has gone wrong with that */
};

/* Maps the shared memory and gets everything that will be needed.  0 or -errno. */
int collector_init(struct collector *c, int shm_fd);
/* Opens the recording and tells the recorder: SHM_READY, or SHM_FAILED and -errno.  The output is
 * relative to the working directory. */
int collector_open(struct collector *c, pid_t target, const char *program);
/* Takes events until the program is gone, or there is another reason to stop: returns it. */
const char *collector_run(struct collector *c);
/* The last pass and the end of the file.  False if not everything could be written.  `status` is
 * what waitpid said, or -1 if that is not known. */
bool collector_finish(struct collector *c, const char *reason, int status);
/* Recording was to be switched on, and never was: there is no file then. */
bool collector_never_on(const struct collector *c);
/* Says that there will be no recording, or no more of it; `text` may be cut. */
void collector_fail(struct collector *c, const char *text);
void collector_release(struct collector *c);

/* The program's number in /proc. */
static inline pid_t collector_in_proc(const struct collector *c)
{
	return c->in_proc ? c->in_proc : c->target;
}

/* Does the program have our shared memory mapped?  False too while that cannot be found out. */
bool collector_owns(const struct collector *c, const struct maps *maps);

/* drain.c: one pass over all rings; returns how many events it took. */
struct drain_result {
	uint64_t taken;
	bool busy; /* a ring was filled so far that the next pass should follow at once */
};
struct drain_result drain_pass(struct collector *c);
/* Has a ring enough to be worth waking for? */
bool drain_pending(const struct collector *c);
/* Writes the open chunk, and before it what its events refer to. */
void drain_close_chunk(struct collector *c);

/* nodes.c: stack nodes that were filled since the last time. */
void nodes_write(struct collector *c);

/* modules.c */
void modules_write(struct collector *c);
/* Reads the program's memory maps: paths, files to embed, files that went away.  True if the
 * program was found to be another one (exec). */
bool modules_poll(struct collector *c);

/* binaries.c: files of modules, a piece at a time. */
void binaries_add(struct collector *c, const struct mapping *m);
/* Closes files that have left the address space before a frame was found in them. */
void binaries_let_go(struct collector *c);
void binaries_add_module(struct collector *c, const char *path, const uint8_t *build_id,
			 size_t build_id_size);
/* Files that a pattern matches, relative to the working directory. */
void binaries_include(struct collector *c, const char *pattern);
/* Writes one piece; false when there is nothing to do now. */
bool binaries_step(struct collector *c);
/* Everything that is left. */
void binaries_finish(struct collector *c);
void binaries_release(struct collector *c);

/* sending.c: the recording goes to clients too, if it is to. */
void sending_start(struct collector *c);
/* Every time round: what was written may be sent. */
void sending_look(struct collector *c);
/* The file has ended; `whole` if in order.  Does not wait for clients: serve_wait() does. */
void sending_end(struct collector *c, bool whole);

/* threads.c: names that changed. */
void threads_write(struct collector *c);

/* waits.c: now and then, and at the end. */
void waits_look(struct collector *c);

/* title.c: the command line as it was when the recording began; later, what has changed. */
void title_start(struct collector *c);
void title_look(struct collector *c);
/* The two halves of that, of a program that is there, and of one that may be gone. */
void title_read(struct collector *c);
void title_write(struct collector *c);

/* info.c */
void info_write_start(struct collector *c);
void info_write_attached(struct collector *c);
void info_write_end(struct collector *c, const char *reason, int status);
void info_write_text(struct collector *c, const char *key, const char *value);
/* Once more, with what was found inside the program's files. */
void info_write_allocator(struct collector *c);
void info_write_clock(struct collector *c);
/* `why`: it is not all that there was; "" if it is. */
void info_write_inherited(struct collector *c, uint64_t count, uint64_t bytes, const char *why);
/* Looks how much of the processor the program has had, and how long its first thread has waited for
 * it; that can be asked as long as it is there. */
void info_look_at_program(struct collector *c);
/* Only if they changed, unless `always`. */
void info_write_counters(struct collector *c, bool always);
/* Only after recording was switched for the first time: the reader has to know before it meets the
 * end of a block whose beginning was not recorded. */
void info_write_switched(struct collector *c);
