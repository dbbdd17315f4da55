/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The prompt of memoir script: lines with history and completion on a terminal, plain lines
 * elsewhere. */
#include <stdatomic.h>
#include <stdbool.h>

struct script;

/* Runs line after line until the end of input or exit(): what the command is to end with.  `stop`
 * is set by Ctrl-C, which ends what runs, not the prompt.  A line that ends with a question mark
 * explains what is before it. */
int prompt_run(struct script *s, bool rhai, atomic_bool *stop);
