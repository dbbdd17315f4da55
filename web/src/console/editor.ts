// SPDX-License-Identifier: MIT OR Apache-2.0
// The editor of scripts: CodeMirror with colours, completion and the line that is wrong.  Loaded
// when the console is opened, since it weighs more than the rest of the page.
//
// It stands in a shadow tree: what it adds to the page's style is a sheet there, not an element
// that the page's policy refuses.
import {
	acceptCompletion,
	autocompletion,
	closeBrackets,
	closeBracketsKeymap,
	type CompletionContext,
	type CompletionResult,
} from "@codemirror/autocomplete";
import {
	defaultKeymap,
	history,
	historyKeymap,
	indentLess,
	indentMore,
	toggleComment,
} from "@codemirror/commands";
import {
	bracketMatching,
	HighlightStyle,
	indentUnit,
	StreamLanguage,
	syntaxHighlighting,
} from "@codemirror/language";
import { lua } from "@codemirror/legacy-modes/mode/lua";
import {
	Compartment,
	EditorState,
	StateEffect,
	StateField,
	type Extension,
} from "@codemirror/state";
import {
	Decoration,
	drawSelection,
	EditorView,
	highlightActiveLine,
	highlightActiveLineGutter,
	highlightSpecialChars,
	keymap,
	lineNumbers,
	type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { rhai } from "./rhai";
import type { Language } from "./run";
import type { Words } from "./words";

export interface Handlers {
	onChange: (text: string) => void;
	onRun: () => void;
	onLeave: () => void;
	/* Completes the expression of a filter: `at` is where it ends. */
	filters: (text: string, at: number) => Promise<Completed | undefined>;
}
export interface Completed {
	from: number;
	to: number;
	items: { text: string; kind: string; help?: string }[];
}

const colours = HighlightStyle.define([
	{ tag: tags.comment, class: "code-comment" },
	{ tag: tags.keyword, class: "code-keyword" },
	{ tag: [tags.string, tags.special(tags.string)], class: "code-text" },
	{ tag: [tags.number, tags.atom, tags.bool, tags.null], class: "code-number" },
	{
		tag: [tags.standard(tags.variableName), tags.function(tags.variableName)],
		class: "code-function",
	},
]);

/* All colours are the page's. */
const look = EditorView.theme({
	"&": {
		color: "var(--text)",
		backgroundColor: "transparent",
		fontSize: "12.5px",
		height: "100%",
	},
	"&.cm-focused": { outline: "none" },
	".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
	".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
	".cm-line": { padding: "0 12px 0 8px" },
	".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "none" },
	".cm-lineNumbers .cm-gutterElement": { padding: "0 4px 0 12px", minWidth: "32px" },
	".cm-activeLine": { backgroundColor: "transparent" },
	".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
	"&.cm-focused .cm-activeLine": { backgroundColor: "var(--hover)" },
	".cm-cursor": { borderLeftColor: "var(--text)" },
	".cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
	"&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
		backgroundColor: "var(--accent-soft)",
	},
	".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
		backgroundColor: "var(--sunk)",
		outline: "1px solid var(--line-strong)",
	},
	".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": {
		backgroundColor: "transparent",
		color: "var(--bad)",
	},
	".cm-wrong": { backgroundColor: "var(--bad-soft)" },
	".cm-tooltip": {
		backgroundColor: "var(--card)",
		border: "1px solid var(--line-strong)",
		borderRadius: "4px",
		boxShadow: "0 6px 24px #0003",
		color: "var(--text)",
		zIndex: "40",
	},
	".cm-tooltip.cm-tooltip-autocomplete > ul": {
		fontFamily: "var(--mono)",
		fontSize: "12px",
		maxHeight: "240px",
		padding: "4px",
		minWidth: "240px",
		maxWidth: "min(560px, calc(100vw - 48px))",
	},
	".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
		display: "flex",
		gap: "24px",
		justifyContent: "space-between",
		padding: "3px 8px",
		borderRadius: "3px",
		lineHeight: "18px",
	},
	".cm-tooltip-autocomplete > ul > li[aria-selected]": {
		backgroundColor: "var(--sunk)",
		color: "var(--text)",
	},
	".cm-completionLabel": { flex: "none" },
	".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)" },
	".cm-completionDetail": {
		color: "var(--dim)",
		fontStyle: "normal",
		margin: "0",
		fontFamily: "var(--sans)",
		overflow: "hidden",
		textOverflow: "ellipsis",
	},
	".code-comment": { color: "var(--dim)", fontStyle: "italic" },
	".code-keyword": { color: "var(--second)" },
	".code-text": { color: "var(--accent)" },
	".code-number": { color: "var(--code-number)" },
	".code-function": { color: "var(--text)", fontWeight: "600" },
});

