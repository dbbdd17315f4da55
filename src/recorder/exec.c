/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The exec family and posix_spawn: the recorder goes along.
 *
 * Under `memoir run` a process that becomes another program is recorded on, and with children
 * tracked so is every program that it starts, unless it cannot be (exec_look.c).  The environment
 * that such a program is given gets our variables added, on the caller's stack: nothing is
 * allocated, so this works between vfork and exec too, and an exec that fails has changed nothing.
 * The new program's recorder takes them out again (environment.c). */
#include "recorder/exec.h"
#include "recorder/hooks.h"
#include "recorder/sandbox.h"
#include "recorder/sys.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

#define ON_STACK 16384 /* more than this is mapped */
#define SAVED_BYTES 16384
#define SAVED_MAX 64

extern char **environ;

char exec_parent[112] = SHM_PARENT_ENV "=";
static char shm_entry[128];
static char preload_entry[4096 + 16] = "LD_PRELOAD=";
/* The options of a recording without a launcher, as they were at the start. */
static char *saved[SAVED_MAX];
static unsigned saved_count;

static void keep_options(void)
{
	static char bytes[SAVED_BYTES];
	size_t used = 0;

	for (char **e = rt_environment(); *e && saved_count < SAVED_MAX; e++) {
		size_t n = strlen(*e) + 1;

		if ((strncmp(*e, "MEMORY_PROFILER_", 16) && strncmp(*e, "MEMOIR_", 7)) ||
		    !strncmp(*e, SHM_PARENT_ENV "=", sizeof(SHM_PARENT_ENV)) ||
		    used + n > sizeof(bytes))
			continue;
		memcpy(bytes + used, *e, n);
		saved[saved_count++] = bytes + used;
		used += n;
	}
}

static void name_parent(void)
{
	static const char digits[] = "0123456789abcdef";
	char *out = text_number(exec_parent + sizeof(SHM_PARENT_ENV), (uint64_t)rt.pid);

	*out++ = ':';
	for (int i = 0; i < 16; i++) {
		*out++ = digits[rt.shm->family.id[i] >> 4];
		*out++ = digits[rt.shm->family.id[i] & 15];
	}
	*out++ = ':';
	out = text_number(out, rt.shm->family.began_ns);
	*out++ = ':';
	out = text_number(out, (uint64_t)rt.shm->family.first_pid);
	*out++ = ':';
	text_number(out, atomic_load(&rt.shm->family.adopts));
}

/* At the start, again in a forked child that is recorded, and where what children are told has
 * changed. */
void exec_init(void)
{
	const char *shm, *name;
	size_t length;

	name_parent();
	if (preload_entry[11])
		return;
	shm = rt_variable(SHM_ENV);
	name = environment_own_name(&length);
	if (length < 4096)
		memcpy(preload_entry + 11, name, length);
	if (shm && strlen(shm) + sizeof(SHM_ENV) < sizeof(shm_entry)) {
		memcpy(shm_entry, SHM_ENV "=", sizeof(SHM_ENV));
		memcpy(shm_entry + sizeof(SHM_ENV), shm, strlen(shm) + 1);
	}
	if (!shm)
		keep_options();
}

static int call_real_exec(const struct exec_call *c, char *const *env)
{
	switch (c->kind) {
	case EXECVE:
		return real.execve(c->path, c->argv, env);
	case EXECVPE:
		return real.execvpe(c->path, c->argv, env);
	case FEXECVE:
		return real.fexecve(c->fd, c->argv, env);
	case EXECVEAT:
		return real.execveat(c->fd, c->path, c->argv, env, c->flags);
	case SPAWN:
		return real.posix_spawn(c->pid, c->path, c->actions, c->attributes, c->argv, env);
	case SPAWNP:
		return real.posix_spawnp(c->pid, c->path, c->actions, c->attributes, c->argv, env);
	}
	return -1;
}

static bool same_variable(const char *a, const char *b)
{
	while (*a && *a == *b && *a != '=')
		a++, b++;
	return *a == '=' && *b == '=';
}

/* The place of this library in a list; NULL: it is not there. */
static const char *find_in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (*list) {
		size_t n = strcspn(list, ": ");

		if (n == length && !strncmp(list, name, n))
			return list;
		list += n + (list[n] != 0);
	}
	return NULL;
}

struct builder {
	char **env;
	size_t count, given;
	char *text; /* room for a list of libraries */
	char memory[64];
	long handed_over; /* a descriptor; not one where it is not positive */
};

static void put_variable(struct builder *b, char *entry, bool replace)
{
	for (size_t i = 0; i < b->given; i++) {
		if (!same_variable(b->env[i], entry))
			continue;
		if (replace)
			b->env[i] = entry;
		return;
	}
	b->env[b->count++] = entry;
}

