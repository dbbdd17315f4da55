// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of numbers that sorts when a heading is clicked.  Rows come whole; there are never more
// than a few hundred.  How tables are sorted is in the address: sort=TABLE:KEY,TABLE:-KEY.
import type { ComponentChildren } from "preact";
import { go, useRoute } from "../app/url";
import { save } from "../parts/clipboard";

export interface Column<T> {
	readonly key: string;
	readonly label: string;
	readonly help?: string;
	readonly value: (row: T) => number | string | undefined; // what is sorted by
	readonly shown?: (row: T) => ComponentChildren; // what is seen; the value itself otherwise
	readonly exact?: (row: T) => string | undefined; // for the pointer
	// what is seen where there is no value; the column stays even if there is none at all
	readonly absent?: string;
}

const compare = (a: number | string | undefined, b: number | string | undefined): number => {
	if (a === undefined || b === undefined)
		return (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0);
	if (typeof a === "string" || typeof b === "string")
		return String(a).localeCompare(String(b), "en", { numeric: true });
	return a - b;
};

const quoted = (text: string): string =>
	/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

// Exact numbers, whatever is on the screen.
function csv<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
	return [
		columns.map((c) => quoted(c.label)),
		...rows.map((r) => columns.map((c) => quoted(String(c.value(r) ?? "")))),
	]
		.map((line) => line.join(",") + "\n")
		.join("");
}

export function Grid<T>({
	id,
	caption,
	columns,
	rows,
	first,
	down = true,
	empty,
}: {
	id: string;
	caption: string;
	columns: readonly Column<T>[];
	rows: readonly T[];
	first?: string;
	down?: boolean;
	empty: string;
}) {
	const sorts = (useRoute().parameters["sort"] ?? "").split(",").filter(Boolean),
		mine = sorts.find((s) => s.startsWith(`${id}:`))?.slice(id.length + 1);
	const sort = mine
		? { key: mine.replace(/^-/, ""), down: mine.startsWith("-") }
		: first
			? { key: first, down }
			: undefined;
	const setSort = (key: string, descending: boolean): void =>
		go({
			sort: [
				...sorts.filter((s) => !s.startsWith(`${id}:`)),
				`${id}:${descending ? "-" : ""}${key}`,
			].join(","),
		});
	if (!rows.length)
		return (
			<p class="jem-nothing" id={id}>
				{empty}
			</p>
		);
	/* A column that nobody filled is left out: older versions print less. */
	const shown = columns.filter((c) => c.absent || rows.some((r) => c.value(r) !== undefined));
	const by = shown.find((c) => c.key === sort?.key);
	const sorted = by
		? [...rows].sort((a, b) => {
				const x = by.value(a),
					y = by.value(b);
				return x === undefined || y === undefined || !sort?.down
					? compare(x, y)
					: compare(y, x);
			})
		: rows;
	const file = `${caption.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`;
	return (
		<>
			<div class="jem-scroll" tabIndex={0} role="region" aria-label={caption}>
				<table class="jem-grid" id={id}>
					<caption class="jem-unseen">{caption}</caption>
					<thead>
						<tr>
							{shown.map((c) => {
								const text = typeof c.value(rows[0]!) === "string";
								const now =
									c.key === by?.key
										? sort!.down
											? "descending"
											: "ascending"
										: "none";
								return (
									<th
										key={c.key}
										scope="col"
										class={text ? "jem-text" : ""}
										aria-sort={now}>
										<button
											type="button"
											title={c.help}
											onClick={() =>
												setSort(
													c.key,
													now === "none" ? !text : now === "ascending",
												)
											}>
											{c.label}
											<span aria-hidden="true">
												{now === "none"
													? ""
													: now === "descending"
														? " ↓"
														: " ↑"}
											</span>
										</button>
									</th>
								);
							})}
						</tr>
					</thead>
					<tbody>
						{sorted.map((row, i) => (
							<tr key={i}>
								{shown.map((c) => {
									const value = c.value(row);
									return (
										<td
											key={c.key}
											class={typeof value === "string" ? "jem-text" : ""}
											title={c.exact?.(row)}>
											{value === undefined ? (
												<span
													class="jem-none"
													title="jemalloc did not print it">
													{c.absent ?? "–"}
												</span>
											) : c.shown ? (
												c.shown(row)
											) : (
												value
											)}
										</td>
									);
								})}
							</tr>
						))}
					</tbody>
				</table>
			</div>
			<p class="jem-save">
				<button
					type="button"
					class="jem-link"
					aria-label={`Save as CSV: ${caption}`}
					onClick={() => save(file, "text/csv", csv(shown, sorted))}>
					Save as CSV
				</button>
			</p>
		</>
	);
}
