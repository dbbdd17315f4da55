// SPDX-License-Identifier: MIT OR Apache-2.0
// The groups of graphs of the overview.  All show the stretch of the brush (a drag in any of them
// is a new one, so they zoom together), share the hover line, and ask about moments by a right
// click.  A group is a row of the table below; one without figures is left out.
import { useMemo } from "preact/hooks";
import { dataUrl, time, useData } from "../app/recordings";
import type { Overview as Facts, Timeline } from "../app/types";
import { useTimelineFolded } from "../app/kept";
import { go, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { openMenu } from "../parts/menu";
import { momentMenu } from "../parts/moments";
import { Plot } from "../parts/plot";
import { Answered } from "../parts/states";
import { seconds } from "../parts/strip";
import { bytes, duration, short, signed } from "../parts/units";

type Numbers = Record<string, number[]>;
interface Curve {
	key: string;
	label: string;
	field: string;
	kind: "bytes" | "count" | "rate" | "bytes change" | "count change";
}
interface Group {
	key: string; /* in the address: which curve is shown */
	title: string;
	path: "/data/{id}/timeline" | "/data/{id}/timeline_leaked" | "/data/{id}/timeline_maps";
	/* the question and the range are asked for; else all is here, and a part is shown */
	filtered: boolean;
	curves: readonly Curve[];
}

const GROUPS: readonly Group[] = [
	{
		key: "memory",
		title: "Memory",
		path: "/data/{id}/timeline",
		filtered: true,
		curves: [
			{ key: "allocations", label: "alloc/s", field: "allocations_per_second", kind: "rate" },
			{
				key: "deallocations",
				label: "dealloc/s",
				field: "deallocations_per_second",
				kind: "rate",
			},
			{ key: "size", label: "bytes", field: "allocated_size", kind: "bytes" },
			{ key: "size_delta", label: "Δ bytes", field: "size_delta", kind: "bytes change" },
			{ key: "count", label: "blocks", field: "allocated_count", kind: "count" },
			{ key: "count_delta", label: "Δ blocks", field: "count_delta", kind: "count change" },
		],
	},
	{
		key: "leaked",
		title: "Never freed",
		path: "/data/{id}/timeline_leaked",
		filtered: true,
		curves: [
			{ key: "size", label: "bytes", field: "allocated_size", kind: "bytes" },
			{ key: "count", label: "blocks", field: "allocated_count", kind: "count" },
		],
	},
	{
		key: "maps",
		title: "The process",
		path: "/data/{id}/timeline_maps",
		filtered: false,
		curves: [
			{ key: "rss", label: "RSS", field: "rss", kind: "bytes" },
			{ key: "address_space", label: "address space", field: "address_space", kind: "bytes" },
			{ key: "anonymous", label: "anonymous", field: "anonymous", kind: "bytes" },
			{ key: "dirty", label: "dirty", field: "dirty", kind: "bytes" },
			{ key: "clean", label: "clean", field: "clean", kind: "bytes" },
			{ key: "swap", label: "swap", field: "swap", kind: "bytes" },
			{ key: "mapped", label: "mapped", field: "mapped", kind: "bytes" },
		],
	},
];

/* What the timeline above draws, as curves of the groups: beside the bytes alive it may show what
 * is resident. */
const ABOVE: Record<string, readonly string[]> = {
	bytes: ["allocated_size", "rss"],
	blocks: ["allocated_count"],
	rate: ["allocations_per_second"],
	rss: ["rss"],
};

const FORMAT: Record<Curve["kind"], (v: number) => string> = {
	bytes,
	count: short,
	rate: (v) => `${short(v)}/s`,
	"bytes change": (v) => signed(bytes(v)),
	"count change": (v) => signed(short(v)),
};

/* For the legend: what the button's one word means. */
const NAMES: Record<string, string> = {
	bytes: "bytes alive",
	blocks: "blocks alive",
	"alloc/s": "allocations per second",
	"dealloc/s": "deallocations per second",
	"Δ bytes": "change of the bytes alive",
	"Δ blocks": "change of the blocks alive",
};
const said = (group: Group, curve: Curve): string =>
	group.key === "leaked"
		? `${curve.label} alive that were never freed`
		: (NAMES[curve.label] ?? `${curve.label} of the process`);

export function Graphs({ id, facts }: { id: string; facts: Facts }) {
	return (
		<div class="graphs">
			{GROUPS.map((group) => (
				<Graph key={group.key} id={id} group={group} facts={facts} />
			))}
		</div>
	);
}

function Graph({ id, group, facts }: { id: string; group: Group; facts: Facts }) {
	const { parameters } = useRoute();
	const { filter, from, to, at } = parameters;
	const answer = useData<Timeline & Numbers>(
		dataUrl(id, group.path, group.filtered ? { filter, from: time(from), to: time(to) } : {}),
	);
	/* The timeline has drawn one of them already: another one is the first here. */
	const above = useTimelineFolded() ? [] : (ABOVE[parameters["series"] || "bytes"] ?? []);
	const usual =
		group.curves.find((c) => group.key === "leaked" || !above.includes(c.field)) ??
		group.curves[0]!;
	const curve = group.curves.find((c) => c.key === parameters[group.key]) ?? usual;
	const start = facts.start_ms;
	const xs = useMemo(
		() =>
			answer.data
				? (answer.data.xs_ns?.map((ns) => ns / 1e9) ??
					answer.data["xs"]!.map((ms) => (ms - start) / 1e3))
				: [],
		[answer.data, start],
	);
	const end = facts.runtime_ns / 1e9,
		low = from ? Number(from) : 0,
		high = to ? Number(to) : end;
	if (answer.data && xs.length <= 2 && !from && !to) return null;
	const values = answer.data?.[curve.field] ?? [];
	const most = values.reduce(
		(best, v, i) => (xs[i]! >= low && xs[i]! <= high ? Math.max(best, v) : best),
		0,
	);
	const size = curve.kind.startsWith("bytes");
	return (
		<Card
			title={group.title}
			name={`graph-${group.key}`}
			said={
				values.length > 0 && (
					<>
						{FORMAT[curve.kind](most)} at most
						{from || to ? ` within ${duration(low)} – ${duration(high)}` : ""}
					</>
				)
			}
			tools={
				<>
					<Choice
						label={`${group.title}: shown`}
						value={curve.key}
						options={group.curves.map((c) => [c.key, c.label] as const)}
						onChange={(key) => go({ [group.key]: key === usual.key ? "" : key })}
					/>
				</>
			}>
			<Answered what={`The graph of “${group.title}”`} answer={answer} lines={4}>
				{() => (
					<Plot
						label={curve.label}
						xs={xs}
						lines={[
							{
								label: said(group, curve),
								values,
								tone: "curve",
								fill: !curve.kind.endsWith("change"),
							},
						]}
						from={low}
						to={high}
						height={140}
						format={FORMAT[curve.kind]}
						binary={size}
						moment={at ? Number(at) : undefined}
						group={id}
						markers={facts.markers?.map((m) => ({
							at: m.at_ns / 1e9,
							name: m.name || `marker ${m.value}`,
						}))}
						onMoment={(s) => go({ at: seconds(s) })}
						onZoom={(a, b) => go({ from: seconds(a), to: seconds(b) })}
						onMenu={(x, y, s) =>
							openMenu(x, y, `At ${duration(s)}`, momentMenu(s, [low, high]))
						}
					/>
				)}
			</Answered>
		</Card>
	);
}
