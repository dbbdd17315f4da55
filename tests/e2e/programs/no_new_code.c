/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Executes a program that may not make memory both writable and executable, nor executable later:
 * what systemd calls MemoryDenyWriteExecute.  Arguments: NAME=VALUE for its environment; the
 * program. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "say.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_NOT(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define HAS_BITS(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skipped)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		IF_NOT(SYS_mprotect, 3),
		LOAD(args[2]),
		HAS_BITS(PROT_EXEC, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (argc < 3 || putenv(argv[1]) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("no filter");
	execv(argv[2], argv + 2);
	fail("not executed");
}
