/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir run: starts a program with the recorder in it, and is its collector.
 *
 * The program is forked first and waits, so that its pid can be part of the output's name and an
 * output that cannot be written is an error before anything runs.  From then on this process takes
 * events until the program has ended, and ends the same way itself. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/fleet/push_after.h"
#include "cli/session.h"
#include "collector/collector.h"
#include "collector/daemonize.h"
#include "collector/launch.h"
#include "collector/log.h"
#include "collector/program.h"
#include "fleet/fleet.h"
#include "recording/file_name.h"
#include "stream/serve.h"
#include "wire/options.h"
#include "wire/shm.h"

#define NOT_EXECUTABLE 126
#define NOT_FOUND 127
#define ROWS_MAX 64u /* of the recorder's table */
#define SAY_AFTER_NS 1000000000ull
#define LOOK_EVERY_NS 200000000ull

extern char **environ;

static bool quiet, wait_for_all, agent, agent_open;
static const char *check_rules, *fleet_url;
static char **environment_before; /* the program gets ours, memoir check this */
static const char *agent_hosts;
static const char *listen_on;
static struct options options;

static struct run {
	struct collector collector;
	struct launch child;
	struct session session;
	bool exited, adopted;
	int status; /* as waitpid has it; good once exited */
} run_state;

/* Set by the handlers; the loop's futex word is raised with it, so that no wait sleeps over it. */
static volatile sig_atomic_t child_changed;
static struct shm_control *bell_owner;

static const char *set_option(const struct command_option *row, const char *value)
{
	static char wrong[200];
	const struct option_row *option = row->context;

	if (!row->argument)
		value = strncmp(row->name, "no-", 3) ? "1" : "0";
	if (options_set(&options, option, value))
		return NULL;
	snprintf(wrong, sizeof(wrong), "'%.100s' is not accepted, only %s", value,
		 options_accepted(option));
	return wrong;
}

static void warn(void *context, const char *line)
{
	fprintf(stderr, "memoir: %s\n", line);
}

static const char *argument_name(const struct option_row *option)
{
	switch (option->type) {
	case OPTION_STRING:
		return "FILE";
	case OPTION_ADDRESS:
		return "ADDRESS";
	case OPTION_UINT:
	case OPTION_USER:
		return "N";
	case OPTION_CHOICE_LOG:
		return "LEVEL";
	case OPTION_CHOICE_FULL:
		return "wait|drop";
	case OPTION_CHOICE_BINARIES:
		return "tables|full|none";
	case OPTION_BOOL:
		break;
	}
	return NULL;
}

/* A flag for every row of the recorder's table, and --no-FLAG for those that are on or off. */
static const struct command_option *more_options(unsigned shared)
{
	static struct command_option rows[2 * ROWS_MAX + 1];
	static char names[ROWS_MAX][40];
	struct command_option *r = rows;

	if (rows[0].name)
		return rows;
	options_init(&options);
	/* Whatever is run here, a shell or another's test, may expect to be ended by them. */
	options.sigusr1 = options.sigusr2 = false;
	options_from_environment(&options, environ, warn, NULL);
	for (unsigned i = 0; i < option_row_count && i < ROWS_MAX; i++) {
		const struct option_row *option = &option_rows[i];

		*r++ = (struct command_option){
			.name = option->flag,
			.letter = strcmp(option->flag, "output") ? 0 : 'o',
			.argument = argument_name(option),
			.help = option->help,
			.type = COMMAND_CALL,
			.set = set_option,
			.context = option,
			.words =
				option->type == OPTION_CHOICE_LOG ? options_accepted(option) : NULL,
		};
		if (option->type != OPTION_BOOL && option->type != OPTION_CHOICE_BINARIES)
			continue;
		snprintf(names[i], sizeof(names[i]), "no-%s", option->flag);
		*r = r[-1];
		r->name = names[i];
		r->argument = NULL;
		r->help = "the opposite";
		r++;
	}
	return rows;
}

