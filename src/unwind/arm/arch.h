/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the unwinder must know about ARM with 32 bits: its two frame registers, where return
 * addresses are saved, and the kernel's signal frame.
 *
 * A frame with a size that is not known when it is compiled is addressed by r7 in Thumb code and by
 * r11 in A32 code.  Both are followed, as the two halves of what is one register elsewhere, so that
 * a stack may have frames of both.  A rule says of each where it was saved: seven bits, words below
 * the CFA.
 *
 * A call leaves the return address in a register, with bit 0 set where Thumb code is to go on; what
 * is kept is without that bit.  As on AArch64 frames are told apart by the stack register after the
 * return. */
#include <stdbool.h>
#include <stdint.h>

#define ARCH_WORD 4
typedef uint32_t arch_word;

/* Offsets from the beginning of the kernel's struct sigframe, which a rule for a handler's return
 * says how to find: trap, error, mask and r0 to r15 are 20 bytes into its ucontext. */
#define SIGNAL_FRAME_REGISTERS (20 + 12)
#define SIGNAL_FRAME_FP (SIGNAL_FRAME_REGISTERS + 4 * 7)
#define SIGNAL_FRAME_FP_HIGH (SIGNAL_FRAME_REGISTERS + 4 * 11)
#define SIGNAL_FRAME_SP (SIGNAL_FRAME_REGISTERS + 4 * 13)
#define SIGNAL_FRAME_LINK (SIGNAL_FRAME_REGISTERS + 4 * 14)
#define SIGNAL_FRAME_PC (SIGNAL_FRAME_REGISTERS + 4 * 15)
#define SIGNAL_FRAME_INFO                                                                          \
	128 /* a siginfo_t comes before it where the handler has asked for one                     \
	     */

#define ARCH_PAGE 4096ull /* no larger than the system's */

/* Where a rule says that the return address was saved: words below the CFA. */
#define ARCH_RETURN_MIN 0
#define ARCH_RETURN_MAX 255

/* A function that has saved nothing is one to return from with the link register. */
#define ARCH_LINK_REGISTER true

#define ARCH_TWO_FRAME_REGISTERS
#define ARCH_SAVED_MAX 127u /* words below the CFA, for each of the two */

static inline uint64_t arch_saved_low(uint64_t rule)
{
	return (rule >> 26 & 0x7f) * ARCH_WORD;
}

static inline uint64_t arch_saved_high(uint64_t rule)
{
	return (rule >> 33 & 0x7f) * ARCH_WORD;
}

static inline uint64_t arch_return_slot(uint64_t cfa, uint64_t rule)
{
	return cfa - 4 * (rule >> 40 & 0xff);
}

/* What tells the frame apart whose stack register is sp after the return to it. */
static inline uint64_t arch_entry_slot(uint64_t sp)
{
	return sp;
}

static inline uint64_t arch_address(uint64_t word)
{
	return word & ~1ull;
}

/* Where a return address was read, and the second frame register; 0: it is the inner frame's. */
struct arch_origin {
	uint64_t at, high_at;
};

static inline void arch_origin_set(struct arch_origin *o, uint64_t at)
{
	o->at = at;
}

static inline uint64_t arch_origin_at(const struct arch_origin *o,
				      __attribute__((unused)) uint64_t slot)
{
	return o->at;
}

/* The word there; the innermost frame's was in a register, and nothing is compared with it. */
static inline arch_word arch_origin_word(uint64_t at, uint64_t pc)
{
	return at ? *(const arch_word *)(uintptr_t)at : (arch_word)pc;
}

/* The number of the system call that the code makes with its first two instructions (mov r7; svc):
 * eight bytes are looked at.  -1: none. */
static inline int arch_call_number(const uint8_t *p)
{
	const uint16_t *thumb = (const uint16_t *)p;

	if (thumb[0] >> 8 == 0x27 && thumb[1] == 0xdf00)
		return thumb[0] & 0xff;
	if (thumb[0] == 0xf04f && thumb[1] >> 8 == 0x07 && thumb[2] == 0xdf00)
		return thumb[1] & 0xff;
	if (thumb[1] == 0xe3a0 && thumb[0] >> 8 == 0x70 && thumb[3] >> 8 == 0xef)
		return thumb[0] & 0xff;
	return -1;
}

/* Is this where handlers return to, the kernel's or libc's?  Then how far the kernel's frame is
 * from the stack register, and else a negative number. */
#define ARCH_SIGNAL_RETURN_SIZE 8
static inline int arch_signal_frame(const uint8_t *p)
{
	int call = arch_call_number(p);

	return call == 173 ? SIGNAL_FRAME_INFO : call == 119 ? 0 : -1;
}

/* Go's two functions that switch stacks are not known here. */
#define ARCH_SWITCH_SIZE 4
enum arch_switch { SWITCH_NOT, SWITCH_TO_C, SWITCH_TO_GO };
#define SWITCH_GOROUTINE 0
#define SWITCH_DEPTH 0
#define SWITCH_STACK_END 0
static inline enum arch_switch arch_switches_stack(__attribute__((unused)) const uint8_t *p)
{
	return SWITCH_NOT;
}
