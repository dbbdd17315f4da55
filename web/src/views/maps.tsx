// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory maps: who made each, how long it was there, and how much of it was resident.  The
// question, the range and the moment choose among them as they do among allocations; the fields
// above the list are what only maps can be asked for.  Rows are drawn as they come into view,
// however many there are; one that is opened shows its curve, its parts and its stacks above them.
import { useCallback } from "preact/hooks";
import type { MapsQuery } from "../app/endpoints";
import { nsToSeconds, seconds, time, useAsked } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, threadTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import {
	chosen,
	FLAGS,
	kindOf,
	lifetime,
	PAGE,
	permissions,
	shownName,
	SIZES,
	type MemoryMap,
	type Maps,
} from "../parts/memory_maps";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Share, Spark, Two } from "../parts/spark";
import { Chain, Stack, stackHeight, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, duration, percent, plural } from "../parts/units";
import "../style/maps.css";
import { ROW, useOpen, When } from "./allocation_parts";
import { MapDetails } from "./map_details";
import { mapItems, placeOf } from "./map_parts";
import type { ViewProps } from "./views";

type Sort = NonNullable<MapsQuery["sort_by"]>;

const WORDS: Record<(typeof FLAGS)[number] | (typeof SIZES)[number], string> = {
	readable: "readable",
	writable: "writable",
	executable: "executable",
	shared: "shared",
	jemalloc: "jemalloc’s",
	memoir: "the recorder’s own",
	peak_rss_min: "most resident, at least",
	peak_rss_max: "most resident, at most",
};

/* What only maps can be asked for. */
function Fields() {
	const { parameters } = useRoute();
	const text = (key: string, label: string, placeholder: string) => (
		<label class={parameters[key] ? "map-field set" : "map-field"} key={key}>
			<span>{label}</span>
			<input
				class="field"
				type="text"
				spellcheck={false}
				name={key}
				value={parameters[key] ?? ""}
				placeholder={placeholder}
				onChange={(event) => go({ [key]: event.currentTarget.value.trim() })}
			/>
		</label>
	);
	const set = ["name", "holds", ...SIZES, ...FLAGS].filter((key) => parameters[key]);
	return (
		<form
			class="map-fields"
			aria-label="Which maps"
			onSubmit={(event) => {
				event.preventDefault();
				(document.activeElement as HTMLElement | null)?.blur();
			}}>
			{text("name", "name contains", "libc.so, [heap] …")}
			{text("holds", "holds the address", "0x7f…")}
			{SIZES.map((key) => text(key, WORDS[key], "1M"))}
			{FLAGS.map((key) => (
				<label class={parameters[key] ? "map-field set" : "map-field"} key={key}>
					<span>{WORDS[key]}</span>
					<select
						class="field"
						name={key}
						value={parameters[key] ?? ""}
						onChange={(event) => go({ [key]: event.currentTarget.value })}>
						<option value="">any</option>
						<option value="only_true">only</option>
						<option value="only_false">not</option>
					</select>
				</label>
			))}
			{set.length > 0 && (
				<button
					type="button"
					class="button"
					onClick={() => go(Object.fromEntries(set.map((key) => [key, ""])))}>
					Any map
				</button>
			)}
			{/* Enter in a field sends it. */}
			<button type="submit" class="hidden" tabIndex={-1}>
				Ask
			</button>
		</form>
	);
}

const detailsOf = (m: MemoryMap): string => href({}, { map: String(m.id), unfold: "" });

