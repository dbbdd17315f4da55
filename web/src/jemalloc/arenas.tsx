// SPDX-License-Identifier: MIT OR Apache-2.0
// Arenas: two histograms (how well each uses its pages, how much each has), and the table.
import { Card } from "../parts/card";
import { bytes, isDecimal, percent, plural, short } from "../parts/units";
import { Histogram } from "./charts";
import { isLive, number, type Snapshot } from "./data";
import { sizeLabel, type Shown } from "./shown";
import { Arenas } from "./tables";

export function ArenasPage({
	snapshot,
	show,
	onChoose,
}: {
	snapshot: Snapshot;
	show: Shown;
	onChoose: (arena: string) => void;
}) {
	const live = snapshot.arenas.filter(isLive);
	const allocated = live.map((a) => number(a, "total_allocated") ?? 0),
		active = live.map((a) => number(a, "active") ?? 0);
	const used = live.map((_, i) => (active[i]! > 0 ? Math.min(1, allocated[i]! / active[i]!) : 0));
	const worst = used.length ? Math.min(...used) : 0;
	return (
		<>
			<Card
				title="Arena histograms"
				name="arena-histograms"
				said={
					live.length
						? `${plural(live.length, "live arena")} · the emptiest uses ` +
							`${percent(worst, 1)} of its pages`
						: "No arena was printed"
				}>
				<div class="jem-pair">
					<div>
						<h3>Utilization</h3>
						<Histogram
							id="chart-arena-utilization"
							name="Arenas by utilization"
							values={used}
							step={0.1}
							format={(n) => n.toFixed(1)}
							short={(n) => n.toFixed(1)}
							xTitle="allocated of active"
							yTitle="number of arenas"
						/>
					</div>
					<div>
						<h3>Size</h3>
						<Histogram
							id="chart-arena-size"
							name="Arenas by bytes allocated"
							values={allocated}
							sizes
							format={bytes}
							short={isDecimal() ? short : sizeLabel}
							xTitle="allocated"
							yTitle="number of arenas"
						/>
					</div>
				</div>
			</Card>
			<Arenas snapshot={snapshot} show={show} onChoose={onChoose} />
		</>
	);
}
