// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the page as somebody who looks for his own functions: folded frames, menus that hide one,
// labels that take it back.  test_page_whose.py starts it and says what should have been seen.
import { axe, boxes, boxPoint, clickBox, close, given, hash, key, open, settled, shot, text, texts,
	untilHash, untilKey, walk } from "./page_browser.mjs";

const id = given.id;
const names = async (page) => (await boxes(page)).map((b) => b.name);
const pick = async (page, name) => {
	await page.getByRole("menuitem", { name, exact: false }).first().click();
	await settled(page);
};
const labels = (page) => texts(page, "ul[aria-label='What is asked'] .label code");

await walk({
	async folded(is) {
		const page = await open(`#/flame/${id}`);
		await settled(page);
		is.first = await names(page);
		await shot(page, "flame-folded");
		const inside = is.first.find((name) => name.endsWith("between"));
		const at = await boxPoint(page, inside);
		await page.mouse.move(at.x, at.y);
		is.tip = await text(page, "[role=tooltip], .tip");
		await clickBox(page, inside);
		await page.waitForFunction(() => location.hash.includes("open="));
		await settled(page);
		is.opened = await names(page);
		const shown = is.opened.find((name) => !is.first.includes(name));
		await clickBox(page, shown, { button: "right" });
		is.menu = (await texts(page, "[role=menuitem]")).map((t) => t.split("\n")[0]);
		await pick(page, "Fold these frames");
		is.again = await names(page);
		await page.getByRole("group", { name: "Frames" }).getByRole("button",
			{ name: "all frames" }).click();
		await untilKey(page, "frames", "all");
		await settled(page);
		is.all = await names(page);
		await page.getByRole("group", { name: "Frames" }).getByRole("button",
			{ name: "own frames" }).click();
		await untilKey(page, "frames", "");
		await page.getByRole("searchbox", { name: "Search in the flame graph" }).fill(
			"realloc_insert");
		await untilKey(page, "search", "realloc_insert");
		await settled(page);
		is.found = await text(page, ".flame-tools [role=status]");
		await axe(page, "folded");
		await close(page);
	},

	async hides(is) {
		const page = await open(`#/flame/${id}?shape=up`);
		await settled(page);
		is.first = await names(page);
		await clickBox(page, given.pool, { button: "right" });
		is.menu = (await texts(page, "[role=menuitem]")).map((t) => t.split("\n")[0]);
		await pick(page, "Hide this function");
		is.hide = await key(page, "hide");
		is.labels = await labels(page);
		is.hidden = await names(page);
		await page.goto(`${given.address}/#/allocations/${id}?hide=${
			encodeURIComponent(is.hide)}`);
		await settled(page);
		is.rows = await texts(page, ".table-row .who strong");
		await page.locator("nav .view-link", { hasText: "Functions" }).click();
		await untilHash(page, "#/functions/");
		await settled(page);
		is.kept = await labels(page);
		is.functions = await texts(page, ".table-row .who strong");
		await page.getByRole("button", { name: /^Remove hidden/ }).click();
		await untilKey(page, "hide", "");
		await settled(page);
		is.back = await texts(page, ".table-row .who strong");
		await close(page);
	},

	async stacks(is) {
		const page = await open(`#/allocations/${id}?filter=function+%7E+load_names`);
		await settled(page);
		is.row = await text(page, ".table-row");
		await page.locator(".table-row .who").first().click({ position: { x: 180, y: 6 } });
		await page.waitForFunction(() => location.hash.includes("open="));
		await settled(page);
		is.folded = await texts(page, ".frames li");
		await shot(page, "stack-folded");
		await page.locator(".frames-run button").first().click();
		await page.waitForFunction(() => location.hash.includes("unfold="));
		await settled(page);
		is.all = await texts(page, ".frames li");
		await page.locator(".frames li", { hasText: "load_names" }).click({ button: "right" });
		is.menu = (await texts(page, "[role=menuitem]")).map((t) => t.split("\n")[0]);
		await page.keyboard.press("Escape");
		const library = page.locator(".frames li", { hasText: "std::" }).first();
		await library.hover();
		await library.getByRole("button", { name: /^About/ }).click();
		is.other = (await texts(page, "[role=menuitem]")).map((t) => t.split("\n")[0]);
		await pick(page, "Treat as my own");
		is.own = await key(page, "own");
		is.led = await text(page, ".table-row .who strong");
		await axe(page, "stacks");
		await close(page);
	},
});
