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
