// SPDX-License-Identifier: MIT OR Apache-2.0
// The colours of Rhai: what a line is made of, for the editor.  Comments may be inside each other,
// and texts in backticks hold code.
import type { StreamParser, StringStream } from "@codemirror/language";

const KEYWORDS = new Set(
	(
		"let const fn if else switch while loop do until for in break continue return throw " +
		"private global"
	).split(" "),
);
const ATOMS = new Set(["true", "false"]);

interface State {
	comment: number; /* how many are open */
	text: boolean; /* in backticks */
	holes: number[]; /* braces that are open in each ${…} */
}

function comment(stream: StringStream, state: State): string {
	while (!stream.eol() && state.comment) {
		if (stream.match("/*")) state.comment++;
		else if (stream.match("*/")) state.comment--;
		else stream.next();
	}
	return "comment";
}

function text(stream: StringStream, state: State): string {
	while (!stream.eol()) {
		if (stream.match("${", false)) {
			if (stream.pos > stream.start) return "string";
			stream.match("${");
			state.text = false;
			state.holes.push(0);
			return "punctuation";
		}
		if (stream.next() === "`") {
			state.text = false;
			break;
		}
	}
	return "string";
}

export const rhai: StreamParser<State> = {
	name: "rhai",
	languageData: {
		commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
		closeBrackets: { brackets: ["(", "[", "{", '"', "`"] },
	},
	startState: () => ({ comment: 0, text: false, holes: [] }),
	copyState: (state) => ({ ...state, holes: [...state.holes] }),
	token(stream, state) {
		if (state.comment) return comment(stream, state);
		if (state.text) return text(stream, state);
		if (stream.eatSpace()) return null;
		if (stream.match("//")) {
			stream.skipToEnd();
			return "comment";
		}
		if (stream.match("/*")) {
			state.comment = 1;
			return comment(stream, state);
		}
		if (stream.match("`")) {
			state.text = true;
			return text(stream, state);
		}
		if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)[^']*'/))
			return "string";
		if (stream.match(/^0[xXoObB][\da-fA-F_]+|^\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?/))
			return "number";
		const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
		if (word) {
			if (KEYWORDS.has(word[0])) return "keyword";
			if (ATOMS.has(word[0])) return "atom";
			return stream.match(/^\s*\(/, false) ? "variableName.function" : "variableName";
		}
		const sign = stream.next();
		const hole = state.holes.length - 1;
		if (sign === "{" && hole >= 0) state.holes[hole]!++;
		if (sign === "}" && hole >= 0 && !state.holes[hole]!--) {
			state.holes.pop();
			state.text = true;
			return "punctuation";
		}
		return /[-+*/%=<>!&|^~?]/.test(sign ?? "") ? "operator" : "punctuation";
	},
};
