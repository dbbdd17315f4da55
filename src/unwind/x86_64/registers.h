/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about x86-64: DWARF's register numbers and the kernel's signal
 * frame.  The stack register points at the ucontext when a handler has returned to its frame. */

#define REGISTER_FP 6 /* rbp */
#define REGISTER_SP 7 /* rsp */

#define SIGNAL_FRAME_FP 120 /* offsets into ucontext_t: rbp, rsp, rip */
#define SIGNAL_FRAME_SP 160
#define SIGNAL_FRAME_PC 168
