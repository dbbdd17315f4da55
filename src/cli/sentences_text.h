/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The sentences of a recording in a terminal. */
#include "cli/answering.h"
#include "query/sentence.h"

/* A line or more for each; `with_commands`:, below each what shows where it comes from, to be
 * copied.  Nothing if there are none. */
void sentences_text(struct printing *p, const struct view *v, const struct sentences *all,
		    bool with_commands);
