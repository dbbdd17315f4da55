// SPDX-License-Identifier: MIT OR Apache-2.0
// jemalloc's statistics, of the files that the server has open; one that is dropped or chosen is
// sent to it, since the server is who reads them.
import { ask } from "../app/api";
import { dataUrl, type Recording } from "../app/recordings";
import { goTo, href } from "../app/url";
import type { History, Snapshot, Source } from "../jemalloc/data";
import { Statistics } from "../jemalloc/page";
import { Card } from "../parts/card";
import { Empty, Skeleton } from "../parts/states";
import { percent } from "../parts/units";
import { OneFileView, type OneFile } from "./one_file";
import "../style/jemalloc.css";

const usable = (r: Recording): boolean =>
	r.kind === "statistics" && (r.state === "ready" || r.state === "live");

function sourceOf(list: readonly Recording[]): Source {
	return {
		files: list.filter(usable).map((r) => ({ id: r.id, name: r.name, version: r.version })),
		history: (id) => ask<History>(dataUrl(id, "/data/{id}/statistics", {})).answer,
		snapshot: (id, number) =>
			ask<Snapshot>(dataUrl(id, "/data/{id}/statistics/{number}", {}, { number })).answer,
	};
}

function Invitation() {
	return (
		<Empty title="Drop a file of jemalloc's statistics here, or choose one">
			It is what <code>malloc_stats_print</code> writes, text or JSON, also inside a log: run
			the program with <code>MALLOC_CONF=stats_print:true</code>, or record one with{" "}
			<code>memoir jemalloc record</code>.
		</Empty>
	);
}

function One({ list, recording, choose }: OneFile) {
	const all = list.filter((r) => r.kind === "statistics");
	const tools = (
		<>
			{all.length > 1 && (
				<label class="jem-choose">
					file{" "}
					<select
						id="file"
						value={recording.id}
						onChange={(event) =>
							goTo(href({ view: "statistics", id: event.currentTarget.value }))
						}>
						{all.map((r) => (
							<option key={r.id} value={r.id}>
								{r.name}
							</option>
						))}
					</select>
				</label>
			)}
			<button type="button" class="button" onClick={choose}>
				Open a file…
			</button>
			{usable(recording) && (
				<a
					class="button"
					href={`/data/${recording.id}/statistics_report`}
					download
					title="One file that needs no server">
					Save as a page
				</a>
			)}
		</>
	);
	if (recording.state === "loading")
		return (
			<Card
				title={recording.name}
				said={`being read: ${percent(recording.progress, 1)}`}
				tools={tools}>
				<Skeleton />
			</Card>
		);
	if (recording.state === "error") {
		return (
			<Card title={recording.name} name="broken" tools={tools}>
				<div class="failure" role="alert">
					<p>
						<strong>{recording.name} cannot be shown:</strong> {recording.error}
					</p>
				</div>
			</Card>
		);
	}
	return (
		<Statistics key={recording.id} source={sourceOf(list)} file={recording.id} files={tools} />
	);
}

export function StatisticsView() {
	return (
		<OneFileView
			kind="statistics"
			title="Statistics"
			invitation={<Invitation />}
			show={(file) => <One {...file} />}
		/>
	);
}
