// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline that stands above every view of a recording.  The brush is the range and the dashed
// line the moment that everything below speaks about; both are in the address (from, to, at).  The
// whole recording is the quiet line behind what the question leaves.  Beside the bytes of blocks
// stand what was resident, and what the program mapped itself, where they are something else.
import { useMemo } from "preact/hooks";
import { dataUrl, nsToSeconds, time, useData } from "../app/recordings";
import { useFacts } from "../app/facts";
import type { Check, MapsTimeline, Timeline } from "../app/types";
import { toggleTimeline, useTimelineFolded } from "../app/kept";
import { go, href, useRoute } from "../app/url";
import { Card, Choice } from "./card";
import { Bytes, Count } from "./number";
import { openMenu } from "./menu";
import { Plot, type Line } from "./plot";
import { momentMenu } from "./moments";
import { atMoments } from "./sampled";
import { shifted } from "./range";
import { Answered } from "./states";
import { bytes, count, duration, short } from "./units";

type Series = "bytes" | "blocks" | "rate" | "rss";
const SERIES: readonly (readonly [Series, string, string])[] = [
	["bytes", "bytes", "bytes alive"],
	["blocks", "blocks", "blocks alive"],
	["rate", "alloc/s", "allocations per second"],
	["rss", "RSS", "resident memory of the whole process"],
];
const values = (t: Timeline, series: Series): number[] =>
	series === "bytes" || series === "rss"
		? t.allocated_size
		: series === "blocks"
			? t.allocated_count
			: t.allocations_per_second;
const FORMAT: Record<Series, (v: number) => string> = {
	bytes,
	rss: bytes,
	blocks: (v) => short(v),
	rate: (v) => `${short(v)}/s`,
};

const OTHERWISE = 1.25; /* as much as the blocks, and it is worth a curve of its own */
const WORTH = 0.1; /* of the blocks' peak: the same of what is mapped */

/* The curves of the process, behind the one of its blocks. */
function processLines(t: Timeline, maps: MapsTimeline): Line[] {
	const moments = t.xs_ns.map((ns) => ns / 1e9),
		xs = maps.xs.map((ms) => (ms - t.start_ms) / 1e3),
		peak = t.peak.bytes;
	const lines: Line[] = [];
	if (Math.max(...maps.rss) > OTHERWISE * peak)
		lines.push({ label: "resident", values: atMoments(moments, xs, maps.rss), tone: "second" });
	if (Math.max(...maps.mapped) > WORTH * peak)
		lines.push({
			label: "mapped by the program",
			values: atMoments(moments, xs, maps.mapped),
			tone: "third",
		});
	return lines;
}

