/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dumps on a command line.  See heap_input.h. */
#include "cli/jemalloc/heap_input.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/unpack.h"
#include "base/xalloc.h"
#include "client/http.h"
#include "heap/dump.h"

#define TIMEOUT_MS 60000

static int say(const char *command, const char *path, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, "%s: %s: %s\n", command, path, err->text);
	else
		fprintf(stderr, "%s: %s: at byte %llu: %s\n", command, path,
			(unsigned long long)err->offset, err->text);
	return 1;
}

bool heap_input_is_agent(const char *word)
{
	return http_is_address(word) ||
	       (*word && !word[strspn(word, "0123456789")] && access(word, F_OK));
}

int heap_input_ask(struct buf *b, const struct agents_entry *agent, struct err *err)
{
	/* A process of this machine has its files here, which know lines and inlined functions
	 * too. */
	return agents_ask(agent, "GET", agent->pid ? "/pprof/heap" : "/pprof/heap?symbols=1",
			  TIMEOUT_MS, b, err);
}

int heap_input_read(struct buf *b, const char *path, struct err *err)
{
	struct agents_entry agent;
	int e;

	if (heap_input_is_agent(path)) {
		e = agents_find(path, &agent, err);
		return e ? e : heap_input_ask(b, &agent, err);
	}
	return unpack_text(b, path, unpack_memory_limit(), "any heap profile", err);
}

static int take(struct profile *p, const struct buf *bytes, double sign, struct err *err)
{
	struct dump d;
	int error = dump_read(&d, bytes->data, bytes->size, err);

	profile_add(p, &d, sign);
	dump_release(&d);
	return error;
}

int heap_input_take(struct profile *p, const char *command, const char *path,
		    const struct buf *bytes, double sign)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	return take(p, bytes, sign, &err) ? say(command, path, &err) : 0;
}

int heap_input_add(struct profile *p, const char *command, const char *path, double sign)
{
	struct buf bytes = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = heap_input_read(&bytes, path, &err) ? say(command, path, &err) : 0;

	/* Of a file that is cut, the cut is said and no second thing. */
	if (!status)
		status = heap_input_take(p, command, path, &bytes, sign);
	else if (bytes.size)
		take(p, &bytes, sign, &err);
	buf_release(&bytes);
	return status;
}

bool heap_input_pattern(const char *command, const char *option, const char *word,
			const struct pattern **ret)
{
	struct err err;

	if (!word)
		return true;
	*ret = pattern_new(word, &err);
	if (!*ret)
		fprintf(stderr, "%s: --%s: %s\n", command, option, err.text);
	return *ret;
}
