// SPDX-License-Identifier: MIT OR Apache-2.0
// Columns of the list of allocations that the server's table of numbers has, and the page has no
// cell of its own for: shown when they are chosen, which is kept in the address.
import { useApi } from "../app/api";
import { seconds, type Timeval } from "../app/recordings";
import type { Api } from "../app/types";
import { go, useRoute } from "../app/url";
import { openMenu } from "../parts/menu";
import type { Column } from "../parts/table";
import { bytes, count, duration, exact } from "../parts/units";

type Sort = Api["sorts"][number];

function columnOf<Row extends object>({ name, help, member, type }: Sort): Column<Row> {
	const value = (row: Row): unknown => (row as Record<string, unknown>)[member ?? ""];
	const shown = (row: Row): string =>
		type === "size"
			? bytes(Number(value(row)))
			: type.startsWith("duration")
				? duration(seconds(value(row) as Timeval))
				: count(Number(value(row)));
	const plain = (row: Row): string =>
		type.startsWith("duration") ? String(seconds(value(row) as Timeval)) : String(value(row));
	return {
		key: name,
		label: name.replaceAll("_", " "),
		title: help,
		width: "minmax(80px, 0.3fr)",
		number: true,
		sort: true,
		cell: (row) => (
			<span class="number" title={type === "size" ? exact(Number(value(row))) : undefined}>
				{shown(row)}
			</span>
		),
		text: plain,
	};
}

/* The columns that were chosen, and the button that chooses; `own` are those of the page. */
export function useMoreColumns<Row extends object>(own: readonly string[]) {
	const api = useApi();
	const chosen = (useRoute().parameters["columns"] ?? "").split(",").filter(Boolean);
	const offered = (api.data?.sorts ?? []).filter(
		(s) => s.member !== null && !own.includes(s.name),
	);
	const toggled = (name: string): string =>
		(chosen.includes(name) ? chosen.filter((c) => c !== name) : [...chosen, name]).join(",");
	const choose = (event: MouseEvent): void => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		openMenu(
			box.left,
			box.bottom,
			"Columns",
			offered.map((s) => ({
				label: (chosen.includes(s.name) ? "Hide " : "Show ") + s.name.replaceAll("_", " "),
				hint: s.help,
				run: () => go({ columns: toggled(s.name) }),
			})),
		);
	};
	return {
		columns: offered.filter((s) => chosen.includes(s.name)).map((s) => columnOf<Row>(s)),
		button: (
			<div class="choice">
				<button type="button" aria-haspopup="menu" onClick={choose}>
					Columns
				</button>
			</div>
		),
	};
}
