// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the console of the page as a reader would: writes scripts, runs and stops them, follows
// their lists, looks closer at pictures, shares them, and makes scripts of views; with the mouse,
// and with the keyboard only.  test_page_console.py starts it and says what should have been seen.
import { readdirSync, readFileSync } from "node:fs";
import { axe, close, given, hash, key, open, settled, shot, text, texts, untilHash, untilKey, walk,
	} from "./page_browser.mjs";

const { id, second } = given;
const TEXT = ".cm-content"; /* in a shadow tree, which selectors look into */
const ready = (page) => page.locator(".console-editor[data-ready=true]").waitFor();
/* The whole text of the editor; it draws only what is seen. */
const written = async (page) => (await texts(page, ".cm-line")).map(
	(line) => line.replace("\n", "")).join("\n");
const said = (page) => text(page, "[data-card=output] [role=status]");
const ended = (page) => page.waitForFunction(() => {
	const status = document.querySelector("[data-card=output] [role=status]");
	return status?.dataset.running === "false" && status.textContent;
});
const run = async (page) => {
	await page.getByRole("button", { name: "Run", exact: true }).click();
	await ended(page);
};
/* Replaces the text, as it is pasted: no brackets are closed by themselves. */
async function write(page, script) {
	await page.locator(TEXT).click();
	await page.keyboard.press("Control+a");
	await page.keyboard.press("Delete");
	await page.keyboard.insertText(script);
	await page.keyboard.press("Escape");
}
const output = (page) => text(page, ".console-output");
const options = (page) => texts(page, ".cm-tooltip-autocomplete .cm-completionLabel");
/* Where the focus is, also within the editor. */
const focused = (page) => page.evaluate(() => {
	let at = document.activeElement;
	while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
	return at?.getAttribute("aria-label") || at?.textContent?.trim().slice(0, 40) || at?.tagName;
});
async function tabTo(page, name, limit = 40) {
	for (let i = 0; i < limit; i++) {
		if (await focused(page) === name) return i;
		await page.keyboard.press("Tab");
	}
	throw new Error(`no Tab leads to ${name}: it is at ${await focused(page)}`);
}
/* Scripts that the server runs: each has a thread of that name. */
function running() {
	const tasks = `/proc/${given.pid}/task`;
	return readdirSync(tasks).filter((task) => {
		try {
			return readFileSync(`${tasks}/${task}/comm`, "utf8") === "script\n";
		} catch {
			return false; /* it has ended */
		}
	}).length;
}
const script = (query = "") => `#/script/${id}${query}`;

