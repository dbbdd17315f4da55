/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests and fuzzers of ARM's rules that run on any processor: found before the build's. */
#include "unwind/arm/arch.h"
