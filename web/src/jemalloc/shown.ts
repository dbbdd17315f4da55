// SPDX-License-Identifier: MIT OR Apache-2.0
// How numbers of a snapshot are written: for people, or raw as jemalloc printed them.
import { bytes, count, duration } from "../parts/units";

export interface Shown {
	readonly raw: boolean;
	bytes(value: number): string;
	other(value: number): string; // the other way, for the pointer
	count(value: number): string;
	ns(value: number): string;
}

export function shown(raw: boolean): Shown {
	return {
		raw,
		bytes: raw ? String : bytes,
		other: raw ? bytes : (value) => `${count(value)} bytes`,
		count: raw ? String : count,
		ns: raw ? String : (value) => duration(value / 1e9),
	};
}

// 16, 1.25k, 2M: for the axis of size classes, which are powers of two and quarters between them.
export function sizeLabel(size: number): string {
	for (const [unit, name] of [
		[2 ** 40, "T"],
		[2 ** 30, "G"],
		[2 ** 20, "M"],
		[2 ** 10, "k"],
	] as const) {
		if (size >= unit) return `${Number((size / unit).toFixed(2))}${name}`;
	}
	return String(size);
}