export function Strip({ id }: { id: string }) {
	const { view, parameters } = useRoute();
	const { filter, from, to, at } = parameters;
	const maps = useData<MapsTimeline>(dataUrl(id, "/data/{id}/timeline_maps", {}));
	const mapped = (maps.data?.xs.length ?? 0) > 2 ? maps.data : undefined;
	const options = SERIES.filter(([key]) => key !== "rss" || mapped);
	const series = options.find(([key]) => key === parameters["series"])?.[0] ?? "bytes";
	const whole = useData<Timeline>(dataUrl(id, "/data/{id}/timeline", {}));
	/* In the overview it is what the graphs below show, elsewhere an addition. */
	const matched = useData<Timeline>(
		filter ? dataUrl(id, "/data/{id}/timeline", { filter }) : null,
		{ later: view !== "overview" },
	);
	const part = filter && !matched.error ? matched.data : undefined;
	const folded = useTimelineFolded();
	const start = whole.data?.start_ms ?? 0;
	const xs = useMemo(
		() =>
			series === "rss" && mapped
				? mapped.xs.map((ms) => (ms - start) / 1e3)
				: ((part ?? whole.data)?.xs_ns.map((ns) => ns / 1e9) ?? []),
		[series, mapped, start, part, whole.data],
	);

	return (
		<Card
			title={
				series === "rate"
					? "Allocation rate"
					: series === "rss"
						? "Resident memory"
						: "Live memory"
			}
			name="strip"
			line
			said={
				<Said
					id={id}
					peak={(part ?? whole.data)?.peak}
					fresh={!filter || (matched.fresh && !matched.error)}
				/>
			}
			tools={
				<>
					{(from || to || at) && (
						<button
							type="button"
							class="button quiet"
							onClick={() => go({ from: "", to: "", at: "" })}>
							Whole run
						</button>
					)}
					<Choice
						label="Timeline shows"
						value={series}
						options={options}
						onChange={(key) => go({ series: key === "bytes" ? "" : key })}
					/>
					<button
						type="button"
						class="button"
						aria-expanded={!folded}
						aria-label="Timeline"
						title={`${folded ? "Show" : "Hide"} the timeline (t)`}
						onClick={toggleTimeline}>
						<span aria-hidden="true">{folded ? "▾" : "▴"}</span>
					</button>
				</>
			}>
			<Answered what="The timeline" answer={whole} lines={folded ? 0 : 4}>
				{(t) => {
					if (folded) return null;
					const end = t.to_ns / 1e9,
						label = SERIES.find(([key]) => key === series)![2];
					const lines: Line[] =
						series === "rss" && mapped
							? [{ label, values: mapped.rss, tone: "second" }]
							: part
								? [
										{ label: "all", values: values(t, series), tone: "quiet" },
										{
											label: "matching",
											values: values(part, series),
											tone: "curve",
											fill: true,
										},
									]
								: [
										{
											label,
											values: values(t, series),
											tone: "curve",
											fill: true,
										},
										...(series === "bytes" && mapped
											? processLines(t, mapped)
											: []),
									];
					const moment = at ? Number(at) : undefined;
					const brush =
						from || to
							? ([Number(from || 0), to ? Number(to) : end] as const)
							: undefined;
					const step = end / 100;
					const keys = (event: KeyboardEvent): void => {
						const by = (
							{
								ArrowLeft: -step,
								ArrowRight: step,
								PageDown: -10 * step,
								PageUp: 10 * step,
							} as Record<string, number>
						)[event.key];
						if (by !== undefined && event.shiftKey) {
							const range = shifted(brush, moment, end, by);
							const empty = range[0] === range[1];
							go(
								{
									from: empty ? "" : seconds(range[0]),
									to: empty ? "" : seconds(range[1]),
								},
								true,
							);
						} else if (by !== undefined)
							go(
								{
									at: seconds(
										Math.max(
											0,
											Math.min(end, (moment ?? t.peak.at_ns / 1e9) + by),
										),
									),
								},
								moment !== undefined,
							);
						else if (event.key === "Home") go({ at: "0" });
						else if (event.key === "End") go({ at: seconds(end) });
						else if (event.key === "Escape" && (from || to || at))
							go({ from: "", to: "", at: "" });
						else return;
						event.preventDefault();
						event.stopPropagation();
					};
					return (
						<div
							class="strip"
							role="slider"
							tabIndex={0}
							aria-label="The moment that is looked at"
							aria-valuemin={0}
							aria-valuemax={end}
							aria-valuenow={moment ?? end}
							aria-valuetext={moment === undefined ? "none chosen" : duration(moment)}
							onKeyDown={keys}>
							<Plot
								label={label}
								xs={xs}
								lines={lines}
								from={0}
								to={end}
								height={innerHeight < 800 ? 84 : 120}
								format={FORMAT[series]}
								binary={series === "bytes" || series === "rss"}
								brush={brush}
								moment={moment}
								group={id}
								onMoment={(s) => go({ at: seconds(s) })}
								onBrush={(a, b, first) =>
									go({ from: seconds(a), to: seconds(b) }, !first)
								}
								onMenu={(x, y, s) =>
									openMenu(
										x,
										y,
										`At ${duration(s)}`,
										momentMenu(s, brush ?? [0, end]),
									)
								}
							/>
						</div>
					);
				}}
			</Answered>
		</Card>
	);
}

/* Whole microseconds are fine enough for a mouse and short in the address. */
export const seconds = (value: number): string => String(+value.toFixed(6));

/* fresh: the peak is that of the question, not yet of the one before. */
function Said({
	id,
	peak,
	fresh,
}: {
	id: string;
	peak: Timeline["peak"] | undefined;
	fresh: boolean;
}) {
	const { parameters } = useRoute();
	const { filter, at } = parameters;
	const facts = useFacts(id);
	const here = useData<Check>(
		at ? dataUrl(id, "/data/{id}/matches", { filter, alive_at: time(at) }) : null,
	);
	const never = useData<Check>(
		filter ? dataUrl(id, "/data/{id}/matches", { filter, lifetime: "only_leaked" }) : null,
	);
	const leaked = filter ? (never.data?.ok ? never.data : undefined) : facts.data?.leaked;
	/* These are of the whole run: the range does not count. */
	const flame = (more: Record<string, string>): string =>
		href({ view: "flame" }, { from: "", to: "", ...more });
	const parts = [];
	if (at && here.data?.ok) {
		parts.push(
			<span key="at">
				<Bytes value={here.data.bytes} to={flame({ measure: "alive" })} /> in{" "}
				<Count value={here.data.count} /> {here.data.count === 1 ? "block" : "blocks"} at{" "}
				{duration(Number(at))}
			</span>,
		);
	}
	if (peak)
		parts.push(
			<span key="peak" title={`${count(peak.count)} blocks`}>
				peak{" "}
				<Bytes
					value={peak.bytes}
					to={
						!fresh
							? undefined
							: filter
								? flame({ measure: "alive", at: nsToSeconds(peak.at_ns) })
								: flame({ measure: "peak" })
					}
				/>{" "}
				at{" "}
				<a class="number" href={href({}, { at: nsToSeconds(peak.at_ns) })}>
					{duration(peak.at_ns / 1e9)}
				</a>
			</span>,
		);
	if (leaked)
		parts.push(
			<span key="leaked" title={`${count(leaked.count)} blocks`}>
				never freed <Bytes value={leaked.bytes} to={flame({ measure: "leaked" })} />
			</span>,
		);
	return <>{parts.flatMap((p, i) => (i ? [" · ", p] : [p]))}</>;
}
