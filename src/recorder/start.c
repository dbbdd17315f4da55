/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The life of a recording inside the target: start at the first hook, stop when the collector is
 * gone, silence in children.
 *
 * The first hook usually runs in the loader, before libc knows its environment (environment.c has
 * it).  The constructor runs before all others (-z initfirst). */
#include "recorder/hooks.h"
#include "recorder/inplace.h"
#include "recorder/limits.h"
#include "recorder/sys.h"
#include "target/elf.h"
#include "wire/layout.h"

#include <string.h>

#define START_TIMEOUT_NS 10000000000ull

struct rt rt;
struct rt_live rt_live __attribute__((aligned(ARCH_PAGE_MAX)));
__thread struct rt_thread *rt_self;

/* For `memoir run`, which must be of the same version. */
__attribute__((section(".note.memoir"), aligned(4), used)) static const struct layout_note note = {
	sizeof(LAYOUT_NOTE_NAME),
	sizeof(struct layout_said),
	LAYOUT_NOTE_TYPE,
	LAYOUT_NOTE_NAME,
	{ { (uint32_t)SHM_MAGIC, (uint32_t)(SHM_MAGIC >> 32) }, MEMOIR_VERSION },
};

static void name_allocator(struct shm_control *control)
{
	const char *name = real_own ? "" : real_map->l_name;
	size_t n = strlen(name), most = sizeof(control->allocator) - 1;

	if (n > most)
		name += n - most;
	memcpy(control->allocator, name, strlen(name));
}

/* `memoir run` made the shared memory and waits at its other end. */
static struct shm_control *attach(const char *path)
{
	long fd = SYS(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0), p;
	struct shm_control *control, *follower = NULL;
	int32_t nobody = 0;

	if (sys_failed(fd)) {
		if (!family_has_parent()) /* else the launcher has ended: it said what goes on */
			say("not recorded: cannot open the launcher's memory at ", path);
		return NULL;
	}
	family_close_handed_over(path);
	p = SYS(SYS_mmap, 0, SHM_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	SYS(SYS_close, fd);
	if (sys_failed(p)) {
		say("not recorded: cannot map the launcher's memory", NULL);
		return NULL;
	}
	control = (void *)p;
	if (control->magic != SHM_MAGIC) {
		say("not recorded: memoir is of another version than ", rt_own_name());
		sys_unmap(control, SHM_CONTROL_SIZE);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&control->target_pid, &nobody, -1)) {
		name_allocator(control);
		return control;
	}
	/* The launcher's own recording is the first program's.  What that has become, and its
	 * children where they are wanted, are recorded like it. */
	if (family_follows(control))
		follower = rt_new_recording(control);
	sys_unmap(control, SHM_CONTROL_SIZE);
	return follower;
}

const char *rt_own_name(void)
{
	struct dl_find_object o;

	if (!_dl_find_object || _dl_find_object((void *)rt_own_name, &o))
		return "libmemoir.so";
	return o.dlfo_link_map->l_name;
}

/* The collector's executable: named, or beside this library, or in libexec. */
static bool find_collector(char *out, size_t size)
{
	static const char *const folders[] = { "/memoir-collector", "/../memoir-collector",
					       "/../../libexec/memoir/memoir-collector",
					       "/../../../libexec/memoir/memoir-collector" };
	const char *named = rt_variable("MEMOIR_COLLECTOR"), *self = rt_own_name(), *slash;

	if (named) {
		if (strlen(named) >= size)
			return false;
		memcpy(out, named, strlen(named) + 1);
		return true;
	}
	slash = strrchr(self, '/');
	if (!slash || (size_t)(slash - self) + 64 > size)
		return false;
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		memcpy(out, self, (size_t)(slash - self));
		memcpy(out + (slash - self), folders[i], strlen(folders[i]) + 1);
		if (!SYS_ACCESS(out, 1 /* X_OK */))
			return true;
	}
	return false;
}

/* The environment without what would make the collector record itself. */
static char **collector_environment(size_t *ret_size)
{
	char **from = rt_environment(), **to;
	size_t n = 0, used = 0;

	while (from[n])
		n++;
	*ret_size = (n + 1) * sizeof(*to);
	to = sys_map_private(*ret_size);
	for (size_t i = 0; to && i < n; i++)
		if (strncmp(from[i], "LD_", 3) != 0)
			to[used++] = from[i];
	return to;
}

static void warn_option(void *context, const char *line)
{
	(void)context;
	say(line, NULL);
}

