// SPDX-License-Identifier: MIT OR Apache-2.0
// The tables of a snapshot: each is a list of columns over rows that the C side made.
import { Card } from "../parts/card";
import { bytes, percent, plural } from "../parts/units";
import {
	isLive,
	number,
	utilization,
	type Arena,
	type Mutex,
	type Row,
	type Snapshot,
} from "./data";
import { Grid, type Column } from "./grid";
import type { Shown } from "./shown";

type Unit = "bytes" | "count" | "ns" | "share";

// A column of a field: what it is, its name in the table, and its unit.
function column(
	show: Shown,
	key: string,
	label: string,
	unit: Unit,
	help?: string,
	of?: (row: object) => number | undefined,
): Column<object> {
	const value = of ?? ((row: object) => number(row, key));
	const text = (n: number): string =>
		unit === "bytes"
			? show.bytes(n)
			: unit === "ns"
				? show.ns(n)
				: unit === "share"
					? show.raw
						? n.toFixed(4)
						: percent(n, 1)
					: show.count(n);
	return {
		key,
		label,
		value,
		...(help ? { help } : {}),
		shown: (row) => text(value(row)!),
		...(unit === "bytes"
			? {
					exact: (row: object) =>
						value(row) === undefined ? undefined : show.other(value(row)!),
				}
			: {}),
	};
}

const used = (row: Row, ...fields: string[]): boolean => fields.some((f) => row[f]);
const sum = (rows: readonly object[], of: (row: object) => number | undefined): number =>
	rows.reduce((all: number, row) => all + (of(row) ?? 0), 0);

export function Bins({ arena, show }: { arena: Arena; show: Shown }) {
	const c = (
		key: string,
		label: string,
		unit: Unit,
		help?: string,
		of?: (row: object) => number | undefined,
	) => column(show, key, label, unit, help, of);
	const rows = arena.bins.filter((b) => used(b, "curregs", "nmalloc", "curslabs"));
	const live = rows.filter((b) => b["curregs"]).length;
	return (
		<Card
			title="Bins"
			name="bins"
			said={
				`${plural(live, "live bin")} · ` +
				`${bytes(sum(rows, (r) => number(r, "allocated")))} allocated · ` +
				`${bytes(sum(rows, (r) => number(r, "free_bytes")))} free in slabs`
			}>
			<Grid
				id="table-bins"
				caption="Bins"
				rows={rows}
				first="size"
				down={false}
				empty={
					"No bins were printed, or none was ever used; malloc_stats_print " +
					"leaves them out with the option b."
				}
				columns={[
					c("size", "size", "count", "bytes of a place"),
					c("allocated", "allocated", "bytes"),
					c("curregs", "live", "count", "places in use"),
					c("curslabs", "slabs", "count"),
					c("nregs", "places", "count", "places in a slab"),
					c("util", "full", "share", "part of the places that is in use", utilization),
					c(
						"free_bytes",
						"free in slabs",
						"bytes",
						"what this bin adds to fragmentation",
					),
					c("nonfull_slabs", "not full", "count", "slabs with free places"),
					c("nmalloc", "allocations", "count"),
					c("ndalloc", "frees", "count"),
					c(
						"nrequests",
						"requests",
						"count",
						"allocations that the program asked for, thread caches included",
					),
					c("nfills", "fills", "count", "of thread caches"),
					c("nflushes", "flushes", "count", "of thread caches"),
					c("nslabs", "slabs made", "count"),
					c("nreslabs", "slabs reused", "count"),
					c("num_ops", "locks", "count", "of the bin's mutex"),
					c("num_wait", "waits", "count", "for the bin's mutex"),
					c(
						"prof_live_requested",
						"asked for",
						"bytes",
						"live, as the program asked for them",
					),
				]}
			/>
		</Card>
	);
}

