// SPDX-License-Identifier: MIT OR Apache-2.0
// What may stand at a place of a script: from the words that the server lists (GET /scripting), and
// what values are, as far as the text says it: `local a = allocations()`, `for group in groups`.
export interface Word {
	of: string; /* "list", "graph" …; "" is called by itself */
	name: string;
	arguments?: string; /* absent: a field */
	help: string;
	gives?: string; /* what it is worth */
	each?: string; /* what a loop over it gets */
}
export interface Named {
	name: string;
	help: string;
}
export interface Vocabulary {
	words: Word[];
	group_by: Named[];
	export: Named[];
	ask: Named[];
}

export interface Found {
	from: number; /* the word that is completed begins there */
	options: { name: string; help: string; kind: "method" | "field" | "variable" | "keyword" }[];
}

const KEYWORDS = {
	lua:
		"and break do else elseif end false for function if in local nil not or repeat return " +
		"then true until while",
	rhai:
		"const continue break do else false fn for global if in let loop return switch throw " +
		"true until while",
};
/* A word of a loop's variable is what its list has. */
const EACH: Record<string, string> = { list: "allocation", groups: "list", map_list: "map" };

/* Some rows are several words: "h m s ms us ns". */
const names = (word: Word): string[] => word.name.split(" ");

export class Words {
	private readonly known = new Map<string, Word>();
	constructor(readonly vocabulary: Vocabulary) {
		for (const word of vocabulary.words)
			for (const name of names(word)) this.known.set(`${word.of} ${name}`, word);
	}

	word(of: string, name: string): Word | undefined {
		return this.known.get(`${of} ${name}`);
	}

	/* What a chain that ends at the end of a text is worth: "list", or undefined. */
	classOf(text: string, depth = 0): string | undefined {
		const chain = chainAt(text);
		if (!chain || depth > 20) return undefined;
		const [first, ...rest] = chain;
		let now: string | undefined;
		if (first!.called) now = this.word("", first!.name)?.gives;
		else now = this.variable(text.slice(0, text.length - first!.length), first!.name, depth);
		if (first!.indexed) now = now && EACH[now];
		for (const step of rest) {
			if (!now) return undefined;
			const word = this.word(now, step.name);
			now = step.called || word?.arguments === undefined ? word?.gives : undefined;
			if (step.indexed) now = now && EACH[now];
		}
		return now;
	}

	/* What was said last of a name. */
	private variable(before: string, name: string, depth: number): string | undefined {
		const loop = new RegExp(`\\bfor\\s+(?:\\w+\\s*,\\s*)?\\(?${name}\\b[^\\n]*?\\sin\\s+`, "g");
		const given = new RegExp(`(?:^|[^\\w.:=<>~!])${name}\\s*=(?!=)\\s*`, "g");
		let at = -1,
			end = 0,
			looped = false;
		for (const match of before.matchAll(loop))
			[at, end, looped] = [match.index, match.index + match[0].length, true];
		for (const match of before.matchAll(given))
			if (match.index > at)
				[at, end, looped] = [match.index, match.index + match[0].length, false];
		if (at < 0) return undefined;
		const value = expressionAt(before, end).replace(/[.:]iter\s*\(\s*\)\s*$/, "");
		const of = this.classOf(value, depth + 1) ?? this.within(before.slice(0, at), value, depth);
		return looped ? of && EACH[of] : of;
	}

	/* A value that names what was said before it. */
	private within(before: string, value: string, depth: number): string | undefined {
		return this.classOf(`${before}\n${value}`, depth + 1);
	}