const columns = (at: string | undefined): Column<MemoryMap, Sort>[] => [
	{
		key: "name",
		label: "map",
		title: "Its name, and who mapped it",
		width: "minmax(200px, 2fr)",
		sort: true,
		ascending: true,
		text: (m) =>
			[m.name || "anonymous", m.source && stackText(m.source.backtrace ?? [])]
				.filter(Boolean)
				.join(" ← ")
				.replaceAll("\n", " ← "),
		cell: (m) => (
			<>
				<span class="who" title={`${m.name}\n${kindOf(m.name)}`}>
					<a href={detailsOf(m)}>
						<strong>{shownName(m.name)}</strong>
					</a>
					<span class="place">{kindOf(m.name).split(",")[0]}</span>
				</span>
				<span class="who-below">
					{m.source ? (
						<>
							{m.source.call} in <Chain frames={m.source.backtrace ?? []} />
						</>
					) : (
						"seen from outside"
					)}
				</span>
			</>
		),
	},
	{
		key: "timestamp",
		label: "since",
		title: "When it was mapped: after the start, and how far into the run",
		width: "minmax(72px, 0.3fr)",
		number: true,
		sort: true,
		ascending: true,
		text: (m) => String(seconds(m.timestamp_relative)),
		cell: (m) => (
			<When
				at={m.timestamp_relative}
				part={m.timestamp_relative_p}
				to={href(
					{},
					{
						at: nsToSeconds(
							m.timestamp_relative.secs * 1e9 + m.timestamp_relative.fract_nsecs,
						),
					},
				)}
			/>
		),
	},
	{
		key: "lifetime",
		label: "lived",
		title: "From its first page to its last",
		width: "minmax(72px, 0.3fr)",
		number: true,
		sort: true,
		text: (m) => String(lifetime(m) ?? ""),
		cell: (m) => {
			const life = lifetime(m);
			return life === undefined ? (
				<Two below={<a href={adding("leaked")}>stayed</a>}>
					<span title="until the end of the recording">∞</span>
				</Two>
			) : (
				<Two below={m.deallocation?.source?.call ?? "gone"}>{duration(life)}</Two>
			);
		},
	},
	{
		key: "size",
		label: "size",
		title: "The most of addresses that it had, and in pages of 4 KiB",
		width: "minmax(84px, 0.3fr)",
		number: true,
		sort: true,
		text: (m) => String(m.size),
		cell: (m) => (
			<Two below={plural(Math.ceil(m.size / PAGE), "page")}>
				<Bytes value={m.size} />
			</Two>
		),
	},
	{
		key: "spark",
		label: "over the run",
		group: "resident",
		width: "minmax(80px, 1fr)",
		cell: (m) => (
			<Spark
				values={m.peak_rss ? m.spark : undefined}
				label={`what of ${shownName(m.name)} was resident over the run`}
			/>
		),
	},
	{
		key: "rss",
		label: at ? "then" : "at the end",
		group: "resident",
		title: at ? "What of it was resident at the moment" : "What of it was resident at the end",
		width: "minmax(84px, 0.3fr)",
		number: true,
		sort: true,
		text: (m) => String(m.rss),
		cell: (m) =>
			m.rss ? (
				<Share part={m.rss} whole={m.size}>
					<Bytes value={m.rss} />
				</Share>
			) : (
				<span class="dim">–</span>
			),
	},
	{
		key: "peak_rss",
		label: "most",
		group: "resident",
		title: "The most of it that was resident, and its part of the size",
		width: "minmax(84px, 0.3fr)",
		number: true,
		sort: true,
		text: (m) => String(m.peak_rss),
		cell: (m) =>
			m.peak_rss ? (
				<Two below={percent(m.peak_rss, m.size)}>
					<Bytes value={m.peak_rss} />
				</Two>
			) : (
				<span class="dim" title="Nobody saw a page of it in memory">
					–
				</span>
			),
	},
	{
		key: "permissions",
		label: "perms",
		title: "May be read, written, executed; shared or private",
		width: "56px",
		text: permissions,
		cell: (m) => <code>{permissions(m)}</code>,
	},
	{
		key: "thread",
		label: "thread",
		title: "Which mapped it",
		width: "minmax(64px, 0.2fr)",
		sort: true,
		ascending: true,
		number: true,
		text: (m) => String(m.source?.thread ?? ""),
		cell: (m) =>
			m.source ? (
				<a class="number" href={adding(threadTerm(m.source.thread))}>
					{m.source.thread}
				</a>
			) : (
				<span class="dim">–</span>
			),
	},
	{
		key: "address",
		label: "address",
		width: "minmax(116px, 0.4fr)",
		sort: true,
		ascending: true,
		text: (m) => `0x${m.address.toString(16)}`,
		cell: (m) => (
			<a class="mono" href={placeOf(m)} title="In the address space">
				{m.address.toString(16)}
			</a>
		),
	},
];

