// SPDX-License-Identifier: MIT OR Apache-2.0
// The one table: sortable headings, numbers at the right, arrows move from row to row, Enter opens.
// Rows are drawn as they come into view, so that their number does not matter.  Sorting is the
// caller's (most answers are sorted by the server): sort is "key" or "-key" for descending.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
	key: string;
	label: string;
	title?: string;
	number?: boolean;
	width?: string; /* of the grid: 120px, minmax(200px, 1fr) */
	sort?: boolean;
	cell: (row: Row) => ComponentChildren;
	text?: (row: Row) => string; /* for copying; what the cell would say */
}

export interface TableProps<Row> {
	label: string;
	columns: readonly Column<Row>[];
	count: number;
	row: (index: number) => Row | undefined; /* undefined: not there yet */
	sort?: string;
	onSort?: (sort: string) => void;
	onOpen?: (row: Row, index: number) => void;
	onMenu?: (row: Row, index: number, x: number, y: number) => void;
	onRange?: (from: number, to: number) => void; /* which rows are in view */
	rowHeight?: number;
	height?: number; /* of the body; all rows when left out and few */
	rowClass?: (row: Row) => string;
}

export function Table<Row>(props: TableProps<Row>) {
	const { columns, count, row, sort, onSort, rowHeight = 28 } = props;
	const body = useRef<HTMLDivElement>(null);
	const [top, setTop] = useState(0);
	const [at, setAt] = useState(-1);
	const height = Math.min(props.height ?? 600, count * rowHeight);
	const first = Math.max(0, Math.floor(top / rowHeight) - 4);
	const last = Math.min(count, Math.ceil((top + height) / rowHeight) + 4);
	const grid = { gridTemplateColumns: columns.map((c) => c.width ?? (c.number ? "minmax(88px, max-content)" : "minmax(120px, 1fr)")).join(" ") };
	useEffect(() => props.onRange?.(first, last), [first, last]);

	const reveal = (index: number): void => {
		const element = body.current;
		setAt(index);
		if (!element) return;
		if (index * rowHeight < element.scrollTop) element.scrollTop = index * rowHeight;
		if ((index + 1) * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = (index + 1) * rowHeight - element.clientHeight;
	};
	const keys = (event: KeyboardEvent): void => {
		const page = Math.max(1, Math.floor(height / rowHeight) - 1);
		const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 };
		const here = at >= 0 ? row(at) : undefined;
		if (event.key in steps && count) reveal(Math.max(0, Math.min(count - 1, steps[event.key]!)));
		else if (event.key === "Enter" && here !== undefined && event.target === body.current) props.onOpen?.(here, at);
		else return;
		event.preventDefault();
	};
	return (
		<div class="table" role="table" aria-label={props.label} aria-rowcount={count + 1}>
			<div class="table-head" role="row" style={grid}>
				{columns.map((c) => {
					const mine = sort === c.key || sort === `-${c.key}`;
					return (
						<div key={c.key} role="columnheader" class={c.number ? "right" : ""} title={c.title} aria-sort={mine ? (sort === c.key ? "ascending" : "descending") : undefined}>
							{c.sort && onSort ? <button type="button" onClick={() => onSort(sort === `-${c.key}` ? c.key : `-${c.key}`)}>{c.label}{mine ? (sort === c.key ? " ↑" : " ↓") : ""}</button> : c.label}
						</div>
					);
				})}
			</div>
			<div class="table-body" role="rowgroup" tabIndex={0} aria-label={`${props.label}: rows`} ref={body} style={{ height: `${height}px` }} onKeyDown={keys} onScroll={() => setTop(body.current?.scrollTop ?? 0)}>
				<div class="table-space" role="presentation" style={{ height: `${count * rowHeight}px` }}>
					{Array.from({ length: Math.max(0, last - first) }, (_, i) => {
						const index = first + i, data = row(index);
						return (
							<div key={index} role="row" aria-rowindex={index + 2} class={`table-row${index === at ? " at" : ""}${data !== undefined && props.rowClass ? ` ${props.rowClass(data)}` : ""}`}
								style={{ ...grid, top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
								onClick={() => { setAt(index); if (data !== undefined) props.onOpen?.(data, index); }}
								onContextMenu={(event) => { if (data !== undefined && props.onMenu) { event.preventDefault(); props.onMenu(data, index, event.clientX, event.clientY); } }}>
								{columns.map((c) => <div key={c.key} role="cell" class={c.number ? "right" : ""}>{data === undefined ? <span class="bone" /> : c.cell(data)}</div>)}
							</div>
						);
					})}
				</div>
			</div>
		</div>
	);
}