static void put_preload(struct builder *b)
{
	const char *name = preload_entry + 11;
	size_t i = 0, n = strlen(preload_entry);

	while (i < b->given && !same_variable(b->env[i], preload_entry))
		i++;
	if (i == b->given) {
		b->env[b->count++] = preload_entry;
	} else if (!find_in_list(b->env[i] + 11, name)) {
		memcpy(b->text, preload_entry, n);
		b->text[n++] = ':';
		memcpy(b->text + n, b->env[i] + 11, strlen(b->env[i] + 11) + 1);
		b->env[i] = b->text;
	}
}

/* A launcher ends with its program, and is not to be seen from another namespace.  What goes on is
 * recorded like the one that starts it, which hands over what the launcher had. */
static char *memory_to_attach_to(struct builder *b)
{
	if (!sys_failed(SYS_ACCESS(shm_entry + sizeof(SHM_ENV), 0)))
		return shm_entry;
	b->handed_over = family_hand_over();
	if (sys_failed(b->handed_over))
		return shm_entry;
	memcpy(b->memory, SHM_ENV "=" SHM_HANDED_OVER, sizeof(SHM_ENV "=" SHM_HANDED_OVER));
	text_number(b->memory + strlen(b->memory), (uint64_t)b->handed_over);
	return b->memory;
}

static void build_followed(struct builder *b, char *const *env)
{
	for (; env && env[b->count]; b->count++)
		b->env[b->count] = env[b->count];
	b->given = b->count;
	put_preload(b);
	put_variable(b, exec_parent, true);
	if (shm_entry[0])
		put_variable(b, memory_to_attach_to(b), true);
	for (unsigned i = 0; i < saved_count; i++)
		put_variable(b, saved[i], false);
	b->env[b->count] = NULL;
}

/* Our name and what separates it from the next are cut out of a copy of the list. */
static void put_list_without_us(struct builder *b, const char *entry)
{
	const char *us = find_in_list(entry + 11, preload_entry + 11), *rest;
	size_t before, length = strlen(preload_entry + 11);

	if (!us) {
		b->env[b->count++] = (char *)entry;
		return;
	}
	rest = us + length + (us[length] != 0);
	before = (size_t)(us - entry);
	if (!*rest && before > 11)
		before--; /* what separates it from the one before */
	if (before == 11 && !*rest)
		return;
	memcpy(b->text, entry, before);
	memcpy(b->text + before, rest, strlen(rest) + 1);
	b->env[b->count++] = b->text;
}

static void build_without_us(struct builder *b, char *const *env)
{
	for (; env && *env; env++) {
		if (same_variable(*env, exec_parent) || same_variable(*env, SHM_ENV "="))
			continue;
		if (same_variable(*env, preload_entry))
			put_list_without_us(b, *env);
		else
			b->env[b->count++] = *env;
	}
	b->env[b->count] = NULL;
}

/* Builds another environment, then makes the call with it. */
static __attribute__((noinline)) int make_with(const struct exec_call *c, char *const *env,
					       void (*build_environment)(struct builder *,
									 char *const *))
{
	size_t n = 0, pointers, bytes = sizeof(preload_entry);
	struct builder b = { 0 };
	void *mapped = NULL;
	int result, error;

	for (; env && env[n]; n++)
		if (same_variable(env[n], preload_entry))
			bytes += strlen(env[n]);
	pointers = (n + saved_count + 4) * sizeof(char *);
	if (pointers + bytes <= ON_STACK)
		b.env = alloca(pointers + bytes);
	else
		b.env = mapped = sys_map_private(pointers + bytes);
	if (!b.env)
		return call_real_exec(c, env);
	b.text = (char *)b.env + pointers;
	build_environment(&b, env);
	result = call_real_exec(c, b.env);
	error = errno;
	if (b.handed_over > 0)
		SYS(SYS_close, b.handed_over);
	if (mapped)
		sys_unmap(mapped, pointers + bytes);
	errno = error;
	return result;
}

/* For the collector: it will find the program gone, and another in its place. */
static void announce(const struct exec_call *c)
{
	struct shm_family *family = &rt.shm->family;
	const char *path = c->path ? c->path : "";
	size_t n = strlen(path);

	if (n >= sizeof(family->exec_path))
		n = 0;
	memcpy(family->exec_path, path, n);
	family->exec_path[n] = 0;
	atomic_store(&family->exec_pending, 1);
	atomic_fetch_add(&rt.shm->doorbell, 1);
	sys_futex_wake(&rt.shm->doorbell);
}

