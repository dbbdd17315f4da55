// SPDX-License-Identifier: MIT OR Apache-2.0
// Size classes that grew over the snapshots of a file, and which of them look like a leak
// (src/jemalloc/growth.h judges).
import { Card } from "../parts/card";
import { bytes, count, percent, plural, signed } from "../parts/units";
import type { Growth, Grown } from "./data";
import { Grid } from "./grid";
import type { Shown } from "./shown";

const rate = (g: Grown): number => g.bytes_per_hour ?? g.bytes_per_snapshot ?? 0;

export function GrowthCard({ growth, show }: { growth: Growth; show: Shown }) {
	const steady = growth.classes.filter((c) => c.steady),
		first = steady[0],
		timed = growth.clock !== "snapshots";
	const unit = timed ? "hour" : "snapshot";
	const said = first
		? `${plural(steady.length, "class grows", "classes grow")} steadily` +
			`${first.suspect ? " and may be a leak" : ""} · ${count(first.size)} bytes: ` +
			`${bytes(rate(first))} an ${unit}`.replace("an snapshot", "a snapshot")
		: growth.classes.length
			? "no class grows steadily"
			: "";
	return (
		<Card title="Growth" name="growth" said={said}>
			<Grid
				id="table-growth"
				caption="Size classes that changed"
				rows={growth.classes}
				first="rate"
				empty="No size class changed between the snapshots, or none was printed."
				columns={[
					{
						key: "size",
						label: "size",
						value: (c) => c.size,
						shown: (c) => show.count(c.size),
					},
					{ key: "kind", label: "kind", value: (c) => c.kind },
					{
						key: "first",
						label: "at first",
						value: (c) => c.first_bytes,
						shown: (c) => show.bytes(c.first_bytes),
						exact: (c) => show.other(c.first_bytes),
					},
					{
						key: "last",
						label: "at last",
						value: (c) => c.bytes,
						shown: (c) => show.bytes(c.bytes),
						exact: (c) => show.other(c.bytes),
					},
					{
						key: "rate",
						label: `each ${unit}`,
						help: "the straight line that fits best",
						value: rate,
						shown: (c) => signed(show.bytes(Math.round(rate(c))).replace(/^-/, "−")),
					},
					{
						key: "fit",
						label: "fit",
						help: "how much of what happened is that line",
						value: (c) => c.fit,
						shown: (c) => percent(c.fit, 1),
					},
					{
						key: "verdict",
						label: "verdict",
						value: (c) =>
							c.suspect ? "may be a leak" : c.steady ? "grows steadily" : "",
						shown: (c) =>
							c.suspect ? (
								<span class="jem-suspect">may be a leak</span>
							) : c.steady ? (
								"grows steadily"
							) : (
								""
							),
					},
				]}
			/>
			{growth.early && (
				<p class="dim jem-beside" id="growth-early">
					{growth.early}
				</p>
			)}
		</Card>
	);
}
