// SPDX-License-Identifier: MIT OR Apache-2.0
// From what is resident down to what the program holds, step by step; the steps add up to the byte
// (src/jemalloc/waterfall.h makes them).  Each bar hangs where the one above it ended.
import { Card } from "../parts/card";
import { bytes, count, percent } from "../parts/units";
import type { Arena, Waterfall } from "./data";
import type { Shown } from "./shown";

interface Bar {
	readonly key: string;
	readonly label: string;
	readonly kind: "sum" | "step";
	readonly from: number;
	readonly bytes: number;
}

// Sums with the steps between them.
export function bars(w: Waterfall): Bar[] {
	const found: Bar[] = [];
	const down = (group: string, from: number): void => {
		let at = from;
		for (const step of w.steps) {
			if (step.from !== group || !step.bytes) continue;
			at -= step.bytes;
			found.push({
				key: step.name,
				label: step.label,
				kind: "step",
				from: Math.max(0, at),
				bytes: step.bytes,
			});
		}
	};
	for (const sum of ["resident", "active", "allocated", "program"] as const) {
		const value = w[sum];
		if (value === null || (sum === "program" && value === w.allocated)) continue;
		found.push({
			key: sum,
			label: sum === "program" ? "held by the program" : sum,
			kind: "sum",
			from: 0,
			bytes: value,
		});
		down(sum, value);
	}
	return found;
}

export function WaterfallCard({ arena, show }: { arena: Arena; show: Shown }) {
	const waterfall = arena.waterfall;
	const rows = bars(waterfall),
		whole = Math.max(1, ...rows.map((r) => r.from + Math.abs(r.bytes)));
	const steps = rows.filter((r) => r.kind === "step").sort((a, b) => b.bytes - a.bytes),
		most = steps[0];
	const { sampled } = waterfall;
	const beside = [
		sampled.count
			? `the heap profiler keeps ${sampled.estimated ? "about " : ""}` +
				`${count(sampled.count)} small blocks out of slabs` +
				(sampled.estimated
					? ", by the sampling interval (memoir jemalloc join counts them)"
					: "")
			: "",
		waterfall.retained
			? `${bytes(waterfall.retained)} of address space are retained besides, ` +
				"without memory behind them"
			: "",
		waterfall.mapped ? `${bytes(waterfall.mapped)} are mapped` : "",
	]
		.filter(Boolean)
		.join("; ");
	const free = waterfall.bins
		.slice(0, 5)
		.filter((b) => b.bytes > 0)
		.map((b) => `${count(b.size)} bytes: ${show.bytes(b.bytes)}`);
	return (
		<Card
			title="Where resident memory goes"
			name="waterfall"
			said={most ? `most beside the program's own: ${bytes(most.bytes)} ${most.label}` : ""}>
			{rows.length === 0 ? (
				<p class="jem-nothing">
					The snapshot says neither what is resident nor what is active.
				</p>
			) : (
				<table class="jem-waterfall" id="waterfall">
					<caption class="hidden">From resident to allocated, step by step</caption>
					<tbody>
						{rows.map((r) => (
							<tr key={r.key} data-step={r.key} class={r.kind}>
								<th scope="row">
									{r.kind === "step"
										? `${r.bytes < 0 ? "+" : "−"} ${r.label}`
										: r.label}
								</th>
								<td class="jem-bar">
									<div
										style={{
											marginLeft: `${(100 * r.from) / whole}%`,
											width: `${(100 * Math.abs(r.bytes)) / whole}%`,
										}}
									/>
								</td>
								<td class="jem-value" title={show.other(Math.abs(r.bytes))}>
									{show.bytes(Math.abs(r.bytes))}
								</td>
								<td class="jem-value dim">
									{percent(Math.abs(r.bytes), rows[0]!.bytes)}
								</td>
							</tr>
						))}
					</tbody>
				</table>
			)}
			{free.length > 0 && (
				<p class="dim jem-beside" id="free-bins">
					{`Bins with most free regions: ${free.join(" · ")}` +
						(waterfall.bins.length > free.length ? " …" : "")}
				</p>
			)}
			{beside && <p class="dim jem-beside">{beside}.</p>}
		</Card>
	);
}
