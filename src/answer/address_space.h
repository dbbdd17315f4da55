/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question address_space answers. */
#include "answer/question.h"
#include "query/address_space.h"

extern const struct question question_address_space; /* a struct address_space */
