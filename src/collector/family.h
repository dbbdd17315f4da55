/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Recordings that belong together: their names, and how their collectors report to a launcher.
 *
 * A collector in a session writes lines to the launcher's pipe (`memoir run`), which reads them
 * while it waits:
 *	S <tab> pid <tab> collector <tab> path		a recording begins
 *	E <tab> pid <tab> events <tab> bytes <tab> reason <tab> path <tab> program
 *							it ended; program: what the process became
 *	U <tab> pid <tab> answer <tab> machine <tab> path
 *							started by pid, or what it became: a program
 *							that cannot be recorded (wire/loadable.h)
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "recording/writer.h"
#include "wire/shm.h"

#define FAMILY_LINE 4096 /* what a pipe takes in one piece */

/* The pattern that a recording is named by: options.output, with a name added where it is a folder
 * (which is made), and with the pid added where a child's would be its parent's. */
bool family_pattern(const struct shm_control *control, pid_t target, char *out, size_t size);
/* Opens the launcher's pipe; -1 if there is none. */
int family_session(const struct shm_control *control);
void family_report_start(int session, pid_t target, const char *path);
/* Programs that were started without the recorder. */
void family_report_unrecorded(int session, const struct shm_control *control);
void family_report_end(int session, pid_t target, const struct recording *r, const char *reason,
		       const char *became);