static void forward(int sig)
{
	int saved = errno;

	if (run_state.child.pid > 0)
		kill(run_state.child.pid, sig);
	errno = saved;
}

static void on_child(int sig)
{
	int saved = errno;

	child_changed = 1;
	if (bell_owner)
		atomic_fetch_add(&bell_owner->doorbell, 1);
	session_wake(&run_state.session);
	errno = saved;
}

static void set_handler(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(sig, &action, NULL);
}

static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP };
	static const int forwarded[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		set_handler(ignored[i], SIG_IGN);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		set_handler(forwarded[i], forward);
	set_handler(SIGCHLD, on_child);
}

/* After the fork, which has blocked them. */
static void let_signals_in(void)
{
	sigset_t none;

	set_signals();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The program was stopped from the terminal: stop too, so that the shell sees it, and go on when it
 * does.  Not before: a collector that stands still stops a program that runs. */
static void stop_too(struct run *r)
{
	siginfo_t info = { 0 };

	raise(SIGSTOP);
	if (waitid(P_PID, (id_t)r->child.pid, &info, WCONTINUED | WNOHANG) || !info.si_pid)
		kill(r->child.pid, SIGCONT);
}

static void look_at_child(struct run *r)
{
	siginfo_t info = { 0 };

	child_changed = 0;
	if (!waitid(P_PID, (id_t)r->child.pid, &info, WSTOPPED | WNOHANG) && info.si_pid &&
	    (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU))
		stop_too(r);
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)r->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return;
	r->exited = true;
	r->status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
}

/* The recorder may have come up in a child of what was started (a wrapper that ignores it).  Its
 * pid is only ours to use if that process has the shared memory: it may be another namespace's. */
static void adopt(struct run *r, pid_t pid)
{
	struct collector *c = &r->collector;
	auto_release(maps_release) struct maps maps = { 0 };

	r->adopted = true;
	if (pid == r->child.pid)
		return;
	if (!maps_read(&maps, pid) && collector_owns(c, &maps)) {
		c->target = pid;
		c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	}
}

static bool target_gone(struct collector *c)
{
	struct run *r = &run_state;
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
	int32_t pid;

	session_read(&r->session);
	if (child_changed)
		look_at_child(r);
	if (!r->adopted) {
		pid = atomic_load_explicit(&c->control->target_pid, memory_order_acquire);
		if (pid > 0)
			adopt(r, pid);
	}
	if (c->pidfd >= 0)
		return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
	return r->exited;
}

static void say_lost(const struct shm_control *control)
{
	static const char *const helps[] = {
#define X(name, help) help,
		SHM_COUNTERS(X)
#undef X
	};

	for (int i = COUNTER_dropped_ring_full; i <= COUNTER_dropped_no_collector; i++)
		if (control->counters[i])
			fprintf(stderr, "memoir: lost: %s %s\n", count_text(control->counters[i]),
				helps[i]);
}

/* After the end: what there is and what to do with it. */
static void say_others(const struct shm_control *control)
{
	uint32_t n = control->family.other_programs;

	if (n)
		fprintf(stderr,
			"memoir: it started %s other program%s, not recorded; --children records "
			"them too\n",
			count_text(n), n == 1 ? "" : "s");
}

/* Children of a fork share its memory with us until they have a recording of their own, which they
 * begin with their first allocation: a daemon may not have got there. */
static size_t count_silent(const struct session *s)
{
	const struct collector *c = &run_state.collector;
	DIR *proc = opendir("/proc");
	auto_release(maps_release) struct maps maps = { 0 };
	size_t count = 0;

	for (struct dirent *e; proc && (e = readdir(proc));) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && pid != getpid() && pid != run_state.child.pid &&
		    !session_knows(s, pid) && !maps_read(&maps, pid))
			count += collector_owns(c, &maps);
	}
	if (proc)
		closedir(proc);
	return count;
}

static volatile sig_atomic_t lost_patience;

static void on_interrupt(int sig)
{
	lost_patience = 1;
}

