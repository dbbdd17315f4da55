/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* In the place of filtering.c and answering.c, for a program whose commands take no filters and ask
 * no questions: so that args.c does not bring the analyser and its libraries along. */
#include "cli/answering.h"
#include "cli/filtering.h"

const struct command_option *answering_options(const struct answering *a)
{
	return NULL;
}

const struct command_option *filtering_options(void)
{
	return NULL;
}

const struct command_option *filtering_rows(void)
{
	return NULL;
}

void filtering_help(struct buf *out)
{
}
