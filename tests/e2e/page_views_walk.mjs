// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the views of lists and pictures as a reader would: allocations, functions, call tree,
// source, threads, histograms, address space, comparison, downloads.  test_page_views.py starts it
// and says what should have been seen.
import fs from "node:fs";
import { axe, close, given, hash, key, open, settled, shot, text, texts, untilHash, untilKey,
	walk } from "./page_browser.mjs";

const { id, second } = given;
const rows = (page, card) => page.locator(`${card ? `[data-card=${card}] ` : ""}.table-row`);
const heading = (page, label) => page.locator(`.table-head button[data-sort="${label}"]`);
const said = (page, card) => text(page, `[data-card=${card}] .said`);
const menuItems = (page) => page.locator("[role=menuitem]").allInnerTexts();
const choose = async (page, label, option) => {
	await page.getByRole("group", { name: label, exact: true }).getByRole("button",
		{ name: option, exact: true }).click();
	await drawn(page);
};
/* A click on the part of a row that is no link. */
const clickRow = (page, row, options) => row.locator("[role=gridcell]").first().click(
	{ position: { x: 4, y: 4 }, ...options });
/* The page has drawn what its address says. */
async function drawn(page) {
	await page.evaluate(
		() => new Promise(
		(done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
	await settled(page);
}
const back = async (page) => {
	await page.goBack();
	await drawn(page);
};
const visit = async (page, address) => {
	await page.goto(`${given.address}/${address}`);
	await drawn(page);
};
/* The page is loaded anew at an address. */
const anew = async (page, address) => {
	await page.goto("about:blank");
	await page.goto(`${given.address}/${address}`);
};
/* What a file that is saved holds. */
async function saved(page, action) {
	const [download] = await Promise.all([page.waitForEvent("download"), action()]);
	return { name: download.suggestedFilename(), text: fs.readFileSync(await download.path(),
		"utf8") };
}
/* Answers of one address are replaced, once or until told. */
async function answering(page, pattern, status, body) {
	await page.route(pattern,
		(route) =>
		route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) }));
	return () => page.unroute(pattern);
}

const VIEWS = {
	leaks: "?all=1&pools=1", allocations: "", flat: "?list=flat", functions: "", tree: "",
		source: "", line: "", threads: "", histograms: "", address_space: "", compare: "",
		download: "",
};
const addressOf = (name) => (name === "flat" ? `#/allocations/${id}?list=flat`
	: name === "line" ? `#/source/${id}?file=${encodeURIComponent(given.file)}`
		: name === "compare" ? `#/compare/${id}?against=${second}&by=stack` :
			`#/${name}/${id}${VIEWS[name]}`);

