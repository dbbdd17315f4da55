/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the sources of both libraries inside a target say of their functions and branches. */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))
