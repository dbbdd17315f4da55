/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Words about a fleet that more than one of its commands prints.  The caller's thread. */
#include "base/human.h"
#include "cli/answering.h"
#include "fleet/range.h"

/* "+1.20 MiB/h", "-3 B/h", "–": bytes per second as people read them. */
const char *growth_text_rate(struct human *out, double bytes_per_second);
#define rate_text(value) growth_text_rate(HUMAN_PLACE, value)
/* "fleet …", "filter …", "time …" */
void growth_text_about(struct printing *p, const struct fleet_range *r);
/* ▁▂▅█ of some figures, beside the highest of them. */
void growth_text_spark(struct buf *out, const uint64_t *values, uint32_t count);
