// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers in words.  Sizes are binary unless the address says units=decimal; every size that is
// shown short carries the exact one as its title (see Bytes in parts/number.tsx).
import { route } from "../app/route";

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB"];

export const isDecimal = (): boolean => route().parameters["units"] === "decimal";

export function bytes(value: number): string {
	const decimal = isDecimal(),
		base = decimal ? 1000 : 1024,
		names = decimal ? DECIMAL : BINARY;
	let size = Math.abs(value),
		unit = 0;
	/* 1023.7 KiB would read 1024 KiB. */
	while (size >= (unit ? base - 0.5 : base) && unit < names.length - 1) {
		size /= base;
		unit++;
	}
	const digits = unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
	return `${value < 0 ? "−" : ""}${size.toFixed(digits)} ${names[unit]}`;
}

export const exact = (value: number): string => `${count(value)} bytes`;

export function count(value: number): string {
	return Math.round(value).toLocaleString("en-US").replace("-", "−");
}

/* 48.1 M; for places without room. */
export function short(value: number): string {
	const size = Math.abs(value),
		sign = value < 0 ? "−" : "";
	for (const [limit, name] of [
		[1e12, "T"],
		[1e9, "G"],
		[1e6, "M"],
		[1e4, "k"],
	] as const) {
		if (size >= limit)
			return `${sign}${(size / (limit === 1e4 ? 1e3 : limit)).toFixed(1)} ${name}`;
	}
	return `${sign}${size % 1 && size < 100 ? size.toFixed(1) : count(size)}`;
}

export const signed = (text: string): string =>
	text.startsWith("−") || /^0( |$)/.test(text) ? text : `+${text}`;

/* Seconds: 1m 58s, 12.4 s, 320 ms. */
export function duration(seconds: number): string {
	const s = Math.abs(seconds),
		sign = seconds < 0 ? "−" : "";
	if (s === 0) return "0 s";
	if (s < 1e-3) return `${sign}${(s * 1e6).toFixed(s < 1e-5 ? 1 : 0)} µs`;
	if (s < 1) return `${sign}${(s * 1e3).toFixed(s < 0.01 ? 2 : s < 0.1 ? 1 : 0)} ms`;
	if (s < 60) return `${sign}${s.toFixed(s < 10 ? 2 : 1)} s`;
	const whole = Math.round(s),
		h = Math.floor(whole / 3600),
		m = Math.floor(whole / 60) % 60,
		rest = whole % 60;
	const two = (n: number): string => String(n).padStart(2, "0");
	return (
		sign +
		(h >= 48
			? `${Math.floor(h / 24)}d ${h % 24}h`
			: h
				? `${h}h ${two(m)}m`
				: `${m}m ${two(rest)}s`)
	);
}

export function percent(part: number, whole: number): string {
	if (!whole) return "–";
	const value = (100 * part) / whole,
		size = Math.abs(value);
	return `${value.toFixed(size >= 99.95 || size === 0 ? 0 : size < 0.095 ? 2 : 1)} %`.replace(
		"-",
		"−",
	);
}

/* The year only where it is another one. */
export function date(seconds: number): string {
	const then = new Date(seconds * 1000),
		year = then.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" as const };
	return then.toLocaleString("en-GB", {
		day: "numeric",
		month: "short",
		...year,
		hour: "2-digit",
		minute: "2-digit",
	});
}

export const plural = (n: number, one: string, many = `${one}s`): string =>
	`${count(n)} ${n === 1 ? one : many}`;

/* Long names are cut in the middle: both ends say something. */
export function middle(text: string, limit = 80): string {
	if (text.length <= limit) return text;
	const head = Math.ceil((limit - 1) * 0.55);
	return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
}
