/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hellos and announcements, to bytes and back.  See protocol.h.  What is read came over a network:
 * nothing in it is believed before it was compared with the bytes that are there. */
#include "stream/protocol.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "wire/varint.h"

#define FIXED 24u /* id, pid and port */
#define ANNOUNCED_TEXT 300u

static void put_text(struct buf *out, struct stream_text text, size_t limit)
{
	uint8_t number[VARINT_MAX];
	size_t size = text.size < limit ? text.size : limit;

	buf_add(out, number, (size_t)(varint_put(number, size) - number));
	if (size)
		buf_add(out, text.data, size);
}

static void put_hello(struct buf *out, const char *magic, const struct stream_hello *h,
		      struct stream_text arguments, size_t limit)
{
	size_t start = out->size;
	uint8_t fixed[STREAM_HEAD + FIXED];

	memcpy(fixed, magic, 8);
	stream_put32(fixed + 8, STREAM_VERSION);
	stream_put32(fixed + 12, 0);
	memcpy(fixed + STREAM_HEAD, h->id, sizeof(h->id));
	stream_put32(fixed + STREAM_HEAD + 16, h->pid);
	stream_put32(fixed + STREAM_HEAD + 20, h->port);
	buf_add(out, fixed, sizeof(fixed));
	put_text(out, h->name, limit < 255 ? limit : 255);
	put_text(out, h->executable, limit < 4096 ? limit : 4096);
	put_text(out, h->host, limit < 255 ? limit : 255);
	put_text(out, arguments, limit);
	stream_put32((uint8_t *)out->data + start + 12,
		     (uint32_t)(out->size - start - STREAM_HEAD));
}

void stream_put_token(struct buf *out, const char *token)
{
	uint8_t head[STREAM_TOKEN_HEAD];
	size_t size = strlen(token);

	if (size > STREAM_TOKEN_MAX)
		size = STREAM_TOKEN_MAX;
	memcpy(head, STREAM_TOKEN_MAGIC, 8);
	stream_put32(head + 8, (uint32_t)size);
	buf_add(out, head, sizeof(head));
	buf_add(out, token, size);
}

void stream_put_refusal(struct buf *out)
{
	uint8_t head[STREAM_HEAD];

	memcpy(head, STREAM_REFUSAL_MAGIC, 8);
	stream_put32(head + 8, STREAM_VERSION);
	stream_put32(head + 12, 0);
	buf_add(out, head, sizeof(head));
}

void stream_put_hello(struct buf *out, const struct stream_hello *h)
{
	put_hello(out, STREAM_MAGIC, h, h->arguments, STREAM_TEXT_MAX);
}

void stream_put_announcement(struct buf *out, const struct stream_hello *h)
{
	struct stream_hello brief = *h;

	/* Everybody may hear this: not what the program was told, nor where it is. */
	brief.executable = stream_base_name(h->executable);
	put_hello(out, STREAM_ANNOUNCEMENT_MAGIC, &brief, (struct stream_text){ NULL, 0 },
		  ANNOUNCED_TEXT);
}
_Static_assert(STREAM_HEAD + FIXED + 4 * (ANNOUNCED_TEXT + 2) < STREAM_ANNOUNCEMENT_MAX,
	       "an announcement is one datagram");
_Static_assert(STREAM_HEAD + FIXED + STREAM_TEXT_MAX + 8192 < STREAM_HELLO_MAX, "a hello fits");

struct stream_text stream_base_name(struct stream_text path)
{
	for (size_t i = path.size; i; i--)
		if (path.data[i - 1] == '/')
			return (struct stream_text){ path.data + i, path.size - i };
	return path;
}

static int get_head(const uint8_t *bytes, const char *magic, size_t *ret_size, struct err *err)
{
	uint32_t version = stream_get32(bytes + 8), size = stream_get32(bytes + 12);

	if (memcmp(bytes, magic, 8))
		return err_at(err, -EPROTO, 0, "this is not Memoir's stream");
	if (version > STREAM_VERSION)
		return err_at(
			err, -EPROTONOSUPPORT, 8,
			"version %u of the stream is not known here: a newer memoir is needed",
			version);
	if (size < FIXED || size > STREAM_HELLO_MAX)
		return err_at(err, -EPROTO, 12, "a hello of %u bytes makes no sense", size);
	*ret_size = size;
	return 0;
}

int stream_get_head(const uint8_t *bytes, size_t *ret_size, struct err *err)
{
	if (!memcmp(bytes, STREAM_REFUSAL_MAGIC, 8))
		return err_set(
			err, -EACCES,
			"the recording is for its own user, and for those who have the token: "
			"--token-file FILE or MEMOIR_STREAM_TOKEN");
	return get_head(bytes, STREAM_MAGIC, ret_size, err);
}

int stream_get_hello(const uint8_t *bytes, size_t size, struct stream_hello *ret_hello,
		     struct err *err)
{
	const uint8_t *p = bytes + FIXED, *end = bytes + size;
	struct stream_hello h = { { 0 } };
	struct stream_text *const texts[] = { &h.name, &h.executable, &h.host, &h.arguments };

	if (size < FIXED)
		return err_at(err, -EPROTO, STREAM_HEAD, "the hello is too short");
	memcpy(h.id, bytes, sizeof(h.id));
	h.pid = stream_get32(bytes + 16);
	h.port = stream_get32(bytes + 20);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t offset = STREAM_HEAD + (uint64_t)(p - bytes), length;

		if (!varint_get(&p, end, &length) || length > (size_t)(end - p))
			return err_at(err, -EPROTO, offset, "a text of the hello is cut off");
		*texts[i] = (struct stream_text){ (const char *)p, (size_t)length };
		p += length;
	}
	*ret_hello = h;
	return 0;
}

int stream_get_announcement(const uint8_t *bytes, size_t size, struct stream_hello *ret_hello,
			    struct err *err)
{
	size_t rest = 0;
	int error;

	if (size < STREAM_HEAD)
		return err_at(err, -EPROTO, 0, "the announcement is too short");
	error = get_head(bytes, STREAM_ANNOUNCEMENT_MAGIC, &rest, err);
	if (error)
		return error;
	if (rest > size - STREAM_HEAD)
		return err_at(err, -EPROTO, 12, "the announcement is cut off");
	error = stream_get_hello(bytes + STREAM_HEAD, rest, ret_hello, err);
	if (!error && (!ret_hello->port || ret_hello->port > 65535))
		return err_at(err, -EPROTO, STREAM_HEAD + 20, "port %u does not exist",
			      ret_hello->port);
	return error;
}
