// SPDX-License-Identifier: MIT OR Apache-2.0
// The figures of this second: how much the program holds, and what jemalloc holds around it.
import { Bytes } from "../parts/number";
import { bytes, percent } from "../parts/units";
import { time, type Now } from "./data";

interface Gauge {
	key: string;
	label: string;
	value: number | undefined;
	share?: boolean; /* a part of one, not bytes */
	bar: number | undefined; /* how full, 0 to 1 */
	note: string;
}

function gauges(now: Now): Gauge[] {
	const s = now.stats as { [name: string]: number | undefined },
		of = (part: number | undefined, whole: number | undefined): number | undefined =>
			part === undefined || !whole ? undefined : part / whole;
	const { allocated, active, resident, mapped, retained, metadata, dirty, muzzy, profiler } = s;
	const held = of(allocated, active),
		lost = held === undefined ? undefined : 1 - held;
	const decay = now.shape["dirty_decay_ms"];
	return [
		{
			key: "allocated",
			label: "Allocated",
			value: allocated,
			bar: of(allocated, resident),
			note: profiler
				? `in blocks; about ${bytes(profiler)} of it and of active is the heap profiler’s`
				: "in blocks that the program holds",
		},
		{
			key: "active",
			label: "Active",
			value: active,
			bar: of(active, resident),
			note: "in pages that have such blocks",
		},
		{
			key: "resident",
			label: "Resident",
			value: resident,
			bar: of(resident, mapped),
			note:
				allocated !== undefined && resident
					? `${percent(resident - allocated, resident)} of it is overhead`
					: "in memory",
		},
		{
			key: "mapped",
			label: "Mapped",
			value: mapped,
			bar: undefined,
			note: "addresses with pages behind them",
		},
		{
			key: "retained",
			label: "Retained",
			value: retained,
			bar: undefined,
			note: "addresses kept without memory",
		},
		{
			key: "fragmentation",
			label: "Fragmentation",
			value: lost,
			share: true,
			bar: lost,
			note:
				allocated !== undefined && active !== undefined
					? `${bytes(Math.max(0, active - allocated))} of active is free`
					: "of active is free",
		},
		{
			key: "dirty",
			label: "Dirty",
			value: dirty,
			bar: of(dirty, resident),
			note:
				`unused pages${muzzy ? `, and ${bytes(muzzy)} muzzy` : ""}` +
				(decay === undefined
					? ""
					: decay < 0
						? "; never given back"
						: decay === 0
							? "; given back at once"
							: `; given back after ${time(decay)}`),
		},
		{
			key: "metadata",
			label: "Metadata",
			value: metadata,
			bar: of(metadata, resident),
			note: "what jemalloc needs for itself",
		},
	];
}

export function Gauges({ now }: { now: Now }) {
	return (
		<section class="glance live-gauges" aria-label="Now">
			{gauges(now).map((g) => (
				<div key={g.key} class="figure" data-gauge={g.key}>
					<h2>{g.label}</h2>
					<p class="figure-value" data-value={g.value}>
						{g.value === undefined ? (
							<span class="jem-none" title="This jemalloc does not say">
								–
							</span>
						) : g.share ? (
							percent(g.value, 1)
						) : (
							<Bytes value={g.value} />
						)}
					</p>
					{g.bar !== undefined && (
						<div class="bar">
							<i style={{ width: `${Math.max(0, Math.min(100, 100 * g.bar))}%` }} />
						</div>
					)}
					<p class="dim">{g.note}</p>
				</div>
			))}
		</section>
	);
}
