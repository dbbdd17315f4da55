// SPDX-License-Identifier: MIT OR Apache-2.0
// Where more is to be had of a memory map: for the list of them and for one.
import { seconds } from "../app/recordings";
import { href } from "../app/url";
import { adding } from "../parts/adding";
import { copy } from "../parts/clipboard";
import { shownName, type MemoryMap } from "../parts/memory_maps";
import type { Item } from "../parts/menu";
import { FLAT, stackItems } from "./allocation_parts";

const hexOf = (m: { address: number; size: number }): string =>
	`${m.address.toString(16)}-${(m.address + m.size).toString(16)}`;
export const blocksOf = (m: MemoryMap): string =>
	href({ view: "allocations" }, { ...FLAT, filter: `map = ${m.id}`, from: "", to: "" });
export const placeOf = (m: MemoryMap): string =>
	href(
		{ view: "address_space" },
		{ filter: "", region: hexOf(m), zoom: hexOf(m), show: "resident" },
	);

export function mapItems(m: MemoryMap): Item[] {
	const ended = m.deallocation?.source?.backtrace_id;
	return [
		{ label: "Its blocks", href: blocksOf(m) },
		{ label: "In the address space", href: placeOf(m) },
		...(m.name && !m.name.startsWith("[anon:")
			? [
					{
						label: "All maps of this name",
						hint: shownName(m.name),
						href: href({}, { name: m.name }),
					},
				]
			: []),
		...(m.source ? stackItems(m.source.backtrace_id, m.source.backtrace ?? []) : []),
		...(ended
			? [
					{
						label: "Only what this stack unmapped",
						href: adding(`deallocation_backtrace = ${ended}`),
					},
				]
			: []),
		{
			label: "Maps at that time",
			href: href({}, { at: String(seconds(m.timestamp_relative)), filter: "" }),
		},
		{
			label: "Copy the address",
			run: () => void copy(`0x${m.address.toString(16)}`, "Address"),
		},
	];
}
