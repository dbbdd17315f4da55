// SPDX-License-Identifier: MIT OR Apache-2.0
// Curves that move: the process's memory, and the pages that nobody uses, of all arenas or of one.
// Now is at the right, time before it to the left.
import { useMemo } from "preact/hooks";
import { go, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { Plot, type Line } from "../parts/plot";
import { bytes } from "../parts/units";
import type { Curve, Series } from "./data";

const WINDOWS = [
	["60", "1 min"],
	["300", "5 min"],
	["3600", "1 h"],
] as const;
const USUAL = "allocated active resident";
const SHOWN: readonly (readonly [Curve, Line["tone"]])[] = [
	["allocated", "curve"],
	["active", "second"],
	["resident", "third"],
	["mapped", "dim"],
	["retained", "quiet"],
	["metadata", "match"],
];

/* Only the points that are seen, so that an hour costs nothing while a minute is looked at. */
function useWindow(
	series: Series,
	seconds: number,
): { xs: number[]; cut: (values: readonly (number | null)[] | undefined) => (number | null)[] } {
	return useMemo(() => {
		const end = series.time_ms.at(-1) ?? 0,
			from = Math.max(
				0,
				series.time_ms.findIndex((t) => t >= end - seconds * 1000 - 1500),
			);
		return {
			xs: series.time_ms.slice(from).map((t) => (t - end) / 1000),
			cut: (values) => (values ?? []).slice(from),
		};
	}, [series, seconds]);
}

function Key({ lines }: { lines: readonly Line[] }) {
	return (
		<span class="jem-key">
			{lines.map((l) => (
				<span key={l.label}>
					<i class={`jem-swatch live-${l.tone}`} /> {l.label}
				</span>
			))}
		</span>
	);
}

export function Curves({ series, arenas }: { series: Series; arenas: readonly string[] }) {
	const { parameters } = useRoute();
	const seconds = Number(WINDOWS.find(([key]) => key === parameters["window"])?.[0] ?? 60),
		chosen = (parameters["curves"] ?? USUAL).split(" ");
	const arena = parameters["arena"] ?? "",
		one = series.arenas[arena];
	const { xs, cut } = useWindow(series, seconds);
	const memory = useMemo(
		(): Line[] =>
			SHOWN.filter(([name]) => chosen.includes(name)).map(([name, tone]) => ({
				label: name,
				values: cut(series.curves[name]),
				tone,
				...(name === "allocated" ? { fill: true } : {}),
			})),
		[cut, parameters["curves"]],
	);
	const pages = useMemo(
		(): Line[] => [
			{
				label: "dirty",
				values: cut(one ? one.dirty : series.curves.dirty),
				tone: "third",
				fill: false,
			},
			{ label: "muzzy", values: cut(one ? one.muzzy : series.curves.muzzy), tone: "second" },
		],
		[cut, one],
	);
	const toggle = (name: string): void => {
		const next = SHOWN.map(([n]) => n)
			.filter((n) => chosen.includes(n) !== (n === name))
			.join(" ");
		go({ curves: next === USUAL ? "" : next || "none" });
	};
	const plot = (lines: readonly Line[], label: string) => (
		<div
			role="img"
			aria-label={
				`${label}: ` +
				lines
					.map(
						(l) =>
							`${l.label} ` +
							(l.values.at(-1) == null ? "unknown" : bytes(l.values.at(-1)!)),
					)
					.join(", ") +
				" now"
			}>
			<Plot
				label={label}
				xs={xs}
				lines={lines}
				from={0.01 - seconds}
				to={0}
				height={180}
				format={bytes}
				binary
				group="live"
				legend={false}
			/>
		</div>
	);
	return (
		<div class="live-curves">
			<Card
				title="Memory"
				name="live-memory"
				said={
					<span class="jem-key" role="group" aria-label="Curves">
						{SHOWN.map(([name, tone]) => (
							<label key={name}>
								<input
									type="checkbox"
									checked={chosen.includes(name)}
									onChange={() => toggle(name)}
								/>{" "}
								<i class={`jem-swatch live-${tone}`} /> {name}
							</label>
						))}
					</span>
				}
				tools={
					<Choice
						label="How far back"
						value={String(seconds)}
						options={WINDOWS}
						onChange={(key) => go({ window: key === "60" ? "" : key })}
					/>
				}>
				{plot(memory, "Memory")}
			</Card>
			<Card
				title="Unused pages"
				name="live-pages"
				said={<Key lines={pages} />}
				tools={
					<label class="jem-choose">
						of{" "}
						<select
							id="arena"
							value={one ? arena : ""}
							onChange={(event) => go({ arena: event.currentTarget.value })}>
							<option value="">all arenas</option>
							{arenas.map((a) => (
								<option key={a} value={a}>
									arena {a}
								</option>
							))}
						</select>
					</label>
				}>
				{plot(pages, "Unused pages")}
			</Card>
		</div>
	);
}
