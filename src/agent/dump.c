/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profile dumps.  See dump.h.
 *
 * jemalloc writes to a path and follows links, with a mode that others can read.  So it is given
 * the name of a file without one (a memfd), or where there is no /proc a new file in the agent's
 * own folder. */
#include "agent/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/embed.h"
#include "agent/jemalloc.h"

static int read_back(int fd, struct text *out)
{
	size_t start = out->size;
	struct stat st;

	if (fstat(fd, &st) || !text_reserve(out, (size_t)st.st_size + 1))
		return ENOMEM;
	while (out->size - start < (size_t)st.st_size) {
		ssize_t n =
			pread(fd, out->data + out->size, (size_t)st.st_size - (out->size - start),
			      (off_t)(out->size - start));

		if (n <= 0)
			return EIO;
		out->size += (size_t)n;
	}
	out->data[out->size] = 0; /* for who reads numbers from it */
	return 0;
}

static int dump_to(const char *path)
{
	return jemalloc_set("prof.dump", &path, sizeof(path));
}

static int dump_to_file(struct text *out)
{
	char path[200];
	int fd, e;

	if (!agent.file_path[0])
		return EACCES;
	/* In a folder that nobody else can write to. */
	snprintf(path, sizeof(path), "%s.dump", agent.file_path);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	e = dump_to(path);
	if (!e)
		e = read_back(fd, out);
	unlink(path);
	close(fd);
	return e;
}

int dump_take(struct text *out)
{
	struct agent_fd memory = agent_fd_own(memfd_create("memoir-dump", MFD_CLOEXEC));
	char path[64];
	int e = ENOSYS;

	jemalloc_be_known();
	if (memory.fd >= 0) {
		snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", memory.fd);
		e = dump_to(path);
		if (!e)
			e = agent_fd_good(&memory) ? read_back(memory.fd, out) : EBADF;
		agent_fd_close(&memory);
	}
	return e ? dump_to_file(out) : 0;
}

bool dump_answer(struct exchange *x)
{
	int e;

	if (!answer_needs_prof(x))
		return false;
	e = dump_take(&x->out);
	if (e) {
		answer_line(x, 500, "the dump failed: %s", strerror(e));
		return false;
	}
	embed_build_ids(&x->out);
	x->type = "application/x-jemalloc-heap-profile";
	return true;
}

/* /pprof/heap, /pprof/heap?symbols=1 */
void dump_heap(struct exchange *x)
{
	char value[8];
	bool names = answer_param(x, "symbols", value, sizeof(value), false);

	if (x->status != 200)
		return;
	if (names && strcmp(value, "0") && strcmp(value, "1")) {
		answer_line(x, 400, "symbols is 0 or 1");
		return;
	}
	if (dump_answer(x) && names && *value == '1')
		embed_names(&x->out);
}

static void mtev_value(struct text *out, const char *name, int *ret_error, bool *ret)
{
	int e = jemalloc_get(name, ret);

	text_printf(out, "%s: %s\n", name, e ? "error" : *ret ? "true" : "false");
	*ret_error = e;
}

/* /mtev/heap_profile, with libmtev's own words. */
void dump_mtev(struct exchange *x)
{
	char active[16], trigger[16];
	bool has_active = answer_param(x, "active", active, sizeof(active), false), on;
	bool has_dump = answer_param(x, "trigger_dump", trigger, sizeof(trigger), false) &&
			!strcmp(trigger, "true");
	int e;

	if (x->status != 200)
		return;
	if (!jemalloc_find()) {
		answer_line(x, 503, "libjemalloc is not loaded, cannot heap profile");
		return;
	}
	/* libmtev changes things by GET. */
	if ((has_active || has_dump) && !(agent.compat && answer_is_known(x)) &&
	    !answer_may_change(x))
		return;
	x->type = "text/plain";
	if (has_active) {
		on = !strcmp(active, "true");
		if (!answer_needs_prof(x))
			return;
		e = jemalloc_set("prof.active", &on, sizeof(on));
		if (e) {
			answer_line(x, 500, "%s", strerror(e));
			return;
		}
		answer_log(x, "prof.active = %s", on ? "true" : "false");
		text_printf(&x->out, "Profiling is %s\n", on ? "activated" : "deactivated");
	} else if (has_dump) {
		dump_answer(x);
	} else {
		mtev_value(&x->out, "opt.prof", &e, &on);
		if (e || !on)
			text_str(&x->out, "# needs MALLOC_CONF=\"prof:true\"\n");
		mtev_value(&x->out, "prof.active", &e, &on);
		mtev_value(&x->out, "prof.thread_active_init", &e, &on);
	}
}
