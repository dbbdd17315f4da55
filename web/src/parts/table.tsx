// SPDX-License-Identifier: MIT OR Apache-2.0
// The one table: sortable headings, numbers at the right, arrows move from row to row, Enter opens,
// Ctrl-C copies the row, and the line below it copies or saves all.  Rows are drawn as they come
// into view, so that their number does not matter.  Sorting is the caller's (most answers are
// sorted by the server): sort is "key" or "-key" for descending.
//
// A browser draws nothing that is higher than some 30 million pixels.  So the rows stand in a
// window that stays where it is (sticky), and what is scrolled is an empty space of at most SPACE
// pixels: up to that height one pixel is one pixel, above it the scroll bar is a share of the
// whole, and wheel and keys still move by rows.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { copy, notice, save } from "./clipboard";
import { Heights } from "./heights";
import { useRest } from "./rest";
import "../style/table.css";
import { count as written } from "./units";

const SPACE = 8_000_000;
const HEAD = 32;
const BELOW = 72; /* pixels: what stands under a table, to the end of the page */
const WORDS = 100; /* pixels: a column of names is no narrower */
const LEAD = 0.45; /* of the width, that the first column takes where it is scrolled beside */
const AROUND = 3; /* rows that are drawn above and below what is seen */
const SAVED = 100_000; /* rows of a file at most; longer ones are a download of the server */

interface AnyColumn<Row> {
	label: string;
	title?: string;
	number?: boolean;
	/* of the grid: 120px, minmax(200px, 1fr); never max-content, each row is a grid */
	width?: string;
	ascending?: boolean; /* the first click sorts so: names, times */
	group?: string; /* a heading above neighbours that share it */
	cell: (row: Row, index: number) => ComponentChildren;
	text?: (row: Row) => string; /* for copying and files: the exact value */
}

/* Sort: the keys that rows can be sorted by. */
export type Column<Row, Sort extends string = string> = AnyColumn<Row> &
	({ key: Sort; sort: boolean } | { key: string; sort?: false });

export interface TableProps<Row> {
	label: string;
	columns: readonly Column<Row>[];
	count: number;
	row: (index: number) => Row | undefined; /* undefined: not there yet */
	sort?: string | undefined;
	onSort?: (sort: string) => void;
	onOpen?: (row: Row, index: number) => void;
	onMenu?: (row: Row, index: number, x: number, y: number) => void;
	onKey?: (event: KeyboardEvent, row: Row, index: number) => boolean; /* true: was used */
	onRange?: (from: number, to: number) => void; /* which rows are in view */
	onAt?: (row: Row | undefined, index: number) => void; /* the row that the arrows reached */
	/* Below a row.  Another function is another set of heights: keep it with useCallback. */
	detail?:
		| ((row: Row, index: number) => { height: number; content: ComponentChildren } | undefined)
		| undefined;
	load?: (
		from: number,
		to: number,
	) => Promise<Row[]>; /* for files, where row() knows only some */
	subject?: string; /* another one starts at the top again */
	start?: number; /* the row to begin with */
	rowHeight?: number;
	height?: number; /* with the heading; what is left of the window if not given */
	rowClass?: (row: Row) => string;
	nouns?: string; /* rows are … */
}

const widthOf = <Row,>(c: Column<Row>): string =>
	c.width ?? (c.number ? "88px" : "minmax(120px, 1fr)");
/* The least that a column of the grid may be narrowed to. */
const leastOf = (width: string): number => Number(/(\d+)px/.exec(width)?.[1] ?? 80);

const quoted = (text: string): string =>
	/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

