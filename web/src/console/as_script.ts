// SPDX-License-Identifier: MIT OR Apache-2.0
// A view of the page as the text of a script that says the same: what the question chooses, as the
// server writes it, and then what the view asks about it.
import type { Route } from "../app/route";
import { chosen as chosenMaps } from "../parts/memory_maps";

/* What the server makes of filters (allocation_filter_to_script). */
export interface Chosen {
	code: string;
}

const quoted = (text: string): string =>
	`"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;

type Options = Record<string, string | number | boolean | undefined>;

/* { measure = "peak", count = 20 }; "" of nothing. */
function table(options: Options): string {
	const rows = Object.entries(options)
		.filter(([, value]) => value !== undefined && value !== "")
		.map(([name, value]) => `${name} = ${typeof value === "string" ? quoted(value) : value}`);
	return rows.length ? ` { ${rows.join(", ")} }` : "()";
}

interface About {
	parameters: Record<string, string>;
	id: string;
	frames: Options; /* whose frames are, which no list knows */
	measure: Options;
	alive: string; /* .only_alive_at("1s"), or "" */
	count: boolean; /* blocks are weighed */
}

const WORDS: Record<string, string> = {
	peak: "what was alive at the peak",
	leaked: "what was never freed",
	allocated: "all that was allocated",
	temporary: "what was freed at once",
	alive: "what was alive then",
};

const sorted = (sort: string | undefined, otherwise: string): Options => {
	const key = sort || otherwise;
	return { sort_by: key.replace(/^-/, ""), order: key.startsWith("-") ? "dsc" : "asc" };
};

const show = (rows: string, columns: readonly string[]): string =>
	`show(${rows}, { ${columns.map(quoted).join(", ")} })`;

/* Each view's own part; `chosen` is the list. */
const VIEWS: Record<string, (about: About) => string[]> = {
	overview: ({ frames }) => [
		`local answer = chosen:overview${table(frames)}`,
		"for _, sentence in ipairs(answer.sentences) do",
		"  println(sentence.text)",
		"end",
		'println("{}: {} bytes in all, at most {} at once, {} never freed", chosen,',
		"  answer.allocated_bytes, answer.peak.bytes, answer.leaked.bytes)",
		'graph():add("bytes alive", chosen):without_legend():save("memory.svg")',
	],
	leaks: ({ frames, parameters }) => [
		`local answer = chosen:leaks${table({
			...frames,
			all: parameters["all"] ? true : undefined,
			held: parameters["held"] ? true : undefined,
		})}`,
		show("answer.verdicts", [
			"function",
			"class",
			"leaked_bytes",
			"leaked_count",
			"bytes_per_second",
			"evidence",
		]),
	],
	flame: ({ measure, count }) => [
		`chosen:save("flame.svg", "flamegraph",${table({
			...measure,
			by_count: count || undefined,
		})})`,
	],
	allocations: ({ parameters, alive, frames }) =>
		parameters["list"] === "flat"
			? [
					`local answer = chosen${alive}:ask("allocations",${table({
						...frames,
						...sorted(parameters["sort"], "-size"),
						count: 50,
						stacks: false,
					})})`,
					'println("{} of {}", #answer.allocations, chosen' + alive + ")",
					show("answer.allocations", [
						"id",
						"size",
						"extra_space",
						"thread_name",
						"call",
						"chain_length",
						"backtrace_id",
						"address_s",
					]),
				]
			: [
					`local groups = chosen${alive}:group_by_backtrace():sort_by(${quoted(
						(parameters["sort"] || "-only_matched.size").replace(/^-/, ""),
					)}${(parameters["sort"] || "-").startsWith("-") ? "" : ', "asc"'})`,
					`println("{} in {}", chosen${alive}, groups)`,
					"show(groups:take(50))",
				],
	functions: ({ parameters, measure, frames }) =>
		parameters["function"]
			? [
					`local answer = chosen:callers${table({
						...frames,
						...measure,
						["function"]: parameters["function"],
					}).replace(" function = ", ' ["function"] = ')}`,
					'println("called by")',
					show("answer.callers", ["name", "bytes", "count"]),
					'println("calls")',
					show("answer.callees", ["name", "bytes", "count"]),
				]
			: [
					`local answer = chosen:functions${table({
						...frames,
						...measure,
						by: parameters["by"],
						...sorted(parameters["sort"], "-own"),
						search: parameters["search"],
						count: 50,
					})}`,
					'println("{} bytes in {} blocks", answer.total.bytes, answer.total.count)',
					show("answer.functions", [
						"name",
						"module",
						"own_bytes",
						"own_count",
						"self_bytes",
						"bytes",
					]),
				],
	tree: ({ parameters, measure, frames, count }) => {
		const thread = parameters["by"] === "thread";
		return [
			`local answer = chosen:tree${table({
				...frames,
				...measure,
				weight: count ? "count" : undefined,
				direction: parameters["direction"],
				by: thread ? undefined : parameters["by"],
				threads: thread || undefined,
			})}`,
			"",
			"-- What is less than a fiftieth of the whole is left out.",
			`local weight = "${count ? "count" : "bytes"}"`,
			"local function write(node, indent)",
			'  println("{}{}  {}", indent, node.name, node[weight])',
			"  for _, child in ipairs(node.children or {}) do",
			"    if child[weight] * 50 >= answer.tree[weight] then",
			'      write(child, indent .. "  ")',
			"    end",
			"  end",
			"end",
			'write(answer.tree, "")',
		];
	},
	source: ({ parameters, measure, frames }) =>
		parameters["file"]
			? [
					`local answer = chosen:source${table({
						...frames,
						...measure,
						file: parameters["file"],
					})}`,
					show("answer.weights", ["line", "bytes", "count"]),
				]
			: [
					`local answer = chosen:sources${table({ ...frames, ...measure })}`,
					show("answer.sources", ["file", "bytes", "count"]),
				],
	threads: ({ parameters, alive, frames }) => [
		`local answer = chosen${alive}:threads${table({
			...frames,
			...sorted(parameters["sort"], "-allocated_bytes"),
		})}`,
		show("answer.threads", [
			"thread",
			"name",
			"allocated_bytes",
			"leaked_bytes",
			"peak_bytes",
			"temporary_bytes",
			"freed_by_other_bytes",
		]),
	],
	histograms: ({ measure, frames }) => [
		'for _, of in ipairs { "size", "lifetime" } do',
		`  local answer = chosen:histogram${table({ ...frames, ...measure }).replace(
			" {",
			" { of = of,",
		)}`,
		"  println(of)",
		'  show(answer.bins, { "from", "to", "count", "bytes", "slack_bytes" })',
		"end",
	],
	/* Of all of the program: no question chooses a part of it. */
	rss: ({ parameters }) => [
		`local answer = data():ask("rss",${table({
			at: parameters["at"] ? `${parameters["at"]}s` : undefined,
			count: 0,
		})})`,
		show("answer.terms", ["name", "bytes"]),
	],
	maps: ({ parameters }) => [
		`local answer = data():ask("maps",${table({
			filter: parameters["filter"],
			...chosenMaps(parameters),
			at: parameters["at"] ? `${parameters["at"]}s` : undefined,
			alive_at: parameters["at"] ? `${parameters["at"]}s` : undefined,
			...sorted(parameters["sort"], "-peak_rss"),
			count: 50,
			stacks: false,
		})})`,
		'println("{} maps, {} bytes of them resident", answer.total_count, answer.total_rss)',
		show("answer.maps", ["id", "name", "size", "rss", "peak_rss", "address_s"]),
	],
	address_space: ({ parameters }) => [
		`local answer = chosen:fragmentation${table({
			at: parameters["at"] ? `${parameters["at"]}s` : undefined,
		})}`,
		'println("{} bytes in {} blocks; rounding up takes {} more", answer.bytes, answer.count,',
		"  answer.slack_bytes)",
		show("answer.regions", ["size", "regions", "live_bytes", "empty_bytes"]),
	],
	compare: ({ parameters, id, measure, frames, count }) => {
		const other = parameters["against"] && parameters["against"] !== id,
			at = parameters["at"],
			later = parameters["at_other"];
		const moments =
			other && !at && !later
				? measure
				: {
						at_a: later ? `${later}s` : other ? "0s" : `${parameters["from"] || 0}s`,
						at_b: at ? `${at}s` : parameters["to"] ? `${parameters["to"]}s` : "100%",
					};
		return [
			`local answer = diff(chosen, data(),${table({
				...frames,
				...moments,
				weight: count ? "count" : undefined,
				by: parameters["by"] === "stack" ? "both" : "function",
				count: 50,
			})})`,
			show("answer.functions", [
				"function",
				"status",
				"before_bytes",
				"after_bytes",
				"bytes_delta",
				"count_delta",
			]),
		];
	},
	download: ({ measure, count }) => [
		"-- A row for each stack; without `groups` for each block.",
		'chosen:save("stacks.csv", "csv", { groups = true })',
		`chosen:save("flame.svg", "flamegraph",${table({
			...measure,
			by_count: count || undefined,
		})})`,
		'-- The other formats: help("export").',
	],
};

const PATTERNS = ["focus", "ignore", "retain", "exclude", "thread"];

/* Milliseconds since 1970, as fleets are asked. */
const ms = (seconds: string | undefined): number | undefined =>
	seconds ? Math.round(Number(seconds) * 1000) : undefined;

const FLEET: Record<string, (p: Record<string, string>) => string[]> = {
	list: (p) =>
		p["rows"] === "recording"
			? [
					`local answer = data():fleet_recordings${table({
						...span(p),
						...sorted(p["sort"], "-started"),
						count: 50,
					})}`,
					show("answer.recordings", [
						"service",
						"host",
						"command",
						"peak_bytes",
						"leaked_bytes",
						"live_bytes",
					]),
				]
			: [
					`local answer = data():fleet_groups${table({
						...span(p),
						by: p["rows"] || "service",
						label_name: p["rows"] === "label" ? p["label"] : undefined,
						search: p["search"],
						...sorted(p["sort"], p["rows"] === "day" ? "-name" : "-live"),
						count: 50,
					})}`,
					'println("{} bytes alive in {} recordings", answer.total.live_bytes,',
					"  answer.total.recordings)",
					show("answer.groups", [
						"name",
						"recordings",
						"hosts",
						"live_bytes",
						"growth_per_second",
					]),
				],
	growth: (p) => [
		`local answer = data():fleet_growth${table({
			...span(p),
			by: p["by"] === "stack" ? "stack" : undefined,
			search: p["search"],
			...sorted(p["sort"], "-growth"),
			count: 50,
		})}`,
		show("answer.rows", [
			"name",
			"class",
			"recordings",
			"growing",
			"live_bytes",
			"growth_per_second",
		]),
	],
	flame: (p) => {
		const alive = !p["measure"] || p["measure"] === "alive",
			at = ms(p["at"] ?? p["to"]);
		const asked = table({
			filter: p["filter"],
			measure: p["measure"] || "alive",
			...(alive ? { at } : { from: ms(p["from"]), to: ms(p["to"]) }),
			count: 50,
		});
		/* Without a moment, the last one of the curve: "until", which is a word of Lua's. */
		const latest = alive && at === undefined;
		const given = latest ? asked.replace(/ }$/, ", at = latest }") : asked;
		return [
			...(latest ? ['local latest = data():fleet_trend { points = 2 }["until"] * 1000'] : []),
			`local answer = data():functions${given}`,
			show("answer.functions", ["name", "module", "own_bytes", "own_count"]),
		];
	},
	compare: (p) => [
		...(p["a"] && p["b"] ? [] : ['-- Which two?  Expressions: release = "1.0".']),
		`local answer = data():ask("diff",${table({
			a: p["a"] || 'release = "1.0"',
			b: p["b"] || 'release = "1.1"',
			filter: p["filter"],
			measure: p["measure"] && p["measure"] !== "alive" ? p["measure"] : "peak",
			by: "function",
			count: 50,
		})})`,
		show("answer.functions", [
			"function",
			"status",
			"before_bytes",
			"after_bytes",
			"bytes_delta",
		]),
	],
};

const span = (p: Record<string, string>): Options => ({
	filter: p["filter"],
	since: ms(p["from"]),
	until: ms(p["to"]),
});

/* Views of files that have no allocations to choose from. */
const OTHERS: Record<string, (parameters: Record<string, string>) => string[]> = {
	heap: (p) => [
		`local answer = data():dump_top${table({
			measure: `${p["measure"] === "alloc" ? "alloc" : "inuse"}_${
				p["weight"] === "count" ? "objects" : "space"
			}`,
			by: p["by"],
			...Object.fromEntries(PATTERNS.map((name) => [name, p[name]])),
			allocator: p["allocator"] ? true : undefined,
			search: p["find"],
			count: 50,
		}).replace(/ }$/, p["base"] ? ", base = data(2) }" : " }")}`,
		'println("{} bytes in {} blocks", answer.total.bytes, answer.total.objects)',
		show("answer.rows", [
			"name",
			"flat_bytes",
			"flat_objects",
			"cum_bytes",
			...(p["base"] ? ["flat_bytes_before"] : []),
		]),
	],
	statistics: () => [
		"local answer = data():statistics()",
		"local rows = {}",
		"for i, number in ipairs(answer.series.snapshot) do",
		"  rows[i] = { snapshot = number, allocated = answer.series.allocated[i],",
		"    active = answer.series.active[i], resident = answer.series.resident[i] }",
		"end",
		show("rows", ["snapshot", "allocated", "active", "resident"]),
	],
	processes: (p) => [
		`local answer = data():processes${table({ top: 20, measure: p["measure"] })}`,
		show("answer.recordings", [
			"title",
			"pid",
			"peak_bytes",
			"allocations",
			"leaked_bytes",
			"file",
		]),
		show("answer.held.holders", ["function", "module", "bytes", "count", "processes"]),
	],
	fleet: (p) => FLEET[p["show"] ?? ""]?.(p) ?? FLEET["list"]!(p),
};

export const isView = (name: string): boolean => name in VIEWS || name in OTHERS;
/* Does a question choose allocations of what it shows? */
export const chooses = (name: string): boolean => name in VIEWS;

/* `label`: what the page calls the view. */
export function asScript(route: Route, label: string, chosen: Chosen): string {
	const { parameters, id } = route;
	const other = OTHERS[route.view];
	if (other) return [`-- ${label}`, ...other(parameters), ""].join("\n");
	const at = parameters["at"] ? `${parameters["at"]}s` : undefined;
	const said = parameters["measure"];
	const name = said && said in WORDS && (said !== "alive" || at) ? said : at ? "alive" : "peak";
	const about: About = {
		parameters,
		id,
		frames: { hide: parameters["hide"], own: parameters["own"] },
		measure: { measure: name, ...(name === "alive" ? { at } : {}) },
		alive: at ? `:only_alive_at(${quoted(at)})` : "",
		count: parameters["weight"] === "count",
	};
	const own = VIEWS[route.view];
	/* What is compared with is before, and data(2). */
	const compared =
		route.view === "compare" && parameters["against"] && parameters["against"] !== id;
	const code = compared
		? chosen.code.replace(/^allocations/, "data(2):allocations")
		: chosen.code;
	const measured = ["flame", "functions", "tree", "source", "histograms"].includes(route.view);
	return [
		`-- ${label.replace("…", "")}${measured ? `: ${WORDS[name]}` : ""}`,
		`local chosen = ${code}`,
		"",
		...(own ? own(about) : ["show(chosen)"]),
		"",
	].join("\n");
}
