// SPDX-License-Identifier: MIT OR Apache-2.0
// jemalloc's statistics, of the files that the server has open; one that is dropped or chosen is
// sent to it, since the server is who reads them.
import { ask } from "../app/api";
import { dataUrl, find, useRecordings, type Recording } from "../app/recordings";
import { goTo, href, useRoute } from "../app/url";
import type { History, Snapshot, Source } from "../jemalloc/data";
import { Statistics } from "../jemalloc/page";
import { Card } from "../parts/card";
import { Empty, Failure, Skeleton } from "../parts/states";
import { percent } from "../parts/units";
import { Drop } from "./recordings";
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

function Nothing({ choose }: { choose: () => void }) {
	return (
		<Card
			title="Statistics"
			name="no-statistics"
			tools={
				<button type="button" class="button primary" onClick={choose}>
					Open a file…
				</button>
			}>
			<Empty title="Drop a file of jemalloc's statistics here, or choose one">
				It is what <code>malloc_stats_print</code> writes, text or JSON, also inside a log:
				run the program with <code>MALLOC_CONF=stats_print:true</code>, or record one with{" "}
				<code>memoir jemalloc record</code>.
			</Empty>
		</Card>
	);
}

function One({
	list,
	recording,
	choose,
}: {
	list: readonly Recording[];
	recording: Recording;
	choose: () => void;
}) {
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
	const { id } = useRoute();
	const { list, error } = useRecordings();
	const asked = id ? find(id) : undefined;
	/* Coming from a recording, or from nowhere: the file that was opened last. */
	const recording =
		asked?.kind === "statistics"
			? asked
			: id && !asked
				? undefined
				: list?.filter((r) => r.kind === "statistics").at(-1);
	return (
		<Drop>
			{(choose) =>
				!list ? (
					error ? (
						<Failure
							what="The list of files"
							error={error}
							retry={() => location.reload()}
						/>
					) : (
						<Skeleton />
					)
				) : recording ? (
					<One list={list} recording={recording} choose={choose} />
				) : id && !asked ? (
					<Card title="Statistics">
						<Empty title="The server does not have this file">
							It may have been started with other files.{" "}
							<a class="link" href={href({ view: "statistics", id: "" })}>
								Those it has
							</a>
						</Empty>
					</Card>
				) : (
					<Nothing choose={choose} />
				)
			}
		</Drop>
	);
}
