// SPDX-License-Identifier: MIT OR Apache-2.0
// The console: scripts about the recording, written here and run by the server.  The text is in
// the address, packed, so that it can be sent to someone; it is never run before its reader says
// so.  ?of=ADDRESS is a view of the page that is to become a script.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, ask, url, useAnswer } from "../app/api";
import { keep, kept } from "../app/kept";
import { find, ofKind, time, useRecordings } from "../app/recordings";
import { format, parse, route as routeNow } from "../app/route";
import { go, goTo, href, useRoute } from "../app/url";
import { asScript, chooses, isView, type Chosen } from "../console/as_script";
import type { Completed, Editor } from "../console/editor";
import { add, type Block, type End } from "../console/lines";
import { Output } from "../console/output";
import { pack, unpack } from "../console/packed";
import { past, remember, titleOf } from "../console/past";
import { run, type Language } from "../console/run";
import { Words, type Vocabulary } from "../console/words";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { openMenu } from "../parts/menu";
import { duration } from "../parts/units";
import "../style/console.css";
import { VIEWS, type ViewProps } from "./views";

interface Scripting {
	vocabulary: Vocabulary;
	examples: { name: string; text: string }[];
}

const FIRST: Record<Language, string> = {
	lua: `-- Who leaks most?  Ctrl-Enter runs it.
local leaked = allocations():only_leaked()

println("{} of {} were never freed: {} bytes", leaked, allocations(), leaked.size)
show(leaked:group_by("responsible"):sort_by_size():take(10))
graph():add("never freed", leaked):add("the rest", allocations()):save("memory.svg")
`,
	rhai: `// Who leaks most?  Ctrl-Enter runs it.
let leaked = allocations().only_leaked();

println("{} of {} were never freed: {} bytes", leaked, allocations(), leaked.size);
show(leaked.group_by("responsible").sort_by_size().take(10));
graph().add("never freed", leaked).add("the rest", allocations()).save("memory.svg");
`,
};

interface Done {
	end?: End;
	failed?: string; /* there was no answer */
	stopped?: boolean;
}

