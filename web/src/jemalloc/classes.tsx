// SPDX-License-Identifier: MIT OR Apache-2.0
// Size classes: how what is allocated spreads over them (two charts), and how busy they are
// (three), small and large ones alike, with the tables of both below.
import { go, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { bytes, count, percent, plural, short } from "../parts/units";
import { Classes, Shares, type Point } from "./charts";
import { classes, type Arena, type Class } from "./data";
import { sizeLabel, type Shown } from "./shown";
import { Bins, Large } from "./tables";

const name = (c: Class): string => `${count(c.size)} bytes, ${c.kind}`;

function point(c: Class, value: number, whole: number): Point {
	return {
		label: sizeLabel(c.size),
		value,
		title: name(c),
		kind: c.kind,
		lines: [
			`${bytes(c.allocated)} allocated, ${percent(c.allocated, whole)}`,
			`${plural(c.count, "block")}`,
			...(c.utilization === undefined ? [] : [`slabs ${percent(c.utilization, 1)} full`]),
			...(c.requests === undefined ? [] : [plural(c.requests, "request")]),
		],
	};
}

export function SizeClasses({ arena, show }: { arena: Arena; show: Shown }) {
	const scale = useRoute().parameters["scale"] === "log" ? "log" : "linear";
	const all = classes(arena),
		whole = all.reduce((sum, c) => sum + c.allocated, 0),
		log = scale === "log";
	const small = all.filter((c) => c.kind === "small"),
		large = all.length - small.length;
	const bySize = [...all].sort((a, b) => a.size - b.size),
		byWeight = [...all].sort((a, b) => b.allocated - a.allocated);
	const top = byWeight[0];
	const key = (
		<div class="jem-key">
			<i class="jem-swatch small" /> bins <i class="jem-swatch large" /> large classes
		</div>
	);
	return (
		<>
			<Card
				title="Bin size distribution"
				name="distribution"
				tools={key}
				said={
					top
						? `${plural(small.length, "bin")} and ` +
							`${plural(large, "large class", "large classes")} in use · ` +
							`most in ${count(top.size)} bytes: ` +
							`${percent(top.allocated, whole)}`
						: "No size class is in use"
				}>
				<Classes
					id="chart-share"
					name="Share of what is allocated by size class, largest first"
					mark="bar"
					xTitle="size class"
					yTitle="% of allocated"
					format={(n) => `${Number(n.toFixed(1))} %`}
					points={byWeight.map((c) =>
						point(c, whole ? (100 * c.allocated) / whole : 0, whole),
					)}
				/>
				<Shares
					id="chart-breakdown"
					name="What is allocated, cut by size class"
					title="Allocation breakdown by size class; the whole bar is what is allocated"
					points={byWeight.map((c) => point(c, c.allocated, whole))}
				/>
			</Card>
			<Card
				title="Bin size activity"
				name="activity"
				said="How full, how busy and how large each class is"
				tools={
					<>
						{key}
						<Choice
							label="Scale of the charts"
							value={scale}
							options={[
								["linear", "linear"],
								["log", "logarithmic"],
							]}
							onChange={(value) => go({ scale: value === "log" ? value : "" })}
						/>
					</>
				}>
				<h3>Utilization</h3>
				<Classes
					id="chart-utilization"
					name="How full the slabs of each bin are"
					mark="dot"
					xTitle="bin size"
					yTitle="part of the places in slabs that is in use; large classes have no slabs"
					most={1}
					format={(n) => n.toFixed(1)}
					points={bySize
						.filter((c) => c.utilization !== undefined)
						.map((c) => point(c, c.utilization!, whole))}
				/>
				<h3>Requests</h3>
				<Classes
					id="chart-requests"
					name="Requests for each size class"
					mark="dot"
					xTitle="size class"
					yTitle="requests since the start"
					log={log}
					format={short}
					points={bySize
						.filter((c) => c.requests !== undefined)
						.map((c) => point(c, c.requests!, whole))}
				/>
				<h3>Allocated</h3>
				<Classes
					id="chart-allocated"
					name="Bytes allocated in each size class"
					mark="dot"
					xTitle="size class"
					yTitle="bytes allocated now"
					log={log}
					sizes
					format={bytes}
					points={bySize.map((c) => point(c, c.allocated, whole))}
				/>
			</Card>
			<Bins arena={arena} show={show} />
			<Large arena={arena} show={show} />
		</>
	);
}