export function Table<Row>(props: TableProps<Row>) {
	const { columns, count, row, sort, onSort, rowHeight = 28 } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const [, redraw] = useState(0);
	const [at, setAt] = useState(-1);
	const name = useMemo(() => `table-${Math.random().toString(36).slice(2, 8)}`, []);
	const heights = useMemo(
		() => new Heights(count, rowHeight),
		[count, rowHeight, props.subject, props.detail],
	);
	const seen = useRef({
		y: 0,
		scrolled: 0,
	}); /* y: of the whole; scrolled: what we made scrollTop */
	const grouped = columns.some((c) => c.group);
	const head = grouped ? HEAD + 20 : HEAD;
	const rest = useRest(scroller, BELOW, 280);
	const room = props.height ?? rest.height;
	/* Where not all columns have room, they are scrolled below the first one that has words (and
	 * what stands before it), which stays and takes no more than its part of what there is. */
	const least = columns.map((c) => leastOf(widthOf(c)));
	const full = least.reduce((sum, w) => sum + w + 16, 0);
	const narrow = rest.width > 0 && rest.width < full;
	const leads = Math.max(
		0,
		least.findIndex((w) => w >= WORDS),
	);
	const before = least.slice(0, leads).reduce((sum, w) => sum + w + 16, 0);
	const most = Math.min(least[leads] ?? 0, Math.floor(rest.width * LEAD) - before);
	const lead = before + most; /* where what is scrolled begins */
	const beyond = Math.max(80, rest.width - lead - 40);
	const fitted = least.map((w, i) => (i === leads ? most : Math.min(w, beyond)));
	const wide = narrow ? fitted.reduce((sum, w) => sum + w + 16, 0) : full;
	const widths = columns.map((c, i) =>
		narrow && fitted[i] !== least[i] ? `minmax(${fitted[i]}px, 1fr)` : widthOf(c),
	);
	const cell = (c: Column<Row>, i: number): { class: string; style?: { left: string } } =>
		narrow && i <= leads
			? {
					class: `lead${i === leads ? " last" : ""}${c.number ? " right" : ""}`,
					style: { left: i ? `${before + 8}px` : "0" },
				}
			: { class: c.number ? "right" : "" };

	/* Details of the rows in view may change their heights, so they are asked first. */
	const place = (): { first: number; last: number; view: number; total: number } => {
		const inside = (): number => Math.max(rowHeight, Math.min(room - head, heights.total));
		const anchor = heights.at(seen.current.y);
		let first = Math.max(0, anchor - AROUND),
			last = first;
		if (props.detail) {
			for (
				let i = first;
				i < count && (i <= anchor || heights.top(i) < seen.current.y + room);
				i++
			) {
				const data = row(i);
				const more = data === undefined ? 0 : (props.detail(data, i)?.height ?? 0);
				const before = heights.extra(i);
				if (heights.set(i, more) && i < anchor) seen.current.y += more - before;
			}
		}
		const view = inside();
		seen.current.y = Math.max(0, Math.min(seen.current.y, heights.total - view));
		first = Math.max(0, heights.at(seen.current.y) - AROUND);
		last = Math.min(count, heights.at(seen.current.y + view) + 1 + AROUND);
		return { first, last, view, total: heights.total };
	};
	const { first, last, view, total } = place();
	const space = Math.min(total, SPACE);
	const scaled = total > SPACE;
	const toScroll = (y: number): number =>
		scaled ? Math.round((y / (total - view)) * (space - view)) : Math.round(y);

	const move = (y: number): void => {
		seen.current.y = Math.max(0, Math.min(y, total - view));
		redraw((n) => n + 1);
	};
	useLayoutEffect(() => {
		const element = scroller.current;
		const wanted = toScroll(seen.current.y);
		if (!element || Math.abs(element.scrollTop - wanted) < 1) return;
		element.scrollTop = wanted;
		seen.current.scrolled = element.scrollTop;
	});
	const scrolls = (): void => {
		if (!scroller.current) return; /* the last one comes when the view is gone */
		const top = scroller.current.scrollTop;
		if (Math.abs(top - seen.current.scrolled) < 1) return;
		seen.current.scrolled = top;
		move(scaled ? (top / Math.max(1, space - view)) * (total - view) : top);
	};
	useEffect(() => {
		const element = scroller.current;
		if (!element || !scaled) return;
		const wheel = (event: WheelEvent): void => {
			if (!event.deltaY || event.shiftKey || event.ctrlKey) return;
			const step = event.deltaMode === 1 ? rowHeight : event.deltaMode === 2 ? view : 1;
			event.preventDefault();
			move(seen.current.y + event.deltaY * step);
		};
		element.addEventListener("wheel", wheel, { passive: false });
		return () => element.removeEventListener("wheel", wheel);
	}, [scaled, total, view, rowHeight]);
	useEffect(() => {
		seen.current = { y: 0, scrolled: 0 };
		if (scroller.current) scroller.current.scrollTop = 0;
		setAt(props.start ?? -1);
		if (props.start !== undefined)
			seen.current.y = Math.max(0, heights.top(props.start) - view / 3);
		redraw((n) => n + 1);
	}, [props.subject, props.start]);
	useEffect(() => props.onRange?.(first, last), [first, last, props.onRange]);

	const choose = (index: number): void => {
		setAt(index);
		props.onAt?.(row(index), index);
	};
	const reveal = (index: number): void => {
		choose(index);
		const top = heights.top(index),
			bottom = top + rowHeight + Math.min(heights.extra(index), view - rowHeight);
		if (top < seen.current.y) move(top);
		else if (bottom > seen.current.y + view) move(bottom - view);
	};
	const copyRow = (data: Row): void =>
		void copy(texts.map((c) => c.text!(data)).join("\t"), "Row");
	const keys = (event: KeyboardEvent): void => {
		if (event.target !== scroller.current) return;
		const page = Math.max(1, Math.floor(view / rowHeight) - 1);
		const steps: Record<string, number> = {
			ArrowDown: at + 1,
			ArrowUp: at - 1,
			PageDown: at + page,
			PageUp: at - page,
			Home: 0,
			End: count - 1,
		};
		const here = at >= 0 ? row(at) : undefined;
		if (here !== undefined && props.onKey?.(event, here, at)) event.preventDefault();
		else if (event.key in steps && count && !event.ctrlKey && !event.altKey && !event.metaKey) {
			reveal(Math.max(0, Math.min(count - 1, steps[event.key]!)));
			event.preventDefault();
		} else if (event.key === "Enter" && here !== undefined) {
			props.onOpen?.(here, at);
			event.preventDefault();
		} else if (
			here !== undefined &&
			props.onMenu &&
			(event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))
		) {
			const box = document.getElementById(`${name}-${at}`)?.getBoundingClientRect();
			event.preventDefault();
			props.onMenu(
				here,
				at,
				(box?.left ?? 0) + 24,
				(box?.top ?? 0) + Math.min(rowHeight, 24),
			);
		} else if (
			here !== undefined &&
			event.key === "c" &&
			(event.ctrlKey || event.metaKey) &&
			!String(getSelection())
		) {
			copyRow(here);
			event.preventDefault();
		}
	};

	const texts = columns.filter((c) => c.text);
	const collect = async (): Promise<Row[]> => {
		const end = Math.min(count, SAVED);
		if (props.load) return props.load(0, end);
		return Array.from({ length: end }, (_, i) => row(i)).filter(
			(r): r is Row => r !== undefined,
		);
	};
	const heading = (c: Column<Row>): string => (c.group ? `${c.label} (${c.group})` : c.label);
	const asText = async (between: string, quote: (text: string) => string): Promise<string> => {
		const lines = (await collect()).map((r) =>
			texts.map((c) => quote(c.text!(r))).join(between),
		);
		return [texts.map((c) => quote(heading(c))).join(between), ...lines].join("\n") + "\n";
	};
	const whole = (
		run: (text: string) => unknown,
		between: string,
		quote: (text: string) => string,
	): void => {
		asText(between, quote).then(run, (error: Error) =>
			notice(`The rows could not be had: ${error.message}`),
		);
	};
	const some = `${written(Math.min(count, SAVED))} rows`;
	const copyAll = (): void =>
		whole(
			(text) => copy(text, some),
			"\t",
			(t) => t.replace(/[\t\n]/g, " "),
		);
	const saveAll = (): void =>
		whole(
			(text) => {
				save(
					`${props.label.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`,
					"text/csv",
					text,
				);
				if (count > SAVED) notice(`The first ${some} of ${written(count)} are in it`);
			},
			",",
			quoted,
		);

	/* Which columns cannot be seen, so that it can be said and they can be reached. */
	const [beside, setBeside] = useState(0);
	const unseen = (): number => {
		const element = scroller.current;
		if (!element || !narrow) return 0;
		const { left, right } = element.getBoundingClientRect();
		return [...element.querySelectorAll(".table-head > div")].filter((cell, i) => {
			const box = cell.getBoundingClientRect();
			return i > leads && (box.right > right + 1 || box.left < left + lead - 1);
		}).length;
	};
	useLayoutEffect(() => setBeside(unseen()), [narrow, rest.width, columns.length, lead]);
	/* The first column that is cut comes to where the scrolled ones begin; behind the last one it
	 * is the first again. */
	const turn = (): void => {
		const element = scroller.current!,
			heads = [...element.querySelectorAll(".table-head > div")],
			box = (cell: Element): DOMRect => cell.getBoundingClientRect();
		const edge = box(heads[leads]!).right,
			cut = heads.find((cell, i) => i > leads && box(cell).right > box(element).right + 1);
		element.scrollLeft = cut ? element.scrollLeft + Math.max(24, box(cut).left - edge - 8) : 0;
		setBeside(unseen());
	};

	const grid = { gridTemplateColumns: widths.join(" ") };
	const bands: { label: string; span: number }[] = [];
	if (grouped)
		for (const c of columns) {
			const previous = bands[bands.length - 1];
			if (previous && previous.label === (c.group ?? "")) previous.span++;
			else bands.push({ label: c.group ?? "", span: 1 });
		}
	const click = (c: Column<Row>): void => {
		const mine = sort === c.key || sort === `-${c.key}`;
		onSort?.(mine ? (sort === c.key ? `-${c.key}` : c.key) : c.ascending ? c.key : `-${c.key}`);
	};
	return (
		<div class="table-frame">
			<div
				class={narrow ? "table narrow" : "table"}
				role="grid"
				aria-label={props.label}
				aria-rowcount={count + 1}
				aria-colcount={columns.length}
				tabIndex={0}
				ref={scroller}
				aria-activedescendant={at >= first && at < last ? `${name}-${at}` : undefined}
				style={{ height: `${view + head + 1}px` }}
				onKeyDown={keys}
				onScroll={() => {
					scrolls();
					if (narrow) setBeside(unseen());
				}}>
				<div
					class="table-top"
					role="rowgroup"
					style={{ height: `${head}px`, minWidth: `${wide}px` }}>
					{grouped && (
						<div
							class="table-bands"
							role="presentation"
							aria-hidden="true"
							style={grid}>
							{bands.map((b, i) => (
								<div
									key={i}
									class={b.label ? "band" : ""}
									style={{ gridColumn: `span ${b.span}` }}>
									{b.label}
								</div>
							))}
						</div>
					)}
					<div class="table-head" role="row" aria-rowindex={1} style={grid}>
						{columns.map((c, i) => {
							const mine = sort === c.key || sort === `-${c.key}`;
							return (
								<div
									key={c.key}
									role="columnheader"
									{...cell(c, i)}
									title={c.title}
									aria-sort={
										mine
											? sort === c.key
												? "ascending"
												: "descending"
											: undefined
									}>
									{c.sort && onSort ? (
										<button
											type="button"
											data-sort={c.key}
											aria-label={grouped && c.group ? heading(c) : undefined}
											onClick={() => click(c)}>
											{c.label}
											{mine ? (sort === c.key ? " ↑" : " ↓") : ""}
										</button>
									) : (
										c.label
									)}
								</div>
							);
						})}
					</div>
				</div>
				<div
					class="table-body"
					role="rowgroup"
					style={{
						top: `${head}px`,
						height: `${view}px`,
						marginBottom: `-${view}px`,
						minWidth: `${wide}px`,
					}}>
					{Array.from({ length: Math.max(0, last - first) }, (_, i) => {
						const index = first + i,
							data = row(index);
						const detail = data === undefined ? undefined : props.detail?.(data, index);
						return (
							<div
								key={index}
								id={`${name}-${index}`}
								role="row"
								aria-rowindex={index + 2}
								aria-selected={index === at}
								data-row={index}
								class={
									`table-row${index === at ? " at" : ""}` +
									(data !== undefined && props.rowClass
										? ` ${props.rowClass(data)}`
										: "")
								}
								style={{
									transform:
										`translateY(${heights.top(index) - seen.current.y}` + "px)",
									height: `${rowHeight + heights.extra(index)}px`,
								}}
								onClick={(event) => {
									choose(index);
									if (
										data !== undefined &&
										!String(getSelection()) &&
										!(event.target as HTMLElement).closest(
											"a, button, input, label",
										)
									)
										props.onOpen?.(data, index);
								}}
								onContextMenu={(event) => {
									if (data === undefined || !props.onMenu) return;
									event.preventDefault();
									choose(index);
									props.onMenu(data, index, event.clientX, event.clientY);
								}}>
								<div
									class="table-cells"
									role="presentation"
									style={{ ...grid, height: `${rowHeight - 1}px` }}>
									{columns.map((c, k) => (
										<div key={c.key} role="gridcell" {...cell(c, k)}>
											{data === undefined ? (
												<span class="bone" />
											) : (
												c.cell(data, index)
											)}
										</div>
									))}
								</div>
								{detail && (
									<div class="table-detail" role="gridcell">
										{detail.content}
									</div>
								)}
							</div>
						);
					})}
				</div>
				<div class="table-space" role="presentation" style={{ height: `${space}px` }} />
			</div>
			{(texts.length > 0 || narrow) && (
				<div class="table-foot">
					<span class="table-count">
						{texts.length > 0 &&
							`${written(count)} ${props.nouns ?? (count === 1 ? "row" : "rows")}`}
					</span>
					{narrow && (
						<button
							type="button"
							class="table-hidden"
							title="Columns for which there is no room: shows the next ones"
							onClick={turn}>
							{beside} of {columns.length} columns hidden ⇄
						</button>
					)}
					{texts.length > 0 && (
						<>
							<button
								type="button"
								onClick={copyAll}
								title={
									count > SAVED
										? `The first ${written(SAVED)} rows`
										: "All rows, for a spreadsheet"
								}>
								Copy
							</button>
							<button
								type="button"
								onClick={saveAll}
								title={
									count > SAVED
										? `The first ${written(SAVED)} rows; Download has all`
										: "All rows with exact values"
								}>
								CSV
							</button>
						</>
					)}
				</div>
			)}
		</div>
	);
}