	/* What completes the word that ends at the end of a text.  `asked`: though nothing is typed. */
	complete(text: string, language: "lua" | "rhai", asked = false): Found | undefined {
		const quoted =
			/\b(group_by|export|save|ask|ask_json)\s*\(\s*(?:"[^"\n]*"\s*,\s*)?"(\w*)$/.exec(text);
		if (quoted) {
			const list =
				{
					group_by: this.vocabulary.group_by,
					ask: this.vocabulary.ask,
					ask_json: this.vocabulary.ask,
				}[quoted[1]!] ?? this.vocabulary.export;
			return options(
				text,
				quoted[2]!,
				list.map((row) => ({ ...row, kind: "method" })),
			);
		}
		if (/^[^\n]*(--|\/\/)[^\n]*$/.test(text.slice(text.lastIndexOf("\n") + 1)))
			return undefined;
		const method = /([.:])\s*([A-Za-z_]\w*)?$/.exec(text);
		const start = /([A-Za-z_]\w*)?$/.exec(text)![1] ?? "";
		if (method && !/\.\.$|\d\.$/.test(text.slice(0, text.length - start.length))) {
			const of = this.classOf(text.slice(0, method.index));
			if (!of && !start && !asked) return undefined;
			const seen = new Set<string>();
			const list = this.vocabulary.words.filter(
				(word) =>
					(of ? word.of === of : word.of !== "" && word.of !== "rules") &&
					!seen.has(word.name) &&
					seen.add(word.name),
			);
			return options(text, start, list.map(optionOf));
		}
		if (!start && !asked) return undefined;
		const own = new Set(
			[
				...text
					.slice(0, text.length - start.length)
					.matchAll(/\b(?:local|let|const|for|fn|function)\s+([A-Za-z_]\w*)/g),
			].map((match) => match[1]!),
		);
		return options(text, start, [
			...[...own].map((name) => ({ name, help: "", kind: "variable" as const })),
			...this.vocabulary.words
				.filter((word) => word.of === "")
				.flatMap((word) => names(word).map((name) => ({ ...optionOf(word), name }))),
			...KEYWORDS[language]
				.split(" ")
				.map((name) => ({ name, help: "", kind: "keyword" as const })),
		]);
	}
}

const optionOf = (word: Word): Found["options"][number] => ({
	name: word.name,
	help: word.help,
	kind: word.arguments === undefined ? "field" : "method",
});

function options(text: string, start: string, list: Found["options"]): Found | undefined {
	const fitting = list.filter((option) => option.name.startsWith(start));
	if (!fitting.length || (fitting.length === 1 && fitting[0]!.name === start)) return undefined;
	return { from: text.length - start.length, options: fitting };
}

interface Step {
	name: string;
	called: boolean;
	indexed: boolean;
	length: number; /* of the first: from where it begins to the end of the text */
}

/* "a.b(c)[1]:d(…)" at the end of a text as its steps; undefined: it is no chain. */
export function chainAt(text: string): Step[] | undefined {
	const steps: Step[] = [];
	let at = text.length;
	const blank = (): void => {
		while (at > 0 && /\s/.test(text[at - 1]!)) at--;
	};
	for (;;) {
		let called = false,
			indexed = false;
		blank();
		for (;;) {
			const sign = text[at - 1];
			if (sign !== ")" && sign !== "]" && sign !== "}") break;
			const open = openingOf(text, at);
			if (open < 0) return undefined;
			if (sign === "]") indexed = true;
			else called = true;
			at = open;
			blank();
		}
		const name = /[A-Za-z_]\w*$/.exec(text.slice(0, at))?.[0];
		if (!name) return undefined;
		at -= name.length;
		steps.unshift({ name, called, indexed, length: text.length - at });
		const before = at;
		blank();
		if (!/[.:]/.test(text[at - 1] ?? "") || text[at - 2] === ".") {
			at = before;
			return steps;
		}
		at--;
	}
}

/* Where what is closed at `at` was opened; -1: nowhere.  Texts in it may have brackets. */
function openingOf(text: string, at: number): number {
	let depth = 0,
		quote = "";
	for (let i = at - 1; i >= 0; i--) {
		const sign = text[i]!;
		if (quote) {
			if (sign === quote && text[i - 1] !== "\\") quote = "";
		} else if (sign === '"' || sign === "'") quote = sign;
		else if (")]}".includes(sign)) depth++;
		else if ("([{".includes(sign) && --depth === 0) return i;
	}
	return -1;
}

/* The expression that begins at a place: to where no chain goes on. */
function expressionAt(text: string, from: number): string {
	let depth = 0,
		quote = "",
		i = from;
	for (; i < text.length; i++) {
		const sign = text[i]!;
		if (quote) {
			if (sign === "\\") i++;
			else if (sign === quote) quote = "";
		} else if (sign === '"' || sign === "'") quote = sign;
		else if ("([{".includes(sign)) {
			if (sign === "{" && !depth) break;
			depth++;
		} else if (")]}".includes(sign)) {
			if (--depth < 0) break;
		} else if (!depth && sign === ";") break;
		else if (!depth && sign === "\n" && !/^\s*[.:]/.test(text.slice(i))) break;
		else if (!depth && /\s(do|then)\b/y.test(text.slice(i, i + 5))) break;
	}
	return text.slice(from, i).trimEnd();
}
