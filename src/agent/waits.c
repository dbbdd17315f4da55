/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a program waits for the first time, or starts a thread: that is when the agent starts.
 *
 * Each function here is libc's own with one test of a word before it; nothing of what it does or
 * answers is changed.  Those that may be called in signal handlers start nothing while a signal is
 * blocked. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"

#define STACK_SIZE (512u << 10)

/* X(type, name, parameters, arguments, may be called in a handler) */
#define WAITS(X)                                                                                   \
	X(int, epoll_wait, (int e, struct epoll_event *v, int n, int t), (e, v, n, t), false)      \
	X(int, epoll_pwait, (int e, struct epoll_event *v, int n, int t, const sigset_t *s),       \
	  (e, v, n, t, s), false)                                                                  \
	X(int, poll, (struct pollfd * p, nfds_t n, int t), (p, n, t), true)                        \
	X(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s),  \
	  (p, n, t, s), true)                                                                      \
	X(int, __poll_chk, (struct pollfd * p, nfds_t n, int t, size_t l), (p, n, t, l), true)     \
	X(int, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t),                \
	  (n, r, w, e, t), true)                                                                   \
	X(int, pselect,                                                                            \
	  (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *s),   \
	  (n, r, w, e, t, s), true)                                                                \
	X(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left), true)      \
	X(int, clock_nanosleep,                                                                    \
	  (clockid_t c, int f, const struct timespec *t, struct timespec *left), (c, f, t, left),  \
	  true)                                                                                    \
	X(unsigned, sleep, (unsigned s), (s), true)                                                \
	X(int, usleep, (useconds_t u), (u), true)                                                  \
	X(int, pause, (void), (), true)                                                            \
	X(int, sigsuspend, (const sigset_t *s), (s), true)                                         \
	X(int, sigwait, (const sigset_t *s, int *n), (s, n), false)                                \
	X(int, sigwaitinfo, (const sigset_t *s, siginfo_t *i), (s, i), false)                      \
	X(int, sigtimedwait, (const sigset_t *s, siginfo_t *i, const struct timespec *t),          \
	  (s, i, t), false)

#define X(type, name, parameters, arguments, in_handler) static type(*real_##name) parameters;
WAITS(X)
#undef X
static int (*real_accept)(int, struct sockaddr *, socklen_t *);
static int (*real_accept4)(int, struct sockaddr *, socklen_t *, int);
static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static void (*real_pthread_exit)(void *);
static pid_t (*real_setsid)(void);
static int (*real_daemon)(int, int);

void waits_init(void)
{
#define X(type, name, parameters, arguments, in_handler)                                           \
	real_##name = (type(*) parameters)dlsym(RTLD_NEXT, #name);
	WAITS(X)
#undef X
	real_accept = dlsym(RTLD_NEXT, "accept");
	real_accept4 = dlsym(RTLD_NEXT, "accept4");
	real_pthread_create = dlsym(RTLD_NEXT, "pthread_create");
	real_pthread_exit = dlsym(RTLD_NEXT, "pthread_exit");
	real_setsid = dlsym(RTLD_NEXT, "setsid");
	real_daemon = dlsym(RTLD_NEXT, "daemon");
}

#define ENTER(name, in_handler)                                                                    \
	do {                                                                                       \
		if (!real_##name)                                                                  \
			waits_init();                                                              \
		agent_trigger(in_handler);                                                         \
	} while (0)

int __poll_chk(struct pollfd *p, nfds_t n, int t, size_t l);

#define X(type, name, parameters, arguments, in_handler)                                           \
	EXPORT type name parameters                                                                \
	{                                                                                          \
		ENTER(name, in_handler);                                                           \
		return real_##name arguments;                                                      \
	}
WAITS(X)
#undef X

/* Their headers have an argument of a kind that cannot be written in the table. */
EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict size)
{
	ENTER(accept, true);
	return real_accept(fd, *(struct sockaddr **)&address, size);
}

EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
	ENTER(accept4, true);
	return real_accept4(fd, *(struct sockaddr **)&address, size, flags);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*run)(void *), void *restrict argument)
{
	ENTER(pthread_create, false);
	return real_pthread_create(thread, attributes, run, argument);
}

/* A program whose first thread has left ends with its last one; the agent's must not keep it. */
EXPORT void pthread_exit(void *value)
{
	if (!real_pthread_exit)
		waits_init();
	agent_main_leaves();
	real_pthread_exit(value);
	__builtin_unreachable();
}

EXPORT pid_t setsid(void)
{
	pid_t session;

	if (!real_setsid)
		waits_init();
	session = real_setsid();
	if (session >= 0)
		agent_new_session();
	return session;
}

EXPORT int daemon(int stay_here, int keep_files)
{
	int result;

	if (!real_daemon)
		waits_init();
	result = real_daemon(stay_here, keep_files);
	if (!result)
		agent_new_session();
	return result;
}

int waits_create_thread(void *(*run)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	int e = pthread_attr_init(&attributes);

	if (e)
		return e;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	e = real_pthread_create ? real_pthread_create(&thread, &attributes, run, NULL) : -1;
	pthread_attr_destroy(&attributes);
	return e;
}