export function Large({ arena, show }: { arena: Arena; show: Shown }) {
	const c = (key: string, label: string, unit: Unit, help?: string) =>
		column(show, key, label, unit, help);
	const rows = arena.large.filter((l) => used(l, "curlextents", "nmalloc"));
	return (
		<Card
			title="Large classes"
			name="large"
			said={`${plural(
				sum(rows, (r) => number(r, "curlextents")),
				"block",
			)} · ${bytes(sum(rows, (r) => number(r, "allocated")))} allocated`}>
			<Grid
				id="table-large"
				caption="Large classes"
				rows={rows}
				first="size"
				down={false}
				empty={
					"No large classes were printed, or none was ever used; " +
					"malloc_stats_print leaves them out with the option l."
				}
				columns={[
					c("size", "size", "bytes"),
					c("allocated", "allocated", "bytes"),
					c("curlextents", "live", "count", "blocks in use"),
					c("nmalloc", "allocations", "count"),
					c("ndalloc", "frees", "count"),
					c("nrequests", "requests", "count"),
					c(
						"prof_live_requested",
						"asked for",
						"bytes",
						"live, as the program asked for them",
					),
				]}
			/>
		</Card>
	);
}

export function Extents({ arena, show }: { arena: Arena; show: Shown }) {
	const c = (key: string, label: string, unit: Unit, help?: string) =>
		column(show, key, label, unit, help);
	const rows = arena.extents.filter((e) => used(e, "ndirty", "nmuzzy", "nretained", "npinned"));
	const of = (field: string): number => sum(rows, (r) => number(r, field));
	return (
		<Card
			title="Extents"
			name="extents"
			said={
				`free stretches of pages: ${bytes(of("dirty_bytes"))} dirty · ` +
				`${bytes(of("muzzy_bytes"))} muzzy · ${bytes(of("retained_bytes"))} retained`
			}>
			<Grid
				id="table-extents"
				caption="Extents"
				rows={rows}
				first="size"
				down={false}
				empty={
					"No extents were printed, or there are none; jemalloc prints them from " +
					"5.2 on, and not with the option e."
				}
				columns={[
					c("size", "up to", "bytes", "the class of sizes that a stretch is in"),
					c("ndirty", "dirty", "count"),
					c("dirty_bytes", "dirty bytes", "bytes"),
					c("nmuzzy", "muzzy", "count"),
					c("muzzy_bytes", "muzzy bytes", "bytes"),
					c("nretained", "retained", "count"),
					c("retained_bytes", "retained bytes", "bytes"),
					c("npinned", "pinned", "count"),
					c("pinned_bytes", "pinned bytes", "bytes"),
				]}
			/>
		</Card>
	);
}

export function Arenas({
	snapshot,
	show,
	onChoose,
}: {
	snapshot: Snapshot;
	show: Shown;
	onChoose: (arena: string) => void;
}) {
	const c = (
		key: string,
		label: string,
		unit: Unit,
		help?: string,
		of?: (row: object) => number | undefined,
	) => column(show, key, label, unit, help, of);
	const page = snapshot.shape["page"],
		rows = snapshot.arenas;
	const share = (row: object): number | undefined => {
		const allocated = number(row, "total_allocated"),
			active = number(row, "active");
		return allocated === undefined || !active ? undefined : allocated / active;
	};
	const pages = (field: string) => (row: object) => {
		const n = number(row, field);
		return n === undefined || !page ? undefined : n * page;
	};
	return (
		<Card
			title="Arenas"
			name="arenas"
			said={
				`${plural(rows.filter(isLive).length, "arena")} in use` +
				(rows.some((a) => a.arena === "destroyed")
					? "; what destroyed ones did is a row of its own"
					: "")
			}>
			<Grid<object>
				id="table-arenas"
				caption="Arenas"
				rows={rows}
				empty={
					"No arenas were printed; malloc_stats_print leaves them out with the " +
					"options a and m."
				}
				columns={[
					{
						key: "arena",
						label: "arena",
						value: (row) => (row as Arena).arena,
						shown: (row) => (
							<button
								type="button"
								class="jem-link"
								onClick={() => onChoose((row as Arena).arena)}>
								{(row as Arena).arena}
							</button>
						),
					},
					c("total_allocated", "allocated", "bytes"),
					c("small_allocated", "small", "bytes"),
					c("large_allocated", "large", "bytes"),
					c("active", "active", "bytes"),
					c("util", "in use", "share", "allocated of active", share),
					c("resident", "resident", "bytes"),
					c("mapped", "mapped", "bytes"),
					c("retained", "retained", "bytes"),
					c("dirty", "dirty", "bytes", "free pages, still in memory", pages("pdirty")),
					c(
						"muzzy",
						"muzzy",
						"bytes",
						"free pages that the system may take",
						pages("pmuzzy"),
					),
					c("tcache_bytes", "thread caches", "bytes"),
					c("base", "base", "bytes", "metadata that is never given back"),
					c("internal", "internal", "bytes"),
					c("nthreads", "threads", "count"),
					c("total_nmalloc", "allocations", "count"),
					c("total_ndalloc", "frees", "count"),
					c("total_nrequests", "requests", "count"),
					c("dirty_npurge", "purges", "count"),
					c("dirty_purged", "pages purged", "count"),
					c("uptime_ns", "age", "ns"),
				]}
			/>
		</Card>
	);
}

