/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings that belong together: a program, its children, and what it becomes by exec.
 *
 * What comes after a recorded program learns about it in one of two ways.  A program that is
 * executed finds MEMOIR_PARENT in its environment (exec.c puts it there).  The child of a fork has
 * everything in its own memory; it notices by a page that the kernel has wiped (rt_live), at its
 * first event, and then gets shared memory and a collector of its own.  That collector reads from
 * the parent's recording what was alive at the fork; how far the parent had come then is in the
 * child's copy of the threads' private memory, exactly.
 *
 * A forked child of a program with threads may do little: everything here is system calls on
 * memory of our own, and locks that others held are forgotten first. */
#include "recorder/hooks.h"
#include "recorder/python.h"
#include "recorder/sandbox.h"
#include "recorder/sys.h"
#include "wire/layout.h"

#include <string.h>
#include <sys/resource.h>

#define HIGH_FD 200

static uint64_t read_number(const char **text)
{
	uint64_t v = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		v = v * 10 + (uint64_t)(**text - '0');
	return v;
}

/* MEMOIR_PARENT=PID:ID:BEGAN:FIRST:ADOPTS, the id as 32 hexadecimal digits. */
static bool read_parent(struct shm_family *f)
{
	const char *text = rt_variable(SHM_PARENT_ENV);
	uint64_t pid;

	if (!text)
		return false;
	pid = read_number(&text);
	if (!pid || pid > INT32_MAX || *text++ != ':')
		return false;
	for (int i = 0; i < 32; i++, text++) {
		int digit = *text >= '0' && *text <= '9'   ? *text - '0'
			    : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
							   : -1;

		if (digit < 0)
			return false;
		f->parent_id[i / 2] = (uint8_t)(f->parent_id[i / 2] << 4 | digit);
	}
	f->parent_pid = (int32_t)pid;
	if (*text++ != ':')
		return false;
	f->began_ns = read_number(&text);
	if (*text++ != ':')
		return false;
	f->first_pid = (int32_t)read_number(&text);
	atomic_store(&f->adopts, !strcmp(text, ":1"));
	return true;
}

bool family_follows(const struct shm_control *launcher)
{
	const char *text = rt_variable(SHM_PARENT_ENV);

	return launcher->options.track_children ||
	       (text && read_number(&text) == (uint64_t)sys_getpid());
}

bool family_has_parent(void)
{
	const char *text = rt_variable(SHM_PARENT_ENV);

	return text && read_number(&text) != 0;
}

long family_hand_over(void)
{
	struct rlimit64 limit = { RLIM64_INFINITY, RLIM64_INFINITY };
	struct shm_control *control;
	long fd, high, p;

	/* Past it ftruncate would not only fail but send a signal. */
	SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit);
	if (limit.rlim_cur < SHM_CONTROL_SIZE)
		return -EFBIG;
	fd = SYS(SYS_memfd_create, "memoir", 0);
	if (sys_failed(fd))
		return fd;
	/* Not where a program puts its own before it starts another. */
	high = SYS(SYS_fcntl, fd, F_DUPFD, HIGH_FD);
	if (!sys_failed(high)) {
		SYS(SYS_close, fd);
		fd = high;
	}
	p = SYS(SYS_ftruncate, fd, SHM_CONTROL_SIZE);
	if (!sys_failed(p))
		p = SYS(SYS_mmap, 0, SHM_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sys_failed(p)) {
		SYS(SYS_close, fd);
		return p;
	}
	control = (void *)p;
	control->magic = SHM_MAGIC;
	memcpy(&control->options, &rt.shm->options, sizeof(control->options));
	memcpy(&control->family, &rt.shm->family, sizeof(control->family));
	atomic_store(&control->target_pid, rt.pid); /* somebody has attached: it is nobody's */
	sys_unmap(control, SHM_CONTROL_SIZE);
	return fd;
}

