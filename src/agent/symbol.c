/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /pprof/symbol and /pprof/cmdline: names of addresses and of the program, as jeprof and Go's pprof
 * ask for them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/answer.h"
#include "agent/embed.h"

/* 0x1+0x2+…, until something else comes. */
static size_t read_addresses(const char *at, const char *end, struct text *out)
{
	size_t count = 0;

	while (at < end) {
		struct object_name n = { 0 };
		unsigned digits = 0;

		if (end - at > 2 && at[0] == '0' && (at[1] | 32) == 'x')
			at += 2;
		for (; at < end && digits < 16; at++, digits++) {
			int c = *at | 32;
			int v = *at >= '0' && *at <= '9' ? *at - '0'
				: c >= 'a' && c <= 'f'	 ? c - 'a' + 10
							 : -1;

			if (v < 0)
				break;
			n.address = n.address << 4 | (unsigned)v;
		}
		if (!digits)
			break;
		text_add(out, &n, sizeof(n));
		count++;
		if (at < end && *at != '+' && *at != ' ' && *at != '\n')
			break;
		at++;
	}
	return out->failed ? 0 : count;
}

void symbol_names(struct exchange *x)
{
	struct text addresses = { 0 }, names = { 0 };
	const char *from = x->request.query;
	size_t size = strlen(from), count;
	struct object_name *list;
	struct objects objects;

	x->type = "text/plain; charset=utf-8";
	if (x->request.body_size) {
		from = x->body;
		size = x->request.body_size;
	}
	if (!size) {
		text_str(&x->out, "num_symbols: 1\n"); /* that names can be asked for */
		return;
	}
	count = read_addresses(from, from + size, &addresses);
	list = (struct object_name *)addresses.data;
	if (!count) {
		answer_line(x, 400, "addresses are 0x1+0x2+…");
		text_release(&addresses);
		return;
	}
	objects_sort(list, count);
	objects_list(&objects);
	objects_name(&objects, list, count, &names);
	objects_release(&objects);
	for (size_t i = 0; i < count; i++) {
		const char *name = embed_name(&list[i], &names);

		if (name)
			text_printf(&x->out, "0x%016llx\t%s\n", (unsigned long long)list[i].address,
				    name);
	}
	text_release(&addresses);
	text_release(&names);
}

void symbol_cmdline(struct exchange *x)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	bool lines = !strncmp(x->request.path, "/pprof/", 7);

	x->type = "text/plain; charset=utf-8";
	while (fd >= 0 && x->out.size < 65536 && text_reserve(&x->out, 4096)) {
		ssize_t n = read(fd, x->out.data + x->out.size, 4096);

		if (n <= 0)
			break;
		x->out.size += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	/* jeprof wants the program in the first line, Go's pprof words with a 0 between them. */
	for (size_t i = 0; lines && i < x->out.size; i++)
		if (!x->out.data[i])
			x->out.data[i] = '\n';
}
