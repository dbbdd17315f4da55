// SPDX-License-Identifier: MIT OR Apache-2.0
// A heap profile: who holds the memory that jemalloc (or gperftools) sampled, as a flame graph and
// as a table, of one dump or of the difference of two.  heap/data.ts says what is in the address.
import { useApi } from "../app/api";
import { dataUrl, useData, type Recording } from "../app/recordings";
import { goTo, href, useRoute } from "../app/url";
import { asked as askedOf, programOf, usable, type Facts } from "../heap/data";
import { HeapDownloads } from "../heap/downloads";
import { HeapFunctions } from "../heap/functions";
import { HeapGraph } from "../heap/graph";
import { Question } from "../heap/question";
import { Card } from "../parts/card";
import type { FlameAnswer } from "../parts/flame/tree";
import { Banner, Empty, Skeleton } from "../parts/states";
import { bytes, date, middle, percent, plural } from "../parts/units";
import { OneFileView, type OneFile } from "./one_file";
import "../style/heap.css";

function Invitation() {
	return (
		<Empty title="Drop a heap profile here, or choose one">
			It is what jemalloc's profiler writes (
			<code>MALLOC_CONF=prof:true,prof_final:true</code>, or <code>memoir run --agent</code>{" "}
			and <code>memoir jemalloc ctl</code>), or gperftools' heap profiler.
		</Empty>
	);
}

/* Which file, what it is of, and what is asked about it. */
function Head({
	list,
	recording,
	facts,
	choose,
	children,
}: {
	list: readonly Recording[];
	recording: Recording;
	facts: Facts | undefined;
	choose: () => void;
	children?: preact.ComponentChildren;
}) {
	const { parameters } = useRoute();
	const all = list.filter((r) => r.kind === "heap");
	const said =
		recording.state === "loading"
			? `being read: ${percent(recording.progress, 1)}`
			: facts && (
					<span title={facts.program}>
						{[
							programOf(recording),
							facts.growth ? "how the heap grew" : "",
							plural(facts.stacks, "stack"),
							facts.threads.length > 1 ? plural(facts.threads.length, "thread") : "",
							facts.changed_at ? date(facts.changed_at) : "",
							`file ${bytes(recording.file_size)}`,
						]
							.filter(Boolean)
							.join(" · ")}
					</span>
				);
	return (
		<Card
			title={middle(recording.name, 60)}
			name="heap"
			said={said}
			tools={
				<>
					{all.length > 1 && (
						<label class="dim">
							file{" "}
							<select
								class="field auto"
								id="file"
								value={recording.id}
								onChange={(event) =>
									goTo(
										href(
											{ view: "heap", id: event.currentTarget.value },
											{
												...parameters,
												zoom: "",
												thread: "",
												base:
													parameters["base"] === event.currentTarget.value
														? ""
														: (parameters["base"] ?? ""),
											},
										),
									)
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
				</>
			}>
			{children}
		</Card>
	);
}

function Profile({
	list,
	recording,
	choose,
}: {
	list: readonly Recording[];
	recording: Recording;
	choose: () => void;
}) {
	const { parameters } = useRoute();
	const asked = askedOf(parameters),
		{ id } = recording;
	const facts = useData<Facts>(dataUrl(id, "/dumps/{id}/facts", {}));
	const api = useApi();
	const flame = useData<FlameAnswer>(
		dataUrl(id, "/dumps/{id}/flame", {
			...asked.query,
			direction: asked.shape === "up" ? "up" : undefined,
			threads: asked.shape === "thread" || undefined,
		}),
	);
	const reports = api.data?.heap_reports ?? [];
	const [warning, ...more] = recording.warnings;
	return (
		<>
			<Head list={list} recording={recording} facts={facts.data} choose={choose}>
				<Question id={id} facts={facts.data} asked={asked} error={flame.error} />
			</Head>
			{warning && (
				<Banner>
					{warning.text}
					{warning.modules && (
						<span class="dim">
							{" "}
							{warning.modules.slice(0, 4).join(", ")}
							{warning.modules.length > 4
								? ` and ${warning.modules.length - 4} more`
								: ""}
						</span>
					)}
					{more.map((w) => (
						<span key={w.kind} title={w.modules?.join("\n")}>
							{" "}
							{w.text}
						</span>
					))}
				</Banner>
			)}
			<HeapGraph id={id} asked={asked} facts={facts.data} answer={flame} reports={reports} />
			<HeapFunctions id={id} asked={asked} reports={reports} />
			<HeapDownloads
				recording={recording}
				asked={asked}
				reports={reports}
				regex={parameters["focus"]}
			/>
		</>
	);
}

function One({ list, recording, choose }: OneFile) {
	if (usable(recording))
		return <Profile key={recording.id} list={list} recording={recording} choose={choose} />;
	return (
		<Head list={list} recording={recording} facts={undefined} choose={choose}>
			{recording.state === "error" ? (
				<div class="failure" role="alert">
					<p>
						<strong>{recording.name} cannot be shown:</strong> {recording.error}
					</p>
				</div>
			) : (
				<Skeleton />
			)}
		</Head>
	);
}

export function HeapView() {
	return (
		<OneFileView
			kind="heap"
			title="Heap profile"
			invitation={<Invitation />}
			show={(file) => <One {...file} />}
		/>
	);
}