await walk({
	/* What the views ask when they are opened, one after the other. */
	async opening(is) {
		const page = await open("#/recordings");
		is.asked = [];
		page.on("request", (request) => {
			const [, question] = request.url().split(`/data/${id}/`);
			if (question) is.asked.push(question);
		});
		for (const view of ["overview", "leaks", "flame", "allocations", "allocations?list=flat",
			"functions", "tree", "threads", "histograms", "address_space"]) {
			const [name, query] = view.split("?");
			await page.evaluate((to) => { location.hash = to; },
				`#/${name}/${id}${query ? `?${query}` : ""}`);
			await page.locator("main .answered").first().waitFor();
			await settled(page);
		}
		await close(page);
	},

	/* Numbers that are links lead to exactly what they count.  Of each view the first rows. */
	async numbers(is) {
		const page = await open("#/recordings");
		const at = `at=${given.moment}`, filter = `filter=${encodeURIComponent("size > 64")}`;
		const addresses = [`overview/${id}`, `leaks/${id}?all=1`,
			`allocations/${id}?figures=both&${filter}`,
			`functions/${id}?sort=-self`, `functions/${id}?measure=leaked&${filter}&${at}`,
			`functions/${id}?measure=allocated&by=module`,
			`tree/${id}?direction=up`, `tree/${id}?by=thread&measure=leaked`,
				`threads/${id}?${filter}`, `histograms/${id}?table=lifetime&measure=peak`,
				`source/${id}`, `source/${id}?file=${encodeURIComponent(given.file)}`,
			`address_space/${id}?${at}`, `compare/${id}?against=${second}&measure=peak`,
				`compare/${id}?against=${id}&at=${given.half}&weight=count`];
		const to = async (address, condition) => {
			await page.evaluate(() => { location.hash = "#/recordings"; });
			await page.waitForFunction(() => document.querySelector(".drop"));
			await page.evaluate((a) => { location.hash = a; }, address);
			await page.waitForFunction(condition);
		};
		is.followed = [];
		for (const address of addresses) {
			await to(`#/${address}`,
				() => !document.querySelector(".drop, .skeleton, [data-fresh=false]") &&
				document.querySelector("main a.number[data-bytes], main a.number[data-blocks]"));
			const links = await page.locator(
				".figure a.number, [data-card=strip] a.number, .table-row a.number").evaluateAll(
				/* A moment in the timeline is no sum. */
				(list) => list.filter((a) => (a.dataset.bytes || a.dataset.blocks) &&
				!a.getAttribute("href").includes("series=rss") &&
				!(Number(a.closest(".table-row")?.dataset.row) > 0))
				.map((a) =>
					({ href: a.getAttribute("href"), bytes: a.dataset.bytes,
					blocks: a.dataset.blocks })));
			for (const link of links) {
				await to(link.href,
					() => !document.querySelector(".drop, .skeleton, [data-fresh=false]") &&
					document.querySelector(location.hash.includes("zoom=") ? ".trail [data-sum]" :
					".said [data-sum]"));
				const sum = await page.evaluate(
					() => ({ ...(
					document.querySelector(".trail [data-sum]") ?? document.querySelector(
					".said [data-sum]")).dataset }));
				is.followed.push([address, link.href, link.bytes === undefined ||
					link.bytes === sum.sum, link.blocks === undefined ||
					link.blocks === sum.sumBlocks]);
			}
		}
		await close(page);
	},

	async groups(is) {
		const page = await open(`#/allocations/${id}`,
			{ permissions: ["clipboard-read", "clipboard-write"] });
		await settled(page);
		is.said = await said(page, "allocations");
		is.rows = await texts(page, ".table-row");
		await page.waitForFunction((n) => document.querySelectorAll(".spark").length === n,
			is.rows.length);
		is.sparks = await page.locator(".spark").count();
		await heading(page, "only_matched.allocated_count").click();
		await drawn(page);
		is.sort = await key(page, "sort");
		is.by_count = await texts(page, ".table-row");
		await heading(page, "only_matched.allocated_count").click();
		await drawn(page);
		is.by_count_up = await texts(page, ".table-row");
		await back(page);
		await back(page);
		is.back = await texts(page, ".table-row");
		/* A row opens and shows its whole stack; so does its permanent address. */
		await clickRow(page, rows(page).first());
		await page.locator(".frames").waitFor();
		is.frames = await text(page, ".frames");
		const again = await open(await hash(page));
		await again.locator(".frames").waitFor();
		is.permalink = await text(again, ".frames");
		await close(again);
		await clickRow(page, rows(page).first());
		await page.waitForFunction(() => !document.querySelector(".frames"));
		await choose(page, "Stacks", "full");
		is.full = await page.locator(".frames").count();
		await choose(page, "Stacks", "short stacks");
		await choose(page, "Figures", "both");
		is.bands = await texts(page, ".band");
		is.columns = await page.locator(".table-head > div").count();
		await choose(page, "Figures", "whole stack");
		is.whole = await texts(page, ".table-head > div");
		await choose(page, "Figures", "matching");
		/* The menu of a stack. */
		await clickRow(page, rows(page).first(), { button: "right" });
		is.menu = await menuItems(page);
		await page.getByRole("menuitem", { name: "Copy the stack" }).click();
		is.copied = await page.evaluate(() => navigator.clipboard.readText());
		await clickRow(page, rows(page).first(), { button: "right" });
		await page.getByRole("menuitem", { name: "Only this stack" }).click();
		await settled(page);
		is.only = [await key(page, "filter"), await rows(page).count(),
			await said(page, "allocations")];
		await back(page);
		await rows(page).first().locator("[role=gridcell]").nth(2).locator("a").click();
		await untilKey(page, "list", "flat");
		await drawn(page);
		is.bytes = [await key(page, "list"), await key(page, "filter"),
			await said(page, "allocations")];
		await back(page);
		/* Files and copies. */
		is.csv = await saved(page, () => page.getByRole("button", { name: "CSV" }).click());
		await page.getByRole("button", { name: "Copy", exact: true }).click();
		await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith(
			"allocated in\t"));
		is.copied_rows = (await page.evaluate(() => navigator.clipboard.readText())).trim().split(
			"\n").length;
		/* A brush is a filter, and so is a moment. */
		await visit(page, `#/allocations/${id}?from=${given.half}`);
		is.brushed = await said(page, "allocations");
		await visit(page, `#/allocations/${id}?at=${given.moment}`);
		is.moment = await said(page, "allocations");
		await close(page);
	},

	async flat(is) {
		const page = await open(`#/allocations/${id}?list=flat`);
		await settled(page);
		is.said = await said(page, "allocations");
		await heading(page, "size").click();
		await drawn(page);
		is.largest = await text(page, ".table-row");
		is.sort = await key(page, "sort");
		/* To the end and back. */
		await page.locator(".table").focus();
		await page.keyboard.press("End");
		await page.waitForFunction((n) => document.querySelector(`[data-row="${n}"] strong`),
			given.allocations - 1);
		is.smallest = await text(page, `[data-row="${given.allocations - 1}"]`);
		await page.keyboard.press("Home");
		await page.waitForFunction(() => document.querySelector('[data-row="0"] strong'));
		await page.locator(".table").hover();
		await page.mouse.wheel(0, 4400);
		await page.waitForFunction(() => document.querySelector('[data-row="100"] strong'));
		is.drawn = await rows(page).count();
		await page.locator(".table").focus();
		await page.keyboard.press("Home");
		/* A block that was reallocated has three stacks. */
		await visit(page,
			`#/allocations/${id}?list=flat&filter=` +
				encodeURIComponent("chain_length > 2 and position_in_chain = 0 and not leaked"));
		await clickRow(page, rows(page).first());
		await page.locator(".frames").first().waitFor();
		is.stacks = await texts(page, ".frames-title");
		await clickRow(page, rows(page).first(), { button: "right" });
		is.menu = await menuItems(page);
		await page.keyboard.press("Escape");
		await page.waitForFunction(() => !document.querySelector("[role=menu]"));
		await visit(page, `#/allocations/${id}?list=flat`);
		/* A column of the server's table. */
		await page.getByRole("button", { name: "Columns" }).click();
		is.offered = await menuItems(page);
		await page.getByRole("menuitem", { name: "Show slack" }).click();
		await untilKey(page, "columns", "slack");
		await heading(page, "slack").click();
		await untilKey(page, "sort", "-slack");
		await drawn(page);
		is.slack = await rows(page).locator("[role=gridcell]:last-child .number")
			.evaluateAll((all) => all.map((e) => e.title));
		await visit(page, `#/allocations/${id}?list=flat`);
		const thread = rows(page).first().locator("[role=gridcell]").nth(5).locator("a");
		is.thread = await thread.innerText();
		await thread.click();
		await untilHash(page, "filter=");
		await drawn(page);
		is.term = await key(page, "filter");
		await close(page);
	},

	/* Ten million rows that the server never had: the page asks for those that are in view only. */
	async many(is) {
		const page = await open("#/recordings"), count = 10_000_000, asked = [];
		await settled(page);
		const one = await (
			await page.request.get(`${given.address}/data/${id}/allocations?count=1`)).json();
		await page.route(/\/allocations\?/, (route) => {
			const query = new URL(route.request().url()).searchParams, skip = +query.get("skip"),
				n = Math.min(+query.get("count"), count - skip);
			asked.push(skip);
			return route.fulfill({ contentType: "application/json",
				body: JSON.stringify(
				{ allocations: Array.from({ length: n },
				(_, i) => ({ ...one.allocations[0], id: skip + i, size: skip + i })),
				total_count: count, total_size: 1 }) });
		});
		await visit(page, `#/allocations/${id}?list=flat`);
		const there = (row) =>
			page.waitForFunction((n) => document.querySelector(`[data-row="${n}"] strong`), row);
		await there(0);
		await page.locator(".table").focus();
		await page.keyboard.press("End");
		await there(count - 1);
		is.end = await page.locator(`[data-row="${count - 1}"]`).evaluate(
			(row) => row.getBoundingClientRect().bottom <= document.querySelector(
			".table").getBoundingClientRect().bottom);
		await page.keyboard.press("ArrowUp");
		is.up = await page.locator(".table-row.at").getAttribute("data-row");
		/* The wheel moves by pixels, the scroll bar by shares. */
		await page.locator(".table").hover();
		await page.mouse.wheel(0, -440);
		await there(count - 15);
		await page.locator(".table").evaluate((table) => { table.scrollTop = table.scrollHeight / 2;
			});
		await page.waitForFunction(
			() => Math.abs(
			+document.querySelector(".table-row[data-row]").dataset.row - 5_000_000) < 1000 &&
			document.querySelector(".table-row strong"));
		is.middle = await page.locator(".table-row").first().getAttribute("data-row");
		await page.keyboard.press("Home");
		await there(0);
		is.asked = asked.length;
		is.high = await page.locator(".table").evaluate((table) => table.scrollHeight);
		await close(page);
	},

	async keyboard(is) {
		const page = await open(`#/allocations/${id}`);
		await settled(page);
		await page.locator(".table").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		is.at = await page.locator(".table-row.at").getAttribute("data-row");
		is.spoken = await page.evaluate(
			() => document.getElementById(document.querySelector(".table").getAttribute(
			"aria-activedescendant"))?.getAttribute("aria-selected"));
		await page.keyboard.press("Enter");
		await page.locator(".frames").waitFor();
		is.opened = await key(page, "open");
		await page.keyboard.press("Shift+F10");
		await page.locator("[role=menu]").waitFor();
		is.menu = await page.evaluate(() => document.activeElement.innerText);
		await page.keyboard.press("Escape");
		await page.waitForFunction(() => !document.querySelector("[role=menu]"));
		await page.keyboard.press("Shift+F10");
		await page.locator("[role=menu]").waitFor();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await untilHash(page, "filter=");
		await drawn(page);
		is.filter = await key(page, "filter");
		await close(page);
	},

	async states(is) {
		const page = await open(`#/allocations/${id}?filter=${encodeURIComponent("size > 1T")}`);
		await settled(page);
		is.empty = await text(page, ".empty");
		await page.locator(".empty button").first().click();
		await untilKey(page, "filter", "");
		await rows(page).first().waitFor();
		is.again = await rows(page).count();
		for (const view of ["leaks", "functions", "tree", "threads", "histograms", "source",
			"address_space", "allocations"]) {
			await anew(page, `#/${view}/${id}?filter=${encodeURIComponent("size > 1T")}`);
			await settled(page);
			is[`empty_${view}`] = await text(page, ".empty");
		}
		await close(page);
		/* The server fails once, then answers. */
		const pages = { leaks: "leaks", allocations: "groups", functions: "functions",
			tree: "flame", threads: "threads", histograms: "histogram", source: "sources",
			address_space: "address_space", compare: "diff", download: "api" };
		is.failures = {};
		const failing = await open("#/recordings", { quiet: true });
		for (const [view, path] of Object.entries(pages)) {
			const pattern = new RegExp(`/${path}(\\?|$)`);
			const mend = await answering(failing, pattern, 500, { error: "the disk is full" });
			await anew(failing, `#/${view}/${id}`);
			await failing.locator("[role=alert]").first().waitFor();
			is.failures[view] = await text(failing, "[role=alert]");
			await mend();
			/* Cards that ask the same are mended together. */
			await failing.waitForFunction(() => {
				document.querySelector("[role=alert] button")?.click();
				return !document.querySelector("[role=alert]");
			});
			await settled(failing);
			is.failures[
				view] += ` | ${await failing.locator(".table-row, .upright, .area").count()}`;
		}
		await close(failing);
		const wrong = await open(`#/allocations/${id}?filter=${encodeURIComponent("sice > 1")}`,
			{ quiet: true });
		await wrong.locator("[data-card=allocations] [role=alert]").waitFor();
		is.wrong = await text(wrong, "[data-card=allocations] [role=alert]");
		await close(wrong);
		/* A recording that does not hold everything says so above every view. */
		const partial = await open("#/recordings");
		await settled(partial);
		await partial.route(/\/list$/, async (route) => {
			const answer = await route.fetch(), list = await answer.json();
			for (const r of list) r.warnings = [{ kind: "live", text: "still written" },
				{ kind: "truncated", text: "libfoo.so is cut.", modules: ["libfoo.so"] },
				{ kind: "culled", text: "some were culled" }];
			await route.fulfill({ response: answer, json: list });
		});
		await anew(partial, `#/threads/${id}`);
		await settled(partial);
		is.partial = await text(partial, ".banner");
		await close(partial);
		/* A skeleton while the first answer is on its way. */
		const slow = await open("#/recordings");
		await settled(slow);
		let go;
		const held = new Promise((resolve) => { go = resolve; });
		await slow.route(/\/groups\?/, async (route) => {
			await held;
			await route.continue();
		});
		await slow.evaluate((to) => { location.hash = to; }, `#/allocations/${id}`);
		await slow.locator("[data-card=allocations] .skeleton").waitFor();
		is.skeleton = true;
		go();
		await rows(slow).first().waitFor();
		await close(slow);
	},

	async functions(is) {
		const page = await open(`#/functions/${id}`);
		await settled(page);
		is.said = await said(page, "functions");
		is.self = await texts(page, ".table-row");
		await heading(page, "total").click();
		await drawn(page);
		is.rows = await texts(page, ".table-row");
		await page.fill("[aria-label='Search functions']", "REPORT");
		await untilKey(page, "search", "REPORT");
		await drawn(page);
		await page.waitForFunction(() => document.querySelectorAll(".table-row").length === 1);
		is.found = await texts(page, ".table-row");
		await page.fill("[aria-label='Search functions']", "no such name");
		await page.locator(".empty").waitFor();
		is.none = await text(page, ".empty");
		await page.locator(".empty button").click();
		await rows(page).nth(3).waitFor();
		await choose(page, "Rows are", "lines");
		is.lines = await texts(page, ".table-row");
		await choose(page, "Rows are", "modules");
		is.modules = await texts(page, ".table-row");
		await choose(page, "Rows are", "functions");
		for (const measure of ["leaked", "alive at t", "allocated", "temporary", "peak"]) {
			await choose(page, "Which bytes", measure);
			is[measure] = await said(page, "functions");
		}
		await clickRow(page, rows(page).filter({ hasText: given.function }).first(),
			{ button: "right" });
		is.menu = await menuItems(page);
		/* Its neighbours: from one to the other and back, and on to a picture. */
		await page.getByRole("menuitem", { name: "Callers and callees" }).click();
		await page.locator("[data-card=called-by] .table-row").first().waitFor();
		await settled(page);
		is.callers = await texts(page, "[data-card=called-by] .table-row a");
		is.callers_said = await said(page, "callers");
		await axe(page, "callers");
		await page.locator("[data-card=called-by] .table-row a").first().click();
		await page.locator("[data-card=calls] .table-row").first().waitFor();
		await settled(page);
		is.callees = await texts(page, "[data-card=calls] .table-row");
		await clickRow(page, rows(page, "calls").filter({ hasText: given.function }).first());
		await untilKey(page, "function", given.function);
		await page.getByRole("link", { name: "All functions" }).click();
		await untilKey(page, "function", "");
		await drawn(page);
		await clickRow(page, rows(page).filter({ hasText: given.function }).first(),
			{ button: "right" });
		await page.getByRole("menuitem", { name: "Only what goes through it" }).click();
		await settled(page);
		is.filter = await key(page, "filter");
		is.only = await texts(page, ".table-row");
		await rows(page).first().locator("[role=gridcell]").nth(3).locator("a").click();
		await untilHash(page, "#/allocations/");
		await drawn(page);
		is.linked = await said(page, "allocations");
		await close(page);
	},

	async tree(is) {
		const page = await open(`#/tree/${id}`);
		await settled(page);
		is.said = await said(page, "tree");
		is.rows = await texts(page, ".table-row");
		const first = await page.locator(".table-row").count();
		await page.locator(".table").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowLeft");
		await page.waitForFunction(
			() => document.querySelector('[data-row="0"] .twig')?.getAttribute(
			"aria-expanded") === "false");
		is.closed = await rows(page).count();
		await page.keyboard.press("ArrowRight");
		await page.waitForFunction((n) => document.querySelectorAll(".table-row").length === n,
			first);
		await page.keyboard.press("*");
		await page.waitForFunction((n) => document.querySelectorAll(".table-row").length > n,
			first);
		is.all = await texts(page, ".table-row");
		const again = await open(await hash(page));
		await settled(again);
		is.permalink = await texts(again, ".table-row");
		await close(again);
		await choose(page, "Direction", "bottom-up");
		is.up = await texts(page, ".table-row");
		await choose(page, "Direction", "top-down");
		await choose(page, "Nodes are", "by thread");
		is.threads = await texts(page, ".table-row");
		await choose(page, "Nodes are", "functions");
		const leaf = rows(page).filter({ hasText: given.function }).first();
		await leaf.locator("[role=gridcell]").nth(1).locator("a").click();
		await untilHash(page, "#/flame/");
		await drawn(page);
		is.linked = await text(page, ".trail");
		await close(page);
	},

	async source(is) {
		const page = await open(`#/source/${id}`);
		await settled(page);
		is.files = await texts(page, ".table-row");
		await page.fill("[aria-label='Search files']", "LEAKY");
		await page.waitForFunction(() => document.querySelectorAll(".table-row").length === 1);
		await rows(page).first().locator("a").first().click();
		await untilHash(page, "file=");
		await drawn(page);
		is.file = await key(page, "file");
		is.heavy = await text(page, ".heavy");
		is.weighed = await page.locator(
			".table-row code[class*=heat-]:not(.heat-0)").allInnerTexts();
		await page.locator(".heavy a").first().click();
		await page.locator(".table-row.at").waitFor();
		is.at = await text(page, ".table-row.at");
		is.line = await key(page, "line");
		await page.locator(".table-row.at a").first().click();
		await untilHash(page, "#/allocations/");
		await drawn(page);
		is.filter = await key(page, "filter");
		is.linked = await said(page, "allocations");
		await back(page);
		/* The file is not here: what is known without it. */
		const gone = await answering(page, /\/source\?/, 200,
			{ file: given.file, on_disk: false, newer: false, measure: "peak", at_ns: 1, bytes: 5,
			count: 1, lines: [],
			weights: [{ line: 12, bytes: 5, count: 1, self_bytes: 5, self_count: 1,
			functions: ["main"] }] });
		await page.goto(
			`${given.address}/#/source/${id}?file=${encodeURIComponent(given.file)}` +
				"&measure=allocated");
		await page.locator(".banner").waitFor();
		is.gone = [await text(page, ".banner"), await texts(page, ".table-row")];
		await gone();
		await close(page);
	},

	async leaks(is) {
		const page = await open(`#/leaks/${id}`);
		await settled(page);
		is.said = await said(page, "leaks");
		is.rows = await texts(page, ".table-row");
		is.curves = await page.locator(".table-row .spark").count();
		is.bad = await page.locator("[data-card=leaks] .bad").count();
		const fold = async (name) => {
			await page.locator(`[data-fold=${name}]`).click();
			await drawn(page);
		};
		is.folded = await texts(page, "[data-fold]");
		await fold("pools");
		is.pools = await texts(page, ".table-row");
		await fold("pools");
		is.again = await texts(page, ".table-row");
		await fold("held");
		is.held = await texts(page, ".table-row");
		is.permalink = await hash(page);
		/* Up and down with the keys, and in. */
		await rows(page).first().click({ position: { x: 4, y: 60 }, button: "right" });
		is.menu = await menuItems(page);
		await page.keyboard.press("Escape");
		await fold("held");
		/* What is too small to matter is counted until somebody wants it. */
		await visit(page, `#/leaks/${given.small}`);
		is.small = [await said(page, "leaks"), await texts(page, "[data-fold=all]"),
			await text(page, "[data-card=leaks]"), await page.locator(".bad").count()];
		await fold("all");
		is.all = [await text(page, "[data-card=leaks] .table-count"), await page.locator(
			"[data-fold=all]").getAttribute("aria-pressed"), await page.locator(
			".table-row .tag.bad").count()];
		/* A question is asked of verdicts, too. */
		await visit(page, `#/leaks/${id}?all=1&filter=${encodeURIComponent(
			`function ~ ${given.leaking}`)}`);
		is.asked = await texts(page, ".table-row");
		await rows(page).first().locator(".who a").click();
		await untilHash(page, "#/flame/");
		await drawn(page);
		is.flame = await key(page, "filter");
		await back(page);
		await rows(page).first().locator("[role=gridcell]").nth(4).locator("a").focus();
		await page.keyboard.press("Enter");
		await untilHash(page, "#/allocations/");
		await drawn(page);
		is.filter = await key(page, "filter");
		is.linked = await said(page, "allocations");
		await close(page);
	},

	async threads(is) {
		const page = await open(`#/threads/${id}`);
		await settled(page);
		is.said = await said(page, "threads");
		is.rows = await texts(page, ".table-row");
		await heading(page, "leaked_bytes").click();
		await drawn(page);
		is.by_leaked = await texts(page, ".table-row");
		await clickRow(page, rows(page).first(), { button: "right" });
		is.menu = await menuItems(page);
		await page.keyboard.press("Escape");
		await rows(page).first().locator("[role=gridcell]").nth(5).locator("a").click();
		await untilHash(page, "#/allocations/");
		await drawn(page);
		is.filter = await key(page, "filter");
		is.linked = await said(page, "allocations");
		await close(page);
	},

	async histograms(is) {
		const page = await open(`#/histograms/${id}`);
		await settled(page);
		is.said = [await said(page, "size"), await said(page, "lifetime"),
			await said(page, "sizes")];
		is.total = await text(page, "[data-card=total]");
		is.bars = [await page.locator("[data-card=size] .upright").count(),
			await page.locator("[data-card=lifetime] .upright").count()];
		await page.locator("[data-card=size] .upright").nth(2).hover();
		await page.locator(".tip:not([hidden])").waitFor();
		is.tip = await text(page, ".tip");
		await page.locator("[data-card=size] .upright").first().focus();
		await page.keyboard.press("ArrowRight");
		is.focused = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
		await choose(page, "Bars are", "blocks");
		is.weight = await key(page, "weight");
		await choose(page, "Sizes as", "table");
		is.table = await texts(page, "[data-card=size] .table-row");
		await choose(page, "Sizes as", "picture");
		await page.locator("[data-card=lifetime] .upright").last().click();
		await untilHash(page, "#/allocations/");
		await drawn(page);
		is.filter = await key(page, "filter");
		is.linked = await said(page, "allocations");
		await close(page);
	},

	async address(is) {
		const page = await open(`#/address_space/${id}`, { height: 1400 });
		await settled(page);
		is.said = await said(page, "address_space");
		is.areas = await page.locator(".area").count();
		is.colours = await page.locator(".area canvas").evaluateAll((list) => list.map((canvas) => {
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width,
				canvas.height), found = new Set();
			for (let i = 0; i < data.length; i += 4) found.add(
				`${data[i]},${data[i + 1]},${data[i + 2]}`);
			return found.size;
		}));
		is.holders = await texts(page, "[data-card=holders] .table-row");
		/* The fullest cell of the largest area. */
		const spot = await page.locator(".area-picture").evaluateAll((list) => {
			const box = list.map((e) => e.getBoundingClientRect()).sort(
				(a, b) => b.height - a.height)[0];
			return { x: box.left, y: box.top, width: box.width, height: box.height };
		});
		await page.mouse.click(spot.x + spot.width * 0.5, spot.y + spot.height - 2);
		await untilHash(page, "region=");
		await drawn(page);
		is.region = await key(page, "region");
		is.at = await key(page, "at");
		is.region_said = await said(page, "holders");
		await page.mouse.move(spot.x + spot.width * 0.3, spot.y + spot.height * 0.9);
		await page.mouse.down();
		await page.mouse.move(spot.x + spot.width * 0.3, spot.y + spot.height * 0.6, { steps: 4 });
		await page.mouse.up();
		await untilHash(page, "zoom=");
		await drawn(page);
		is.zoom = await key(page, "zoom");
		await page.getByRole("button", { name: "Zoom out" }).click();
		await untilKey(page, "zoom", "");
		await drawn(page);
		await page.getByRole("button", { name: "All addresses" }).click();
		await untilKey(page, "region", "");
		await drawn(page);
		await page.locator(".area-picture").first().focus();
		await page.keyboard.press("ArrowUp");
		await page.keyboard.press("Enter");
		await untilHash(page, "region=");
		is.keyed = await page.locator(".area-picture").first().getAttribute("aria-label");
		await choose(page, "Address space as", "table");
		is.table = await texts(page, "[data-card=address_space] .table-row");
		await close(page);
	},

	async compare(is) {
		const page = await open(`#/compare/${id}?against=${second}`);
		await settled(page);
		is.said = await said(page, "compare");
		is.functions = await texts(page, ".table-row");
		await choose(page, "Rows are", "stacks");
		is.stacks = await texts(page, ".table-row");
		await choose(page, "Compared by", "blocks");
		is.weight = await key(page, "weight");
		await choose(page, "Compared by", "bytes");
		/* From the start to the end of the same run. */
		await page.locator(".compare-form select").selectOption(id);
		await untilKey(page, "against", id);
		await drawn(page);
		is.self = await said(page, "compare");
		await page.locator("[aria-label='Moment after, seconds']").fill(String(given.moment));
		await page.locator("[aria-label='Moment after, seconds']").press("Enter");
		await untilKey(page, "at", String(given.moment));
		await drawn(page);
		is.moment = await said(page, "compare");
		is.changed = await texts(page, ".table-row");
		await heading(page, "who").click();
		await drawn(page);
		is.sorted = await key(page, "sort");
		await page.locator(".compare-form select").selectOption(second);
		await untilKey(page, "against", second);
		await drawn(page);
		await page.getByRole("button", { name: "Swap" }).click();
		await untilHash(page, `#/compare/${second}`);
		await drawn(page);
		is.swapped = await key(page, "against");
		await close(page);
	},

	async downloads(is) {
		const page = await open(`#/download/${id}?filter=${encodeURIComponent("size >= 1000")}`,
			{ height: 2000 });
		await settled(page);
		is.said = await said(page, "downloads");
		is.counted = await text(page, "[data-card=downloads] .table-count");
		is.links = await page.locator(".table-row a.button").evaluateAll(
			(list) => list.map((a) => [a.download, a.getAttribute("href")]));
		is.answers = [];
		for (const [file, address] of is.links) {
			const answer = await page.request.get(given.address + address);
			is.answers.push([file, answer.status(), (await answer.body()).length]);
		}
		await choose(page, "CSV and JSON have", "per stack");
		is.grouped = await page.locator(".table-row a.button").evaluateAll(
			(list) => list.map((a) => a.getAttribute("href")).filter(
			(h) => h.includes("groups=true")).length);
		const file = await saved(page, () => page.locator("a[download$='.csv']").click());
		is.csv = [file.name, file.text.split("\n")[0]];
		await close(page);
	},

	/* Every view at both widths, light and dark. */
	async looks(is) {
		is.views = 0;
		for (const scheme of ["light", "dark"]) {
			const page = await open("#/recordings", { scheme });
			for (const name of Object.keys(VIEWS)) {
				await page.setViewportSize({ width: 1280, height: 900 });
				await visit(page, addressOf(name));
				await axe(page, `${name}-${scheme}`);
				for (const [width, height] of [[1280, 900], [2560, 1300]]) {
					await page.setViewportSize({ width, height });
					await drawn(page);
					await shot(page, `${name}-${width}-${scheme}`);
				}
				is.views++;
			}
			await close(page);
		}
	},
});