await walk({
	/* How it looks, at first and with something in it. */
	async looks(is) {
		is.first = [];
		for (const [width, height] of [[1440, 900], [900, 900], [400, 800]])
			for (const scheme of ["light", "dark"]) {
				const page = await open(script(), { width, height, scheme });
				await ready(page);
				await settled(page);
				is.first.push((await written(page)).split("\n")[0]);
				await shot(page, `console-${width}-${scheme}`);
				await run(page);
				await page.locator(".console-picture img").waitFor();
				await settled(page);
				await shot(page, `console-ran-${width}-${scheme}`);
				if (width !== 900) await axe(page, `console ${width} ${scheme}`);
				await close(page);
			}
	},

	async runs(is) {
		const page = await open(script());
		await ready(page);
		await page.locator(TEXT).click();
		await page.keyboard.press("Control+Enter");
		await ended(page);
		is.said = await said(page);
		is.line = await text(page, ".console-text");
		is.head = await texts(page, ".console-output .table-head [role=columnheader]");
		is.rows = await texts(page, ".console-output .table-row");
		for (let i = 0; i < 2; i++)
			await page.locator(".console-output [data-sort=size]").click();
		is.sorted = await texts(page, ".console-output .table-row");
		is.images = await page.locator(".console-picture img").evaluateAll(
			(list) => list.map((image) => [image.complete && image.naturalWidth, image.alt]));
		/* A list is a link to what is in it, and the way back has the script. */
		is.text = await written(page);
		await page.locator(".console-text a").first().click();
		await untilHash(page, "#/allocations/");
		await settled(page);
		is.filter = await key(page, "filter");
		is.followed = await text(page, "[data-card=allocations] .said");
		await page.goBack();
		await ready(page);
		is.back = await written(page);
		await write(page, "show(allocations():group_by_backtrace():sort_by_size():take(3))");
		await run(page);
		is.groups = await texts(page, ".console-output .table-row");
		await page.locator(".console-output .table-row a").first().click();
		await untilHash(page, "#/allocations/");
		await settled(page);
		is.group = await text(page, "[data-card=allocations] .said");
		await close(page);
	},

	/* The value of an expression is shown. */
	async expressions(is) {
		const page = await open(script());
		await ready(page);
		is.shown = [];
		for (const one of ["allocations():only_leaked()", "1 + 1", "{1, 2}", "{{a = 1}, {a = 2}}",
			"allocations():group_by(\"thread\")", "graph():add(allocations())"]) {
			await write(page, one);
			await run(page);
			is.shown.push([one, await output(page), await page.locator(".console-text a").count(),
				await page.locator(".console-output .table-row").count(),
				await page.locator(".console-picture").count()]);
		}
		await close(page);
	},

	/* What is put out is there before the end; stopping ends it on the server. */
	async stops(is) {
		const page = await open(script());
		await ready(page);
		const endless = "print('at once') while true do end";
		is.ways = [];
		for (const way of ["editor", "button", "elsewhere"]) {
			await write(page, endless);
			await page.locator(TEXT).click();
			await page.keyboard.press("Control+Enter");
			await page.getByText("at once", { exact: true }).and(
				page.locator(".console-output span")).waitFor();
			const running = await said(page);
			if (way === "button") await page.getByRole("button", { name: "Stop" }).click();
			else {
				if (way === "elsewhere") await page.getByRole("button", { name: "Share" }).focus();
				await page.keyboard.press("Escape");
			}
			await ended(page);
			is.ways.push([way, running, await said(page), await output(page)]);
		}
		/* From the key to the end of the server's thread, in milliseconds. */
		is.took = [];
		for (let i = 0; i < 5; i++) {
			await write(page, endless);
			await page.locator(TEXT).click();
			await page.keyboard.press("Control+Enter");
			await page.getByText("at once", { exact: true }).and(
				page.locator(".console-output span")).waitFor();
			const threads = running();
			const pressed = await page.evaluate(() => {
				document.body.dispatchEvent(new KeyboardEvent("keydown",
					{ key: "Escape", bubbles: true, cancelable: true }));
				return performance.timeOrigin + performance.now();
			});
			while (running()) await new Promise((next) => setTimeout(next, 1));
			is.took.push([threads, performance.timeOrigin + performance.now() - pressed]);
			await ended(page);
		}
		/* The places of this visitor are free again. */
		for (let i = 0; i < 4; i++) {
			await write(page, `print("free ${i}")`);
			await run(page);
		}
		is.again = await output(page);
		await close(page);
	},

	async errors(is) {
		const page = await open(script());
		await ready(page);
		await write(page, "print('before')\n\nnothing()\n");
		await run(page);
		is.said = await said(page);
		is.alert = await text(page, "[data-card=output] [role=alert]");
		is.output = await output(page);
		is.marked = await texts(page, ".cm-wrong");
		await page.getByRole("button", { name: "Line 3" }).click();
		await page.keyboard.insertText("-- ");
		is.mended = (await written(page)).split("\n")[2];
		is.unmarked = await page.locator(".cm-wrong").count();
		await run(page);
		is.after = await page.locator("[role=alert]").count();
		await write(page, "while true do print(('x'):rep(1000)) end");
		await run(page);
		is.large = await text(page, "[data-card=output] [role=alert]");
		is.lines = await page.locator(".console-text pre span").count();
		is.more = await text(page, ".console-text p");
		await close(page);
	},

	async completes(is) {
		const page = await open(script());
		await ready(page);
		const complete = async (before, typed) => {
			await write(page, before);
			await page.locator(TEXT).click();
			await page.keyboard.press("Control+End");
			await page.keyboard.type(typed);
			await page.locator(".cm-tooltip-autocomplete").waitFor();
			return options(page);
		};
		is.method = await complete("allocations()", ":only_le");
		await page.keyboard.press("ArrowDown");
		await shot(page, "console-completion", false);
		await page.keyboard.press("Tab");
		is.accepted = await written(page);
		is.variable = await complete("local g = allocations():group_by_backtrace()\ng", ":sort_");
		is.loop = await complete("for a in allocations():iter() do\nprint(a", ".backtrace_");
		is.global = await complete("local leakiest = 1\n", "lea");
		is.key = await complete("allocations():group_by(", '"resp');
		is.filter = await complete("allocations():where(", '"siz');
		await page.keyboard.press("Escape");
		is.closed = await page.locator(".cm-tooltip-autocomplete").count();
		is.inside = await focused(page);
		await close(page);
	},

	/* Never the mouse. */
	async keyboard(is) {
		const page = await open(script(), { permissions: ["clipboard-read", "clipboard-write"] });
		await ready(page);
		is.to_editor = await tabTo(page, "The script");
		await page.keyboard.press("Control+a");
		await page.keyboard.press("Delete");
		/* Keys of the page are letters here. */
		await page.keyboard.type("graph():add(allocations()):save('d.svg') -- /?dts");
		is.typed = await written(page);
		is.theme = await page.evaluate(() => document.documentElement.dataset.theme);
		await page.keyboard.press("Home");
		await page.keyboard.press("Tab");
		is.indented = await written(page);
		await page.keyboard.press("Shift+Tab");
		is.held = await focused(page);
		await page.keyboard.press("Control+Enter");
		await ended(page);
		await page.keyboard.press("Escape");
		is.left = await focused(page);
		is.to_picture = await tabTo(page, "d.svg: larger");
		await page.keyboard.press("Enter");
		await page.locator(".console-large[open] img").waitFor();
		await page.waitForFunction(() =>
			document.querySelector(".console-large img").getBoundingClientRect().width > 100);
		const percent = () => text(page, ".console-large [role=status]");
		is.zoom = [await percent()];
		for (const way of ["1", "+", "+", "-", "0"]) {
			await page.keyboard.press(way);
			is.zoom.push(await percent());
		}
		await page.keyboard.press("+");
		await shot(page, "console-large", false);
		await axe(page, "a picture");
		await page.keyboard.press("Escape");
		await page.waitForFunction(() => !document.querySelector(".console-large"));
		is.after = await focused(page);
		/* An example, from the menu. */
		await page.evaluate(
			() => document.querySelector("[data-card=script] .choice button").focus());
		is.to_examples = await tabTo(page, "Examples");
		await page.keyboard.press("Enter");
		await page.locator("[role=menu]").waitFor();
		is.examples = await texts(page, "[role=menuitem]");
		await shot(page, "console-examples", false);
		await page.keyboard.press("End");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => !document.querySelector("[role=menu]"));
		await untilHash(page, "code=");
		await page.locator(".console-editor").getByText("Budget of threads").waitFor();
		is.example = (await written(page)).split("\n")[0];
		await page.keyboard.press("Control+Enter");
		await ended(page);
		is.ran = await said(page);
		/* What ran before. */
		await page.keyboard.press("Escape");
		is.to_history = await tabTo(page, "History");
		await page.keyboard.press("Enter");
		await page.locator("[role=menu]").waitFor();
		is.past = await texts(page, "[role=menuitem]");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.locator(".console-editor").getByText("d.svg").waitFor();
		is.again = await written(page);
		await close(page);
	},

	/* The address has the script; who opens it runs nothing. */
	async shares(is) {
		const page = await open(script(), { permissions: ["clipboard-read", "clipboard-write"] });
		await ready(page);
		const long = `-- ${"ü§ 中 ".repeat(200)}\nprint("shared")`;
		await write(page, long);
		await page.getByRole("button", { name: "Share" }).click();
		await page.getByText("Address copied").waitFor();
		is.address = await page.evaluate(() => navigator.clipboard.readText());
		await close(page);
		const other = await open(is.address.slice(is.address.indexOf("#")));
		let asked = 0;
		other.on("request", (request) => { asked += request.method() === "POST"; });
		await ready(other);
		await settled(other);
		is.same = await written(other) === long;
		is.nothing = [asked, await other.locator(".console-output > *").count()];
		await run(other);
		is.ran = await output(other);
		/* Each is one step of the history, however much was typed. */
		await other.getByRole("group", { name: "Language" }).getByRole("button",
			{ name: "Rhai" }).click();
		await untilKey(other, "language", "rhai");
		await write(other, "let list = allocations().only_leaked();\nprintln(\"{} in `\", list);");
		is.colours = await other.locator(".code-keyword").allInnerTexts();
		await run(other);
		is.rhai = [await output(other), await other.locator(".console-text a").count()];
		await other.goBack();
		await untilKey(other, "language", "");
		is.cut = [];
		await other.goto("about:blank");
		await other.goto(`${given.address}/${script("?code=q1bKz")}`);
		await ready(other);
		is.cut = await text(other, "[role=alert]");
		await close(other);
	},

	/* Every view becomes a script, which says something about the same. */
	async views(is) {
		const page = await open(`#/overview/${id}`);
		is.views = {};
		for (const [name, address] of Object.entries(given.views)) {
			await page.evaluate((to) => { location.hash = to; }, `#/${address}`);
			await page.locator(".view-link[aria-current]").waitFor();
			await settled(page);
			await page.getByRole("link", { name: "This view as a script" }).click();
			await untilHash(page, "code=");
			await ready(page);
			await page.locator(".console-editor").getByText("local chosen").waitFor();
			await run(page);
			is.views[name] = { said: await said(page), text: await written(page),
				output: (await output(page)).slice(0, 2000),
				rows: await texts(page, ".console-output .table-row"),
				pictures: await page.locator(".console-picture").count(),
				alerts: await texts(page, "[role=alert]"), with: await key(page, "with") };
		}
		await page.evaluate((to) => { location.hash = to; }, `#/flame/${id}?measure=leaked`);
		await page.locator(".flame-canvas").waitFor();
		await settled(page);
		await page.keyboard.press("s");
		await untilHash(page, "code=");
		await ready(page);
		await page.locator(".console-editor").getByText("flame.svg").waitFor();
		is.by_key = await hash(page);
		await close(page);
	},

	/* Views of files that are no recordings. */
	async others(is) {
		const page = await open("#/recordings");
		is.views = {};
		for (const [name, address] of Object.entries(given.others)) {
			await page.evaluate((to) => { location.hash = to; }, `#/${address}`);
			await page.locator(".view-link[aria-current]").waitFor();
			await settled(page);
			await page.getByRole("link", { name: "This view as a script" }).click();
			await untilHash(page, "code=");
			await ready(page);
			await page.locator(".console-editor").getByText("local answer").waitFor();
			await run(page);
			await settled(page);
			await shot(page, `console-of-${name}`);
			is.views[name] = { said: await said(page), text: await written(page),
				output: await output(page), rows: await texts(page, ".console-output .table-row"),
				alerts: await texts(page, "[role=alert]"), hash: await hash(page) };
		}
		await close(page);
	},

	/* Each example that is installed does something in the page. */
	async examples(is) {
		const page = await open(script());
		await ready(page);
		is.ran = {};
		await page.getByRole("button", { name: "Examples" }).click();
		const names = await page.locator("[role=menuitem] span:first-child").allInnerTexts();
		await page.keyboard.press("Escape");
		for (const name of names) {
			await page.getByRole("button", { name: "Examples" }).click();
			await page.locator("[role=menuitem]").filter({ hasText: name }).click();
			await page.locator(".console-editor .cm-line").first().filter(
				{ hasText: name }).waitFor();
			await run(page);
			is.ran[name] = [await said(page), (await output(page)).length,
				await texts(page, "[role=alert]")];
		}
		await close(page);
	},

	/* Without the server there is a sentence, and what was written stays. */
	async fails(is) {
		const page = await open(script(), { quiet: true });
		await ready(page);
		await write(page, "print(1)");
		await page.route("**/script?**", (route) => route.fulfill({ status: 503,
			contentType: "application/json",
			body: JSON.stringify({ error: "as many scripts run already as may at a time" }) }));
		await run(page);
		is.refused = [await said(page), await text(page, "[data-card=output] [role=alert]")];
		await page.unroute("**/script?**");
		await page.route("**/script?**", (route) => route.abort());
		await run(page);
		is.lost = await text(page, "[data-card=output] [role=alert]");
		is.text = await written(page);
		is.second = second;
		await close(page);
	},
});