export function MapsView({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const sort = parameters["sort"] || "-peak_rss";
	const full = parameters["full"] === "1";
	const at = time(parameters["at"]);
	const { map } = parameters;
	const unfolded = useOpen("unfold");
	const pages = usePages(
		id,
		"/data/{id}/maps",
		{ ...asked, ...chosen(parameters), at, alive_at: at, spark: 48, ...sortedBy<Sort>(sort) },
		(answer: Maps) => ({ rows: answer.maps, count: answer.total_count }),
		50,
	);
	const data = pages.answer.data;
	const detail = useCallback(
		(m: MemoryMap) => {
			if (!full) return undefined;
			const stacks = [
				["Mapped at", m.source?.backtrace],
				["Unmapped at", m.deallocation?.source?.backtrace],
			].filter((s): s is [string, NonNullable<MemoryMap["source"]>["backtrace"] & object] =>
				Boolean(s[1]),
			);
			if (!stacks.length) return undefined;
			return {
				height: Math.max(
					...stacks.map(([, frames]) => stackHeight(frames, unfolded.has(m.id), true)),
				),
				content: (
					<div class="stacks">
						{stacks.map(([title, frames]) => (
							<Stack
								key={title}
								title={title}
								frames={frames}
								all={unfolded.has(m.id)}
								onAll={() => unfolded.toggle(m.id)}
							/>
						))}
					</div>
				),
			};
		},
		[full, parameters["unfold"]],
	);
	return (
		<>
			{map && <MapDetails key={map} id={id} map={map} />}
			<Card
				name="maps"
				title="Memory maps"
				said={
					data &&
					`${plural(pages.count, "map")}, ${bytes(data.total_size)} of addresses, ` +
						`${bytes(data.total_rss)} of them resident ` +
						(parameters["at"]
							? `at ${duration(Number(parameters["at"]))}`
							: "at the end")
				}
				tools={
					<Choice
						label="Stacks"
						value={full ? "full" : "short"}
						options={[
							["short", "short stacks"],
							["full", "full"],
						]}
						onChange={(value) => go({ full: value === "full" ? "1" : "" })}
					/>
				}>
				<Fields />
				<Answered what="The memory maps" answer={pages.answer} lines={12}>
					{() =>
						pages.count === 0 ? (
							<Nothing title="No memory map matches">
								The recording holds no memory maps, or what is asked for above
								leaves none: the program ended before anybody looked at them, or
								MEMORY_PROFILER_GATHER_MAPS was 0.
							</Nothing>
						) : (
							<Table
								label="Memory maps"
								columns={columns(at)}
								{...pages.rows}
								subject={`${pages.subject} ${full}`}
								rowHeight={ROW}
								sort={sort}
								onSort={(next) => go({ sort: next })}
								nouns={pages.count === 1 ? "map" : "maps"}
								detail={detail}
								onOpen={(m) => go({ map: String(m.id), unfold: "" })}
								onMenu={(m, _, x, y) =>
									openMenu(x, y, `${shownName(m.name)}, ${bytes(m.size)}`, [
										{
											label: "Its curve, parts and stacks",
											href: detailsOf(m),
										},
										...mapItems(m),
									])
								}
							/>
						)
					}
				</Answered>
			</Card>
		</>
	);
}
