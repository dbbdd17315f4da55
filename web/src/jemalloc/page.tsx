// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of jemalloc's statistics: one file, one snapshot of it, one part of the page at a time.
// The server's view and the self-contained report both show this, with a source of their own.
//
// Keys of the address: snapshot (its number in the file, from 0; the last one if left out), arena
// ("" is all), part, raw=1, against=FILE:SNAPSHOT for the comparison; sort, scale and curves.
import type { ComponentChildren } from "preact";
import { go, useRoute } from "../app/url";
import { Banner, Empty, Failure, Skeleton } from "../parts/states";
import { AdviceCard } from "./advice";
import { ArenasPage } from "./arenas";
import { SizeClasses } from "./classes";
import { Compare } from "./compare";
import { chosen, type History, type Snapshot, type Source } from "./data";
import { GrowthCard } from "./growth";
import { HugePages } from "./hpa";
import { useLoaded } from "./loaded";
import { shown } from "./shown";
import { nearest, Strip } from "./strip";
import { Definitions, Summary } from "./summary";
import { Configuration, Extents, Mutexes } from "./tables";
import { WaterfallCard } from "./waterfall";

const PARTS = [
	["overview", "Overview"],
	["classes", "Size classes"],
	["arenas", "Arenas"],
	["extents", "Extents"],
	["mutexes", "Mutexes"],
	["hpa", "Huge pages"],
	["configuration", "Configuration"],
	["compare", "Compare"],
	["definitions", "Definitions"],
] as const;
type Part = (typeof PARTS)[number][0];

function NoArena({ arena }: { arena: string }) {
	return (
		<Empty
			title={
				arena
					? `Arena ${arena} is not in this snapshot`
					: "No arena was printed in this snapshot"
			}>
			{arena
				? "Choose another arena, or another snapshot."
				: "malloc_stats_print leaves arenas out with the options a and m; the " +
					"totals are in the overview."}
		</Empty>
	);
}

// The other snapshot of a comparison, FILE:SNAPSHOT; the first of this file unless one was chosen.
function otherOf(
	text: string | undefined,
	source: Source,
	file: string,
	history: History,
	at: number,
): { id: string; number: number } | undefined {
	const [id = "", number = ""] = (text ?? "").split(":");
	if (source.files.some((f) => f.id === id) && /^\d{1,9}$/.test(number))
		return { id, number: Number(number) };
	const first = history.kept.find((n) => n !== at);
	if (first !== undefined) return { id: file, number: first };
	const another = source.files.find((f) => f.id !== file);
	return another && { id: another.id, number: -1 };
}

function ComparePart({
	source,
	file,
	history,
	at,
	snapshot,
	arena,
	raw,
	against,
}: {
	source: Source;
	file: string;
	history: History;
	at: number;
	snapshot: Snapshot;
	arena: string;
	raw: boolean;
	against: string | undefined;
}) {
	const other = otherOf(against, source, file, history, at);
	const theirs = useLoaded(other ? other.id : null, () => source.history(other!.id));
	const kept = theirs.data?.kept ?? [],
		number =
			other &&
			(other.number < 0 ? (kept[kept.length - 1] ?? 0) : nearest(kept, other.number));
	const before = useLoaded(
		other && theirs.fresh && theirs.data && kept.length ? `${other.id}:${number}` : null,
		() => source.snapshot(other!.id, number!),
	);
	if (!other)
		return (
			<Empty title="There is nothing to compare with">
				A second snapshot is needed: a file with several, or another file.
			</Empty>
		);
	const error = theirs.error ?? before.error;
	const choose = (id: string, n: number): void => go({ against: `${id}:${n}` });
	return (
		<>
			<div class="jem-against-choice">
				<span>before:</span>
				{source.files.length > 1 && (
					<select
						aria-label="File of the snapshot before"
						value={other.id}
						onChange={(event) =>
							choose((event.currentTarget as HTMLSelectElement).value, 999999999)
						}>
						{source.files.map((f) => (
							<option key={f.id} value={f.id}>
								{f.name}
							</option>
						))}
					</select>
				)}
				<select
					id="against"
					aria-label="Snapshot before"
					value={String(number)}
					onChange={(event) =>
						choose(other.id, Number((event.currentTarget as HTMLSelectElement).value))
					}>
					{kept.map((n) => (
						<option
							key={n}
							value={String(
								n,
							)}>{`snapshot ${n + 1} of ${theirs.data!.snapshots}`}</option>
					))}
				</select>
				<span>
					{`after: snapshot ${at + 1} of ${history.snapshots}` +
						`${source.files.length > 1 ? ` of ${history.name}` : ""}, the one ` +
						"chosen above"}
				</span>
			</div>
			{error ? (
				<Failure
					what="The other snapshot"
					error={error}
					retry={theirs.error ? theirs.retry : before.retry}
				/>
			) : before.data ? (
				<div
					class={before.fresh ? "jem-part" : "jem-part stale"}
					aria-busy={!before.fresh}
					data-against={before.fresh ? `${other.id}:${number}` : ""}>
					<Compare
						before={before.data}
						after={snapshot}
						arena={arena}
						show={shown(raw)}
					/>
				</div>
			) : (
				<Skeleton />
			)}
		</>
	);
}

