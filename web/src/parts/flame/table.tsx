// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph as a table: a row for each box, sorted as the address says (sort).
import { useMemo } from "preact/hooks";
import { go, useRoute } from "../../app/url";
import { Table, type Column } from "../table";
import { bytes, count, exact, middle, percent, signed } from "../units";
import { searchPattern, type Tree } from "./tree";

export function FlameTable({
	tree,
	menu,
}: {
	tree: Tree;
	menu: (box: number, x: number, y: number) => void;
}) {
	const { parameters } = useRoute();
	const search = parameters["search"] ?? "";
	const sort = parameters["sort"] ?? "-self",
		{ nodes, weight } = tree.answer,
		{ before } = nodes;
	const rows = useMemo(() => {
		const key = sort.replace("-", ""),
			sign = sort.startsWith("-") ? -1 : 1;
		const by = (i: number): number =>
			key === "self"
				? nodes.self[i]!
				: key === "other"
					? nodes.other[i]!
					: key === "depth"
						? nodes.depth[i]!
						: key === "change" && before
							? nodes.value[i]! - before[i]!
							: nodes.value[i]!;
		const pattern = searchPattern(search);
		const hits = pattern && tree.search(pattern).hits;
		const order = Array.from({ length: tree.count - 1 }, (_, i) => i + 1).filter(
			(i) => !hits || hits[i],
		);
		return key === "name"
			? order.sort((a, b) => sign * tree.text(a).localeCompare(tree.text(b)))
			: order.sort(
					(a, b) => sign * (by(a) - by(b)) || nodes.value[b]! - nodes.value[a]! || a - b,
				);
	}, [tree, sort, search]);
	const size = (value: number) =>
		weight === "bytes" ? <span title={exact(value)}>{bytes(value)}</span> : count(value);
	const columns: Column<number>[] = [
		{
			key: "name",
			label: "function",
			sort: true,
			width: "minmax(200px, 1fr)",
			cell: (i) => <span title={tree.stack(i).join("\n")}>{middle(tree.text(i), 120)}</span>,
			text: (i) => tree.text(i),
		},
		{
			key: "value",
			label: weight === "bytes" ? "bytes" : "blocks",
			number: true,
			sort: true,
			width: "104px",
			cell: (i) => size(tree.value(i)),
			text: (i) => String(tree.value(i)),
		},
		{
			key: "share",
			label: "share",
			number: true,
			width: "72px",
			cell: (i) => percent(tree.value(i), tree.value(0)),
			text: (i) => percent(tree.value(i), tree.value(0)),
		},
		{
			key: "self",
			label: "itself",
			number: true,
			sort: true,
			width: "104px",
			cell: (i) => size(nodes.self[i]!),
			text: (i) => String(nodes.self[i]),
		},
		{
			key: "other",
			label: weight === "bytes" ? "blocks" : "bytes",
			number: true,
			sort: true,
			width: "104px",
			cell: (i) => (weight === "bytes" ? count(nodes.other[i]!) : bytes(nodes.other[i]!)),
			text: (i) => String(nodes.other[i]),
		},
		...(before
			? [
					{
						key: "change",
						label: "change",
						number: true,
						sort: true,
						width: "104px",
						cell: (i: number) =>
							signed(
								weight === "bytes"
									? bytes(tree.value(i) - before[i]!)
									: count(tree.value(i) - before[i]!),
							),
						text: (i: number) => String(tree.value(i) - before[i]!),
					},
				]
			: []),
		{
			key: "depth",
			label: "depth",
			number: true,
			sort: true,
			width: "64px",
			cell: (i) => tree.depth(i),
			text: (i) => String(tree.depth(i)),
		},
		{
			key: "module",
			label: "module",
			width: "minmax(100px, 200px)",
			cell: (i) => tree.module(i),
			text: (i) => tree.module(i),
		},
	];
	return (
		<Table
			label="Boxes of the flame graph"
			columns={columns}
			count={rows.length}
			row={(i) => rows[i]}
			sort={sort}
			onSort={(next) => go({ sort: next })}
			onOpen={(box) => go({ as: "", zoom: tree.key(box) })}
			onMenu={(box, _i, x, y) => menu(box, x, y)}
			subject={search}
			nouns={rows.length === 1 ? "box" : "boxes"}
		/>
	);
}
