// SPDX-License-Identifier: MIT OR Apache-2.0
// jemalloc's allocator of huge pages (5.3 and later, where opt.hpa is on; all zero otherwise).
import { Card } from "../parts/card";
import { plural } from "../parts/units";
import { number, type Arena } from "./data";
import { Grid } from "./grid";
import type { Shown } from "./shown";

const COUNTERS: readonly (readonly [string, string, string])[] = [
	[
		"npurge_passes",
		"passes of purging",
		"times that slabs were looked through for pages to give back",
	],
	["npurges", "purges", "times that pages were given back"],
	["nhugifies", "made huge", "times that a slab became one huge page"],
	["nhugify_failures", "failed to", "times that the kernel refused"],
	["ndehugifies", "made small again", "times that a huge page was broken up"],
];
const SLABS: readonly (readonly [string, string])[] = [
	["npageslabs_huge", "huge slabs"],
	["nactive_huge", "active in huge"],
	["ndirty_huge", "dirty in huge"],
	["npageslabs_nonhuge", "other slabs"],
	["nactive_nonhuge", "active in others"],
	["ndirty_nonhuge", "dirty in others"],
	["nretained_nonhuge", "retained in others"],
];

export function HugePages({ arena, show }: { arena: Arena; show: Shown }) {
	const hpa = arena.hpa,
		counters = COUNTERS.map(([key, name, help]) => ({
			name,
			help,
			value: number(hpa, key),
		})).filter((r) => r.value !== undefined);
	const whole = (prefix: string, name: string): object => ({
		name,
		...Object.fromEntries(
			SLABS.map(([key]) => [key, number(hpa, prefix + key)]).filter(
				([, v]) => v !== undefined,
			),
		),
	});
	const used = hpa.slabs
		.filter((s) => SLABS.some(([key]) => s[key]))
		.map((s) => ({
			...s,
			name: `${s["size"] === undefined ? s["ind"] : show.bytes(s["size"])} free at most`,
		}));
	const rows = counters.length ? [whole("full_", "full"), ...used, whole("empty_", "empty")] : [];
	const slabs = rows.reduce(
		(all: number, r) =>
			all + (number(r, "npageslabs_huge") ?? 0) + (number(r, "npageslabs_nonhuge") ?? 0),
		0,
	);
	return (
		<Card
			title="Huge pages"
			name="hpa"
			said={
				rows.length ? (slabs ? plural(slabs, "slab") : "not in use: there is no slab") : ""
			}>
			<Grid
				id="table-hpa"
				caption="Counters of the huge page allocator"
				rows={counters}
				empty={
					"Nothing was printed about huge pages; jemalloc does from 5.3 on, and " +
					"not with the option h."
				}
				columns={[
					{ key: "name", label: "what", value: (r) => r.name },
					{
						key: "value",
						label: "count",
						value: (r) => r.value,
						shown: (r) => show.count(r.value!),
					},
					{ key: "help", label: "meaning", value: (r) => r.help },
				]}
			/>
			{rows.length > 0 && (
				<Grid
					id="table-hpa-slabs"
					caption="Slabs of the huge page allocator"
					rows={rows}
					empty=""
					columns={[
						{
							key: "name",
							label: "slabs",
							value: (r: object) => (r as { name: string }).name,
						},
						...SLABS.map(([key, label]) => ({
							key,
							label,
							value: (r: object) => number(r, key),
							shown: (r: object) => show.count(number(r, key)!),
						})),
					]}
				/>
			)}
		</Card>
	);
}
