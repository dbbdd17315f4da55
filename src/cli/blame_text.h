/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir fragmentation --blame prints. */
#include "cli/answering.h"

extern const struct answering blame_answering;
extern bool blame_print_full;