static void conclude(struct run *r, const char *program, bool whole)
{
	const struct collector *c = &r->collector;
	const struct recording *file = &c->recording;
	unsigned served = c->serve ? serve_served(c->serve) : 0;
	const char *why;
	size_t silent;

	if (c->control->options.track_children)
		r->session.count_silent = count_silent;
	if (wait_for_all) {
		set_handler(SIGINT, on_interrupt);
		set_handler(SIGTERM, on_interrupt);
	}
	session_wait(&r->session, wait_for_all ? &lost_patience : NULL);
	if (!c->attached) {
		recording_remove(file);
		session_drop(&r->session, file->path);
	}
	if (!r->session.count) {
		/* Where the recorder was loaded and refused, it has said why. */
		why = program_obstacle(program);
		fprintf(stderr, "memoir: %s was not recorded%s%s\n", program, why ? ": it " : "",
			why ? why : "");
		return;
	}
	if (collector_never_on(c)) {
		fprintf(stderr, "memoir: nothing was recorded: recording was never switched on "
				"(memoir_start(), or SIGUSR1 with --sigusr1)\n");
		return;
	}
	session_say_lost(&r->session);
	if (quiet && whole)
		return;
	silent = r->session.count_silent ? count_silent(&r->session) : 0;
	if (r->session.count + silent > 1 && whole) {
		session_conclude(&r->session, silent);
		say_others(c->control);
		return;
	}
	if (file->nameless)
		fprintf(stderr,
			"memoir: recorded %s events (%s), sent to %u client%s and kept nowhere "
			"else\n",
			count_text(file->event_count), size_text(file->size), served,
			served == 1 ? "" : "s");
	else
		fprintf(stderr, "memoir: recorded %s events in %s (%s)%s%s\n",
			count_text(file->event_count), file->path, size_text(file->size),
			whole ? "" : "; the rest is missing: ", whole ? "" : c->control->error);
	say_lost(c->control);
	if (c->late[0])
		fprintf(stderr, "memoir: not everything is recorded: %s\n", c->late);
	say_others(c->control);
	if (!file->nameless)
		fprintf(stderr, "memoir: look at it with: memoir report %s\n", file->path);
}

/* Receivers of the recording get the rest; serve.c has a limit for that, the user may have
 * less patience. */
static void send_rest(struct run *r)
{
	struct serve *serve = r->collector.serve;
	unsigned n;

	if (!serve)
		return;
	set_handler(SIGINT, on_interrupt);
	set_handler(SIGTERM, on_interrupt);
	if (serve_wait(serve, SAY_AFTER_NS))
		return;
	n = serve_busy(serve);
	if (!quiet)
		fprintf(stderr, "memoir: sending the rest to %u client%s; ^C ends that\n", n,
			n == 1 ? "" : "s");
	while (!lost_patience && !serve_wait(serve, LOOK_EVERY_NS))
		;
}

/* Until the program has ended, which may have become another one since.  What others report is
 * read meanwhile, so that their pipe never fills up. */
static int wait_for(struct run *r)
{
	struct pollfd p = { .fd = r->session.read_fd, .events = POLLIN };
	pid_t pid;

	while (!(pid = waitpid(r->child.pid, &r->status, WNOHANG))) {
		if (child_changed)
			look_at_child(r);
		if (!r->exited)
			poll(&p, 1, 100);
		session_read(&r->session);
	}
	return pid < 0;
}

/* A whole tree goes into a folder of its own, unless the user has chosen a place. */
static void choose_folder(struct shm_control *control, pid_t pid, const char *program)
{
	struct options initial;

	options_init(&initial);
	if (control->options.track_children && !strcmp(options.output, initial.output))
		file_name_expand(control->options.output, sizeof(control->options.output),
				 "memory-profiling_%e_%t_%p/", pid, program, 0);
}

