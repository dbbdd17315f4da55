// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page calls a recorded program.
import type { Recording } from "./recordings";

/* As it was called: one file may be many programs (busybox), or what a link leads to. */
export const programName = (
	r: Pick<Recording, "cmdline" | "executable" | "heap" | "name">,
): string =>
	[/^-?([^\s'"]+)(?=\s|$)/.exec(r.cmdline ?? "")?.[1], r.executable, r.heap?.program]
		.find(Boolean)
		?.split("/")
		.pop() || r.name;