/* A file that is named and cannot be executed. */
static bool may_succeed(const struct exec_call *c)
{
	return c->kind != EXECVE || !c->path || !SYS_ACCESS(c->path, 1 /* X_OK */);
}

static int exec_start(const struct exec_call *c, char *const *env)
{
	bool spawns = c->kind == SPAWN || c->kind == SPAWNP, same, follow, closed = false;
	int result, error;

	env = environment_to_hand_over(env);
	if (!rt.shm || !preload_entry[11])
		return call_real_exec(c, env);
	same = !spawns && sys_getpid() == rt.pid;
	follow = rt.shm->options.track_children || (same && rt.launched);
	if (!follow)
		atomic_fetch_add(&rt.shm->family.other_programs, !same);
	if (same) {
		announce(c);
		closed = may_succeed(c) && end_before_exec();
	}
	if (!follow)
		result = call_real_exec(c, env);
	else if (!sandbox_allows_start() || exec_must_be_left_alone(c))
		result = make_with(c, env, build_without_us);
	else
		result = make_with(c, env, build_followed);
	error = errno;
	if (same)
		atomic_store(&rt.shm->family.exec_pending, 0);
	if (closed)
		rt_stop("the program could not become another one");
	if (!follow && !same && (spawns ? result != 0 : true))
		atomic_fetch_sub(&rt.shm->family.other_programs, 1);
	errno = error;
	return result;
}

int hook_execve(const char *path, char *const argv[], char *const env[])
{
	return exec_start(&(struct exec_call){ EXECVE, path, argv }, env);
}

int hook_execv(const char *path, char *const argv[])
{
	return exec_start(&(struct exec_call){ EXECVE, path, argv }, environ);
}

int hook_execvp(const char *path, char *const argv[])
{
	return exec_start(&(struct exec_call){ EXECVPE, path, argv }, environ);
}

int hook_execvpe(const char *path, char *const argv[], char *const env[])
{
	return exec_start(&(struct exec_call){ EXECVPE, path, argv }, env);
}

int hook_fexecve(int fd, char *const argv[], char *const env[])
{
	return exec_start(&(struct exec_call){ FEXECVE, NULL, argv, .fd = fd }, env);
}

int hook_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
	return exec_start(&(struct exec_call){ EXECVEAT, path, argv, fd, flags }, env);
}

int hook_posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attributes,
		     char *const argv[], char *const env[])
{
	return exec_start(&(struct exec_call){ SPAWN, path, argv, 0, 0, pid, actions, attributes },
			  env);
}

int hook_posix_spawnp(pid_t *pid, const char *path, const void *actions, const void *attributes,
		      char *const argv[], char *const env[])
{
	return exec_start(&(struct exec_call){ SPAWNP, path, argv, 0, 0, pid, actions, attributes },
			  env);
}

/* The arguments up to NULL as an array, on the caller's stack as libc has them too. */
#define COLLECT(first, argv, list, env)                                                            \
	do {                                                                                       \
		va_list list;                                                                      \
		size_t n_ = 1;                                                                     \
                                                                                                   \
		va_start(list, first);                                                             \
		while (va_arg(list, char *))                                                       \
			n_++;                                                                      \
		va_end(list);                                                                      \
		argv = alloca((n_ + 1) * sizeof(*argv));                                           \
		argv[0] = (char *)first;                                                           \
		va_start(list, first);                                                             \
		for (size_t i_ = 1; i_ <= n_; i_++)                                                \
			argv[i_] = va_arg(list, char *);                                           \
		env = va_arg(list, char **);                                                       \
		va_end(list);                                                                      \
	} while (0)

int hook_execl(const char *path, const char *first, ...)
{
	char **argv, **unused;

	COLLECT(first, argv, list, unused);
	(void)unused;
	return exec_start(&(struct exec_call){ EXECVE, path, argv }, environ);
}

int hook_execlp(const char *path, const char *first, ...)
{
	char **argv, **unused;

	COLLECT(first, argv, list, unused);
	(void)unused;
	return exec_start(&(struct exec_call){ EXECVPE, path, argv }, environ);
}

int hook_execle(const char *path, const char *first, ...)
{
	char **argv, **env;

	COLLECT(first, argv, list, env);
	return exec_start(&(struct exec_call){ EXECVE, path, argv }, env);
}

#define HOOK(name, class)
#define PATCH(name, class)
#define HOOK_ENTRY(name, class)
#define HOOK_MAP(name, class)
#define HOOK_END(name, class)
#define HOOK_EXEC(name, class)                                                                     \
	extern __typeof(hook_##name) name##_exported __asm__(#name)                                \
		__attribute__((alias("hook_" #name), visibility("default")));
#include "wire/hooks.def"
#undef HOOK