export function Mutexes({
	snapshot,
	arena,
	show,
}: {
	snapshot: Snapshot;
	arena: Arena | undefined;
	show: Shown;
}) {
	const lost = snapshot.mutex_counters_lost;
	const c = (key: string, label: string, unit: Unit, help?: string) =>
		column(show, key, label, unit, help);
	const l = (key: string, label: string, unit: Unit, help?: string): Column<object> => ({
		...column(show, key, label, unit, help),
		...(lost ? { absent: "unavailable" } : {}),
	});
	const told = [...snapshot.mutexes, ...(arena?.mutexes ?? [])].some(
		(row) => number(row, "num_wait") !== undefined,
	);
	const columns: Column<object>[] = [
		{ key: "name", label: "mutex", value: (row) => (row as Mutex).name },
		c("num_ops", "locks", "count"),
		l("num_wait", "waits", "count", "times that a thread had to wait"),
		l("num_spin_acq", "spins", "count", "got it after spinning"),
		l("num_owner_switch", "owner changes", "count"),
		l("total_wait_time", "waited", "ns"),
		l("max_wait_time", "longest wait", "ns"),
		c("max_num_thds", "most waiting", "count"),
	];
	const waits = (rows: readonly object[]): string => {
		const all = sum(rows, (r) => number(r, "num_wait")),
			locks = sum(rows, (r) => number(r, "num_ops"));
		return rows.length
			? `${told ? plural(all, "wait") : "waits are not told"} in ${plural(locks, "lock")}`
			: "";
	};
	const empty =
		"No mutexes were printed; jemalloc prints them from 5.0 on, and not with the option x.";
	return (
		<>
			{lost && (
				<p class="banner" id="mutex-note" role="note">
					JSON of jemalloc {snapshot.version.replace(/-.*/, "")} has the counters of
					mutexes one column off.{" "}
					{told ? "Waits and spins are put right; owner" : "Waits, spins, owner"} changes
					and waiting times are unavailable, since they were not printed.
				</p>
			)}
			<Card title="Mutexes of all" name="global-mutexes" said={waits(snapshot.mutexes)}>
				<Grid
					id="table-global-mutexes"
					caption="Mutexes that all arenas share"
					rows={snapshot.mutexes}
					columns={columns}
					empty={empty}
				/>
			</Card>
			<Card
				title={
					arena
						? "Mutexes of " +
							(arena.arena === "merged"
								? "all arenas together"
								: `arena ${arena.arena}`)
						: "Mutexes of arenas"
				}
				name="mutexes"
				said={arena ? waits(arena.mutexes) : ""}>
				<Grid
					id="table-mutexes"
					caption="Mutexes of arenas"
					rows={arena?.mutexes ?? []}
					columns={columns}
					empty={empty}
				/>
			</Card>
		</>
	);
}

export function Configuration({ snapshot }: { snapshot: Snapshot }) {
	const rows = Object.entries(snapshot.settings).map(([name, value]) => ({ name, value }));
	return (
		<Card
			title="Configuration"
			name="configuration"
			said={`jemalloc ${snapshot.version} · ${plural(rows.length, "setting")}`}>
			<Grid
				id="table-configuration"
				caption="Settings"
				rows={rows}
				empty={
					"No settings were printed; malloc_stats_print leaves them out with the " +
					"option g."
				}
				columns={[
					{
						key: "name",
						label: "setting",
						value: (r) => r.name,
						shown: (r) => <code>{r.name}</code>,
					},
					{
						key: "value",
						label: "value",
						value: (r) => r.value,
						shown: (r) => <code>{r.value === "" ? "(empty)" : r.value}</code>,
					},
				]}
			/>
		</Card>
	);
}
