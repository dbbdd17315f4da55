/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The agent's state inside the target, and what its files offer each other.
 *
 * Everything but agent_trigger(), the hooks of waits.c and what runs at fork and exit is on one
 * thread, the agent's, which sleeps in poll() while nobody asks.  It blocks all signals, allocates
 * nothing (text.h), and holds no lock while it calls the allocator. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/text.h"
#include "target/attributes.h"

enum agent_state {
	AGENT_OFF,     /* not wanted, or a forked child of a process that has one */
	AGENT_PENDING, /* starts at the program's first wait or thread */
	AGENT_STARTING,
	AGENT_ON,
};

/* A descriptor of ours.  The program may close it and get the number again: it is compared with
 * what it was before it is used. */
struct agent_fd {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
};

struct agent {
	_Atomic int state;
	pid_t pid;	  /* of the process that this state is about */
	char listen[256]; /* as asked for */
	char token[68];
	bool compat;	  /* libmtev's GETs may change things */
	bool open_to_all; /* whoever can connect may read */
	bool quiet;

	struct agent_fd listener, bell; /* bell: an eventfd that wakes the thread */
	struct agent_fd asking;		/* for peer/peer.h */
	bool local;			/* it is a unix socket */
	bool everywhere;		/* it listens on more than loopback */
	char host[64];			/* of the address, for the Host header */
	char allowed_hosts[512];	/* other names that may be in it, with commas */
	char address[160];		/* http://127.0.0.1:7790 or unix:/path, announced */
	char socket_path[108], file_path[160];
	char program[256]; /* its path as it was started */
	dev_t socket_device;
	ino_t socket_inode;
	struct agent_fd standard_error; /* as it was at the start */
	int64_t started_ms;
	_Atomic bool main_left; /* the first thread has ended, the others go on */
	uint64_t requests, refused;
};

extern struct agent agent HIDDEN;

/* start.c */
void agent_trigger(bool maybe_in_handler);
void agent_new_session(void); /* a forked child has become a daemon */
void agent_main_leaves(void);
/* One line on the program's stderr, if that is still what it was. */
void agent_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct agent_fd agent_fd_own(int fd); /* moved out of the way of the program's own */
bool agent_fd_good(const struct agent_fd *f);
void agent_fd_close(struct agent_fd *f);
int64_t agent_now_ms(void);

/* waits.c */
void waits_init(void);
int waits_create_thread(void *(*run)(void *));

/* program.c */
void program_find(void);

/* listen.c */
bool listen_open(void);
void listen_forget(void); /* unlinks what was announced; at exit */

/* log.c */
void log_forget(void); /* unlinks a log that nobody fetched; at exit */

/* serve.c: until the process ends */
void serve(void);
void serve_close_in_child(void);
unsigned serve_waiting(void); /* answers that come later */
