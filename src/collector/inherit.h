/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The blocks that a forked child inherited.  See inherit.c. */
#include "collector/collector.h"

/* Writes them into a recording that was just opened; what is wrong is said in there. */
void inherit_blocks(struct collector *c);
