/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* repack, strip and postprocess on any bytes that open as a recording: what comes out can be read,
 * and what was repacked is the same. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mend.h"
#include "model/model.h"
#include "rewrite/postprocess.h"
#include "rewrite/repack.h"
#include "rewrite/strip.h"

/* False: the file is cut or damaged. */
static bool totals_of(const char *path, struct totals *ret_totals)
{
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;
	bool whole;

	if (model_open(&m, path, &err))
		abort();
	model_load(m, &options);
	model_finish(m);
	whole = m->loss.kind == LOSS_NONE;
	*ret_totals = m->totals;
	model_free(m);
	return whole;
}

enum what { REPACK, STRIP, POSTPROCESS, WHATS };

static int make(enum what what, struct source *s, const char *path, struct output *o)
{
	struct strip_options strip_how = { .threshold_ns = 100 };
	struct postprocess_options postprocess_how = { .anonymity = ANONYMIZE_FULL };
	struct postprocess_result postprocess_result;
	struct repack_result repack_result;
	struct strip_result strip_result;
	struct err err;

	switch (what) {
	case REPACK:
		repack(s, o, &repack_result);
		return 0;
	case STRIP:
		return strip(s, path, o, &strip_how, &strip_result, &err);
	default:
		return postprocess(s, path, o, &postprocess_how, &postprocess_result, &err);
	}
}

static void rewrite(enum what what, const char *path, const char *to)
{
	struct totals before, after;
	struct output *o;
	struct source s;
	struct err err;

	if (source_open(&s, path, &err))
		return;
	if (output_open(&o, to, &s.reader, NULL, &err))
		abort();
	if (!make(what, &s, path, o)) {
		if (output_finish(o, NULL, &err))
			abort();
		if (!totals_of(to, &after))
			abort();
		/* Of a chunk that makes no sense the loader uses what comes before that, and what
		 * is stripped of nonsense need not add up to the same. */
		if (totals_of(path, &before) && what != STRIP &&
		    memcmp(&before, &after, sizeof(before)) != 0)
			abort();
		unlink(to);
	}
	output_free(o);
	source_release(&s);
}

FUZZ(rewrite, data, size)
{
	uint8_t *copy = malloc(size ? size : 1);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	char path[64], to[64];

	if (!copy || fd < 0)
		abort();
	memcpy(copy, data, size);
	mend_recording(copy, size);
	if (write(fd, copy, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(to, sizeof(to), "/tmp/memoir-fuzz-rewrite-%d", (int)getpid());
	for (enum what what = REPACK; what < WHATS; what++)
		rewrite(what, path, to);
	close(fd);
	free(copy);
	return 0;
}
