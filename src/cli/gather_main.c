/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir-gather: `memoir gather` alone, for machines that only receive.  It needs nothing but libc.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/harmless.h"
#include "cli/args.h"
#include "cli/command.h"

extern const struct command command_gather;

int main(int argc, char **argv)
{
	auto_buf struct buf out = { 0 };
	int status = 0;

	harmless_streams();
	argc -= argc > 0;
	argv++;
	if (argc == 1 && (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V"))) {
		puts("memoir-gather " MEMOIR_VERSION);
		return 0;
	}
	switch (args_parse(&command_gather, &argc, &argv, &out)) {
	case ARGS_HELP:
		args_help(&command_gather, &out);
		/* "memoir gather …": by the name that it has here. */
		out.data[strlen("memoir")] = '-';
		status = buf_flush(&out, 1) ? 1 : 0;
		break;
	case ARGS_WRONG:
		fprintf(stderr, "memoir-gather: %s (memoir-gather --help says more)\n", out.data);
		status = 2;
		break;
	case ARGS_RUN:
		status = command_gather.run(argc, argv);
		break;
	}
	return status;
}
