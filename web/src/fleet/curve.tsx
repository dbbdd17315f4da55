// SPDX-License-Identifier: MIT OR Apache-2.0
// What the fleet had alive over time, above every part of its view.  A drag chooses a span, a click
// a moment: both are in the address, and everything below speaks about them.
import { useAnswer, type Answer } from "../app/api";
import { go, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { Bytes } from "../parts/number";
import { Plot } from "../parts/plot";
import { Answered, Empty } from "../parts/states";
import { bytes, count, date, plural, short } from "../parts/units";
import { rate, sumUrl, type Curve, type Groups, type Trend } from "./data";

type Series = "bytes" | "blocks" | "rate" | "recordings";
const SERIES: readonly (readonly [Series, string, string])[] = [
	["bytes", "bytes", "bytes alive"],
	["blocks", "blocks", "blocks alive"],
	["rate", "alloc/s", "bytes allocated per second"],
	["recordings", "recordings", "recordings"],
];

const valuesOf = (c: Curve, series: Series, width: number): number[] =>
	series === "bytes"
		? c.live_bytes
		: series === "blocks"
			? c.live_count
			: series === "recordings"
				? c.recordings
				: c.allocated_bytes.map((v) => v / width);

export function FleetCurve({ id, answer }: { id: string; answer: Answer<Trend> }) {
	const { parameters } = useRoute();
	const { from, to, at } = parameters;
	const sum = useAnswer<Groups>(sumUrl(id));
	const series = SERIES.find(([key]) => key === parameters["series"])?.[0] ?? "bytes";
	const total = sum.data?.total;
	return (
		<Card
			title="Live memory"
			name="fleet-curve"
			line
			said={
				total && (
					<>
						<Bytes value={total.live_bytes} /> alive at{" "}
						{sum.data && sum.data.until ? date(sum.data.until) : "the end"} in{" "}
						{plural(total.recordings, "recording")} ·{" "}
						<span class={total.growth_per_second > 0 ? "strong" : ""}>
							{rate(total.growth_per_second) === "–"
								? "does not grow"
								: rate(total.growth_per_second)}
						</span>
					</>
				)
			}
			tools={
				<>
					{(from || to || at) && (
						<button
							type="button"
							class="button quiet"
							onClick={() => go({ from: "", to: "", at: "" })}>
							All time
						</button>
					)}
					<Choice
						label="The curve shows"
						value={series}
						options={SERIES}
						onChange={(key) => go({ series: key === "bytes" ? "" : key })}
					/>
				</>
			}>
			<Answered what="The curve" answer={answer} lines={4}>
				{(t) =>
					!t.all ? (
						<Empty title="Nothing was sent that matches">
							Remove a term of the question, or send a recording:{" "}
							<code>memoir fleet push app.dat</code>.
						</Empty>
					) : (
						<div class="strip">
							<Plot
								label={SERIES.find(([key]) => key === series)![2]}
								/* What is alive is known at the ends of buckets. */
								xs={t.xs.map((x) => Math.min(x + t.width_s, t.until) - t.since)}
								base={t.since}
								lines={[
									{
										label: SERIES.find(([key]) => key === series)![2],
										values: valuesOf(t.all, series, t.width_s),
										tone: "curve",
										fill: true,
									},
								]}
								from={t.xs.length > 20 ? 0 : t.width_s}
								to={Math.max(t.until - t.since, 1)}
								height={innerHeight < 800 ? 96 : 132}
								format={(v) =>
									series === "bytes"
										? bytes(v)
										: series === "rate"
											? `${bytes(v)}/s`
											: series === "blocks"
												? short(v)
												: count(v)
								}
								binary={series === "bytes" || series === "rate"}
								legend={false}
								brush={
									from || to
										? [
												from ? Number(from) - t.since : 0,
												to ? Number(to) - t.since : t.until - t.since,
											]
										: undefined
								}
								moment={at ? Number(at) - t.since : undefined}
								onMoment={(s) =>
									go({ at: String(bucketEnd(t, s)), measure: "alive" })
								}
								onBrush={(a, b, first) =>
									go(
										{
											from: String(t.since + floor(a, t.step_s)),
											to: String(t.since + floor(b, t.step_s) + t.step_s),
										},
										!first,
									)
								}
							/>
						</div>
					)
				}
			</Answered>
		</Card>
	);
}

const floor = (seconds: number, step: number): number => Math.floor(seconds / step) * step;
/* What is alive is known at the ends of buckets. */
const bucketEnd = (t: Trend, seconds: number): number =>
	t.since + Math.max(1, Math.round(seconds / t.step_s)) * t.step_s;
