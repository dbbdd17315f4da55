/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A fleet as what questions are asked about: a snapshot without a file.  Any thread. */
#include "answer/kind.h"
#include "fleet/schema.h"
#include "fleet/settings.h"

struct opened_fleet {
	struct fleet fleet;
	struct fleet_facts facts;
};

extern const struct kind kind_fleet;

/* NULL with err; `url` may be NULL: that of the settings. */
struct snapshot *kind_fleet_open(const struct fleet_settings *settings, const char *url,
				 struct err *err);
