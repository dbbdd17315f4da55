// SPDX-License-Identifier: MIT OR Apache-2.0
// Opens exported flame graphs and pages in Debian's Chromium, uses them as a reader would, and
// prints what was seen as JSON.  test_export_flame.py says what it should be.
//
//   node flame_browser.mjs '{"chromium": …, "axe": …, "out": …, "svg": …, "html": …, …}'
import fs from "node:fs";
import { chromium } from "playwright-core";

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium,
	args: ["--no-sandbox", "--disable-gpu"] });
const seen = { problems: [], requests: [] };

async function open(path, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 },
		...options });
	const page = await context.newPage();
	page.on("console", (message) => seen.problems.push(`${message.type()}: ${message.text()}`));
	page.on("pageerror", (error) => seen.problems.push(`error: ${error.message}`));
	page.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
	await page.goto("file://" + path);
	return page;
}

/* Widths and places of the boxes that are to be seen, by what stands in their titles. */
const boxes = (page) => page.$$eval("#boxes > g",
	(groups) => groups.filter((g) => g.style.display !== "none").map((g) => {
	const r = g.querySelector("rect");
	return { title: g.querySelector("title").textContent.split("\n")[0].split(" (")[0],
		width: +r.getAttribute("width"), matched: g.classList.contains("matched"),
		text: g.querySelector("text") ? g.querySelector("text").textContent : "" };
}));
const text = (page, id) => page.$eval("#" + id, (e) => e.textContent);
const group = (page, title) => page.locator("#boxes > g",
	{ has: page.locator("title", { hasText: new RegExp("^" + title + "\\b") }) });

async function lookAtSvg() {
	const page = await open(given.svg), svg = (seen.svg = {});
	svg.whole = await boxes(page);
	await group(page, "grow").first().locator("rect").click();
	svg.zoomed = await boxes(page);
	svg.zoomed_details = await text(page, "details");
	await page.click("#reset");
	svg.reset = await boxes(page);
	for (const [key, pattern] of Object.entries({ deep: "^dee+p", long: given.inside_long,
		none: "no such name", bad: "(" })) {
		await page.fill("#search", pattern);
		svg["search_" + key] = { said: await text(page, "matched"),
			invalid: await page.getAttribute("#search", "aria-invalid"),
			matched: (await boxes(page)).filter((b) => b.matched).length };
	}
	await page.keyboard.press("Escape");
	svg.search_cleared = (await boxes(page)).filter((b) => b.matched).length;
	await page.keyboard.press("Escape"); /* out of the field */
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
	svg.keyed_details = await text(page, "details");
	await page.keyboard.press("/");
	svg.slash = await page.evaluate(() => document.activeElement.id);
	await page.screenshot({ path: given.out + "/flamegraph.png" });
	await page.context().close();

	const still = await open(given.svg, { javaScriptEnabled: false });
	await still.screenshot({ path: given.out + "/flamegraph-still.png" });
	svg.still = fs.statSync(given.out + "/flamegraph-still.png").size;
	await still.context().close();
	const wide = await open(given.svg_wide);
	const begin = Date.now();
	await group(wide, "wide_7").first().locator("rect").click();
	svg.wide_ms = Date.now() - begin;
	svg.wide = (await boxes(wide)).length;
	await wide.context().close();
}

/* Clicks the middle of a node's box on the canvas. */
async function clickBox(page, name, action = "click") {
	const at = await page.evaluate((wanted) => {
		const { tree, left, weight, depth } = flame.view;
		const i = tree.fn.findIndex((f, k) => f >= 0 && functionName(f) === wanted &&
			weight[k] > 0);
		$("boxes").scrollTop = Math.max(0, depth[i] * ROW - 100);
		$("boxes").scrollIntoView({ block: "center", behavior: "instant" });
		const r = $("canvas").getBoundingClientRect();
		return { i, x: r.left + (left[i] - left[flame.zoom] + weight[i] / 2) * scale(),
			y: r.top + depth[i] * ROW - $("boxes").scrollTop + 8 };
	}, name);
	await page.mouse[action](at.x, at.y);
	return at.i;
}
const choose = (page, key, value) => page.locator(`input[name=${key}][value="${value}"]`).check(
	{ force: true });
const colours = (page) => page.evaluate(() => {
	const { data: pixels } = $("canvas").getContext("2d").getImageData(0, 0, $("canvas").width,
		$("canvas").height), found = new Set();
	for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) found.add(
		pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
	return found.size;
});

