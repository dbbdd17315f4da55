/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* cmocka, behind what it needs to have been included first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
