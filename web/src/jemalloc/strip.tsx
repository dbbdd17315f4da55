// SPDX-License-Identifier: MIT OR Apache-2.0
// The file that is looked at, above every part of the page: its curves over snapshots with the
// slider that chooses one, and what else is chosen (arena, notation of numbers).
import type { ComponentChildren } from "preact";
import { go, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { bytes, count, date, duration, plural } from "../parts/units";
import { Lines, type Line } from "./charts";
import { isLive, type History, type Snapshot } from "./data";

const CURVES: readonly (readonly [string, string])[] = [
	["allocated", "allocated"],
	["active", "active"],
	["resident", "resident"],
	["mapped", "mapped"],
	["retained", "retained"],
];

const USUAL: readonly string[] = ["allocated", "active", "resident"];

interface Clock {
	readonly x: number[];
	readonly text: (x: number) => string;
	readonly rising: string; // what the axis is
}

// Times where each snapshot has one, ages of the process where they rise, numbers otherwise.
export function clock(h: History): Clock {
	const time = h.series["time"],
		age = h.series["uptime_ns"],
		number = h.series.snapshot;
	const good = (values: readonly (number | null)[] | undefined): values is readonly number[] =>
		!!values &&
		values.length > 1 &&
		values.every((v, i) => v !== null && (i === 0 || v > values[i - 1]!));
	if (good(time)) {
		const long = time[time.length - 1]! - time[0]! > 48 * 3600;
		return {
			x: [...time],
			text: (x) => (long ? date(x) : new Date(x * 1000).toLocaleTimeString("en-GB")),
			rising: "time",
		};
	}
	if (good(age))
		return {
			x: age.map((v) => v / 1e9),
			text: (x) => duration(x),
			rising: "age of the process",
		};
	return {
		x: number.map((n) => n ?? 0),
		text: (x) => `snapshot ${count(x + 1)}`,
		rising: "snapshot",
	};
}

const when = (c: Clock, x: number): string =>
	c.rising === "snapshot"
		? ""
		: c.rising === "time"
			? ` · ${new Date(x * 1000).toLocaleString("en-GB")}`
			: ` · after ${c.text(x)}`;

// The kept snapshot that is nearest to a number of the file.
export function nearest(kept: readonly number[], wanted: number): number {
	return kept.reduce(
		(best, n) => (Math.abs(n - wanted) < Math.abs(best - wanted) ? n : best),
		kept[kept.length - 1] ?? 0,
	);
}

// Where a snapshot is in the series, which may have fewer points than the file snapshots.
const place = (h: History, number: number): number => {
	const points = h.series.snapshot as readonly number[];
	return Math.max(0, points.indexOf(nearest(points, number)));
};

export function Curves({
	history,
	at,
	against,
	onChoose,
}: {
	history: History;
	at: number;
	against?: number | undefined;
	onChoose: (snapshot: number, replace: boolean) => void;
}) {
	const chosen = useRoute().parameters["curves"],
		shown = chosen === undefined ? USUAL : chosen.split(" ");
	const toggle = (key: string): void => {
		const next = CURVES.map(([name]) => name).filter(
			(name) => shown.includes(name) !== (name === key),
		);
		go({ curves: next.join(" ") === USUAL.join(" ") ? "" : next.join(" ") || "none" });
	};
	const ticking = clock(history),
		number = history.kept.indexOf(at);
	const there = CURVES.filter(([key]) => history.series[key]?.some((v) => v !== null));
	const lines = there
		.filter(([key]) => shown.includes(key))
		.map(([key, name]): Line => ({
			name,
			kind: `curve-${key}`,
			values: [...history.series[key]!],
		}));
	const step = (by: number): void => {
		const next = history.kept[number + by];
		if (next !== undefined) onChoose(next, false);
	};
	return (
		<div class="jem-curves">
			<div class="jem-key" role="group" aria-label="Curves">
				{there.map(([key, name]) => (
					<label key={key}>
						<input
							type="checkbox"
							checked={shown.includes(key)}
							onChange={() => toggle(key)}
						/>{" "}
						<i class={`jem-swatch curve-${key}`} /> {name}
					</label>
				))}
			</div>
			<Lines
				id="chart-series"
				name={`Curves of ${plural(history.snapshots, "snapshot")}`}
				x={ticking.x}
				lines={lines}
				at={place(history, at)}
				{...(against === undefined ? {} : { against: place(history, against) })}
				format={bytes}
				formatX={ticking.text}
				onChoose={(i) =>
					onChoose(nearest(history.kept, history.series.snapshot[i] ?? 0), false)
				}
			/>
			<div class="jem-slider">
				<button
					type="button"
					class="button"
					aria-label="The snapshot before"
					disabled={number <= 0}
					onClick={() => step(-1)}>
					‹
				</button>
				<input
					type="range"
					id="slider"
					aria-label="Snapshot"
					min={0}
					max={history.kept.length - 1}
					value={number}
					aria-valuetext={`snapshot ${at + 1} of ${history.snapshots}`}
					onInput={(event) =>
						onChoose(
							history.kept[Number((event.currentTarget as HTMLInputElement).value)] ??
								0,
							true,
						)
					}
				/>
				<button
					type="button"
					class="button"
					aria-label="The next snapshot"
					disabled={number >= history.kept.length - 1}
					onClick={() => step(1)}>
					›
				</button>
				<output for="slider">
					{`snapshot ${count(at + 1)} of ${count(history.snapshots)}`}
					{when(ticking, ticking.x[place(history, at)] ?? 0)}
				</output>
			</div>
			{history.kept.length < history.snapshots && (
				<p class="dim">
					{`The curves are of all ${count(history.snapshots)} snapshots; ` +
						`${count(history.kept.length)} of them, evenly spread, can be looked at.`}
				</p>
			)}
		</div>
	);
}

export function Strip({
	history,
	snapshot,
	at,
	against,
	arena,
	raw,
	files,
	onSnapshot,
	onChange,
}: {
	history: History;
	snapshot: Snapshot | undefined;
	at: number;
	against: number | undefined;
	arena: string;
	raw: boolean;
	files: ComponentChildren;
	onSnapshot: (snapshot: number, replace: boolean) => void;
	onChange: (change: { arena?: string; raw?: string }) => void;
}) {
	const live = snapshot?.arenas.filter(isLive).length ?? 0;
	const said = snapshot
		? [
				snapshot.version
					? `jemalloc ${snapshot.version.replace(/-g[0-9a-f]{8,}$/, "")}`
					: "jemalloc, version not printed",
				snapshot.notation === "json" ? "JSON" : "text",
				history.snapshots > 1 ? plural(history.snapshots, "snapshot") : "",
			]
				.filter(Boolean)
				.join(" · ")
		: "";
	return (
		<Card
			title={history.name}
			name="file"
			said={<span title={snapshot?.version}>{said}</span>}
			tools={
				<>
					{files}
					{snapshot && snapshot.arenas.length > 0 && (
						<label class="jem-choose">
							arena{" "}
							<select
								id="arena"
								value={arena}
								onChange={(event) =>
									onChange({
										arena: (event.currentTarget as HTMLSelectElement).value,
									})
								}>
								<option value="">
									{snapshot.arenas.some((a) => a.arena === "merged") || live !== 1
										? "all, merged"
										: "all (there is one)"}
								</option>
								{snapshot.arenas
									.filter((a) => a.arena !== "merged")
									.map((a) => (
										<option key={a.arena} value={a.arena}>
											{a.arena}
										</option>
									))}
							</select>
						</label>
					)}
					<Choice
						label="Notation of numbers"
						value={raw ? "raw" : "human"}
						options={[
							["human", "human"],
							["raw", "raw", "as jemalloc printed them"],
						]}
						onChange={(value) => onChange({ raw: value === "raw" ? "1" : "" })}
					/>
				</>
			}>
			{history.snapshots > 1 && (
				<Curves history={history} at={at} against={against} onChoose={onSnapshot} />
			)}
		</Card>
	);
}
