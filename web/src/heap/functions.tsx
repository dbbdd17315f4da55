// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of a heap profile: what each function (line, file, address) holds by itself and with
// all that it calls; of two dumps, how that changed.  Sorted and paged by the server.
import type { ComponentChildren } from "preact";
import type { DumpTopQuery } from "../app/endpoints";
import { go, href, useRoute } from "../app/url";
import { Card } from "../parts/card";
import { shortName } from "../parts/frames";
import { openMenu } from "../parts/menu";
import { Bytes, Count } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Search } from "../parts/search";
import { Share } from "../parts/spark";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, exact, middle, plural, signed } from "../parts/units";
import { Change } from "../views/compare";
import {
	calmed,
	ownBox,
	patternOf,
	type Asked,
	type Report,
	type Row,
	type TopAnswer,
} from "./data";
import { nameMenu } from "./graph";

type Sort = NonNullable<DumpTopQuery["sort_by"]>;

export function HeapFunctions({
	id,
	asked,
	reports,
}: {
	id: string;
	asked: Asked;
	reports: readonly Report[];
}) {
	const { parameters } = useRoute();
	const difference = asked.base !== undefined,
		sort = parameters["sort"] ?? (difference ? "-cum_change" : "-flat");
	const pages = usePages(
		id,
		"/dumps/{id}/top",
		{ ...asked.query, search: parameters["find"], ...sortedBy<Sort>(sort) },
		(answer: TopAnswer) => ({ rows: answer.rows, count: answer.total_count }),
		100,
	);
	const unit = asked.weight === "bytes" ? "bytes" : "objects",
		data = pages.answer.data;
	const total = data?.total[unit] ?? 0;
	const value = (r: Row, what: "flat" | "cum", before = false): number =>
		(r[`${what}_${unit}${before ? "_before" : ""}` as keyof Row] as number) ?? 0;
	const change = (r: Row, what: "flat" | "cum"): number => value(r, what) - value(r, what, true);
	const Amount = asked.weight === "bytes" ? Bytes : Count;
	/* Each number leads to exactly what it counts: all stacks through the name; its own from
	 * below. */
	const through = (r: Row): string => href({}, { focus: patternOf(asked.by, r.name), zoom: "" });
	const own = (r: Row): string | undefined =>
		asked.by === "line" ? undefined : href({}, ownBox(r.name));
	const none = <span class="dim">–</span>;
	const amount = (r: Row, what: "flat" | "cum"): ComponentChildren => {
		const n = value(r, what),
			to = what === "cum" ? through(r) : own(r);
		return n ? (
			<Share part={n} whole={total}>
				<Amount value={n} {...(to ? { to } : {})} />
			</Share>
		) : (
			none
		);
	};
	const other = (r: Row, what: "flat" | "cum"): number =>
		r[`${what}_${asked.weight === "bytes" ? "objects" : "bytes"}`];
	const name: Column<Row, Sort> = {
		key: "name",
		label: asked.by,
		width: "minmax(240px, 1fr)",
		sort: true,
		ascending: true,
		text: (r) => r.name,
		cell: (r) => (
			<span class="who" title={r.name}>
				<strong>{middle(asked.by === "function" ? shortName(r.name) : r.name, 110)}</strong>
			</span>
		),
	};
	const plain: Column<Row, Sort>[] = [
		name,
		{
			key: "flat",
			label: "self",
			title: "What this holds by itself",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (r) => amount(r, "flat"),
			text: (r) => String(value(r, "flat")),
		},
		{
			key: "cum",
			label: "total",
			title: "With all that it calls",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (r) => amount(r, "cum"),
			text: (r) => String(value(r, "cum")),
		},
		{
			key: "other",
			label: asked.weight === "bytes" ? "blocks" : "bytes",
			title: "Of the total",
			number: true,
			width: "104px",
			cell: (r) =>
				asked.weight === "bytes" ? (
					count(other(r, "cum"))
				) : (
					<span title={exact(other(r, "cum"))}>{bytes(other(r, "cum"))}</span>
				),
			text: (r) => String(other(r, "cum")),
		},
		{
			key: "mean",
			label: "mean block",
			title: "Bytes of a block, on average",
			number: true,
			width: "104px",
			cell: (r) => (r.cum_objects ? bytes(r.cum_bytes / r.cum_objects) : none),
			text: (r) => (r.cum_objects ? String(Math.round(r.cum_bytes / r.cum_objects)) : ""),
		},
	];
	const most = Math.max(1, ...(data?.rows ?? []).map((r) => Math.abs(change(r, "cum"))));
	const say = asked.weight === "bytes" ? bytes : count;
	const side = (r: Row, what: "flat" | "cum", before: boolean): ComponentChildren =>
		value(r, what, before) ? (
			<span
				class="number"
				title={asked.weight === "bytes" ? exact(value(r, what, before)) : undefined}>
				{say(value(r, what, before))}
			</span>
		) : (
			none
		);
	const changed = (r: Row, what: "flat" | "cum"): ComponentChildren =>
		change(r, what) ? (
			<span
				class={`number ${change(r, what) > 0 ? "worse" : ""}`}
				title={asked.weight === "bytes" ? exact(change(r, what)) : undefined}>
				{signed(say(change(r, what)))}
			</span>
		) : (
			none
		);
	const compared: Column<Row, Sort>[] = [
		name,
		{
			key: "cum_change",
			label: "change",
			title: "Of this and all that it calls",
			number: true,
			width: "minmax(132px, 0.35fr)",
			sort: true,
			text: (r) => String(change(r, "cum")),
			cell: (r) => (
				<Change delta={change(r, "cum")} most={most}>
					{changed(r, "cum")}
				</Change>
			),
		},
		{
			key: "cum_before",
			label: "before",
			number: true,
			width: "96px",
			sort: true,
			text: (r) => String(value(r, "cum", true)),
			cell: (r) => side(r, "cum", true),
		},
		{
			key: "cum",
			label: "after",
			number: true,
			width: "96px",
			sort: true,
			text: (r) => String(value(r, "cum")),
			cell: (r) => side(r, "cum", false),
		},
		{
			key: "flat_change",
			label: "self change",
			title: "Of what it holds by itself",
			number: true,
			width: "104px",
			sort: true,
			text: (r) => String(change(r, "flat")),
			cell: (r) => changed(r, "flat"),
		},
		{
			key: "flat_before",
			label: "self before",
			number: true,
			width: "96px",
			sort: true,
			text: (r) => String(value(r, "flat", true)),
			cell: (r) => side(r, "flat", true),
		},
		{
			key: "flat",
			label: "self after",
			number: true,
			width: "96px",
			sort: true,
			text: (r) => String(value(r, "flat")),
			cell: (r) => side(r, "flat", false),
		},
	];
	const nouns: Record<string, string> = {
		function: "function",
		line: "line",
		file: "file",
		address: "address",
	};
	return (
		<Card
			name="heap-functions"
			title={
				{ function: "Functions", line: "Lines", file: "Files", address: "Addresses" }[
					asked.by
				]
			}
			said={
				data &&
				plural(
					pages.count,
					nouns[asked.by]!,
					asked.by === "address" ? "addresses" : undefined,
				)
			}
			tools={<Search label="Search in the table" placeholder="part of a name" name="find" />}>
			<Answered what="The table" answer={calmed(pages.answer)} lines={10}>
				{() =>
					pages.count === 0 ? (
						<Empty
							title={
								parameters["find"]
									? `No name contains “${parameters["find"]}”`
									: "No function is left"
							}>
							{parameters["find"] ? (
								<button
									type="button"
									class="button"
									onClick={() => go({ find: "" })}>
									Show all
								</button>
							) : (
								"Change or remove what is asked for above."
							)}
						</Empty>
					) : (
						<Table
							label="Functions of the heap profile"
							columns={difference ? compared : plain}
							{...pages.rows}
							rowHeight={40}
							height={Math.min(560, 34 + 40 * Math.max(3, pages.count))}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={
								pages.count === 1
									? asked.by
									: asked.by === "address"
										? "addresses"
										: `${asked.by}s`
							}
							onOpen={(r) =>
								go({ search: `^${r.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` })
							}
							onMenu={(r, _, x, y) =>
								openMenu(x, y, middle(shortName(r.name), 40), [
									...nameMenu(id, asked, r.name, reports),
									...(own(r)
										? [{ label: "Its own, and who calls it", href: own(r)! }]
										: []),
								])
							}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
