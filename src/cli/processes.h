/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A folder of recordings as text: `memoir processes`, `memoir info FOLDER`, `memoir report FOLDER`.
 */
#include "answer/processes.h"
#include "cli/answering.h"

bool processes_is_folder(const char *path);
/* The sums, and the tree below them. */
void processes_print(struct printing *p, const void *answer);
/* A file that could not be read is a failure, whatever was printed. */
void processes_judge(struct printing *p, const void *answer);
/* memoir report of a folder: who holds the memory of all of them, too. */
extern const struct answering processes_report;