export function Script({ id }: ViewProps) {
	const { parameters } = useRoute();
	const { list } = useRecordings();
	const language: Language = parameters["language"] === "rhai" ? "rhai" : "lua";
	const other = parameters["with"] ?? "";
	const place = useRef<HTMLDivElement>(null),
		button = useRef<HTMLButtonElement>(null);
	const editor = useRef<Editor>();
	const [ready, setReady] = useState(false);
	const [broken, setBroken] = useState("");
	const [blocks, setBlocks] = useState<Block[]>([]);
	const [done, setDone] = useState<Done>();
	const [since, setSince] = useState(0); /* it runs; performance.now() */
	const abort = useRef<AbortController>();
	const scripting = useAnswer<Scripting>(url("/scripting"));
	/* The packed text that the editor has, and what it was when it was packed. */
	const written = useRef<string>();
	const timer = useRef(0);

	/* Whoever types later has the last word. */
	const store = async (text: string): Promise<void> => {
		clearTimeout(timer.current);
		const code = await pack(text);
		if (routeNow().view !== "script" || editor.current?.text !== text) return;
		written.current = code;
		keep("script", text);
		go({ code, of: "" }, true);
	};
	const open = async (text: string, to: Language): Promise<void> => {
		goTo(href({}, { code: await pack(text), language: to === "rhai" ? to : "", of: "" }));
		editor.current?.focus();
	};
	const stop = (): void => abort.current?.abort();
	const start = async (): Promise<void> => {
		const text = editor.current?.text ?? "";
		if (abort.current) return;
		const mine = new AbortController();
		abort.current = mine;
		void store(text);
		remember(text, language);
		let all: Block[] = [],
			frame = 0;
		const draw = (): void => {
			frame = 0;
			setBlocks(all);
		};
		setDone(undefined);
		setBlocks([]);
		setSince(performance.now());
		editor.current?.markWrong(0);
		let end: Done;
		try {
			end = {
				end: await run(id, text, language, other, mine.signal, (items) => {
					all = add(all, items);
					frame ||= requestAnimationFrame(draw);
				}),
			};
		} catch (error) {
			if (mine.signal.aborted) end = { stopped: true };
			else end = { failed: error instanceof ApiError ? error.message : String(error) };
		}
		cancelAnimationFrame(frame);
		draw();
		abort.current = undefined;
		setSince(0);
		setDone(end);
		if (end.end?.line) editor.current?.markWrong(end.end.line);
	};
	const latest = useRef({ start, store });
	latest.current = { start, store };

	useEffect(() => () => stop(), [id]);
	/* What a view of the page says, as a text. */
	const of = parameters["of"];
	useEffect(() => {
		if (!of) return;
		let over = false;
		const view = parse(of);
		const label = VIEWS.find((v) => v.name === view.view)?.label ?? view.view;
		const others = (list ?? []).filter((r) => r.id !== id && r.kind === "recording");
		const against =
			view.view === "compare"
				? view.parameters["against"] ||
					(others.length === 1 && !view.parameters["from"] && !view.parameters["to"]
						? others[0]!.id
						: "")
				: view.view === "heap"
					? (view.parameters["base"] ?? "")
					: "";
		if (against && view.view === "compare") view.parameters["against"] = against;
		const range = view.view !== "compare";
		const { answer, cancel } = chooses(view.view)
			? ask<Chosen>(
					url(
						"/data/{id}/allocation_filter_to_script",
						{ id },
						{
							filter: view.parameters["filter"],
							from: range ? time(view.parameters["from"]) : undefined,
							to: range ? time(view.parameters["to"]) : undefined,
						},
					),
				)
			: { answer: Promise.resolve<Chosen>({ code: "" }), cancel: () => undefined };
		answer.then(
			async (chosen) => {
				const text = asScript({ ...view, id }, label, chosen);
				const code = await pack(text);
				if (!over)
					go({ code, of: "", language: "", with: against === id ? "" : against }, true);
			},
			(error: unknown) => {
				if (!over)
					setDone({ failed: String(error instanceof Error ? error.message : error) });
			},
		);
		return () => {
			over = true;
			cancel();
		};
	}, [of, id, list === undefined]);

	/* The editor, and the text of the address in it. */
	useEffect(() => {
		let over = false;
		void (async () => {
			const module = await import("../console/editor").catch(() => undefined);
			if (over || !place.current) return;
			if (!module) return setBroken("The editor cannot be loaded; is the server running?");
			const text = routeNow().parameters["code"]
				? await unpack(routeNow().parameters["code"]!)
				: kept("script") || FIRST[language];
			if (over || !place.current) return;
			if (text === undefined) setBroken("The script in the address was cut off.");
			written.current = routeNow().parameters["code"] ?? "";
			editor.current = new module.Editor(place.current, text ?? "", language, {
				onChange: (now) => {
					clearTimeout(timer.current);
					timer.current = window.setTimeout(() => void latest.current.store(now), 300);
				},
				onRun: () => void latest.current.start(),
				onLeave: () => {
					if (abort.current) stop();
					else button.current?.focus();
				},
				filters: async (text) => {
					const { answer } = ask<Completed>(
						url("/data/{id}/complete", { id }, { text, at: text.length, count: 12 }),
					);
					return answer.catch(() => undefined);
				},
			});
			setReady(true);
		})();
		return () => {
			over = true;
			clearTimeout(timer.current);
			editor.current?.destroy();
			editor.current = undefined;
			setReady(false);
		};
	}, [id]);
	const code = parameters["code"] ?? "";
	useEffect(() => {
		const its = editor.current;
		if (!its || !ready || !code || code === written.current) return;
		let over = false;
		void unpack(code).then((text) => {
			if (over) return;
			setBroken(text === undefined ? "The script in the address was cut off." : "");
			if (text === undefined) return;
			written.current = code;
			its.text = text;
			clearTimeout(timer.current);
		});
		return () => {
			over = true;
		};
	}, [code, ready]);
	useEffect(() => editor.current?.speak(language), [language, ready]);
	useEffect(() => {
		if (scripting.data && editor.current)
			editor.current.words = new Words(scripting.data.vocabulary);
	}, [scripting.data, ready]);
	/* Esc stops wherever the focus is. */
	useEffect(() => {
		if (!since) return;
		const keys = (event: KeyboardEvent): void => {
			if (event.key !== "Escape" || event.defaultPrevented) return;
			stop();
			event.preventDefault();
		};
		addEventListener("keydown", keys);
		return () => removeEventListener("keydown", keys);
	}, [since]);

	const speak = (to: Language): void => {
		const now = editor.current?.text ?? "";
		if (now === FIRST[language] || !now.trim()) void open(FIRST[to], to);
		else go({ language: to === "rhai" ? to : "" });
	};
	const menu = (
		event: MouseEvent,
		title: string,
		items: Parameters<typeof openMenu>[3],
	): void => {
		const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
		openMenu(box.left, box.bottom + 4, title, items);
	};
	const kind = find(id)?.kind;
	const others = (list ?? []).filter(
		(r) => r.id !== id && r.kind === kind && (r.state === "ready" || r.state === "live"),
	);
	return (
		<div class="console">
			<Card
				name="script"
				title="Script"
				bare
				tools={
					<>
						{since ? (
							<button
								type="button"
								class="button primary"
								ref={button}
								title="Stop (Esc)"
								onClick={stop}>
								Stop
							</button>
						) : (
							<button
								type="button"
								class="button primary"
								ref={button}
								title="Run (Ctrl-Enter)"
								disabled={!ready}
								onClick={() => void start()}>
								Run
							</button>
						)}
						<Choice
							label="Language"
							value={language}
							options={[
								["lua", "Lua"],
								["rhai", "Rhai", "The language of Bytehound's scripts"],
							]}
							onChange={speak}
						/>
						<button
							type="button"
							class="button"
							aria-haspopup="menu"
							disabled={!scripting.data}
							onClick={(event) =>
								menu(
									event,
									"Scripts to start from",
									(scripting.data?.examples ?? []).map((example) => ({
										label: titleOf(example.text),
										...(example.name.endsWith(".rhai") ? { hint: "Rhai" } : {}),
										run: () =>
											void open(
												example.text,
												example.name.endsWith(".rhai") ? "rhai" : "lua",
											),
									})),
								)
							}>
							Examples
						</button>
						<button
							type="button"
							class="button"
							aria-haspopup="menu"
							onClick={(event) => {
								const list = past();
								menu(
									event,
									list.length
										? "Scripts that ran in this browser"
										: "No script ran in this browser yet",
									list
										.slice(0, 20)
										.map((one) => ({
											label: titleOf(one.text),
											hint: `${duration((Date.now() - one.at) / 1000)} ago`,
											run: () => void open(one.text, one.language),
										})),
								);
							}}>
							History
						</button>
						<button
							type="button"
							class="button"
							title="Copies the address, which has the script in it"
							onClick={() =>
								void store(editor.current?.text ?? "").then(() =>
									copy(location.href, "Address"),
								)
							}>
							Share
						</button>
					</>
				}>
				<div class="console-editor" data-ready={ready}>
					<div class="console-place" ref={place} />
				</div>
				{broken && (
					<p class="console-wrong" role="alert">
						{broken}
					</p>
				)}
				<footer class="console-foot dim">
					<span>
						<kbd>Ctrl</kbd>
						<kbd>Enter</kbd>runs, <kbd>Esc</kbd>leaves the editor
					</span>
					{others.length > 0 && (
						<label>
							data(2){" "}
							<select
								value={other}
								onChange={(event) => go({ with: event.currentTarget.value })}>
								<option value="">none</option>
								{others.map((r) => (
									<option key={r.id} value={r.id}>
										{r.name}
									</option>
								))}
							</select>
						</label>
					)}
				</footer>
			</Card>
			<Card name="output" title="Output" said={<Said since={since} done={done} />} line>
				{done?.end?.status === "error" && (
					<Wrong
						end={done.end}
						goTo={(line, column) => editor.current?.goTo(line, column)}
					/>
				)}
				{done?.failed && (
					<p class="console-wrong" role="alert">
						{done.failed}
					</p>
				)}
				<Output blocks={blocks} />
				{!blocks.length && !done && !since && (
					<p class="dim console-nothing">
						What the script prints, shows and saves comes here. Everything that there
						is: <code>help()</code>
					</p>
				)}
			</Card>
		</div>
	);
}

