/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Tokens and passwords: read, made, compared.
 *
 * None is ever taken from a command line, which every user of the machine can read: they come from
 * a file, from the environment, or are made here. */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SECRET_SIZE 512
#define SECRET_MADE_BYTES 24

/* The first line of a file: 0 (err then has a warning, or is empty), or -errno with err. */
int secret_read(const char *path, char ret_secret[SECRET_SIZE], struct err *err);
/* A new one of hexadecimal digits: 0 or -errno. */
int secret_make(char ret_secret[SECRET_SIZE]);
/* In a time that does not depend on how much of it is right. */
bool secret_same(const char *given, size_t given_size, const char *secret);
