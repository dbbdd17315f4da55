/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The options that every command with `.takes_filters` has: --filter, one for each row of
 * query/filter.h, and how names are found.  What they were given is kept here until open.c asks. */
#include "answer/param.h"
#include "cli/command.h"
#include "model/locations.h"
#include "query/filter.h"

struct buf;

/* Shown one by one by --help. */
const struct command_option *filtering_options(void);
/* One option for each filter row; `memoir help filters` explains them. */
const struct command_option *filtering_rows(void);
/* The lines about them in a command's --help. */
void filtering_help(struct buf *out);
/* memoir help filters. */
void filtering_manual(struct buf *out);

/* What the command line asked for; NULL: no filter.  The caller frees it. */
struct filter *filtering_take(void);
/* The same as parameters of a question. */
struct params *filtering_params(void);
bool filtering_no_cache(void);
