// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the view of heap profiles as a reader would: opens dumps, reads the flame graph and the
// table, goes from one to the other, asks, compares two, and takes files away.  test_heap_page.py
// starts it and says what should have been seen.
import fs from "node:fs";
import { axe, boxes, clickBox, close, given, hash, key, open, shot, text, texts, untilHash,
	untilKey, walk } from "./page_browser.mjs";

const said = (page, card = "heap-flame") => text(page, `[data-card=${card}] .said`);
const rows = (page) => texts(page, "[data-card=heap-functions] .table-row");
const rowOf = (page, name) => page.locator("[data-card=heap-functions] .table-row",
	{ has: page.getByText(name, { exact: true }) });
const names = async (page) => [...new Set((await boxes(page)).map((b) => b.name))];
/* The page has drawn what its address says; no wait for the network to be idle, which takes half a
 * second each. */
async function drawn(page) {
	await page.evaluate(
		() => new Promise(
		(done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
	await page.waitForFunction(
		() => !document.querySelector(".skeleton, .stale, [aria-busy=true], [data-fresh=false]") &&
		document.querySelector("main .card"));
}
const choose = async (page, label, option) => {
	await page.getByRole("group", { name: label, exact: true }).getByRole("button",
		{ name: option, exact: true }).click();
	await drawn(page);
};
const back = async (page) => {
	await page.goBack();
	await drawn(page);
};
const pick = async (page, item) => {
	await page.getByRole("menuitem", { name: item }).click();
	await drawn(page);
};
async function saved(page, name) {
	const [download] = await Promise.all([page.waitForEvent("download"),
		page.locator("[data-card=heap-downloads] a", { hasText: name }).first().click()]);
	return { name: download.suggestedFilename(),
		bytes: fs.readFileSync(await download.path()).toString("base64") };
}
async function looked(page, name) {
	await axe(page, name);
	await shot(page, name);
}

let page, first, second;
await walk({
	/* Nothing is open; one dump is chosen, one is dropped, one is broken. */
	async files(is) {
		page = await open("#/heap", { permissions: ["clipboard-read", "clipboard-write"] });
		await drawn(page);
		is.nothing = await text(page, "[data-card=no-heap] .empty-title");
		await looked(page, "heap-nothing");
		await page.setInputFiles("input[type=file]", given.first);
		await page.locator("[data-card=heap-flame] .flame-canvas").waitFor();
		await drawn(page);
		first = (await hash(page)).split("/")[2];
		is.first = [await text(page, "[data-card=heap] h2"), await said(page, "heap"),
			await said(page), await hash(page)];
		const body = fs.readFileSync(given.second).toString("latin1");
		await page.evaluate((bytes) => {
			const moved = new DataTransfer();
			moved.items.add(new File([bytes], "second_run.heap"));
			dispatchEvent(new DragEvent("dragenter", { dataTransfer: moved }));
			dispatchEvent(new DragEvent("drop", { dataTransfer: moved, cancelable: true }));
		}, body);
		await page.waitForFunction((id) => location.hash.startsWith("#/heap/") &&
			!location.hash.includes(id), first);
		await page.locator("[data-card=heap-flame] .flame-canvas").waitFor();
		await drawn(page);
		second = (await hash(page)).split("/")[2];
		is.second = [await text(page, "[data-card=heap] h2"), await said(page)];
		is.files = await texts(page, "#file option");
		is.column = await texts(page, ".view-link");
		await page.setInputFiles("input[type=file]",
			{ name: "bad.heap", mimeType: "application/octet-stream",
			buffer: Buffer.from("heap_v2/many\n") });
		is.broken = await text(page, "[data-card=heap] .failure");
		await page.goto(`${given.address}/#/heap/${"0".repeat(32)}`);
		is.unknown = await text(page, ".empty-title");
	},
	async graph(is) {
		await page.goto(`${given.address}/#/heap/${first}`);
		await drawn(page);
		is.names = await names(page);
		is.title = await page.title();
		await choose(page, "Shape", "bottom-up");
		is.up = (await boxes(page)).filter((b) => b.depth === 1).map((b) => b.name);
		await choose(page, "Shape", "by thread");
		is.threads = (await boxes(page)).filter((b) => b.depth === 1).map((b) => b.name);
		await back(page);
		await back(page);
		is.back = [await names(page), await hash(page)];
		await choose(page, "Weight", "blocks");
		is.blocks = [await said(page), (await rows(page))[0]];
		await choose(page, "Weight", "bytes");
		await choose(page, "Measure", "allocated");
		is.ever = await said(page);
		await choose(page, "Measure", "in use");
		/* Keys move in the picture, and Enter zooms. */
		await page.locator(".flame-canvas").focus();
		for (const press of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(
			press);
		is.spoken = await page.locator("#flame-spoken").textContent();
		await page.keyboard.press("Enter");
		is.zoomed = await text(page, ".trail");
		await page.keyboard.press("Escape");
		await page.keyboard.press("Escape");
		await page.waitForFunction(() => !document.querySelector(".trail"));
		await choose(page, "Shown as", "table");
		is.as_table = (await texts(page, "[data-card=heap-flame] .table-row")).length;
		await back(page);
	},
	/* Every number of the table leads to what it counts; a box leads to its row. */
	async links(is) {
		await page.goto(`${given.address}/#/heap/${first}`);
		await drawn(page);
		is.rows = await rows(page);
		await rowOf(page, "inl").locator("a.number").nth(1).click();
		await drawn(page);
		is.through = [await key(page, "focus"), await said(page), await names(page)];
		await back(page);
		await rowOf(page, "worker").locator("a.number").nth(0).click();
		await page.locator(".trail").waitFor();
		await drawn(page);
		is.own = [await text(page, ".trail"), (await boxes(page)).find((b) => b.depth === 1).name,
			await text(page, "[data-card=heap-flame] .flame-foot")];
		await clickBox(page, "worker");
		is.own_foot = await text(page, "[data-card=heap-flame] .flame-foot");
		await page.goto(`${given.address}/#/heap/${first}`);
		await drawn(page);
		await rowOf(page, "thr").locator("[role=gridcell]").first().click(
			{ position: { x: 4, y: 4 } });
		await page.locator("[data-card=heap-flame] .flame-tools [role=status]").waitFor();
		is.lit = [await key(page, "search"),
			await text(page, "[data-card=heap-flame] .flame-tools [role=status]")];
		await clickBox(page, "thr", { button: "right" });
		is.menu = await texts(page, "[role=menuitem]");
		await pick(page, "Find it in the table");
		is.found = [await key(page, "find"), await rows(page)];
		await clickBox(page, "thr", { button: "right" });
		await pick(page, "No stacks through it");
		is.without = [await key(page, "ignore"), await said(page)];
		await page.getByRole("button", { name: "Ask about everything" }).click();
		await untilKey(page, "ignore", "");
		await page.goto(`${given.address}/#/heap/${first}`);
		await drawn(page);
		await page.locator("[data-sort=cum]").click();
		await drawn(page);
		is.by_total = [await key(page, "sort"), (await rows(page))[0]];
		await page.locator("[data-sort=name]").click();
		await drawn(page);
		is.by_name = (await rows(page)).map((row) => row.split("\n")[0]);
		await rowOf(page, "worker").click({ button: "right", position: { x: 4, y: 4 } });
		const [report] = await Promise.all([page.context().waitForEvent("page"),
			page.getByRole("menuitem", { name: "Report: peek" }).click()]);
		await report.waitForLoadState();
		is.peek = await report.locator("body").innerText();
		await report.close();
	},
	async asking(is) {
		await page.goto(`${given.address}/#/heap/${first}`);
		await drawn(page);
		await page.locator("main").focus();
		await page.keyboard.press("/");
		is.focused = await page.evaluate(() => document.activeElement?.getAttribute("name"));
		await page.keyboard.type("^thr$");
		await untilKey(page, "focus", "^thr$");
		await drawn(page);
		is.focus = await said(page);
		/* What cannot be read is said, and the picture stays. */
		await page.fill("input[name=ignore]", "(");
		await page.locator("#heap-wrong").waitFor();
		is.wrong = [await text(page, "#heap-wrong"), await page.getAttribute("input[name=ignore]",
			"aria-invalid"), await page.locator(".failure").count(), await names(page)];
		await page.fill("input[name=ignore]", "");
		await page.locator("#heap-wrong").waitFor({ state: "detached" });
		await page.fill("input[name=focus]", "nothing like it");
		await page.locator("[data-card=heap-flame] .empty").waitFor();
		is.empty = await texts(page, ".empty-title");
		await page.getByRole("button", { name: "Ask about everything" }).click();
		await drawn(page);
		await page.selectOption("select[name=thread]", "1");
		await drawn(page);
		is.thread = [await said(page), await texts(page, "select[name=thread] option")];
		await choose(page, "A frame is", "lines");
		is.lines = [await rows(page), await text(page, "[data-card=heap-functions] h2")];
		await page.getByLabel("allocator's frames").check();
		await untilKey(page, "allocator", "1");
		await drawn(page);
		is.allocator = await rows(page);
	},
	async compare(is) {
		await page.goto(`${given.address}/#/heap/${second}`);
		await drawn(page);
		await page.selectOption("select[name=base]", first);
		await page.locator("[data-sort=cum_change]").waitFor();
		await drawn(page);
		is.said = await said(page);
		is.rows = await rows(page);
		is.legend = await text(page, "[data-card=heap-flame] .flame-foot");
		is.title = await text(page, "[data-card=heap-flame] h2");
		await looked(page, "heap-difference");
		const again = await open(await hash(page));
		await again.locator("[data-sort=cum_change]").waitFor();
		await drawn(again);
		is.permalink = await rows(again);
		await close(again);
		await page.getByRole("button", { name: "Swap" }).click();
		await untilHash(page, `#/heap/${first}`);
		await drawn(page);
		is.swapped = await said(page);
		await back(page);
		is.back = await said(page);
		/* From the list of all files. */
		await page.goto(`${given.address}/#/recordings`);
		await drawn(page);
		is.listed = await texts(page, ".table-row");
		await looked(page, "heap-list");
		await page.getByLabel("Compare out.heap").check();
		await page.getByLabel("Compare second_run.heap").check();
		await page.getByRole("link", { name: "Compare", exact: true }).click();
		await page.locator("[data-sort=cum_change]").waitFor();
		await drawn(page);
		is.ticked = await said(page);
	},
	async downloads(is) {
		await page.goto(`${given.address}/#/heap/${first}?focus=inl`);
		await drawn(page);
		is.offered = await texts(page, "[data-card=heap-downloads] strong");
		is.said = await said(page, "heap-downloads");
		is.collapsed = await saved(page, "prof.collapsed.txt");
		is.pprof = await saved(page, "prof.pb.gz");
		is.raw = await saved(page, "out.heap");
		await close(page);
	},
	async looks() {
		for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["dark", 2560],
			["light", 800]]) {
			const other = await open(`#/heap/${first}?focus=worker`, { scheme, width });
			await other.locator("[data-card=heap-flame] .flame-canvas").waitFor();
			await drawn(other);
			await looked(other, `heap-${scheme}-${width}`);
			await close(other);
		}
	},
});
