// SPDX-License-Identifier: MIT OR Apache-2.0
// Scripts that ran, the latest first, as this browser remembers them.
import { keep, kept } from "../app/kept";
import type { Language } from "./run";

export interface Past {
	text: string;
	language: Language;
	at: number; /* milliseconds since 1970 */
}

const MOST = 50;
const LETTERS = 400_000; /* of all of them */

/* A list with one more; what is the same is there once. */
export function withOne(list: readonly Past[], one: Past): Past[] {
	const all = [
		one,
		...list.filter((old) => old.text !== one.text || old.language !== one.language),
	].slice(0, MOST);
	let letters = 0;
	return all.filter((each, i) => (letters += each.text.length) <= LETTERS || i === 0);
}

export function read(text: string): Past[] {
	try {
		const list: unknown = JSON.parse(text || "[]");
		return Array.isArray(list)
			? (list as Past[]).filter((one) => typeof one?.text === "string")
			: [];
	} catch {
		return [];
	}
}

export const past = (): Past[] => read(kept("scripts"));
export const remember = (text: string, language: Language): void =>
	keep("scripts", JSON.stringify(withOne(past(), { text, language, at: Date.now() })));

/* What a list calls it: its first line that says something. */
export function titleOf(text: string): string {
	const lines = text.split("\n").map((line) => line.replace(/^\s*(--|\/\/)?\s*/, "").trim());
	return lines.find(Boolean)?.slice(0, 100) ?? "an empty script";
}
