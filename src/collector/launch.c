/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting a program.  See launch.h.  Runs in `memoir run` before it becomes a collector. */
#include "collector/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/read_file.h"
#include "collector/clock.h"
#include "collector/daemonize.h"
#include "collector/elf.h"
#include "wire/layout.h"
#include "wire/shm.h"

static bool find_installed(const char *name, const char *variable, char *path, size_t size)
{
	static const char *const folders[] = { "", "../lib/memoir/",
					       "../lib/" ARCH_TRIPLET "/memoir/",
					       "../lib64/memoir/" };
	const char *chosen = getenv(variable);
	char self[PATH_MAX], *slash;
	ssize_t n;

	if (chosen && *chosen) {
		char *real = realpath(chosen, NULL);
		bool fits = real && strlen(real) < size;

		if (fits)
			strcpy(path, real);
		free(real);
		return fits;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = 0;
	slash = strrchr(self, '/');
	slash[1] = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char candidate[2 * PATH_MAX];
		char *real;

		snprintf(candidate, sizeof(candidate), "%s%s%s", self, folders[i], name);
		real = realpath(candidate, NULL);
		if (real && strlen(real) < size) {
			strcpy(path, real);
			free(real);
			return true;
		}
		free(real);
	}
	return false;
}

bool launch_find_library(char *path, size_t size)
{
	return find_installed("libmemoir.so", "MEMOIR_LIBRARY", path, size);
}

bool launch_find_agent(char *path, size_t size)
{
	return find_installed("libmemoir-jemalloc.so", "MEMOIR_AGENT_LIBRARY", path, size);
}

/* What a library says about itself in its note. */
static bool read_note(int fd, struct layout_said *ret)
{
	uint8_t head[4096], bytes[4096];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	struct elf_notes at;

	for (unsigned i = 0; n > 0 && elf_notes(head, (size_t)n, i, &at); i++) {
		ssize_t got = at.offset <= INT64_MAX
				      ? pread(fd, bytes,
					      at.size < sizeof(bytes) ? at.size : sizeof(bytes),
					      (off_t)at.offset)
				      : -1;
		size_t size;
		const uint8_t *said = got <= 0 ? NULL
					       : elf_note(bytes, (size_t)got, LAYOUT_NOTE_NAME,
							  LAYOUT_NOTE_TYPE, &size);

		if (!said || size != sizeof(*ret))
			continue;
		memcpy(ret, said, sizeof(*ret));
		ret->version[sizeof(ret->version) - 1] = 0;
		return true;
	}
	return false;
}

const char *launch_library_differs(const char *path)
{
	static char why[200];
	struct layout_said said;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found;

	if (fd < 0)
		return strerror(errno);
	found = read_note(fd, &said);
	close(fd);
	if (!found)
		return "it is older than this memoir (" MEMOIR_VERSION "), or something else";
	if (!strcmp(said.version, MEMOIR_VERSION) &&
	    (said.magic[0] | (uint64_t)said.magic[1] << 32) == SHM_MAGIC)
		return NULL;
	snprintf(why, sizeof(why), "it is of memoir %s, this is %s%s", said.version, MEMOIR_VERSION,
		 strcmp(said.version, MEMOIR_VERSION) ? "" : " of another build");
	return why;
}

/* The path with a word in it that only glibc's loader expands, to something from which the rest
 * leads back to the root.  musl's loader cannot find that and goes on without a word, while it
 * would end the program over a library of glibc's.  That matters where a child is started by a
 * system call that no hook sees, as Go does it. */
static void guard_from_musl(const char *library, char *out, size_t size)
{
	bool known = !access("/lib/" ARCH_TRIPLET, F_OK) ||
		     (!access("/lib64", F_OK) && !access("/lib", F_OK));

	snprintf(out, size, "%s%s", known ? "/$LIB/../../../.." : "", library);
}

bool launch_preload(const char *library, bool children)
{
	const char *others = getenv("LD_PRELOAD");
	char *preload, guarded[PATH_MAX + 32];
	bool ok;

	if (children) {
		guard_from_musl(library, guarded, sizeof(guarded));
		library = guarded;
	}

	if (asprintf(&preload, "%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0)
		return false;
	ok = !setenv("LD_PRELOAD", preload, 1);
	free(preload);
	return ok;
}

int launch_memory(const struct options *options, const char *session)
{
	int fd = memfd_create("memoir", MFD_CLOEXEC), error;
	struct shm_control *control;

	if (fd < 0)
		return -errno;
	error = daemonize_size_memory(fd);
	if (error)
		return error;
	control = mmap(NULL, SHM_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		return -errno;
	control->options = *options;
	control->family.began_ns = now_on(CLOCK_REALTIME);
	snprintf(control->family.session, sizeof(control->family.session), "%s", session);
	atomic_store(&control->next_offset, SHM_CONTROL_SIZE);
	control->magic = SHM_MAGIC;
	munmap(control, SHM_CONTROL_SIZE);
	return fd;
}

bool launch_environment(int shm_fd, const char *library, bool children)
{
	char memory[64];

	snprintf(memory, sizeof(memory), "/proc/%d/fd/%d", (int)getpid(), shm_fd);
	/* The place of the last one is taken by the program's own name for its children. */
	return launch_preload(library, children) && !setenv(SHM_ENV, memory, 1) &&
	       !setenv(SHM_PARENT_ENV, "0", 1);
}

/* What stays with a process when it executes, and not with its child: without us between them the
 * program would have it. */
struct own_state {
	struct itimerval timers[3]; /* a caller may have set an alarm for the program */
	int death_signal, subreaper;
};

static void take_own_state(struct own_state *s)
{
	static const struct itimerval none;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 3; i++)
		setitimer(i, &none, &s->timers[i]);
	prctl(PR_GET_PDEATHSIG, &s->death_signal);
	prctl(PR_GET_CHILD_SUBREAPER, &s->subreaper);
}

static void give_own_state(const struct own_state *s)
{
	for (int i = 0; i < 3; i++)
		if (s->timers[i].it_value.tv_sec || s->timers[i].it_value.tv_usec)
			setitimer(i, &s->timers[i], NULL);
	if (s->death_signal)
		prctl(PR_SET_PDEATHSIG, s->death_signal);
	if (s->subreaper)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* In the child: waits for the word, then becomes the program.  Reports an exec that failed. */
_Noreturn static void become(const char *path, char **argv, const struct own_state *state,
			     int go_fd, int result_fd)
{
	char word;
	int error;

	if (read(go_fd, &word, 1) != 1)
		_exit(1);
	give_own_state(state);
	execvp(path, argv);
	error = errno;
	_exit(write(result_fd, &error, sizeof(error)) == sizeof(error) ? 126 : 127);
}

int launch_fork(struct launch *l, const char *path, char **argv)
{
	int go[2], result[2];
	sigset_t all, before;
	struct own_state state;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(result, O_CLOEXEC) < 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	take_own_state(&state);
	l->pid = fork();
	if (l->pid < 0)
		return -errno;
	if (!l->pid) {
		close(go[1]);
		sigprocmask(SIG_SETMASK, &before, NULL);
		become(path, argv, &state, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	l->go_fd = go[1];
	l->result_fd = result[0];
	return 0;
}

int launch_go(struct launch *l)
{
	int error = 0;

	if (write(l->go_fd, "", 1) != 1)
		return 0; /* killed while it waited: its status says so */
	return read_some(l->result_fd, &error, sizeof(error)) == sizeof(error) ? -error : 0;
}

void launch_release(struct launch *l)
{
	close(l->go_fd);
	close(l->result_fd);
}

int launch_end_like(int status)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}
