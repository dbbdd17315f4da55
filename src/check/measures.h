/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The measures that a recording is held to, and what is required of them.  Any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "query/value.h"

struct baseline;
struct buf;

enum check_measure {
#define MEASURE(id, ...) CHECK_##id,
#include "check/measures.def"
#undef MEASURE
	CHECK_MEASURES
};

struct check_measure_row {
	const char *name;     /* "peak": --max-peak, max_peak */
	enum filter_arg type; /* ARG_SIZE or ARG_COUNT */
	const char *title;
	const char *help;
};
extern const struct check_measure_row check_measure_rows[CHECK_MEASURES];

/* By name; CHECK_MEASURES if there is none. */
enum check_measure check_measure_find(const char *name, size_t size);
/* "1.50 MiB", "1,234". */
void check_measure_text(struct buf *out, enum check_measure m, uint64_t value);

/* One thing that must hold. */
struct requirement {
	enum check_measure measure;
	bool is_growth; /* against a baseline; else a limit */
	bool per_function;
	bool is_percent;
	double percent;
	uint64_t amount;
	/* What somebody else has found out, and nothing of the above but the measure of `found`:
	 * what speaks against it, as runs, or NULL. */
	bool is_expected, holds;
	struct baseline *found;
	char text[160]; /* as it was written: "peak at most 200M", "+5% peak" */
};

/* At most so much: 0, or -EINVAL with err. */
int requirement_limit(struct requirement *ret, enum check_measure m, const char *value,
		      struct err *err);
/* "+5% peak", "+64KiB leaked", "+0 leaks per function": no more than that above a baseline. */
int requirement_growth(struct requirement *ret, const char *text, struct err *err);
/* What is required where a baseline is given and nothing else is said; no text behind the last. */
extern const char *const requirement_defaults[];
