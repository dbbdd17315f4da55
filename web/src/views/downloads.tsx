// SPDX-License-Identifier: MIT OR Apache-2.0
// Every format that the server can write, with the question of the page and what opens it.
import { url, useApi } from "../app/api";
import type { DataExportQuery } from "../app/endpoints";
import { find, useAsked, useRecordings } from "../app/recordings";
import { programName } from "../app/program_name";
import { go, useRoute } from "../app/url";
import type { Api } from "../app/types";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { MeasureChoice, useMeasure } from "../parts/measure";
import { openMenu } from "../parts/menu";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { plural } from "../parts/units";
import type { ViewProps } from "./views";

type Export = Api["exports"][number];
interface Row {
	name: string;
	help: string;
	viewer: string;
	file: string;
	href: string;
	uses: string; /* which of the switches above it heeds */
}

/* Texts that are no exporters. */
type Text = "allocation_ascii_tree" | `dynamic_${"constants" | "statics"}${"" | "_ascii_tree"}`;
const TEXTS: readonly [path: Text, name: string, help: string, ending: string][] = [
	["allocation_ascii_tree", "ASCII tree", "the call tree as a table of text", "tree.txt"],
	[
		"dynamic_constants",
		"dynamic constants",
		"leaked blocks of constants that are made at run time, by file and line",
		"constants.json",
	],
	[
		"dynamic_constants_ascii_tree",
		"dynamic constants, text",
		"the same as text",
		"constants.txt",
	],
	[
		"dynamic_statics",
		"dynamic statics",
		"leaked blocks of other static objects, by file and line",
		"statics.json",
	],
	["dynamic_statics_ascii_tree", "dynamic statics, text", "the same as text", "statics.txt"],
];

export function Downloads({ id }: ViewProps) {
	useRecordings();
	const { parameters } = useRoute();
	const asked = useAsked();
	const measured = useMeasure();
	const weight = parameters["weight"] === "count" ? "count" : "bytes";
	const groups = parameters["rows"] === "stacks";
	const api = useApi();
	const recording = find(id);
	const base = recording ? programName(recording).replace(/[^\w.-]+/g, "_") : "recording";
	const fromExport = (e: Export): Row => {
		const file = `${base}.${e.extension}`;
		const query: DataExportQuery = {
			...asked,
			...(e.one_measure ? { ...measured.query, weight } : {}),
			...(e.groups && groups ? { groups: true } : {}),
		};
		return {
			name: e.name,
			help: e.help,
			viewer: e.viewer ?? "",
			file,
			href: url(
				"/data/{id}/export/{format}/{name}",
				{ id, format: e.name, name: file },
				query,
			),
			uses: e.one_measure
				? measured.words
				: e.groups && groups
					? "a row for each stack"
					: "all measures",
		};
	};
	const rows = (data: Api): Row[] => [
		...data.exports.map(fromExport),
		...TEXTS.map(([path, name, help, ending]): Row => {
			const file = `${base}.${ending}`;
			return {
				name,
				help,
				viewer: ending.endsWith("txt") ? "any editor" : "jq",
				file,
				uses: "",
				href:
					path === "allocation_ascii_tree"
						? url(`/data/{id}/${path}`, { id }, asked)
						: url(`/data/{id}/${path}/{name}`, { id, name: file }, asked),
			};
		}),
	];
	const columns: Column<Row>[] = [
		{
			key: "name",
			label: "format",
			width: "minmax(220px, 1fr)",
			text: (r) => r.name,
			cell: (r) => (
				<>
					<span class="who">
						<strong>{r.name}</strong>
					</span>
					<span class="who-below dim lines-2" title={r.help}>
						{r.help}
					</span>
				</>
			),
		},
		{
			key: "viewer",
			label: "opens in",
			width: "minmax(220px, 1fr)",
			text: (r) => r.viewer,
			cell: (r) => (
				<span class="lines-2" title={r.viewer}>
					{r.viewer || "–"}
				</span>
			),
		},
		{
			key: "uses",
			label: "holds",
			width: "132px",
			text: (r) => r.uses,
			cell: (r) => <span class="dim">{r.uses}</span>,
		},
		{
			key: "file",
			label: "file",
			width: "176px",
			text: (r) => location.origin + r.href,
			cell: (r) => (
				<a
					class="button"
					href={r.href}
					download={r.file}
					aria-label={`Download ${r.name} as ${r.file}`}>
					{r.file}
				</a>
			),
		},
	];
	const filtered = [
		asked["filter"] && "the question",
		(asked["from"] || asked["to"]) && "the brush",
	]
		.filter(Boolean)
		.join(" and ");
	return (
		<Card
			name="downloads"
			title="Downloads"
			said={
				api.data
					? plural(rows(api.data).length, "file") +
						(filtered
							? `, of what ${filtered} above leaves`
							: ", of the whole recording")
					: ""
			}
			tools={
				<>
					<Choice
						label="Weighed by"
						value={weight}
						options={[
							["bytes", "bytes"],
							["count", "blocks"],
						]}
						onChange={(value) => go({ weight: value === "bytes" ? "" : value })}
					/>
					<Choice
						label="CSV and JSON have"
						value={groups ? "stacks" : "blocks"}
						options={[
							["blocks", "a row per block", "CSV and JSON: a row for each block"],
							["stacks", "per stack", "CSV and JSON: a row for each stack"],
						]}
						onChange={(value) => go({ rows: value === "stacks" ? value : "" })}
					/>
					<MeasureChoice measured={measured} />
				</>
			}>
			<Answered what="The list of formats" answer={api} lines={10}>
				{(data) => {
					const list = rows(data);
					return (
						<Table
							label="Downloads"
							columns={columns}
							count={list.length}
							row={(i) => list[i]}
							rowHeight={60}
							nouns="files"
							onOpen={(r) => {
								const link = document.createElement("a");
								link.href = r.href;
								link.download = r.file;
								link.click();
							}}
							onMenu={(r, _, x, y) =>
								openMenu(x, y, r.name, [
									{
										label: "Copy the address",
										run: () => void copy(location.origin + r.href, "Address"),
									},
									{
										label: "Copy as a curl command",
										run: () =>
											void copy(
												`curl -o '${r.file}' '${location.origin}${r.href}'`,
												"Command",
											),
									},
								])
							}
						/>
					);
				}}
			</Answered>
		</Card>
	);
}
