/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir script-slave: snippets from another program's hands, each ended by a NUL, whose output
 * goes back as one JSON object a line.  What one defines is there for the next; exit() ends one of
 * them only, and "idle" is behind each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "cli/scripting.h"
#include "cli/waiting.h"

static bool rhai;

static const struct command_option options[] = {
	SCRIPTING_ROWS,
	FLAG("rhai", 0, "the snippets are in Rhai, not in Lua", &rhai),
	WAITING_ROWS,
	{ 0 },
};

/* What the snippets print, as far as its line is not complete. */
static struct buf line;

/* An object of this kind begins; write_object() ends it. */
static void begin(struct json *j, struct buf *out, const char *kind)
{
	*j = (struct json){ .out = out, .compact = true };
	json_object(j, NULL);
	json_text(j, "kind", kind);
}

static int write_object(struct json *j)
{
	struct buf *out = j->out;
	size_t size;

	json_end_object(j);
	while (out->size && out->data[out->size - 1] == '\n')
		out->size--;
	size = fwrite(out->data, 1, out->size, stdout);
	if (size == out->size && putchar('\n') != EOF && !fflush(stdout))
		size = 0;
	buf_release(out);
	return size ? -EIO : 0;
}

static int say_line(const char *text, size_t size)
{
	struct buf out = { 0 };
	struct json j;

	begin(&j, &out, "println");
	json_bytes(&j, "message", text, size);
	return write_object(&j);
}

static int say_picture(const char *name, const unsigned char *bytes, size_t size)
{
	struct buf out = { 0 };
	struct json j;

	begin(&j, &out, "image");
	json_text(&j, "path", name);
	JSON_EACH(&j, "data", i, size)
		json_number(&j, NULL, bytes[i]);
	return write_object(&j);
}

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	const char *text = bytes, *end;
	int error = 0;

	if (kind == SCRIPT_PICTURE)
		return say_picture(name, bytes, size);
	while (!error && (end = memchr(text, '\n', size))) {
		buf_add(&line, text, (size_t)(end - text));
		error = say_line(line.data, line.size);
		buf_clear(&line);
		size -= (size_t)(end - text) + 1;
		text = end + 1;
	}
	buf_add(&line, text, size);
	return error;
}

/* What is wrong, without its place, which has members of its own. */
static int say_error(const struct script_end *end)
{
	struct buf out = { 0 };
	struct json j;
	unsigned column;
	const char *text = script_end_message(end, &column);

	begin(&j, &out, end->status == SCRIPT_SYNTAX ? "syntax_error" : "runtime_error");
	json_text(&j, "message", text);
	if (end->line)
		json_number(&j, "line", end->line);
	else
		json_null(&j, "line");
	if (column)
		json_number(&j, "column", column);
	else
		json_null(&j, "column");
	return write_object(&j);
}

static int run_snippet(struct script *s, const char *text, size_t size)
{
	struct script_end end;
	struct buf out = { 0 };
	struct json j;
	int error = 0;

	script_run(s, "snippet", text, size, &end);
	if (line.size)
		error = say_line(line.data, line.size);
	buf_clear(&line);
	if (!error && end.status != SCRIPT_DONE && end.status != SCRIPT_EXITED)
		error = say_error(&end);
	begin(&j, &out, "idle");
	return error ? error : write_object(&j);
}

static int run_slave(int argc, char **argv)
{
	struct script_options o = {
		.host = { .put = put },
		.limits = scripting_limits,
		.sandbox = true,
		.rhai = rhai,
		.argc = argc,
		.argv = argv,
	};
	struct script *s = script_new(&o);
	auto_free char *text = NULL;
	size_t room = 0;
	ssize_t size;
	int status = STATUS_DONE, error = 0;

	if (!scripting_give_data(s, &status))
		status = STATUS_FAILED;
	else
		while (!error && (size = getdelim(&text, &room, '\0', stdin)) > 0) {
			size -= !text[size - 1];
			error = run_snippet(s, text, (size_t)size);
		}
	if (error) {
		fprintf(stderr, "memoir script-slave: the output cannot be written: %s\n",
			strerror(-error));
		status = STATUS_FAILED;
	}
	buf_release(&line);
	script_free(s);
	return status;
}

const struct command command_script_slave = {
	.name = "script-slave",
	.args = "[ARGUMENT…]",
	.help = "scripts for another program: snippets in, JSON lines out",
	.examples = "  printf 'print(#allocations())\\0' | memoir script-slave -d app.dat\n",
	.options = options,
	.run = run_slave,
};
