/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* src/stream: hellos, the receiver, names of files and of addresses, and the thread that sends. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "stream/keep.h"
#include "stream/receiver.h"
#include "stream/serve.h"
#include "stream/target.h"

#define TEXT(literal) ((struct stream_text){ literal, sizeof(literal) - 1 })

static const struct stream_hello example = {
	.id = { 1, 2, 3, 16 },
	.pid = 4711,
	.port = 8100,
	.name = TEXT("app.dat"),
	.executable = TEXT("/usr/bin/app"),
	.host = TEXT("host"),
	.arguments = TEXT("app\0-v\0"),
};

static void assert_text(struct stream_text text, const char *expected, size_t size)
{
	assert_int_equal(text.size, size);
	assert_memory_equal(text.data, expected, size);
}

static void hello_comes_back(void **state)
{
	struct stream_hello h;
	struct buf b = { 0 };
	struct err err;
	size_t size;

	stream_put_hello(&b, &example);
	assert_int_equal(stream_get_head((uint8_t *)b.data, &size, &err), 0);
	assert_int_equal(size, b.size - STREAM_HEAD);
	assert_int_equal(stream_get_hello((uint8_t *)b.data + STREAM_HEAD, size, &h, &err), 0);
	assert_memory_equal(h.id, example.id, 16);
	assert_int_equal(h.pid, 4711);
	assert_int_equal(h.port, 8100);
	assert_text(h.name, "app.dat", 7);
	assert_text(h.executable, "/usr/bin/app", 12);
	assert_text(h.host, "host", 4);
	assert_text(h.arguments, "app\0-v\0", 7);
	/* No part of it is one. */
	for (size_t n = 0; n < size; n++)
		assert_int_equal(stream_get_hello((uint8_t *)b.data + STREAM_HEAD, n, &h, &err),
				 -EPROTO);
	buf_release(&b);
}

static void announcement_is_small_and_discreet(void **state)
{
	auto_free char *name = xmalloc(100000);
	struct stream_hello h, huge = example;
	struct buf b = { 0 };
	struct err err;

	stream_put_announcement(&b, &example);
	assert_int_equal(stream_get_announcement((uint8_t *)b.data, b.size, &h, &err), 0);
	assert_text(h.executable, "app", 3);
	assert_int_equal(h.arguments.size, 0);
	assert_null(memmem(b.data, b.size, "-v", 2));
	for (size_t n = 0; n < b.size; n++)
		assert_int_equal(stream_get_announcement((uint8_t *)b.data, n, &h, &err), -EPROTO);
	memset(name, 'x', 100000);
	huge.name = huge.executable = huge.host = huge.arguments =
		(struct stream_text){ name, 100000 };
	buf_clear(&b);
	stream_put_announcement(&b, &huge);
	assert_true(b.size <= STREAM_ANNOUNCEMENT_MAX);
	buf_clear(&b);
	stream_put_hello(&b, &huge);
	assert_true(b.size <= STREAM_HEAD + STREAM_HELLO_MAX);
	buf_release(&b);
}

static int collect(void *context, const void *bytes, size_t size, struct err *err)
{
	buf_add(context, bytes, size);
	return 0;
}

static void put_frame(struct buf *b, uint32_t type, const void *bytes, size_t size)
{
	uint8_t head[STREAM_FRAME];

	stream_put32(head, type);
	stream_put32(head + 4, (uint32_t)size);
	buf_add(b, head, sizeof(head));
	if (size)
		buf_add(b, bytes, size);
}

static void put_end(struct buf *b, uint64_t size, uint32_t whole)
{
	uint8_t end[STREAM_END];

	stream_put64(end, size);
	stream_put32(end + 8, whole);
	put_frame(b, FRAME_END, end, sizeof(end));
}

static struct buf header(void)
{
	struct format_header h = { .version = FORMAT_VERSION, .size = sizeof(h) };
	struct buf b = { 0 };

	memcpy(h.magic, FORMAT_MAGIC, sizeof(h.magic));
	memcpy(h.id, example.id, sizeof(h.id));
	buf_add(&b, &h, sizeof(h));
	return b;
}

