// SPDX-License-Identifier: MIT OR Apache-2.0
// Two snapshots beside each other: totals, size classes, and arenas that came or went.
import { Card } from "../parts/card";
import { bytes, count, percent, plural, signed } from "../parts/units";
import { chosen, classes, isLive, number, type Arena, type Snapshot } from "./data";
import { Grid, type Column } from "./grid";
import type { Shown } from "./shown";

interface Pair {
	readonly name: string;
	readonly unit: "bytes" | "count";
	readonly before: number | undefined;
	readonly after: number | undefined;
	readonly kind?: string;
	readonly size?: number;
	readonly blocks?: number;
}

const change = (p: Pair): number | undefined =>
	p.kind
		? (p.after ?? 0) - (p.before ?? 0)
		: p.before === undefined || p.after === undefined
			? undefined
			: p.after - p.before;

// A share of what was, or how many times as much where that says more.
function times(p: Pair): string {
	const ratio = (p.after ?? 0) / p.before!;
	return ratio >= 10 ? `×${count(ratio)}` : signed(percent(change(p)!, p.before!));
}

function columns(show: Shown, first: Column<Pair>[]): Column<Pair>[] {
	const text = (p: Pair, n: number): string =>
		p.unit === "bytes" ? show.bytes(n) : show.count(n);
	const one = (
		key: string,
		label: string,
		of: (p: Pair) => number | undefined,
	): Column<Pair> => ({
		key,
		label,
		value: of,
		shown: (p) => text(p, of(p)!),
		exact: (p) => (of(p) === undefined || p.unit !== "bytes" ? undefined : show.other(of(p)!)),
	});
	return [
		...first,
		one("before", "before", (p) => p.before),
		one("after", "after", (p) => p.after),
		{
			key: "change",
			label: "change",
			value: change,
			shown: (p) => signed(text(p, change(p)!).replace(/^-/, "−")),
			exact: (p) =>
				change(p) === undefined || p.unit !== "bytes" ? undefined : show.other(change(p)!),
		},
		{
			key: "share",
			label: "%",
			value: (p) => (p.before ? change(p)! / p.before : undefined),
			shown: (p) => times(p),
		},
	];
}

const BYTES = ["allocated", "active", "resident", "metadata", "mapped", "retained"];
const OF_ARENA: readonly (readonly [string, string, "bytes" | "count"])[] = [
	["small_allocated", "allocated in bins", "bytes"],
	["large_allocated", "allocated in large classes", "bytes"],
	["tcache_bytes", "in thread caches", "bytes"],
	["pdirty", "dirty pages", "count"],
	["pmuzzy", "muzzy pages", "count"],
	["total_nmalloc", "allocations", "count"],
	["total_ndalloc", "frees", "count"],
	["total_nrequests", "requests", "count"],
	["dirty_npurge", "purges", "count"],
	["dirty_purged", "pages purged", "count"],
	["nthreads", "threads", "count"],
];

function byClass(before: Arena | undefined, after: Arena | undefined): Pair[] {
	const found = new Map<string, Pair>();
	const put = (arena: Arena | undefined, side: "before" | "after"): void => {
		for (const c of arena ? classes(arena) : []) {
			const old = found.get(`${c.kind} ${c.size}`) ?? {
				name: String(c.size),
				unit: "bytes",
				before: undefined,
				after: undefined,
				kind: c.kind,
				size: c.size,
				blocks: 0,
			};
			found.set(`${c.kind} ${c.size}`, {
				...old,
				[side]: c.allocated,
				blocks: (old.blocks ?? 0) + (side === "after" ? c.count : -c.count),
			});
		}
	};
	put(before, "before");
	put(after, "after");
	return [...found.values()]
		.filter((p) => change(p) || p.blocks)
		.sort((a, b) => Math.abs(change(b)!) - Math.abs(change(a)!));
}

function arenasThat(a: Snapshot, b: Snapshot): string[] {
	return b.arenas
		.filter(isLive)
		.filter((x) => !a.arenas.some((y) => y.arena === x.arena))
		.map((x) => x.arena);
}

export function Compare({
	before,
	after,
	arena,
	show,
}: {
	before: Snapshot;
	after: Snapshot;
	arena: string;
	show: Shown;
}) {
	const a = chosen(before, arena),
		b = chosen(after, arena);
	const totals: Pair[] = [
		...BYTES.map((name): Pair => ({
			name,
			unit: "bytes",
			before: before.stats[name],
			after: after.stats[name],
		})),
		...OF_ARENA.map(([field, name, unit]): Pair => ({
			name,
			unit,
			before: a && number(a, field),
			after: b && number(b, field),
		})),
	].filter((p) => p.before !== undefined || p.after !== undefined);
	const rows = byClass(a, b),
		grown = totals[0] && change(totals[0]),
		top = rows[0];
	const came = arenasThat(before, after),
		gone = arenasThat(after, before);
	return (
		<>
			<Card
				title="Totals"
				name="compare-totals"
				said={grown === undefined ? "" : `allocated ${signed(bytes(grown))}`}>
				<Grid
					id="table-compare"
					caption="Totals of both snapshots"
					rows={totals}
					empty="Neither snapshot says any totals."
					columns={columns(show, [{ key: "name", label: "what", value: (p) => p.name }])}
				/>
				{(came.length > 0 || gone.length > 0) && (
					<p class="dim jem-beside">
						{[
							came.length
								? `${plural(came.length, "arena")} appeared: ${came.join(", ")}`
								: "",
							gone.length
								? `${plural(gone.length, "arena")} vanished: ${gone.join(", ")}`
								: "",
						]
							.filter(Boolean)
							.join("; ")}
						.
					</p>
				)}
			</Card>
			<Card
				title="Size classes"
				name="compare-classes"
				said={
					top
						? `${plural(rows.length, "class", "classes")} changed · most: ` +
							`${top.name} bytes, ${signed(bytes(change(top)!))}`
						: a && b && classes(a).length + classes(b).length
							? "No class changed"
							: "No size class was printed"
				}>
				<Grid
					id="table-compare-classes"
					caption="Size classes of both snapshots"
					rows={rows}
					empty="No size class differs, or none was printed."
					columns={columns(show, [
						{
							key: "size",
							label: "size",
							value: (p) => p.size,
							shown: (p) => show.count(p.size!),
						},
						{ key: "kind", label: "kind", value: (p) => p.kind },
						{
							key: "blocks",
							label: "blocks",
							value: (p) => p.blocks,
							shown: (p) => signed(show.count(p.blocks!).replace(/^-/, "−")),
						},
					])}
				/>
			</Card>
		</>
	);
}
