/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The options of what has to do with fleets.  See fleet_options.h. */
#include "cli/fleet/fleet_options.h"

#include <stdio.h>
#include <string.h>

#include "answer/kind_fleet.h"
#include "base/xalloc.h"

static const char *url, *service, *release;
static const char *labels[FLEET_LABELS];
static unsigned label_count;

const char *fleet_options_set(const struct command_option *row, const char *value)
{
	const char *what = row->context;
	struct fleet f;
	static struct err err;

	if (!strcmp(what, "url")) {
		url = value;
		return fleet_parse(&f, value, &err) ? err.text : NULL;
	}
	if (!strcmp(what, "label")) {
		if (label_count == FLEET_LABELS)
			return "there are too many";
		labels[label_count++] = value;
		return NULL;
	}
	if (strlen(value) >= FLEET_NAME_MAX)
		return "it is too long";
	*(!strcmp(what, "service") ? &service : &release) = value;
	return NULL;
}

int fleet_options_read(const char *command, struct fleet_settings *s)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int error = fleet_settings_read(s, &err);

	if (url)
		snprintf(s->url, sizeof(s->url), "%s", url);
	if (service)
		snprintf(s->service, sizeof(s->service), "%s", service);
	if (release)
		snprintf(s->release, sizeof(s->release), "%s", release);
	for (unsigned i = 0; i < label_count && !error; i++)
		error = fleet_settings_label(s, labels[i], &err);
	if (error)
		fprintf(stderr, "memoir %s: %s\n", command, err.text);
	return error ? STATUS_WRONG : 0;
}

int fleet_options_open(const char *command, struct fleet_settings *s, struct fleet *ret_fleet)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = fleet_options_read(command, s);

	if (status)
		return status;
	if (!fleet_open(ret_fleet, s, NULL, &err))
		return 0;
	fprintf(stderr, "memoir %s: %s\n", command, err.text);
	return STATUS_WRONG;
}

bool fleet_options_given(void)
{
	auto_free struct fleet_settings *s = xcalloc(1, sizeof(*s));
	struct err err;

	return url || (!fleet_settings_read(s, &err) && *s->url);
}

bool fleet_options_named(void)
{
	return url != NULL;
}

struct snapshot *fleet_options_snapshot(const char *command, int *ret_status)
{
	auto_free struct fleet_settings *s = xcalloc(1, sizeof(*s));
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *ret;

	*ret_status = fleet_options_read(command, s);
	if (*ret_status)
		return NULL;
	if (!*s->url) {
		struct fleet f;

		fleet_open(&f, s, NULL, &err);
		fprintf(stderr, "memoir %s: %s\n", command, err.text);
		*ret_status = STATUS_WRONG;
		return NULL;
	}
	ret = kind_fleet_open(s, NULL, &err);
	if (!ret) {
		fprintf(stderr, "memoir %s: %s: %s\n", command, s->url, err.text);
		*ret_status = STATUS_FAILED;
	}
	return ret;
}