static void receiver_takes_any_pieces(void **state)
{
	struct buf stream = { 0 }, file = header();
	struct err err;

	stream_put_hello(&stream, &example);
	put_frame(&stream, FRAME_DATA, file.data, 10);
	put_frame(&stream, 77, "later", 5);
	put_frame(&stream, FRAME_DATA, file.data + 10, 22);
	put_frame(&stream, FRAME_DATA, "chunks", 6);
	put_end(&stream, 38, 1);
	buf_text(&file, "chunks");
	for (size_t piece = 1; piece <= stream.size; piece++) {
		struct receiver r;
		struct buf got = { 0 };

		receiver_init(&r);
		for (size_t at = 0; at < stream.size; at += piece) {
			size_t n = stream.size - at < piece ? stream.size - at : piece;

			assert_int_not_equal(r.state, RECEIVER_DONE);
			assert_int_equal(
				receiver_feed(&r, stream.data + at, n, collect, &got, &err), 0);
		}
		assert_int_equal(r.state, RECEIVER_DONE);
		assert_true(r.whole && r.known && r.greeted);
		assert_int_equal(got.size, file.size);
		assert_memory_equal(got.data, file.data, file.size);
		buf_release(&got);
		receiver_release(&r);
	}
	buf_release(&stream);
	buf_release(&file);
}