function Wrong({ end, goTo }: { end: End; goTo: (line: number, column?: number) => void }) {
	return (
		<p class="console-wrong" role="alert">
			{end.line ? (
				<button
					type="button"
					class="link"
					onClick={() => goTo(end.line!, end.column ?? undefined)}>
					Line {end.line}
				</button>
			) : null}
			{end.line ? ": " : ""}
			{end.message}
		</p>
	);
}

/* How long it runs, or ran. */
function Said({ since, done }: { since: number; done: Done | undefined }) {
	const [now, setNow] = useState(0);
	useEffect(() => {
		if (!since) return;
		const timer = setInterval(() => setNow(performance.now()), 500);
		return () => clearInterval(timer);
	}, [since]);
	const ran = Math.max(0, now - since) / 1000;
	const text = since
		? ran > 0.5 && now
			? `running for ${duration(Math.floor(ran))}`
			: "running"
		: done?.stopped
			? "stopped"
			: done?.failed
				? "it did not run"
				: done?.end
					? `${done.end.status === "ok" ? "ran" : "failed after"} ${
							done.end.status === "ok" ? "for " : ""
						}${duration(done.end.elapsed)}`
					: "";
	return (
		<span role="status" data-running={since ? "true" : "false"}>
			{text}
		</span>
	);
}

/* Which file a view shows that is opened without one: of the kind that it is called by. */
const shownBy = (view: string): string | undefined => {
	const all = ofKind(view);
	return (view === "heap" || view === "statistics" ? all.at(-1) : all[0])?.id;
};

/* The address of the console with the present view as a script. */
export function asScriptHref(): string | undefined {
	const now = routeNow();
	if (!isView(now.view)) return undefined;
	const fits = chooses(now.view) || find(now.id)?.kind === now.view;
	const id = fits ? now.id : shownBy(now.view);
	return id
		? href({ view: "script", id }, { of: format({ ...now, id }).replace(/^#\//, "") })
		: undefined;
}
