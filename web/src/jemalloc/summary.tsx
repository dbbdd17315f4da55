// SPDX-License-Identifier: MIT OR Apache-2.0
// The first card of a snapshot: the eight figures that people ask for, each with what it means
// here, and the definitions of the words.
import { Card } from "../parts/card";
import { bytes, count, duration, percent, plural } from "../parts/units";
import { isLive, number, type Arena, type Snapshot } from "./data";
import type { Shown } from "./shown";

interface Fact {
	readonly key: string;
	readonly label: string;
	readonly value: string | undefined;
	readonly exact?: string;
	readonly note: string;
}

const ms = (value: number): string => (value < 0 ? "never" : duration(value / 1000));

function decay(which: string, value: number | undefined): string {
	if (value === undefined) return "";
	return (
		`${which} pages: ` +
		(value < 0 ? "kept for ever" : value === 0 ? "given back at once" : `within ${ms(value)}`)
	);
}

// What is said of one arena, or of all of them.
function facts(s: Snapshot, arena: Arena | undefined, all: boolean, show: Shown): Fact[] {
	const live = s.arenas.filter(isLive).length;
	const allocated = all ? s.stats["allocated"] : arena && number(arena, "total_allocated");
	const active = all ? s.stats["active"] : arena && number(arena, "active");
	const dirty = arena && number(arena, "pdirty"),
		page = s.shape["page"];
	const cached = arena && number(arena, "tcache_bytes");
	const lg = s.settings["opt.lg_prof_sample"],
		prof = s.settings["opt.prof"];
	const interval = lg !== undefined && /^\d{1,2}$/.test(lg) ? 2 ** Number(lg) : undefined;
	const dirtyDecay = s.shape["dirty_decay_ms"],
		where = all ? "in all arenas" : `in arena ${arena?.arena ?? ""}`;
	const size = (value: number | undefined): Pick<Fact, "value" | "exact"> =>
		value === undefined
			? { value: undefined }
			: { value: show.bytes(value), exact: show.other(value) };
	return [
		{
			key: "arenas",
			label: "Number of arenas",
			value: s.shape["narenas"] === undefined ? undefined : count(s.shape["narenas"]),
			note: live
				? `places for arenas; ${plural(live, "arena is", "arenas are")} in use and printed`
				: "places for arenas",
		},
		{
			key: "allocated",
			label: "Allocated memory",
			...size(allocated),
			note: `in blocks that the program holds, ${where}`,
		},
		{
			key: "active",
			label: "Active (held) memory",
			...size(active),
			note: `in pages that have such blocks, ${where}`,
		},
		{
			key: "tcache",
			label: "Thread cache size",
			...size(s.shape["tcache_max"]),
			note:
				"the largest size that threads cache" +
				(cached === undefined ? "" : `; ${bytes(cached)} are cached now`),
		},
		{
			key: "dirty",
			label: "Number of dirty pages",
			value: dirty === undefined ? undefined : count(dirty),
			note:
				"unused, not given back yet" +
				(dirty !== undefined && page ? `: ${bytes(dirty * page)}` : ""),
		},
		{
			key: "fragmentation",
			label: "Fragmentation",
			value:
				allocated === undefined || active === undefined
					? undefined
					: `${(active > 0 ? 100 * (1 - allocated / active) : 0).toFixed(2)} %`,
			note:
				"of what is active is not allocated" +
				(allocated === undefined || active === undefined
					? ""
					: `: ${bytes(active - allocated)}`),
		},
		{
			key: "interval",
			label: "Profiling interval",
			...size(interval),
			note:
				"allocated between two samples" +
				(prof === "false"
					? "; profiling is off"
					: prof === "true"
						? "; profiling is on"
						: ""),
		},
		{
			key: "decay",
			label: "Decay time",
			value:
				dirtyDecay === undefined
					? undefined
					: show.raw
						? `${count(dirtyDecay)} ms`
						: ms(dirtyDecay),
			exact: dirtyDecay === undefined ? undefined : `${count(dirtyDecay)} ms`,
			note: [decay("dirty", dirtyDecay), decay("muzzy", s.shape["muzzy_decay_ms"])]
				.filter(Boolean)
				.join(", "),
		} as Fact,
	];
}