static void names_are_harmless(void **state)
{
	static const struct {
		struct stream_text from;
		const char *name;
	} cases[] = {
		{ TEXT("app.dat"), "app.dat" },
		{ TEXT("../../etc/passwd"), "passwd" },
		{ TEXT(".."), "_." },
		{ TEXT(".profile"), "_profile" },
		{ TEXT("-rf"), "_rf" },
		{ TEXT("a b\n\0c;d\xff"), "a_b__c_d_" },
		{ TEXT(""), "memory-profiling_4711.dat" },
		{ TEXT("folder/"), "memory-profiling_4711.dat" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_hello h = { .pid = 4711, .name = cases[i].from };
		auto_free char *name = keep_name(&h);

		assert_string_equal(name, cases[i].name);
	}
}

static void addresses_are_understood(void **state)
{
	static const struct {
		const char *text;
		uint16_t port; /* 0: wrong */
	} cases[] = {
		{ "127.0.0.1:9000", 9000 },
		{ "127.0.0.1", 8100 },
		{ "9000", 9000 },
		{ ":9000", 9000 },
		{ "[::1]:9000", 9000 },
		{ "[::1]", 8100 },
		{ "::1", 8100 },
		{ "", 0 },
		{ ":", 0 },
		{ "127.0.0.1:", 0 },
		{ "127.0.0.1:0", 0 },
		{ "127.0.0.1:65536", 0 },
		{ "[::1", 0 },
		{ "[::1]9000", 0 },
		{ "127.0.0.1:http", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_target t;
		struct err err;
		int error = target_parse(&t, cases[i].text, &err);

		assert_int_equal(error, cases[i].port ? 0 : -EINVAL);
		if (error)
			continue;
		assert_int_equal(
			ntohs(t.addresses->ai_family == AF_INET
				      ? ((struct sockaddr_in *)(void *)t.addresses->ai_addr)
						->sin_port
				      : ((struct sockaddr_in6 *)(void *)t.addresses->ai_addr)
						->sin6_port),
			cases[i].port);
		target_release(&t);
	}
}

static int connect_to(struct serve *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)atoi(strrchr(serve_where(s), ':') + 1));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Reads the whole stream and compares it with the file. */
static void receive(int fd, const char *file, size_t size, bool whole)
{
	struct buf got = { 0 };
	struct receiver r;
	struct err err;
	char piece[5000];
	ssize_t n;

	receiver_init(&r);
	while (r.state != RECEIVER_DONE && (n = read(fd, piece, sizeof(piece))) > 0)
		assert_int_equal(receiver_feed(&r, piece, (size_t)n, collect, &got, &err), 0);
	assert_int_equal(r.state, RECEIVER_DONE);
	assert_int_equal(r.whole, whole);
	assert_int_equal(got.size, size);
	assert_memory_equal(got.data, file, size);
	assert_int_equal(read(fd, piece, 1), 0);
	receiver_release(&r);
	buf_release(&got);
	close(fd);
}

#define BIG (5u << 20)

/* The file grows under three clients: one from the beginning, one that came later and reads last,
 * one that leaves. */
static void serving(void **state)
{
	struct serve_options options = { .address = "127.0.0.1", .patience_s = 100 };
	int file = memfd_create("recording", MFD_CLOEXEC), early, late, gone;
	struct buf content = header();
	struct serve *s = NULL;
	struct err err;

	assert_int_equal(serve_start(&s, file, &example, &options, &err), 0);
	assert_string_equal(err.text, "");
	early = connect_to(s);
	gone = connect_to(s);
	buf_repeat(&content, 'x', BIG);
	for (size_t i = 0; i < BIG; i += 4096)
		content.data[32 + i] = (char)i;
	assert_int_equal(write(file, content.data, BIG / 2), BIG / 2);
	serve_grow(s, BIG / 2);
	late = connect_to(s);
	close(gone);
	/* What is behind the good part is not sent. */
	assert_int_equal(write(file, "junk", 4), 4);
	assert_int_equal(lseek(file, BIG / 2, SEEK_SET), BIG / 2);
	assert_int_equal(write(file, content.data + BIG / 2, content.size - BIG / 2),
			 content.size - BIG / 2);
	serve_end(s, content.size, true);
	close(file);
	receive(early, content.data, content.size, true);
	receive(late, content.data, content.size, true);
	assert_true(serve_wait(s, 100000000000ull));
	assert_int_equal(serve_busy(s), 0);
	assert_null(serve_free(s));
	buf_release(&content);
}

#define MANY 200

static void many_clients(void **state)
{
	struct serve_options options = { .address = "127.0.0.1", .patience_s = 100 };
	int file = memfd_create("recording", MFD_CLOEXEC), fds[MANY];
	struct buf content = header();
	struct serve *s = NULL;
	struct err err;

	buf_repeat(&content, 'y', 50000);
	assert_int_equal(write(file, content.data, content.size), content.size);
	assert_int_equal(serve_start(&s, file, &example, &options, &err), 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = connect_to(s);
		serve_grow(s, (uint64_t)(i + 1) * (content.size / MANY));
	}
	serve_end(s, content.size, false);
	for (int i = MANY; i--;)
		receive(fds[i], content.data, content.size, false);
	assert_true(serve_wait(s, 100000000000ull));
	assert_int_equal(serve_served(s), MANY);
	serve_free(s);
	close(file);
	buf_release(&content);
}

static void serving_ends_without_clients_and_without_patience(void **state)
{
	struct serve_options options = { .address = "127.0.0.1", .patience_s = 0 };
	int file = memfd_create("recording", MFD_CLOEXEC), idle;
	struct serve *s = NULL;
	struct err err;

	assert_int_equal(serve_start(&s, file, &example, &options, &err), 0);
	serve_end(s, 0, false);
	assert_true(serve_wait(s, 100000000000ull));
	serve_free(s);

	assert_int_equal(ftruncate(file, BIG), 0);
	assert_int_equal(serve_start(&s, file, &example, &options, &err), 0);
	idle = connect_to(s);
	serve_grow(s, BIG);
	serve_end(s, BIG, false);
	assert_true(serve_wait(s, 100000000000ull));
	serve_free(s);
	close(idle);

	/* In the middle of everything. */
	options.patience_s = 100;
	assert_int_equal(serve_start(&s, file, &example, &options, &err), 0);
	idle = connect_to(s);
	serve_grow(s, BIG);
	serve_free(s);
	close(idle);
	close(file);
}

static void addresses_that_cannot_be(void **state)
{
	struct serve_options options = { .address = "localhost" };
	int file = memfd_create("recording", MFD_CLOEXEC);
	struct serve *s = NULL;
	struct err err;

	assert_int_equal(serve_start(&s, file, &example, &options, &err), -EINVAL);
	assert_string_equal(err.text, "localhost is not an address such as 127.0.0.1 or ::1");
	options = (struct serve_options){ .address = "127.0.0.1", .port = 65536 };
	assert_int_equal(serve_start(&s, file, &example, &options, &err), -EINVAL);
	assert_string_equal(err.text, "there is no port 65536");
	close(file);
}

UNIT(stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_comes_back),
		cmocka_unit_test(announcement_is_small_and_discreet),
		cmocka_unit_test(receiver_takes_any_pieces),
		cmocka_unit_test(names_are_harmless),
		cmocka_unit_test(addresses_are_understood),
		cmocka_unit_test(serving),
		cmocka_unit_test(many_clients),
		cmocka_unit_test(serving_ends_without_clients_and_without_patience),
		cmocka_unit_test(addresses_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
