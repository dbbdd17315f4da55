// SPDX-License-Identifier: MIT OR Apache-2.0
// Where functions have no names and that matters: which modules, the packages that have the names,
// and a button that lets the server ask debuginfod.  Above every view of a recording; this browser
// remembers that it was closed.
import { useState } from "preact/hooks";
import { send, url } from "../app/api";
import { keep, useKept } from "../app/kept";
import { dataUrl, refresh, useData, type Recording } from "../app/recordings";
import { copy } from "./clipboard";
import { Banner } from "./states";
import { percent } from "./units";

interface Missing {
	modules: { name: string; share: number; matters: boolean; package: string | null }[];
	packages: string | null;
	debuginfod: { asked: boolean; problem: string | null; suggested: string };
}
const NAMED = 3;

export function MissingNames({ recording }: { recording: Recording }) {
	const { id } = recording,
		key = `names-${id}`;
	const closed = useKept(key) === "closed";
	const missing = useData<Missing>(closed ? null : dataUrl(id, "/data/{id}/missing_names", {}), {
		later: true,
	});
	const [wrong, setWrong] = useState("");
	const matter = missing.data?.modules.filter((m) => m.matters) ?? [];
	/* What is below shall not move when the answer comes. */
	if (!closed && !missing.data && !missing.error)
		return recording.warnings?.some((w) => w.kind === "no_symbols") ? (
			<div class="names-room" />
		) : null;
	if (closed || !missing.data || !matter.length) return null;
	const { packages, debuginfod } = missing.data,
		looking = recording.naming_progress;
	const look = async (): Promise<void> => {
		setWrong("");
		try {
			await send(url("/data/{id}/find_names", { id }), { method: "POST" });
		} catch (error) {
			setWrong(error instanceof Error ? error.message : String(error));
		}
		await refresh();
	};
	return (
		<Banner>
			<div class="names">
				<div class="grow">
					Names of functions are missing in{" "}
					{matter.slice(0, NAMED).map((m, i) => (
						<span key={m.name}>
							{i > 0 && ", "}
							<strong>{m.name}</strong>{" "}
							<span class="dim">
								({percent(m.share, 1)}
								{i ? "" : " of the memory"})
							</span>
						</span>
					))}
					{matter.length > NAMED && ` and ${matter.length - NAMED} more`}.{" "}
					{packages && (
						<>
							{matter.every((m) => m.package)
								? "Install"
								: "For some of them install"}{" "}
							<button
								type="button"
								class="button quiet names-packages"
								title="Copy the names of the packages"
								onClick={() => void copy(packages, "Packages")}>
								<code>{packages}</code>
							</button>{" "}
						</>
					)}
					{debuginfod.asked ? (
						<span class="dim">The debuginfod servers have none for them.</span>
					) : (
						debuginfod.problem && (
							<span
								class="dim"
								title={`DEBUGINFOD_URLS=${debuginfod.suggested} memoir server …`}>
								{packages ? "or start" : "Start"} the server with DEBUGINFOD_URLS
								set, and fetch them here.
							</span>
						)
					)}
					{!packages && debuginfod.asked && (
						<span class="dim"> memoir server -d PATH names files with symbols.</span>
					)}
					{wrong && (
						<span class="bad" role="alert">
							{" "}
							{wrong}
						</span>
					)}
				</div>
				{looking !== undefined ? (
					<span class="names-looking" role="status">
						Looking for names{" "}
						<progress max={1} value={looking} aria-label="Looking for names" />
					</span>
				) : (
					!debuginfod.asked &&
					!debuginfod.problem && (
						<button type="button" class="button" onClick={() => void look()}>
							Fetch from debuginfod
						</button>
					)
				)}
				<button
					type="button"
					class="button quiet"
					aria-label="Close the note on missing names"
					title="Close; this browser remembers it for this recording"
					onClick={() => keep(key, "closed")}>
					×
				</button>
			</div>
		</Banner>
	);
}