/* Waits until the collector has opened the recording, or has said why it cannot. */
static bool wait_until_ready(struct shm_control *control, long pid)
{
	uint64_t deadline = sys_clock_ns(CLOCK_MONOTONIC) + START_TIMEOUT_NS;

	while (atomic_load(&control->state) == SHM_STARTING) {
		if (SYS(SYS_kill, pid, 0) == -ESRCH || sys_clock_ns(CLOCK_MONOTONIC) > deadline)
			break;
		sys_futex_wait(&control->state, SHM_STARTING, 50000000);
	}
	if (atomic_load(&control->state) == SHM_READY)
		return true;
	say("not recorded: ", control->error[0] ? control->error : "the collector did not start");
	return false;
}

struct shm_control *rt_new_recording(const struct shm_control *like)
{
	static char path[4096];
	struct shm_control *control = NULL;
	char **env;
	size_t env_size;
	long fd, p, pid;

	if (!find_collector(path, sizeof(path))) {
		say("not recorded: memoir-collector is not beside libmemoir.so; set "
		    "MEMOIR_COLLECTOR",
		    NULL);
		return NULL;
	}
	fd = SYS(SYS_memfd_create, "memoir", MFD_CLOEXEC);
	if (sys_failed(fd)) {
		say("not recorded: the kernel gives no memfd", NULL);
		return NULL;
	}
	/* Past it ftruncate would not only fail but send a signal. */
	if (!limits_file_may_grow(0, SHM_START_SIZE) ||
	    sys_failed(SYS(SYS_ftruncate, fd, SHM_START_SIZE))) {
		say("not recorded: the limit on file sizes (ulimit -f) is too low", NULL);
		goto out;
	}
	p = SYS(SYS_mmap, 0, SHM_START_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	env = collector_environment(&env_size);
	if (sys_failed(p) || !env) {
		say("not recorded: no memory (ulimit -v?)", NULL);
		goto out;
	}
	control = (void *)p;
	control->magic = SHM_MAGIC;
	name_allocator(control);
	if (like) {
		memcpy(&control->options, &like->options, sizeof(like->options));
	} else {
		options_init(&control->options);
		options_from_environment(&control->options, rt_environment(), warn_option, NULL);
	}
	control->clock = rt.use_ticks ? CLOCK_TICKS : CLOCK_NANOSECONDS;
	control->start_stamp = rt_now();
	control->start_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
	control->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	atomic_store(&control->next_offset, SHM_CONTROL_SIZE);
	family_describe(control, like);
	say_describe_stderr(control);
	atomic_store(&control->target_pid, sys_getpid());
	pid = spawn_collector(path, (int)fd, env, control);
	if (sys_failed(pid))
		say("not recorded: cannot start ", path);
	sys_unmap((char *)control + SHM_CONTROL_SIZE, SHM_START_SIZE - SHM_CONTROL_SIZE);
	if (sys_failed(pid) || !wait_until_ready(control, pid)) {
		sys_unmap(control, SHM_CONTROL_SIZE);
		control = NULL;
	}
	sys_unmap(env, env_size);
out:
	SYS(SYS_close, fd);
	return control;
}

static const char *cannot_be_recorded(void)
{
	static const char *const runtimes[] = { "__asan_init", "__tsan_init", "__msan_init",
						"__hwasan_init", "__lsan_init" };
	struct elf_image image;

	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		for (unsigned i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
			if (elf_read(map, &image) && elf_find(&image, runtimes[i]))
				return "the program is built with a sanitizer, which replaces "
				       "the allocator itself";
	return NULL;
}

bool rt_use(struct shm_control *control)
{
	rt.shm = control;
	rt.stack_depth = (uint32_t)control->options.stack_depth;
	if (control->options.stack_depth < 1 || control->options.stack_depth > 4096)
		rt.stack_depth = 512;
	rt.stacks_on_free = control->options.stacks_on_free;
	rt.drop_when_full = control->options.when_full == FULL_DROP;
	rt.maps = control->options.gather_maps;
	rt.name_maps = !control->options.disable_vma_names;
	atomic_store(&control->libc_maps, rt.libc_maps);
	rt_memory_init(control);
	modules_init();
	trie_init(control->family.first_node ? control->family.first_node : 1);
	if (atomic_load(&control->node_count))
		return true;
	say("not recorded: no memory for the recorder (ulimit -v?)", NULL);
	rt.shm = NULL;
	return false;
}

static bool recorder_start(void)
{
	const char *shared = rt_variable(SHM_ENV), *why_not;
	struct shm_control *control;

	say_init();
	real_init();
	why_not = cannot_be_recorded();
	if (why_not) {
		say("not recorded: ", why_not);
		return false;
	}
	if (limits_room() < LIMITS_LEAST) {
		say("not recorded: too little memory is left below a limit (ulimit -v or -d)",
		    NULL);
		return false;
	}
	rt.pid = sys_getpid();
	clock_init();
	control = shared ? attach(shared) : rt_new_recording(NULL);
	if (!control)
		return false;
	rt.launched = shared;
	rt.own_collector = atomic_load(&control->target_pid) != -1;
	if (atomic_load(&control->target_pid) == -1) { /* the launcher's */
		control->clock = rt.use_ticks ? CLOCK_TICKS : CLOCK_NANOSECONDS;
		control->start_stamp = rt_now();
		control->start_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
		control->start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	}
	if (!rt_use(control))
		return false;
	SYS(SYS_madvise, &rt_live, sizeof(rt_live), MADV_WIPEONFORK);
	atomic_store(&control->target_pid, rt.pid);
	return true;
}

bool rt_start(void)
{
	uint32_t expected = RT_NEW;
	uint64_t begin;

	if (!atomic_compare_exchange_strong(&rt.state, &expected, RT_STARTING))
		return expected == RT_ON;
	begin = sys_clock_ns(CLOCK_MONOTONIC);
	if (!recorder_start()) {
		atomic_store(&rt.state, RT_OFF);
		return false;
	}
	rt_count(COUNTER_setup_ns, sys_clock_ns(CLOCK_MONOTONIC) - begin);
	rt.mode = rt.shm->options.disabled ? MODE_WAITING : MODE_ON;
	atomic_store(&rt_live.here, 1);
	atomic_store(&rt_live.on, rt.mode);
	atomic_store(&rt.state, RT_ON);
	return true;
}

void rt_stop(const char *reason)
{
	uint32_t expected = RT_ON;

	if (!atomic_compare_exchange_strong(&rt.state, &expected, RT_OFF))
		return;
	atomic_store(&rt_live.on, MODE_NONE);
	atomic_store(&rt_live.stopped, 1);
	/* Under `memoir run` the launcher says what went wrong at its end. */
	if (reason && *reason && !(rt.launched && reason == rt.shm->error))
		say("recording ended early: ", reason);
}

/* Is a call recorded that needs this? */
static bool recorded(enum rt_need need)
{
	switch (atomic_load_explicit(&rt_live.on, memory_order_relaxed)) {
	case MODE_ON:
		return true;
	case MODE_OFF:
		return need != NEED_ON;
	case MODE_WAITING:
		return need == NEED_ANY;
	default:
		return false;
	}
}

struct rt_thread *hooks_enter_slow(enum rt_need need)
{
	struct rt_thread *t = NULL;
	static __thread bool inside __attribute__((tls_model("initial-exec")));

	if (inside)
		return NULL;
	inside = true;
	if ((atomic_load_explicit(&rt_live.on, memory_order_relaxed) || rt_start()) &&
	    (likely(atomic_load(&rt_live.here)) || family_in_child()) && recorded(need))
		t = rt_self ? rt_self : thread_register();
	else if (atomic_load(&rt_live.stopped))
		rt_count(COUNTER_dropped_no_collector, 1);
	inside = false;
	return t;
}

void hooks_in_child(void)
{
	/* One that is to be recorded gets its collector with its first event: most execute another
	 * program at once.  But a hook that a handler forked in goes on in the child, and must not
	 * write to the parent's ring. */
	if (atomic_load(&rt.state) != RT_ON ||
	    (atomic_load(&rt_live.here) && sys_getpid() == rt.pid))
		return;
	/* Where the kernel does not wipe. */
	atomic_store(&rt_live.on, MODE_NONE);
	atomic_store(&rt_live.here, 0);
	if (!rt.shm->options.track_children || (rt_self && (rt_self->depth || rt_self->open)))
		family_in_child();
}

__attribute__((constructor)) static void at_load(void)
{
	rt_start();
	if (rt.shm) {
		inplace_install();
		redirect_callers();
		control_init(&rt.shm->options);
		exec_init();
		end_init();
		if (rt.shm->options.zero_memory)
			zero_init();
	}
	environment_leave(rt.shm && rt.shm->options.track_children);
}