void family_close_handed_over(const char *path)
{
	size_t n = sizeof(SHM_HANDED_OVER) - 1;

	if (!strncmp(path, SHM_HANDED_OVER, n)) {
		path += n;
		SYS(SYS_close, read_number(&path));
	}
}

void family_describe(struct shm_control *control, const struct shm_control *like)
{
	struct shm_family *family = &control->family;

	family->began_ns = control->start_realtime_ns;
	family->first_pid = rt.pid;
	if (read_parent(family)) {
		family->origin = ORIGIN_EXEC;
		/* Only a program that is recorded with its children says so, unless there is a
		 * launcher. */
		if (!like)
			control->options.track_children = true;
	}
	if (!like)
		return;
	family->began_ns = like->family.began_ns;
	family->first_pid = like->family.first_pid;
	memcpy(family->session, like->family.session, sizeof(family->session));
	memcpy(family->directory, like->family.directory, sizeof(family->directory));
	if (like != rt.shm)
		return;

	struct shm_position *positions = (void *)((char *)control + SHM_CONTROL_SIZE);

	family->origin = ORIGIN_FORK;
	family->parent_pid = rt.pid;
	memcpy(family->parent_id, like->family.id, sizeof(family->parent_id));
	memcpy(family->parent_output, like->output, sizeof(family->parent_output));
	atomic_store(&family->adopts, atomic_load(&like->family.adopts));
	family->forked_at = control->start_stamp;
	family->inherited_offset = SHM_CONTROL_SIZE;
	family->inherited_rings = thread_positions(positions, SHM_MAX_RINGS);
	family->first_node = atomic_load(&like->node_count);
	atomic_store(&family->inheriting, 1);
	atomic_store(&control->next_offset, SHM_START_SIZE);
}

/* Tells a collector that leaves out what lives shortly. */
void family_before_fork(void)
{
	struct shm_family *family;

	if (!rt.shm || !rt.shm->options.cull || !rt.shm->options.track_children ||
	    atomic_load(&rt_live.on) == MODE_NONE)
		return;
	family = &rt.shm->family;
	atomic_store(&family->fork_stamps[atomic_fetch_add(&family->fork_count, 1) % SHM_FORKS],
		     rt_now());
}

/* Collectors of its children must not be among the orphans that it will count. */
void family_adopts(void)
{
	if (!rt.shm || sys_getpid() != rt.pid)
		return;
	atomic_store(&rt.shm->family.adopts, 1);
	exec_init();
}

/* What the parent has in its rings goes to its file now, for the child's collector to read. */
static void hurry(struct shm_control *parent)
{
	atomic_fetch_add(&parent->family.write_request, 1);
	atomic_fetch_add(&parent->doorbell, 1);
	sys_futex_wake(&parent->doorbell);
}

static bool record_child(void)
{
	struct shm_control *parent = rt.shm, *control;

	rt_memory_forget();
	hurry(parent);
	control = rt_new_recording(parent);
	thread_forget();
	trie_forget();
	python_forget();
	rt.pid = sys_getpid();
	rt.own_collector = true;
	if (!control || !rt_use(control) || !modules_copy())
		return false;
	rt_unmap(parent, SHM_CONTROL_SIZE);
	exec_init();
	return true;
}

bool family_in_child(void)
{
	uint32_t expected = RT_ON;
	bool recorded = false;
	struct sys_signals signals;

	if (!atomic_compare_exchange_strong(&rt.state, &expected, RT_STARTING))
		return false;
	sys_block_signals(&signals);
	if (rt.shm->options.track_children && sandbox_allows_start())
		recorded = record_child();
	else if (rt_self)
		thread_forget();
	control_in_child(recorded);
	if (recorded) {
		atomic_store(&rt_live.here, 1);
		atomic_store(&rt_live.on, rt.mode);
	}
	atomic_store(&rt.state, recorded ? RT_ON : RT_OFF);
	sys_restore_signals(&signals);
	return recorded;
}
