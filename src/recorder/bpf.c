/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An interpreter of the classic BPF that seccomp filters are written in.
 *
 * sandbox.c calls it for a filter that the program is about to install.  A pure function: it reads
 * the program and the call, and jumps only forwards, so that it makes no more steps than there are
 * instructions. */
#include "recorder/bpf.h"

#include <stdbool.h>

#define NO_PROGRAM SECCOMP_RET_KILL_PROCESS

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
	bool bad; /* the kernel would refuse the program */
	bool over;
	uint32_t answer;
};

static uint32_t load_call(struct machine *m, const struct seccomp_data *call, uint32_t at)
{
	if (at % 4 || at >= sizeof(*call)) {
		m->bad = true;
		return 0;
	}
	return ((const uint32_t *)call)[at / 4];
}

static uint32_t *memory_word(struct machine *m, uint32_t i)
{
	m->bad |= i >= BPF_MEMWORDS;
	return &m->memory[i % BPF_MEMWORDS];
}

static void end_with(struct machine *m, uint32_t answer)
{
	m->over = true;
	m->answer = answer;
}

static uint32_t compute(struct machine *m, unsigned code, uint32_t operand)
{
	bool constant = BPF_SRC(code) == BPF_K;

	switch (BPF_OP(code)) {
	case BPF_ADD:
		return m->a + operand;
	case BPF_SUB:
		return m->a - operand;
	case BPF_MUL:
		return m->a * operand;
	case BPF_AND:
		return m->a & operand;
	case BPF_OR:
		return m->a | operand;
	case BPF_XOR:
		return m->a ^ operand;
	case BPF_NEG:
		return -m->a;
	case BPF_DIV:
		m->bad |= constant && !operand;
		if (!operand)
			end_with(m, 0);
		return operand ? m->a / operand : 0;
	case BPF_LSH:
		m->bad |= constant && operand >= 32;
		return m->a << (operand & 31);
	case BPF_RSH:
		m->bad |= constant && operand >= 32;
		return m->a >> (operand & 31);
	default:
		m->bad = true;
		return 0;
	}
}

/* How many instructions are passed over. */
static uint32_t jump(struct machine *m, const struct sock_filter *i)
{
	uint32_t operand = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	bool yes;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return i->k;
	case BPF_JEQ:
		yes = m->a == operand;
		break;
	case BPF_JGT:
		yes = m->a > operand;
		break;
	case BPF_JGE:
		yes = m->a >= operand;
		break;
	case BPF_JSET:
		yes = m->a & operand;
		break;
	default:
		m->bad = true;
		return 0;
	}
	return yes ? i->jt : i->jf;
}

static void bpf_load(struct machine *m, const struct sock_filter *i,
		     const struct seccomp_data *call)
{
	uint32_t *to = BPF_CLASS(i->code) == BPF_LD ? &m->a : &m->x;

	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		*to = load_call(m, call, i->k);
		break;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
		*to = sizeof(*call);
		break;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
		*to = i->k;
		break;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		*to = *memory_word(m, i->k);
		break;
	default:
		m->bad = true;
	}
}

static void bpf_return(struct machine *m, const struct sock_filter *i)
{
	m->bad |= i->code != (BPF_RET | BPF_K) && i->code != (BPF_RET | BPF_A);
	end_with(m, BPF_RVAL(i->code) == BPF_A ? m->a : i->k);
}

static void bpf_move(struct machine *m, const struct sock_filter *i)
{
	if (i->code == (BPF_MISC | BPF_TAX))
		m->x = m->a;
	else if (i->code == (BPF_MISC | BPF_TXA))
		m->a = m->x;
	else
		m->bad = true;
}

uint32_t bpf_answer(const struct sock_filter *program, unsigned count,
		    const struct seccomp_data *call)
{
	struct machine m = { 0 };

	for (uint64_t at = 0; at < count && !m.bad && !m.over; at++) {
		const struct sock_filter *i = &program[at];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
		case BPF_LDX:
			bpf_load(&m, i, call);
			break;
		case BPF_ST:
			*memory_word(&m, i->k) = m.a;
			break;
		case BPF_STX:
			*memory_word(&m, i->k) = m.x;
			break;
		case BPF_ALU:
			m.a = compute(&m, i->code, BPF_SRC(i->code) == BPF_X ? m.x : i->k);
			break;
		case BPF_JMP:
			at += jump(&m, i);
			break;
		case BPF_RET:
			bpf_return(&m, i);
			break;
		default:
			bpf_move(&m, i);
		}
	}
	return m.over && !m.bad ? m.answer : NO_PROGRAM;
}
