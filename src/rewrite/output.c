/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing a recording anew.  See output.h. */
#include "rewrite/output.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/open_output.h"
#include "base/xalloc.h"
#include "wire/varint.h"

#define NAMES_TRIED 100

/* May this name be taken?  A link of ours is followed, so that what it points at is replaced. */
static int check_name(struct output *o, const char *path, const struct reader *input,
		      struct err *err)
{
	struct stat st, in;
	char *real;
	int error;

	if (!*path)
		return err_set(err, -EINVAL, "an empty name for the output");
	error = open_output_resolve(path, &real);
	if (error)
		return err_set(err, error, "%s", open_output_error(error));
	if (stat(real, &st) < 0) {
		o->path = real;
		return 0;
	}
	free(real);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "not a regular file: a recording is put in its place as a whole");
	if (input && input->fd >= 0 && !fstat(input->fd, &in) && in.st_dev == st.st_dev &&
	    in.st_ino == st.st_ino)
		return err_set(err, -EINVAL, "that is the input: choose another name");
	real = realpath(path, NULL);
	if (!real)
		return err_set(err, -errno, "%s", strerror(errno));
	o->path = real;
	return 0;
}

static int create(struct output *o, struct err *err)
{
	int error = -EEXIST;

	for (unsigned n = 0; n < NAMES_TRIED && error == -EEXIST; n++) {
		free(o->temporary);
		o->temporary = xasprintf("%s.%d.%u.part", o->path, (int)getpid(), n);
		error = recording_create(&o->file, o->temporary, FORMAT_CHUNK_RAW_MAX);
	}
	if (!error)
		return 0;
	/* Without a descriptor there is no file of ours. */
	if (o->file.fd < 0) {
		free(o->temporary);
		o->temporary = NULL;
	}
	return err_set(err, error, "cannot be written: %s", strerror(-error));
}

int output_open(struct output **ret_output, const char *path, const struct reader *input,
		const struct output_codec *codec, struct err *err)
{
	struct output *o = xcalloc(1, sizeof(*o));
	int error;

	/* A limit on file sizes is an error like a full disk, not the end of this process. */
	signal(SIGXFSZ, SIG_IGN);
	o->file.fd = -1;
	error = check_name(o, path, input, err);
	if (!error)
		error = create(o, err);
	if (error) {
		output_free(o);
		return error;
	}
	if (codec)
		recording_use_codec(&o->file, codec->codec, codec->level);
	o->scratch = xmalloc(codec_scratch_size());
	o->payload = xmalloc(codec_payload_bound() + CODEC_PAD);
	codec_start(&o->encoder, o->scratch);
	*ret_output = o;
	return 0;
}

void output_chunk(struct output *o, enum format_chunk_type type, const void *payload, size_t size)
{
	recording_write(&o->file, type, EFFORT_REST, payload, size, 0);
}

void output_room(struct output *o, uint32_t events)
{
	if (codec_room(&o->encoder) < events)
		output_flush(o);
}

void output_run(struct output *o, uint32_t ring, const struct event *events, uint32_t n)
{
	if (n)
		codec_add(&o->encoder, ring, events, n);
}

void output_horizon(struct output *o, uint64_t horizon)
{
	o->horizon = horizon;
}

void output_flush(struct output *o)
{
	uint32_t events = o->encoder.event_count;
	size_t size;

	if (!events)
		return;
	size = codec_finish(&o->encoder, o->horizon, o->payload);
	recording_write(&o->file, CHUNK_EVENTS, EFFORT_EVENTS, o->payload, size, events);
	codec_start(&o->encoder, o->scratch);
}

void put_number(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	buf_add(b, bytes, (size_t)(varint_put(bytes, v) - bytes));
}

void put_counted(struct buf *b, const void *bytes, size_t size)
{
	put_number(b, size);
	buf_add(b, bytes, size);
}

void output_info(struct output *o, const char *key, const void *value, size_t size)
{
	auto_buf struct buf b = { 0 };

	put_counted(&b, key, strlen(key));
	put_counted(&b, value, size);
	output_chunk(o, CHUNK_INFO, b.data, b.size);
}

void output_info_number(struct output *o, const char *key, uint64_t value)
{
	char text[24];

	output_info(o, key, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

void output_loss(struct output *o, const struct loss *loss)
{
	const char *kind = loss->kind == LOSS_CUT ? LOSS_TEXT_CUT : LOSS_TEXT_DAMAGED;

	if (loss->kind == LOSS_NONE)
		return;
	output_info(o, INFO_LOSS_KIND, kind, strlen(kind));
	output_info_number(o, INFO_LOSS_OFFSET, loss->err.offset);
	output_info(o, INFO_LOSS_REASON, loss->err.text, strlen(loss->err.text));
}

bool output_failed(const struct output *o)
{
	return o->file.error != 0;
}

int output_finish(struct output *o, uint64_t *ret_size, struct err *err)
{
	bool ended;

	output_flush(o);
	ended = recording_finish(&o->file);
	if (!ended) {
		int error = o->file.error ? o->file.error : EIO;

		return err_set(err, -error, "cannot be written: %s", strerror(error));
	}
	if (rename(o->temporary, o->path) < 0)
		return err_set(err, -errno, "cannot be put in its place: %s", strerror(errno));
	free(o->temporary);
	o->temporary = NULL;
	if (ret_size)
		*ret_size = o->file.size;
	return 0;
}

struct output *output_free(struct output *o)
{
	if (!o)
		return NULL;
	recording_release(&o->file);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	free(o->scratch);
	free(o->payload);
	free(o);
	return NULL;
}
