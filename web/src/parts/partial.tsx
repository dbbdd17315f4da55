// SPDX-License-Identifier: MIT OR Apache-2.0
// What a view cannot show, because the recording does not hold it: above every view but the
// overview, which tells all of it.
import type { Recording } from "../app/recordings";
import { href } from "../app/url";
import { Banner } from "./states";
import { plural } from "./units";

const NAMED = 4;

export function Partial({ recording }: { recording: Recording }) {
	/* That it is still being written is said in the left column, missing names by MissingNames. */
	const [first, ...more] = (recording.warnings ?? []).filter(
		(w) => w.kind !== "live" && w.kind !== "no_symbols",
	);
	if (!first) return null;
	const modules = first.modules ?? [];
	return (
		<Banner>
			{first.text}
			{modules.length > 0 && (
				<span class="dim">
					{" "}
					{modules.slice(0, NAMED).join(", ")}
					{modules.length > NAMED ? ` and ${modules.length - NAMED} more` : ""}
				</span>
			)}
			{more.length > 0 && (
				<>
					{" "}
					<a class="link" href={href({ view: "overview" })}>
						{plural(more.length, "more warning")}
					</a>
				</>
			)}
		</Banner>
	);
}