async function useHtml() {
	const page = await open(given.html), html = (seen.html = {});
	html.title = await page.title();
	html.overview = await text(page, "overview");
	html.figures = await page.$$eval(".figure",
		(all) => all.map((f) => [...f.children].map((c) => c.textContent)));
	html.warnings = await text(page, "warnings");
	html.flames = {};
	for (const measure of ["leaked", "peak", "allocated", "temporary"])
		for (const way of ["down", "up"])
			for (const unit of ["bytes", "count"]) {
				for (const [key, value] of Object.entries({ measure, way, unit })) await choose(
					page, key, value);
				html.flames[`${measure} ${way} ${unit}`] = await page.evaluate(
					() => ({ total: flame.view.weight[0],
					tops: (flame.view.kids[0] || []).reduce((sum, k) => sum + flame.view.weight[k],
					0), said: $("flame-say").textContent }));
			}
	for (const [key, value] of Object.entries({ measure: "leaked", way: "down",
		unit: "bytes" })) await choose(page, key, value);
	html.colours = await colours(page);
	await clickBox(page, "grow", "move");
	html.tip = await text(page, "tip");
	html.clicked = await clickBox(page, "grow");
	html.zoom = await page.evaluate(() => flame.zoom);
	html.details = await text(page, "details");
	await page.click("#reset");
	html.unzoomed = await page.evaluate(() => flame.zoom);
	for (const [key, pattern] of Object.entries({ deep: "^dee+p", long: given.inside_long,
		bad: "(" })) {
		await page.fill("#search", pattern);
		html["search_" + key] = { said: await text(page, "matched"),
			invalid: await page.getAttribute("#search", "aria-invalid") };
	}
	await page.keyboard.press("Escape");
	await page.focus("#boxes");
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(
		key);
	html.keyed = { details: await text(page, "details"),
		zoom: await page.evaluate(() => flame.zoom) };
	await page.keyboard.press("Escape");
	html.escaped = await page.evaluate(() => flame.zoom);
	html.tables = {};
	for (const table of ["leaks", "peak", "allocations", "temporary", "functions"]) {
		await choose(page, "table", table);
		html.tables[table] = await page.$$eval("#table tbody tr",
			(rows) =>
			rows.map((row) => [...row.children].map((c) => c.innerText.replace(/\s+/g, " "))));
	}
	await choose(page, "table", "leaks");
	await page.locator("td.name button", { hasText: "grow" }).first().click();
	html.stack = await page.$$eval("tr.stack li", (all) => all.map((li) => li.textContent));
	html.evidence = await page.$eval("tr.stack .evidence", (e) => e.textContent);
	await page.locator("#chart").scrollIntoViewIfNeeded();
	await page.locator("#chart").hover();
	html.moment = await text(page, "tip");
	await page.focus("#chart");
	await page.keyboard.press("End");
	html.last_moment = await page.getAttribute("#chart", "aria-valuetext");
	await choose(page, "base", "1000");
	html.decimal = await page.$eval(".figure b", (e) => e.textContent);
	html.hash = await page.evaluate(() => location.hash);
	await page.click("#theme");
	html.theme = await page.evaluate(
		() => [isDark(), getComputedStyle(document.body).backgroundColor]);
	await page.context().close();
}

async function lookAtHtml() {
	const axe = fs.readFileSync(given.axe, "utf8");
	seen.looks = {};
	for (const colorScheme of ["light", "dark"])
		for (const width of [1280, 2560, 800]) {
			const page = await open(given.html,
				{ colorScheme, reducedMotion: "reduce",
				viewport: { width, height: Math.round(width * 0.625) } });
			const look = (seen.looks[`${colorScheme} ${width}`] = {});
			look.overflow = await page.evaluate(
				() => document.documentElement.scrollWidth - innerWidth);
			look.back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
			if (width === 1280) {
				await page.locator("td.name button").first().click();
				await page.evaluate(axe);
				look.violations = (await page.evaluate(() => axe.run())).violations.map(
					(v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" ")}`);
			}
			await page.screenshot({ path: `${given.out}/page-${colorScheme}-${width}.png`,
				fullPage: true });
			await page.context().close();
		}
	const wide = await open(given.html_wide);
	await choose(wide, "measure", "allocated");
	await choose(wide, "way", "up");
	seen.wide = await wide.evaluate(
		() => ({ total: flame.view.weight[0], note: $("flame-note").textContent,
		nodes: stored.count }));
	await wide.context().close();
	const empty = await open(given.html_empty);
	seen.empty = await text(empty, "table");
	await empty.context().close();
}

await lookAtSvg();
await useHtml();
await lookAtHtml();
await browser.close();
console.log(JSON.stringify(seen));
