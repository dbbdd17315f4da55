/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A stream, taken apart.  See receiver.h.  Nothing is allocated by what a sender says but a hello
 * of at most STREAM_HELLO_MAX bytes; data is handed on from where it was read to. */
#include "stream/receiver.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"

void receiver_init(struct receiver *r)
{
	*r = (struct receiver){ .left = STREAM_HEAD };
}

void receiver_release(struct receiver *r)
{
	buf_release(&r->part);
}

static void expect(struct receiver *r, enum receiver_state state, uint64_t size)
{
	r->state = state;
	r->left = size;
	r->have = 0;
}

static int get_head(struct receiver *r, struct err *err)
{
	size_t size = 0;
	int error = stream_get_head((const uint8_t *)r->part.data, &size, err);

	expect(r, RECEIVER_HELLO, size);
	return error;
}

static int get_hello(struct receiver *r, struct err *err)
{
	int error = stream_get_hello((const uint8_t *)r->part.data + STREAM_HEAD,
				     r->part.size - STREAM_HEAD, &r->hello, err);

	if (error)
		return error;
	r->greeted = true;
	expect(r, RECEIVER_FRAME, STREAM_FRAME);
	return 0;
}

static int get_frame(struct receiver *r, struct err *err)
{
	uint32_t type = stream_get32(r->head), size = stream_get32(r->head + 4);

	if (size > STREAM_FRAME_MAX)
		return err_at(err, -EPROTO, r->offset - 4, "a frame of %u bytes is too large",
			      size);
	if (type == FRAME_END && size < STREAM_END)
		return err_at(err, -EPROTO, r->offset - 4, "the end has %u bytes instead of %u",
			      size, STREAM_END);
	if (type == FRAME_END)
		expect(r, RECEIVER_END, size);
	else if (size)
		expect(r, type == FRAME_DATA ? RECEIVER_DATA : RECEIVER_SKIP, size);
	else
		expect(r, RECEIVER_FRAME, STREAM_FRAME);
	return 0;
}

static int get_end(struct receiver *r, struct err *err)
{
	uint64_t size = stream_get64(r->head);

	if (size != r->received)
		return err_at(err, -EPROTO, r->offset,
			      "the sender counts %" PRIu64 " bytes, but %" PRIu64 " came", size,
			      r->received);
	if (!r->known)
		return err_at(err, -EPROTO, r->offset, "it ends before there is a recording");
	r->whole = stream_get32(r->head + 8) == 1;
	expect(r, RECEIVER_DONE, 0);
	return 0;
}

/* The recording's own header has to be what the hello said, before anything is kept. */
static int look_at_header(struct receiver *r, const uint8_t *bytes, size_t size, struct err *err)
{
	struct format_header header;
	size_t n = sizeof(r->header) - (size_t)r->received;

	n = MIN(n, size);
	memcpy(r->header + r->received, bytes, n);
	if (r->received + n < sizeof(r->header))
		return 0;
	memcpy(&header, r->header, sizeof(header));
	if (memcmp(header.magic, FORMAT_MAGIC, sizeof(header.magic)))
		return err_at(err, -EPROTO, r->offset, "what comes is not a recording");
	if (memcmp(header.id, r->hello.id, sizeof(header.id)))
		return err_at(err, -EPROTO, r->offset,
			      "what comes is not the recording that was named");
	r->known = true;
	return 0;
}

static int take_data(struct receiver *r, const uint8_t *bytes, size_t size, receiver_take take,
		     void *context, struct err *err)
{
	int error = r->known ? 0 : look_at_header(r, bytes, size, err);

	if (!error)
		error = take(context, bytes, size, err);
	r->received += size;
	return error;
}

/* Keeps up to `size` bytes of a head; more than that of an END is for later versions. */
static void receiver_keep(struct receiver *r, const uint8_t *bytes, size_t size)
{
	size_t n = sizeof(r->head) - r->have;

	n = MIN(n, size);
	memcpy(r->head + r->have, bytes, n);
	r->have += n;
}

static int receiver_step(struct receiver *r, const uint8_t *bytes, size_t size, receiver_take take,
			 void *context, struct err *err)
{
	int error = 0;

	if (r->state == RECEIVER_HEAD || r->state == RECEIVER_HELLO)
		buf_add(&r->part, bytes, size);
	else if (r->state == RECEIVER_FRAME || r->state == RECEIVER_END)
		receiver_keep(r, bytes, size);
	else if (r->state == RECEIVER_DATA)
		error = take_data(r, bytes, size, take, context, err);
	r->offset += size;
	r->left -= size;
	if (r->left || error)
		return error;
	switch (r->state) {
	case RECEIVER_HEAD:
		return get_head(r, err);
	case RECEIVER_HELLO:
		return get_hello(r, err);
	case RECEIVER_FRAME:
		return get_frame(r, err);
	case RECEIVER_END:
		return get_end(r, err);
	default:
		expect(r, RECEIVER_FRAME, STREAM_FRAME);
		return 0;
	}
}

int receiver_feed(struct receiver *r, const void *bytes, size_t size, receiver_take take,
		  void *context, struct err *err)
{
	const uint8_t *p = bytes;

	while (size && r->state != RECEIVER_DONE) {
		size_t n = size < r->left ? size : (size_t)r->left;
		int error;

		if (r->state == RECEIVER_FAILED)
			return -EPROTO;
		error = receiver_step(r, p, n, take, context, err);
		if (error) {
			r->state = RECEIVER_FAILED;
			return error;
		}
		p += n;
		size -= n;
	}
	return 0;
}