// The answer in words, for the head of the card.
export function inWords(s: Snapshot): string {
	const { allocated, active, resident, mapped } = s.stats as {
		[name: string]: number | undefined;
	};
	const said = [];
	if (allocated !== undefined) said.push(`${bytes(allocated)} allocated`);
	if (active !== undefined) said.push(`${bytes(active)} active`);
	if (resident !== undefined) said.push(`${bytes(resident)} resident`);
	else if (mapped !== undefined) said.push(`${bytes(mapped)} mapped`);
	if (allocated !== undefined && resident)
		said.push(`${percent(resident - allocated, resident)} of it is overhead`);
	return said.join(" · ");
}

export function Summary({
	snapshot,
	arena,
	all,
	show,
}: {
	snapshot: Snapshot;
	arena: Arena | undefined;
	all: boolean;
	show: Shown;
}) {
	return (
		<Card title="Summary" said={inWords(snapshot)} name="summary">
			<table class="jem-facts" id="summary">
				<caption class="hidden">Summary of the snapshot</caption>
				<tbody>
					{facts(snapshot, arena, all, show).map((f) => (
						<tr key={f.key} data-fact={f.key}>
							<th scope="row">{f.label}</th>
							<td class="jem-value" title={f.exact}>
								{f.value ?? <span class="jem-none">not printed</span>}
							</td>
							<td class="dim">{f.note}</td>
						</tr>
					))}
				</tbody>
			</table>
		</Card>
	);
}

const DEFINITIONS: readonly (readonly [string, string])[] = [
	[
		"Allocated memory",
		"Bytes in blocks that the program asked for and has not freed, rounded up to " +
			"size classes, and what thread caches hold.",
	],
	[
		"Active (held) memory",
		"Bytes in pages that have at least one block in use. Always a multiple of the " +
			"page size, and at least what is allocated.",
	],
	[
		"Fragmentation",
		"The part of active memory that is not allocated: free places in slabs, and " +
			"what large blocks are padded with. The table of bins says which class has it.",
	],
	[
		"Arena",
		"A heap of its own inside jemalloc. Threads are spread over arenas so that " +
			"they seldom wait for each other; what one arena has free another cannot use.",
	],
	[
		"Bin",
		"All slabs of one small size class in an arena. A slab is a few pages cut into " +
			"places of one size.",
	],
	["Large class", "Sizes beyond the bins; each block has pages of its own."],
	[
		"Profiling interval",
		"How many bytes are allocated, on average, between two samples of jemalloc's " +
			"heap profiler (2 to the power of lg_prof_sample). It is printed whether the " +
			"profiler is on or not.",
	],
	[
		"Dirty pages",
		"Pages that were used and are free now, still in memory. They go back to the " +
			"system after the decay time.",
	],
	[
		"Muzzy pages",
		"Free pages that the system may take when it needs them (MADV_FREE); until " +
			"then they count as resident in the system's eyes.",
	],
	[
		"Resident",
		"Bytes in pages that are in memory as far as jemalloc knows: active, dirty and metadata.",
	],
	[
		"Retained",
		"Address space that jemalloc keeps for later without memory behind it. It costs nothing.",
	],
	["Metadata", "What jemalloc needs for itself."],
	[
		"Thread cache",
		"Freed blocks that a thread keeps for its next allocations. They count as allocated.",
	],
	[
		"Merged",
		"The sum over all arenas, as jemalloc prints it. What is shown here unless one " +
			"arena was chosen.",
	],
];

export function Definitions() {
	return (
		<Card title="Definitions" said="What jemalloc's words mean" name="definitions">
			<dl class="jem-definitions" id="definitions">
				{DEFINITIONS.map(([word, text]) => [
					<dt key={word}>{word}</dt>,
					<dd key={`${word}.`}>{text}</dd>,
				])}
			</dl>
		</Card>
	);
}
