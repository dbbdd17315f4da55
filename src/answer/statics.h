/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The question statics; what it computes is query/statics.h's. */
#include "answer/question.h"
#include "query/statics.h"

extern const struct question question_statics;