/* Says why there is no program; returns our exit status, as shells have it. */
static int say_not_started(const char *program, int error)
{
	struct loadable_look look;

	program_look(program, &look);
	if (error == -ENOENT && look.answer == LOADABLE_NO_INTERPRETER)
		fprintf(stderr, "memoir: cannot run %s: its %s %s is not there\n", program,
			look.loader[0] ? "loader" : "interpreter",
			look.loader[0] ? look.loader : look.interpreter);
	else
		fprintf(stderr, "memoir: cannot run %s: %s\n", program, strerror(-error));
	return error == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

/* The child waits; opens the recording, lets it go, takes its events.  Returns our exit status, or
 * -1 for the child's. */
static int record(struct run *r, const char *program, char **argv, int shm_fd)
{
	struct collector *c = &r->collector;
	const char *name = strrchr(program, '/') + 1, *reason;
	int error = collector_init(c, shm_fd);
	struct loadable_look look;
	bool whole, known;

	if (error) {
		fprintf(stderr, "memoir: shared memory: %s\n", strerror(-error));
		return 1;
	}
	bell_owner = c->control;
	c->target_gone = target_gone;
	c->arguments = (const char *const *)argv;
	c->environment = (const char *const *)environ;
	/* What runs a script is another file; it may have become the next one before it is seen. */
	program_look(program, &look);
	snprintf(c->executable, sizeof(c->executable), "%s",
		 look.interpreter[0] ? look.interpreter : program);
	c->control->family.first_pid = r->child.pid;
	choose_folder(c->control, r->child.pid, name);
	log_start(&options, r->child.pid, name, STDERR_FILENO);
	log_options(&options);
	if (collector_open(c, r->child.pid, name)) {
		fprintf(stderr, "memoir: %s\n", c->control->error);
		return 1;
	}
	if (c->warning[0])
		fprintf(stderr, "memoir: %s\n", c->warning);
	if (c->serve && !quiet)
		fprintf(stderr, "memoir: the recording can be had with: memoir gather %s\n",
			serve_where(c->serve));
	error = launch_go(&r->child);
	if (error) {
		recording_remove(&c->recording);
		return say_not_started(program, error);
	}
	reason = collector_run(c);
	look_at_child(r);
	/* How one that was adopted ended is not ours to know: only its parent is told. */
	known = r->exited && c->target == r->child.pid;
	if (known && !strcmp(reason, "end"))
		reason = WIFSIGNALED(r->status) ? "signal" : "exit";
	whole = collector_finish(c, reason, known ? r->status : -1);
	error = wait_for(r);
	if (c->recording.nameless)
		send_rest(r); /* who got it is all that there is to say */
	conclude(r, program, whole);
	if (!c->recording.nameless)
		send_rest(r);
	return error ? 1 : -1;
}

/* What `memoir check` is given: the folder of a tree, or the only recording. */
static const char *recorded_path(struct run *r)
{
	struct recording *file = &r->collector.recording;
	char *slash = strrchr(file->path, '/');

	if (r->collector.control->options.track_children && slash)
		*slash = '\0';
	return file->path;
}

static void keep_environment(void)
{
	size_t count = 0;

	while (environ[count])
		count++;
	environment_before = xcalloc(count + 1, sizeof(*environment_before));
	memcpy(environment_before, environ, count * sizeof(*environment_before));
}

static void exec_check(const char *path)
{
	const char *words[] = { "memoir", "check", "--rules", check_rules, "--", path, NULL };
	static const int changed[] = { SIGINT,	SIGQUIT, SIGPIPE, SIGXFSZ,
				       SIGTSTP, SIGTERM, SIGHUP,  SIGCHLD };

	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
		set_handler(changed[i], SIG_DFL);
	execve("/proc/self/exe", (char **)words, environment_before);
	fprintf(stderr, "memoir: cannot start memoir check: %s\n", strerror(errno));
	_exit(2);
}

/* In a process of its own: nothing of the collector is in its way.  What it ends with. */
static int check_recorded(struct run *r)
{
	int status = 0;
	pid_t pid;

	if (!r->session.count || r->collector.recording.nameless) {
		fprintf(stderr, "memoir: there is no recording to check\n");
		return 2;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		exec_check(recorded_path(r));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static int start(const char *program, char **argv, const char *library)
{
	int checked = 0;
	struct run *r = &run_state;
	int shm_fd, status = session_open(&r->session);
	char *real;

	keep_environment();
	shm_fd = status ? status : launch_memory(&options, r->session.pipe_path);
	if (shm_fd < 0) {
		fprintf(stderr, "memoir: shared memory: %s%s\n", strerror(-shm_fd),
			shm_fd == -EFBIG ? " (ulimit -f)" : "");
		return 1;
	}
	status = launch_environment(shm_fd, library, options.track_children)
			 ? launch_fork(&r->child, program, argv)
			 : -ENOMEM;
	if (status) {
		fprintf(stderr, "memoir: cannot start a process: %s\n", strerror(-status));
		return 1;
	}
	let_signals_in();
	daemonize_raise_limits();
	real = realpath(program, NULL);
	status = record(r, real ? real : program, argv, shm_fd);
	free(real);
	if (status < 0 && check_rules)
		checked = check_recorded(r);
	if (status < 0 && fleet_url && r->session.count && !r->collector.recording.nameless)
		push_after(fleet_url, recorded_path(r), quiet, true);
	launch_release(&r->child);
	bell_owner = NULL;
	if (status >= 0)
		wait_for(r);
	session_release(&r->session);
	collector_release(&r->collector);
	free(environment_before);
	if (status >= 0)
		return status;
	return checked && !r->status ? checked : launch_end_like(r->status);
}

/* What cannot be recorded runs as it would without us, which then end like it. */
static int start_untouched(const char *program, char **argv)
{
	struct run *r = &run_state;
	int error = session_open(&r->session);

	if (!error)
		error = launch_fork(&r->child, program, argv);
	if (error) {
		fprintf(stderr, "memoir: cannot start a process: %s\n", strerror(-error));
		return 1;
	}
	let_signals_in();
	error = launch_go(&r->child);
	launch_release(&r->child);
	wait_for(r);
	session_release(&r->session);
	if (error)
		return say_not_started(program, error);
	if (check_rules && !r->status) {
		fprintf(stderr, "memoir: there is no recording to check\n");
		return 2;
	}
	return launch_end_like(r->status);
}

/* A standard descriptor that we were started without must not become one of our files. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* With the agent in it, and unrecorded: there is nothing to stay for. */
static int become_with_agent(const char *program, char **argv)
{
	char library[PATH_MAX];
	const char *why = program_obstacle(program);

	if (why) {
		fprintf(stderr, "memoir: %s %s: the agent cannot be put in\n", program, why);
		return 1;
	}
	if (!launch_find_agent(library, sizeof(library))) {
		fprintf(stderr, "memoir: libmemoir-jemalloc.so is not beside memoir nor in "
				"../lib/memoir; MEMOIR_AGENT_LIBRARY may name it\n");
		return 1;
	}
	if (strpbrk(library, ": ")) {
		fprintf(stderr, "memoir: LD_PRELOAD takes no path with a space or a colon: %s\n",
			library);
		return 1;
	}
	if (!launch_preload(library, true) ||
	    (listen_on && setenv("MEMOIR_AGENT_LISTEN", listen_on, 1)) ||
	    (agent_open && setenv("MEMOIR_AGENT_OPEN_TO_ALL", "1", 1)) ||
	    (agent_hosts && setenv("MEMOIR_AGENT_ALLOW_HOST", agent_hosts, 1)) ||
	    (quiet && setenv("MEMOIR_AGENT_QUIET", "1", 1)))
		return 1;
	execv(program, argv);
	return say_not_started(program, -errno);
}

/* Can what is to be recorded be checked as one run?  Said before anything is run. */
static bool check_is_possible(void)
{
	struct options initial;
	size_t size = strlen(options.output);

	options_init(&initial);
	if (!check_rules)
		return true;
	if (access(check_rules, R_OK)) {
		fprintf(stderr, "memoir: run: --check %s: %s\n", check_rules, strerror(errno));
		return false;
	}
	if (options.track_children && strcmp(options.output, initial.output) != 0 &&
	    options.output[size - 1] != '/') {
		fprintf(stderr, "memoir: run: --check with --children needs a folder: -o %s/\n",
			options.output);
		return false;
	}
	return true;
}

static int run_program(int argc, char **argv)
{
	char program[PATH_MAX], library[PATH_MAX];
	const char *why;
	int error;

	if (!argc) {
		fprintf(stderr, "memoir: run: which program?  See memoir run --help\n");
		return 2;
	}
	fill_standard_descriptors();
	more_options(0); /* the environment counts without any flag too */
	error = program_find(argv[0], program, sizeof(program));
	if (error) {
		fprintf(stderr, "memoir: cannot run %s: %s\n", argv[0],
			error == -ENOENT && !strchr(argv[0], '/') ? "not found" : strerror(-error));
		return error == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	}
	if ((listen_on || agent_open || agent_hosts) && !agent) {
		fprintf(stderr, "memoir: run: --%s is for --agent\n",
			listen_on    ? "listen"
			: agent_open ? "agent-open-to-all"
				     : "agent-allow-host");
		return 2;
	}
	if (agent && check_rules) {
		fprintf(stderr, "memoir: run: --check is about a recording, which --agent makes "
				"none of\n");
		return 2;
	}
	if (agent)
		return become_with_agent(program, argv);
	if (!check_is_possible())
		return 2;
	if (!launch_find_library(library, sizeof(library))) {
		fprintf(stderr, "memoir: libmemoir.so is not beside memoir nor in ../lib/memoir; "
				"MEMOIR_LIBRARY may name it\n");
		return 1;
	}
	why = launch_library_differs(library);
	if (why) {
		fprintf(stderr, "memoir: %s cannot be used: %s\n", library, why);
		return 1;
	}
	why = program_obstacle(program);
	if (why) {
		fprintf(stderr, "memoir: %s %s: it runs, unrecorded\n", argv[0], why);
		return start_untouched(program, argv);
	}
	if (strpbrk(library, ": ")) {
		fprintf(stderr, "memoir: LD_PRELOAD takes no path with a space or a colon: %s\n",
			library);
		return 1;
	}
	return start(program, argv, library);
}

static const char *set_fleet(const struct command_option *row, const char *value)
{
	static struct err err;
	struct fleet f;

	fleet_url = value;
	return fleet_parse(&f, value, &err) ? err.text : NULL;
}

static const struct command_option rows[] = {
	FLAG("quiet", 'q', "say nothing at the end", &quiet),
	FLAG("wait", 'w', "with --children: end when all processes have, not with the first",
	     &wait_for_all),
	VALUE("check", 0, "RULES", "then memoir check it: what the script RULES requires must hold",
	      &check_rules),
	CALL("fleet", 0, "URL", "then memoir fleet push it there", set_fleet),
	FLAG("agent", 0, "do not record: put the agent in that answers about jemalloc", &agent),
	VALUE("listen", 0, "WHERE", "with --agent: ADDRESS:PORT or unix:PATH", &listen_on),
	FLAG("agent-open-to-all", 0,
	     "with --agent: anyone who can connect may read, without a token", &agent_open),
	VALUE("agent-allow-host", 0, "NAME[,NAME]",
	      "with --agent: answer requests for these names of the machine, too", &agent_hosts),
	{ 0 },
};

const struct command command_run = {
	.name = "run",
	.args = "PROGRAM [ARGUMENT…]",
	.help = "record a program's allocations",
	.examples = "  memoir run ./server --port 80\n"
		    "  memoir run -o server.dat --no-free-stacks -- ./server --port 80\n"
		    "  memoir run --check rules.lua -o tests.dat ./tests\n"
		    "  memoir run --agent --listen 127.0.0.1:7000 ./server --port 80\n",
	.options = rows,
	.more_options = more_options,
	.stops_at_first_argument = true,
	.run = run_program,
};