function PartOf({
	part,
	history,
	snapshot,
	arena,
	raw,
}: {
	part: Part;
	history: History;
	snapshot: Snapshot;
	arena: string;
	raw: boolean;
}) {
	const one = chosen(snapshot, arena),
		show = shown(raw);
	const choose = (name: string): void =>
		go({ arena: name === "merged" ? "" : name, part: "classes" });
	switch (part) {
		case "classes":
			return one ? <SizeClasses arena={one} show={show} /> : <NoArena arena={arena} />;
		case "arenas":
			return <ArenasPage snapshot={snapshot} show={show} onChoose={choose} />;
		case "extents":
			return one ? <Extents arena={one} show={show} /> : <NoArena arena={arena} />;
		case "mutexes":
			return <Mutexes snapshot={snapshot} arena={one} show={show} />;
		case "hpa":
			return one ? <HugePages arena={one} show={show} /> : <NoArena arena={arena} />;
		case "configuration":
			return <Configuration snapshot={snapshot} />;
		case "definitions":
			return <Definitions />;
		default:
			return (
				<>
					<Summary snapshot={snapshot} arena={one} all={!arena} show={show} />
					{one ? (
						<WaterfallCard arena={one} show={show} />
					) : (
						arena && <NoArena arena={arena} />
					)}
					<AdviceCard snapshot={snapshot} />
					{history.growth && <GrowthCard growth={history.growth} show={show} />}
					{snapshot.corrections.length > 0 && (
						<p class="dim" id="corrections">
							{"About this snapshot: " + `${snapshot.corrections.join("; ")}.`}
						</p>
					)}
				</>
			);
	}
}

export function Statistics({
	source,
	file,
	files,
}: {
	source: Source;
	file: string;
	files?: ComponentChildren;
}) {
	const { parameters } = useRoute();
	const version = source.files.find((f) => f.id === file)?.version ?? 0;
	const history = useLoaded(`${file}@${version}`, () => source.history(file));
	const kept = history.data?.kept ?? [],
		wanted = parameters["snapshot"];
	const at =
		wanted !== undefined && /^\d{1,9}$/.test(wanted)
			? nearest(kept, Number(wanted))
			: (kept[kept.length - 1] ?? 0);
	const snapshot = useLoaded(
		history.data && history.fresh && kept.length ? `${file}@${version}:${at}` : null,
		() => source.snapshot(file, at),
	);
	const part = PARTS.find(([key]) => key === parameters["part"])?.[0] ?? "overview";
	const arena = parameters["arena"] ?? "",
		raw = parameters["raw"] === "1",
		against = parameters["against"];
	if (history.error)
		return <Failure what="This file" error={history.error} retry={history.retry} />;
	if (!history.data) return <Skeleton />;
	const mine =
		part === "compare" && against?.startsWith(`${file}:`)
			? nearest(kept, Number(against.slice(file.length + 1)))
			: undefined;
	return (
		<>
			{history.data.problems.map((text) => (
				<Banner key={text}>{text}</Banner>
			))}
			<Strip
				history={history.data}
				snapshot={snapshot.data}
				at={at}
				against={mine}
				arena={arena}
				raw={raw}
				files={files}
				onSnapshot={(n, replace) => go({ snapshot: String(n) }, replace)}
				onChange={(change) => go(change)}
			/>
			<nav class="jem-parts" aria-label="Parts of the statistics">
				{PARTS.map(([key, label]) => (
					<button
						type="button"
						key={key}
						aria-current={key === part ? "page" : undefined}
						onClick={() => go({ part: key === "overview" ? "" : key })}>
						{label}
					</button>
				))}
			</nav>
			{snapshot.error ? (
				<Failure what="This snapshot" error={snapshot.error} retry={snapshot.retry} />
			) : !snapshot.data ? (
				<Skeleton />
			) : (
				<div
					class={snapshot.fresh ? "jem-part" : "jem-part stale"}
					data-part={part}
					data-snapshot={snapshot.fresh ? at : ""}
					aria-busy={!snapshot.fresh}>
					{part === "compare" ? (
						<ComparePart
							source={source}
							file={file}
							history={history.data}
							at={at}
							snapshot={snapshot.data}
							arena={arena}
							raw={raw}
							against={against}
						/>
					) : (
						<PartOf
							part={part}
							history={history.data}
							snapshot={snapshot.data}
							arena={arena}
							raw={raw}
						/>
					)}
				</div>
			)}
		</>
	);
}