const setWrong = StateEffect.define<number>(); /* a line, from 1; 0: none */
const wrongLine = StateField.define<DecorationSet>({
	create: () => Decoration.none,
	update(marks, change) {
		let now = change.docChanged ? Decoration.none : marks;
		for (const effect of change.effects)
			if (effect.is(setWrong)) {
				const known = effect.value > 0 && effect.value <= change.state.doc.lines;
				now = known
					? Decoration.set(
							Decoration.line({ class: "cm-wrong" }).range(
								change.state.doc.line(effect.value).from,
							),
						)
					: Decoration.none;
			}
		return now;
	},
	provide: (field) => EditorView.decorations.from(field),
});

const languageOf = (language: Language): Extension =>
	StreamLanguage.define(language === "rhai" ? rhai : lua);

/* The text of `where("…` that the cursor is in. */
const inFilter = (before: string): string | undefined => {
	const match = /\b(?:where|filter)\s*[({=]\s*"((?:[^"\\\n]|\\.)*)$/.exec(before);
	return match?.[1];
};

export class Editor {
	private readonly view: EditorView;
	private readonly language = new Compartment();
	private written: Language;
	words: Words | undefined;

	constructor(parent: HTMLElement, text: string, language: Language, handlers: Handlers) {
		this.written = language;
		const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
		const place = document.createElement("div");
		place.style.height = "100%";
		root.replaceChildren(place);
		const source = (context: CompletionContext): Promise<CompletionResult | null> =>
			this.complete(context, handlers);
		this.view = new EditorView({
			parent: place,
			root,
			state: EditorState.create({
				doc: text,
				extensions: [
					lineNumbers(),
					history(),
					drawSelection(),
					highlightSpecialChars(),
					highlightActiveLine(),
					highlightActiveLineGutter(),
					bracketMatching(),
					closeBrackets(),
					indentUnit.of("  "),
					autocompletion({ override: [source], icons: false }),
					this.language.of(languageOf(language)),
					syntaxHighlighting(colours),
					wrongLine,
					look,
					EditorView.lineWrapping,
					EditorView.contentAttributes.of({
						"aria-label": "The script",
						spellcheck: "false",
						autocapitalize: "off",
					}),
					EditorView.updateListener.of((update) => {
						if (update.docChanged) handlers.onChange(update.state.doc.toString());
						/* Tab leads on through the page until something is written, and again
						 * once the editor was left. */
						if (update.focusChanged) update.view.setTabFocusMode(true);
						else if (
							update.transactions.some(
								(t) => t.isUserEvent("input") || t.isUserEvent("delete"),
							)
						)
							update.view.setTabFocusMode(false);
					}),
					keymap.of([
						{
							key: "Ctrl-Enter",
							mac: "Cmd-Enter",
							run: () => (handlers.onRun(), true),
						},
						/* What completes has taken the key where it is open. */
						{
							key: "Escape",
							run: (view) => {
								view.setTabFocusMode(true);
								handlers.onLeave();
								return true;
							},
						},
						{ key: "Tab", run: acceptCompletion },
						{ key: "Tab", run: indentMore, shift: indentLess },
						{ key: "Ctrl-/", run: toggleComment },
						...closeBracketsKeymap,
						...historyKeymap,
						...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"),
					]),
				],
			}),
		});
	}

	private async complete(
		context: CompletionContext,
		handlers: Handlers,
	): Promise<CompletionResult | null> {
		const before = context.state.sliceDoc(0, context.pos);
		const filter = inFilter(before.slice(before.lastIndexOf("\n") + 1));
		if (filter !== undefined) {
			const found = await handlers.filters(filter, filter.length);
			const start = context.pos - filter.length;
			if (!found?.items.length || context.aborted) return null;
			return {
				from: start + found.from,
				filter: false,
				options: found.items.map((item) => ({
					/* As it stands within a text. */
					label: item.text.replaceAll("\\", "\\\\").replaceAll('"', '\\"'),
					displayLabel: item.text,
					detail: item.help ?? item.kind,
				})),
			};
		}
		const found = this.words?.complete(before, this.written, context.explicit);
		if (!found) return null;
		return {
			from: found.from,
			validFor: /^\w*$/,
			options: found.options.map((option) => ({
				label: option.name,
				detail: option.help,
				boost: option.kind === "variable" ? 2 : option.kind === "keyword" ? -1 : 0,
			})),
		};
	}

	get text(): string {
		return this.view.state.doc.toString();
	}

	set text(text: string) {
		if (text === this.text) return;
		this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
	}

	speak(language: Language): void {
		this.written = language;
		this.view.dispatch({ effects: this.language.reconfigure(languageOf(language)) });
	}

	/* 0: no line is wrong. */
	markWrong(line: number): void {
		this.view.dispatch({ effects: setWrong.of(line) });
	}

	goTo(line: number, column = 1): void {
		const doc = this.view.state.doc;
		const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
		this.view.dispatch({
			selection: { anchor: Math.min(at.from + column - 1, at.to) },
			scrollIntoView: true,
		});
		this.view.focus();
	}

	focus(): void {
		this.view.focus();
	}

	destroy(): void {
		this.view.destroy();
	}
}
