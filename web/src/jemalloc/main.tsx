// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the self-contained report starts (memoir jemalloc report): it shows the files that stand in
// it.  docs/jemalloc.md says what the element "data" holds.
import { render } from "preact";
import { startTheme, toggleTheme } from "../app/theme";
import { go, goTo, useRoute } from "../app/url";
import { Choice } from "../parts/card";
import { Empty } from "../parts/states";
import type { History, Snapshot, Source } from "./data";
import { Statistics } from "./page";
import "../style/tokens.css";
import "../style/base.css";
import "../style/parts.css";
import "../style/jemalloc.css";

interface Embedded {
	readonly made_by: string;
	readonly files: readonly (History & { readonly documents: readonly Snapshot[] })[];
}

const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as Embedded | null;
const files = data?.files ?? [];
const source: Source = {
	files: files.map((f, i) => ({ id: String(i), name: f.name })),
	history: async (id) => files[Number(id)]!,
	snapshot: async (id, n) => files[Number(id)]!.documents[files[Number(id)]!.kept.indexOf(n)]!,
};

function Report() {
	const { parameters } = useRoute();
	const wanted = parameters["file"] ?? "0",
		file = files[Number(wanted)] ? wanted : "0";
	return (
		<main class="main jem-report">
			<header class="jem-report-head">
				<h1>jemalloc statistics</h1>
				<span class="dim">
					This file shows what was put into it; to look at another, drop it into the page
					of <code>memoir server</code>, which can read it.
				</span>
				<Choice
					label="Units of sizes"
					value={parameters["units"] === "decimal" ? "decimal" : "binary"}
					options={[
						["binary", "KiB"],
						["decimal", "kB"],
					]}
					onChange={(units) => go({ units: units === "decimal" ? units : "" })}
				/>
				<button
					type="button"
					class="button"
					aria-label="Light or dark"
					onClick={toggleTheme}>
					◐
				</button>
			</header>
			{files.length === 0 ? (
				<Empty title="There is nothing in this page">
					memoir jemalloc report FILE -o page.html makes one with statistics.
				</Empty>
			) : (
				<Statistics
					key={file}
					source={source}
					file={file}
					files={
						files.length > 1 && (
							<label class="jem-choose">
								file{" "}
								<select
									id="file"
									value={file}
									onChange={(event) =>
										go({
											file: (event.currentTarget as HTMLSelectElement).value,
											snapshot: "",
											arena: "",
										})
									}>
									{source.files.map((f) => (
										<option key={f.id} value={f.id}>
											{f.name}
										</option>
									))}
								</select>
							</label>
						)
					}
				/>
			)}
		</main>
	);
}

startTheme();
if (!location.hash) goTo("#/statistics", true);
render(<Report />, document.getElementById("app")!);
