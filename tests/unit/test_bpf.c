/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interpreter of seccomp filters, against the kernel's own. */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/bpf.h"

#define COUNT(rows) ((unsigned)(sizeof(rows) / sizeof((rows)[0])))
#define ASKED 1000 /* a system call that there is not */
#define PROGRAMS 300
#define BODY 40

static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static uint32_t number_like(void)
{
	static const uint32_t odd[] = { 0, 1, 2, 31, 0x7fffffff, 0x80000000, 0xffffffff, 4096 };

	return next_random() % 2 ? odd[next_random() % COUNT(odd)] : next_random();
}

/* An instruction that the kernel takes, `left` before the end. */
static struct sock_filter instruction(unsigned left)
{
	static const uint16_t alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					BPF_OR,	 BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	static const uint16_t tests[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	uint16_t source = next_random() % 2 ? BPF_X : BPF_K, op;
	uint32_t k = number_like();

	switch (next_random() % 8) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    next_random() % 16 * 4);
	case 1:
		return (struct sock_filter)BPF_STMT(
			(next_random() % 2 ? BPF_LD : BPF_LDX) | BPF_IMM, k);
	case 2:
		return (struct sock_filter)BPF_STMT(
			BPF_MISC | (next_random() % 2 ? BPF_TAX : BPF_TXA), 0);
	case 3:
		return (struct sock_filter)BPF_STMT(next_random() % 2 ? BPF_ST : BPF_STX,
						    next_random() % 4);
	case 4:
		/* The kernel wants to have seen a store: all four are made at the start. */
		return (struct sock_filter)BPF_STMT(
			(next_random() % 2 ? BPF_LD : BPF_LDX) | BPF_MEM, next_random() % 4);
	case 5:
		return (struct sock_filter)BPF_JUMP(
			BPF_JMP | tests[next_random() % COUNT(tests)] | source, k,
			(uint8_t)(next_random() % left), (uint8_t)(next_random() % left));
	case 6:
		return (struct sock_filter)BPF_STMT(
			(next_random() % 2 ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN, 0);
	default:
		op = alu[next_random() % COUNT(alu)];
		if (op == BPF_LSH || op == BPF_RSH)
			k %= 32;
		if (op == BPF_DIV && !k)
			k = 3;
		return (struct sock_filter)BPF_STMT(
			(uint16_t)(BPF_ALU | op | (op == BPF_NEG ? BPF_K : source)), k);
	}
}

/* Answers with 12 bits of what was computed, as an errno. */
static unsigned make_program(struct sock_filter *rows)
{
	unsigned n = 0;

	rows[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	rows[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ASKED, 1, 0);
	rows[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (unsigned i = 0; i < 4; i++)
		rows[n++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
	for (unsigned i = 0; i < BODY; i++)
		rows[n++] = instruction(BODY - i);
	rows[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff);
	rows[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
	rows[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

/* What the kernel says, from a child that has installed the filter: an errno, or 0 if it was
 * killed. */
static long ask_kernel(struct sock_filter *rows, unsigned count, const __u64 *arguments)
{
	struct sock_fprog filter = { (unsigned short)count, rows };
	int pipe_fds[2], status;
	long answer = -1;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
			_exit(77);
		errno = 0;
		if (syscall(ASKED, arguments[0], arguments[1], arguments[2], arguments[3],
			    arguments[4], arguments[5]) != -1)
			errno = 0;
		answer = errno;
		if (write(pipe_fds[1], &answer, sizeof(answer)) < 0)
			_exit(1);
		_exit(0);
	}
	close(pipe_fds[1]);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && read(pipe_fds[0], &answer, sizeof(answer)) != sizeof(answer))
		answer = -1;
	if (WIFSIGNALED(status))
		answer = 0;
	close(pipe_fds[0]);
	return answer;
}

static void answers_as_the_kernel_does(void **context)
{
	struct sock_filter rows[BODY + 16];
	struct seccomp_data call = { .nr = ASKED, .arch = AUDIT_ARCH_X86_64 };
	unsigned killed = 0, different = 0, last = 0;

	(void)context;
	for (unsigned i = 0; i < PROGRAMS; i++) {
		unsigned count = make_program(rows);
		uint32_t ours;
		long theirs;

		for (unsigned k = 0; k < 6; k++)
			call.args[k] = (uint64_t)number_like() << 32 | number_like();
		/* The address of the instruction is not known here: the filter must not ask. */
		for (unsigned k = 0; k < count; k++)
			if (rows[k].code == (BPF_LD | BPF_W | BPF_ABS) &&
			    (rows[k].k == 8 || rows[k].k == 12))
				rows[k].k = 16;
		theirs = ask_kernel(rows, count, call.args);
		if (theirs == -1)
			skip(); /* no filters here */
		ours = bpf_answer(rows, count, &call);
		if (!theirs && ours == SECCOMP_RET_KILL_THREAD) {
			killed++;
			continue;
		}
		assert_int_equal(ours & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
		assert_int_equal(ours & SECCOMP_RET_DATA, theirs);
		different += (unsigned)theirs != last;
		last = (unsigned)theirs;
	}
	assert_in_range(killed, 1, PROGRAMS / 2);
	assert_true(different > PROGRAMS / 4);
}

static void refuses_what_the_kernel_refuses(void **context)
{
	static const struct sock_filter bad[][2] = {
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_LD | BPF_MEM, 16), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 32), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0),
		  BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
		{ BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_LD | BPF_IMM, 1) },
		{ BPF_STMT(BPF_RET | BPF_X, 0), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) },
	};
	struct seccomp_data call = { .nr = ASKED };

	(void)context;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_int_equal(bpf_answer(bad[i], 2, &call), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(bpf_answer(NULL, 0, &call), SECCOMP_RET_KILL_PROCESS);
}

UNIT(bpf)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_as_the_kernel_does),
		cmocka_unit_test(refuses_what_the_kernel_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
