/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sandbox strict|filter: gives up system calls and goes on allocating.  strict: any call but read,
 * write and exit kills; filter: all others fail with EPERM. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "say.h"

static NOINLINE void allocate(int count)
{
	for (int i = 0; i < count; i++)
		free(HIDE(malloc((size_t)i % 100 + 1)));
}

int main(int argc, char **argv)
{
	int strict = argc > 1 && !strcmp(argv[1], "strict");
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(rows) / sizeof(rows[0]), rows };

	allocate(1000);
	if (strict) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			fail("seccomp");
	} else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		fail("seccomp");
	}
	allocate(strict ? 1000 : 200000);
	say("done\n");
	syscall(SYS_exit, 4);
	return 99;
}
