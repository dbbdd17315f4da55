/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers as text that more than one command prints: of a recording, and of a fleet. */
#include <stdbool.h>

struct printing;

/* cmd_functions.c, and its --full */
void functions_print(struct printing *p, const void *answer);
extern bool functions_print_full;
/* cmd_diff.c */
void diff_print(struct printing *p, const void *answer);
extern bool diff_print_full;
/* cmd_tree.c */
void tree_print(struct printing *p, const void *answer);
extern bool tree_print_full;
