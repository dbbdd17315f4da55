/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What says which fleet is meant, who asks, and what this host calls what it sends.
 *
 * An option comes first, then the environment (MEMOIR_FLEET, MEMOIR_FLEET_USER,
 * MEMOIR_FLEET_PASSWORD, MEMOIR_SERVICE, MEMOIR_RELEASE), then a file of lines "name = value":
 * MEMOIR_FLEET_CONFIG, else fleet.conf in ~/.config/memoir or /etc/memoir.  A password is taken
 * from the last two only.  One thread, at the start. */
#include "fleet/fleet.h"

#define FLEET_LABELS 32

struct fleet_settings {
	char url[400];
	char user[FLEET_NAME_MAX], password[SECRET_SIZE];
	char service[FLEET_NAME_MAX], release[FLEET_NAME_MAX];
	char spool[4096];			   /* folder; "": the usual one */
	uint64_t spool_size;			   /* bytes at most */
	uint32_t timeout_ms;			   /* of one request; 0: the usual one */
	char labels[FLEET_LABELS][FLEET_NAME_MAX]; /* "name=value" */
	unsigned label_count;
};

/* 0, or -EINVAL with err where a file has a line that is none. */
int fleet_settings_read(struct fleet_settings *s, struct err *err);
/* "name=value": 0, or -EINVAL with err. */
int fleet_settings_label(struct fleet_settings *s, const char *text, struct err *err);
/* A connection to `url`, or to the one of the settings where that is NULL: 0, or -EINVAL with err.
 */
int fleet_open(struct fleet *f, const struct fleet_settings *s, const char *url, struct err *err);
