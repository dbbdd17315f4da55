/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options, environment and file.  See settings.h. */
#include "fleet/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "query/value.h"

#define FILE_MAX 65536
#define SPOOL_SIZE (256ull << 20)

static const struct setting {
	const char *name, *variable; /* of the environment; NULL: none */
	size_t offset, size;
} texts[] = {
#define TEXT(name, variable)                                                                       \
	{                                                                                          \
#name, variable, offsetof(struct fleet_settings, name),                            \
			sizeof(((struct fleet_settings *)0)->name)                                 \
	}
	TEXT(url, "MEMOIR_FLEET"),
	TEXT(user, "MEMOIR_FLEET_USER"),
	TEXT(password, "MEMOIR_FLEET_PASSWORD"),
	TEXT(service, "MEMOIR_SERVICE"),
	TEXT(release, "MEMOIR_RELEASE"),
	TEXT(spool, "MEMOIR_FLEET_SPOOL"),
#undef TEXT
};

static int set_text(struct fleet_settings *s, const struct setting *row, const char *value,
		    struct err *err)
{
	if (strlen(value) >= row->size)
		return err_set(err, -EINVAL, "'%s' has at most %zu bytes", row->name,
			       row->size - 1);
	memcpy((char *)s + row->offset, value, strlen(value) + 1);
	return 0;
}

int fleet_settings_label(struct fleet_settings *s, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || strlen(text) >= FLEET_NAME_MAX)
		return err_set(err, -EINVAL, "'%.60s' is not NAME=VALUE", text);
	if (s->label_count >= FLEET_LABELS)
		return err_set(err, -EINVAL, "there are at most %d labels", FLEET_LABELS);
	snprintf(s->labels[s->label_count++], FLEET_NAME_MAX, "%s", text);
	return 0;
}

static int set_spool_size(struct fleet_settings *s, const char *text, struct err *err)
{
	struct value v;

	if (value_parse(&v, ARG_SIZE, text, err))
		return -EINVAL;
	s->spool_size = v.number;
	value_release(&v);
	return 0;
}

static int set_timeout(struct fleet_settings *s, const char *text, struct err *err)
{
	struct value v;

	if (value_parse(&v, ARG_DURATION, text, err))
		return -EINVAL;
	s->timeout_ms = (uint32_t)(v.number / 1000000 < UINT32_MAX ? v.number / 1000000 : 0);
	value_release(&v);
	return 0;
}

static int set_named(struct fleet_settings *s, const char *name, const char *value, struct err *err)
{
	if (!strcmp(name, "label"))
		return fleet_settings_label(s, value, err);
	if (!strcmp(name, "spool_size"))
		return set_spool_size(s, value, err);
	if (!strcmp(name, "timeout"))
		return set_timeout(s, value, err);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(name, texts[i].name))
			return set_text(s, &texts[i], value, err);
	return err_set(err, -EINVAL, "there is no setting '%.40s'", name);
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && strchr(" \t\r", end[-1]))
		*--end = 0;
	return text + strspn(text, " \t");
}

static int set_line(struct fleet_settings *s, char *line, struct err *err)
{
	char *equals;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return err_set(err, -EINVAL, "a line is 'name = value'");
	*equals = 0;
	return set_named(s, trim(line), trim(equals + 1), err);
}

static int read_lines(struct fleet_settings *s, const char *path, int fd, struct err *err)
{
	auto_buf struct buf text = { 0 };
	int error = read_to_end(fd, &text, FILE_MAX);
	struct err why = { .text = "" };
	unsigned number = 0;

	if (error || text.size > FILE_MAX)
		return err_set(err, -EINVAL, "%.150s: %s", path,
			       error ? strerror(-error) : "it is too long");
	for (char *line = text.data, *next; line && !error; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		error = set_line(s, line, &why);
	}
	return error ? err_set(err, -EINVAL, "%.100s, line %u: %s", path, number, why.text) : 0;
}

static int read_file(struct fleet_settings *s, struct err *err)
{
	const char *given = getenv("MEMOIR_FLEET_CONFIG"), *home = getenv("XDG_CONFIG_HOME");
	auto_free char *own = home && *home ? xasprintf("%s/memoir/fleet.conf", home)
					    : xasprintf("%s/.config/memoir/fleet.conf",
							getenv("HOME") ?: "/nonexistent");
	const char *const paths[] = { own, "/etc/memoir/fleet.conf" };

	if (given && *given) {
		auto_close int fd = open(given, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return err_set(err, -EINVAL, "%.150s: %s", given, strerror(errno));
		return read_lines(s, given, fd, err);
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		auto_close int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			return read_lines(s, paths[i], fd, err);
	}
	return 0;
}

/* What is no text. */
static const struct {
	const char *name, *variable;
} others[] = {
	{ "spool_size", "MEMOIR_FLEET_SPOOL_SIZE" },
	{ "timeout", "MEMOIR_FLEET_TIMEOUT" },
};

int fleet_settings_read(struct fleet_settings *s, struct err *err)
{
	int error;

	*s = (struct fleet_settings){ .spool_size = SPOOL_SIZE };
	error = read_file(s, err);
	for (size_t i = 0; !error && i < sizeof(texts) / sizeof(*texts); i++) {
		const char *value = getenv(texts[i].variable);

		if (value && *value)
			error = set_text(s, &texts[i], value, err);
	}
	for (size_t i = 0; !error && i < sizeof(others) / sizeof(*others); i++) {
		const char *value = getenv(others[i].variable);

		if (value && *value)
			error = set_named(s, others[i].name, value, err);
	}
	return error;
}

int fleet_open(struct fleet *f, const struct fleet_settings *s, const char *url, struct err *err)
{
	if (!url || !*url)
		url = s->url;
	if (!*url)
		return err_set(err, -EINVAL,
			       "which fleet? --fleet URL, MEMOIR_FLEET or a file fleet.conf says "
			       "it");
	if (fleet_parse(f, url, err))
		return -EINVAL;
	if (strpbrk(s->user, "\r\n") || strpbrk(s->password, "\r\n"))
		return err_set(err, -EINVAL, "a user or password has no line breaks");
	if (s->timeout_ms)
		f->timeout_ms = s->timeout_ms;
	memcpy(f->user, s->user, sizeof(f->user));
	memcpy(f->password, s->password, sizeof(f->password));
	return 0;
}
