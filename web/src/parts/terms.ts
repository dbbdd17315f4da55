// SPDX-License-Identifier: MIT OR Apache-2.0
// The text of a question: its words (for colours), the terms that "and" joins at its top (each can
// be removed), and adding a term.  What an expression means is the server's; this only has to find
// where words, quotations and parentheses begin and end.

export type Kind = "space" | "word" | "number" | "text" | "sign" | "join";
export interface Token {
	kind: Kind;
	text: string;
	at: number;
}

const PATTERN =
	/\s+|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|&&|\|\||[<>!]=|!~|[()<>=~!,]|[^\s()<>=~!,"'&|]+|./gy;

export function tokens(text: string): Token[] {
	const found: Token[] = [];
	PATTERN.lastIndex = 0;
	for (let match = PATTERN.exec(text); match; match = PATTERN.exec(text)) {
		const word = match[0];
		let kind: Kind = "sign";
		if (/^\s/.test(word)) kind = "space";
		else if (/^["']/.test(word)) kind = "text";
		else if (/^(and|or|not|&&|\|\||!)$/i.test(word)) kind = "join";
		else if (/^[0-9.]/.test(word)) kind = "number";
		else if (/^[\w]/.test(word)) kind = "word";
		found.push({ kind, text: word, at: match.index });
	}
	return found;
}

export interface Term {
	text: string;
	from: number;
	to: number;
}

/* The terms that "and" joins; one term where "or" stands at the top. */
export function terms(text: string): Term[] {
	const found: Term[] = [];
	let depth = 0,
		from = 0;
	const close = (to: number): void => {
		const part = text.slice(from, to),
			trimmed = part.trim();
		if (trimmed)
			found.push({
				text: trimmed,
				from: from + part.indexOf(trimmed),
				to: from + part.indexOf(trimmed) + trimmed.length,
			});
	};
	for (const token of tokens(text)) {
		if (token.text === "(") depth++;
		else if (token.text === ")") depth--;
		else if (depth === 0 && token.kind === "join") {
			if (/^(or|\|\|)$/i.test(token.text))
				return text.trim() ? [{ text: text.trim(), from: 0, to: text.length }] : [];
			if (/^(and|&&)$/i.test(token.text)) {
				close(token.at);
				from = token.at + token.text.length;
			}
		}
	}
	close(text.length);
	return found;
}

/* The conditions that "or" joins; one where "and" stands at the top. */
export function alternatives(text: string): string[] {
	const found: string[] = [];
	let depth = 0,
		from = 0;
	for (const token of tokens(text)) {
		if (token.text === "(") depth++;
		else if (token.text === ")") depth--;
		else if (depth === 0 && token.kind === "join" && /^(or|\|\|)$/i.test(token.text)) {
			found.push(text.slice(from, token.at).trim());
			from = token.at + token.text.length;
		}
	}
	found.push(text.slice(from).trim());
	return found.filter(Boolean);
}

const needsParentheses = (text: string): boolean => {
	let depth = 0;
	for (const token of tokens(text)) {
		if (token.text === "(") depth++;
		else if (token.text === ")") depth--;
		else if (depth === 0 && /^(or|\|\|)$/i.test(token.text)) return true;
	}
	return false;
};

/* All of them at once; an "or" keeps to its own term. */
export function allOf(parts: readonly string[]): string {
	if (parts.length === 1) return parts[0]!;
	return parts.map((part) => (needsParentheses(part) ? `(${part})` : part)).join(" and ");
}

export function withTerm(filter: string | undefined, term: string): string {
	const present = terms(filter ?? "").map((t) => t.text);
	return present.includes(term) ? (filter ?? "") : allOf([...present, term]);
}

export function withoutTerm(filter: string, index: number): string {
	return terms(filter)
		.filter((_, i) => i !== index)
		.map((t) => t.text)
		.join(" and ");
}

/* A text as an expression takes it. */
export const quote = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/* A term that is one filter of the table: size_min(1k). */
export function asRow(term: string): { name: string; value: string } | undefined {
	const match = /^(\w+)\s*\(([\s\S]*)\)$/.exec(term);
	if (!match || match[1] === "frame" || match[1] === "not" || needsParentheses(term))
		return undefined;
	const inner = match[2]!.trim();
	const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(inner);
	return { name: match[1]!, value: quoted ? quoted[1]!.replace(/\\(.)/g, "$1") : inner };
}

/* A row of the filter table, as far as reading a term needs it. */
export interface Meant {
	name: string;
	type: string;
	meaning?: string; /* with $ in place of the value; words of a choice: "a: term; b: term" */
	values?: string[];
}

const words = (text: string): string[] =>
	tokens(text)
		.filter((t) => t.kind !== "space")
		.map((t) => t.text);
const unquoted = (text: string): string => {
	const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(text);
	return quoted ? quoted[1]!.replace(/\\(.)/g, "$1") : text;
};

/* What a row's field has to hold for it to mean this term. */
function valueOf(row: Meant, term: readonly string[]): string | undefined {
	const same = (text: string): boolean => words(text).join(" ") === term.join(" ");
	if (row.type === "yes_no" || row.type === "choice") {
		const parts = (row.meaning ?? "").split(";").map((part) => part.trim());
		if (row.type === "yes_no")
			return same(parts[0]!) ? "yes" : same(parts[1] ?? "") ? "no" : undefined;
		return parts.map((part) => part.split(": ")).find(([, text]) => text && same(text))?.[0];
	}
	const meant = words(row.meaning ?? ""),
		at = meant.indexOf("$");
	if (at < 1) return undefined;
	/* Lists of numbers have commas. */
	const end = term.length - (meant.length - at - 1),
		value = term.slice(at, end);
	if (value.length !== 1 && !(row.type === "ids" && value.length)) return undefined;
	if (value.some((w) => /^[()]$/.test(w))) return undefined;
	const around = [...term.slice(0, at), "$", ...term.slice(end)];
	return around.join(" ") === meant.join(" ") ? unquoted(value.join("")) : undefined;
}

/* The field that a term would be written in: size_min(1k), or what it means, size >= 1k. */
export function fieldOf(
	term: string,
	rows: readonly Meant[],
	taken: Readonly<Record<string, unknown>> = {},
): { name: string; value: string } | undefined {
	const called = asRow(term);
	if (called && rows.some((r) => r.name === called.name) && !(called.name in taken))
		return called;
	const said = words(term);
	for (const row of rows) {
		if (row.type === "expression" || row.name in taken) continue;
		const value = valueOf(row, said);
		if (value !== undefined) return { name: row.name, value };
	}
	return undefined;
}
