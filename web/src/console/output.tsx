// SPDX-License-Identifier: MIT OR Apache-2.0
// What a script puts out, in the order in which it came: text, tables, pictures and files.  A list
// of allocations is a link to the view that shows what is in it.
import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import { find } from "../app/recordings";
import { format } from "../app/route";
import { save } from "../parts/clipboard";
import { Table, type Column } from "../parts/table";
import { bytes, count, exact, plural } from "../parts/units";
import { parts, type Block, type Cell, type Link, type Rows, type Text } from "./lines";
import { Picture } from "./picture";

const LINES = 2000; /* that are drawn of one text */

/* Nothing that a script says leads elsewhere. */
const ours = (url: string): boolean => url.startsWith("/data/");

function ListLink({ link }: { link: Link }) {
	const id = link.recording && find(link.recording) ? link.recording : undefined;
	if (link.filter === undefined || !id)
		return (
			<span
				title={
					id ? "What is in it takes too many words for a link" : "The server has it not"
				}>
				{link.text}
			</span>
		);
	return (
		<a
			class="link"
			href={format({ view: "allocations", id, parameters: { filter: link.filter } })}
			title={link.filter || "all allocations"}>
			{link.text}
		</a>
	);
}

function Lines({ text }: { text: Text }) {
	const shown = text.lines.slice(0, LINES);
	return (
		<div class="console-text">
			<pre>
				{shown.map((line, i) => (
					<span key={i}>
						{line.links.length
							? parts(line.value, line.links).map((part, k) =>
									typeof part === "string" ? (
										part
									) : (
										<ListLink key={k} link={part} />
									),
								)
							: line.value}
						{"\n"}
					</span>
				))}
			</pre>
			{text.lines.length > LINES && (
				<p class="dim">
					{plural(text.lines.length - LINES, "more line")}.{" "}
					<button
						type="button"
						class="button"
						onClick={() =>
							save(
								"output.txt",
								"text/plain",
								text.lines.map((line) => `${line.value}\n`).join(""),
							)
						}>
						Save all as text
					</button>
				</p>
			)}
		</div>
	);
}

const isLink = (cell: Cell | undefined): cell is Link =>
	typeof cell === "object" && cell !== null && "text" in cell && typeof cell.text === "string";

const number = (value: number): string =>
	Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(6)));

const written = (cell: Cell | undefined): string =>
	cell === null || cell === undefined
		? ""
		: isLink(cell)
			? cell.text
			: typeof cell === "object"
				? JSON.stringify(cell)
				: String(cell);

/* What numbers are sorted by; texts stand behind them. */
function compare(a: Cell | undefined, b: Cell | undefined): number {
	const [x, y] = [a, b].map((cell) => (isLink(cell) ? parseInt(cell.text) : cell));
	if (typeof x === "number" && typeof y === "number") return x - y;
	return written(a).localeCompare(written(b));
}

function Shown({ table }: { table: Rows }) {
	const [sort, setSort] = useState<string>();
	const rows = useMemo(() => {
		if (!sort) return table.rows;
		const key = sort.replace(/^-/, ""),
			sign = sort.startsWith("-") ? -1 : 1;
		return [...table.rows].sort((a, b) => sign * compare(a[key], b[key]));
	}, [table, sort]);
	const columns = table.columns.map((name): Column<Record<string, Cell>> => {
		const cells = table.rows.map((row) => row[name]);
		const numbers = cells.every((cell) => cell === null || typeof cell !== "string");
		const sizes = /(^|_)(bytes|size)$/.test(name),
			named = /(^|_)(id|thread|pid|line|marker)$/.test(name); /* no amounts */
		const longest = Math.max(...cells.slice(0, 200).map((cell) => written(cell).length), 4);
		return {
			key: name,
			label: name.replaceAll("_", " "),
			number: numbers && !cells.some(isLink),
			width: numbers ? "112px" : `minmax(${Math.min(320, 40 + longest * 7)}px, ${longest}fr)`,
			sort: true,
			ascending: !numbers,
			text: (row) => written(row[name]),
			cell: (row) => {
				const cell = row[name];
				if (isLink(cell)) return <ListLink link={cell} />;
				if (typeof cell === "number")
					return (
						<span title={sizes ? exact(cell) : String(cell)}>
							{sizes ? bytes(cell) : named ? cell : number(cell)}
						</span>
					);
				return (
					<span class="console-cell" title={written(cell)}>
						{written(cell)}
					</span>
				);
			},
		};
	});
	if (!table.rows.length) return <p class="dim">A table without rows.</p>;
	return (
		<Table
			label="A table of the script"
			columns={columns}
			count={rows.length}
			row={(i) => rows[i]}
			height={Math.min(33 + rows.length * 28, 33 + 14 * 28)}
			sort={sort}
			onSort={setSort}
		/>
	);
}

/* One block; it is drawn again when it is another. */
const One = memo(function One({ block }: { block: Block }) {
	if (block.kind === "text") return <Lines text={block} />;
	if (block.kind === "table") return <Shown table={block.table} />;
	if (!ours(block.url)) return null;
	if (block.kind === "image") return <Picture url={block.url} name={block.basename} />;
	return (
		<p class="console-file">
			<a class="button" href={block.url} download={block.basename}>
				{block.basename}
			</a>{" "}
			<span class="dim">{bytes(block.size)}</span>
		</p>
	);
});

export function Output({ blocks }: { blocks: readonly Block[] }) {
	return (
		<div class="console-output" data-blocks={blocks.length}>
			{blocks.map((block, i) => (
				<One key={i} block={block} />
			))}
		</div>
	);
}
