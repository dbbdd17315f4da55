// SPDX-License-Identifier: MIT OR Apache-2.0
// Opens pictures of heap dumps in Debian's Chromium, as a reader would, and prints what was seen as
// JSON. test_heap_pictures.py says what it should be.
//
//   node heap_browser.mjs '{"chromium": …, "flames": {name: file}, "graphs": {name: file}, "pages":
//   {name: file}}'
import { chromium } from "playwright-core";

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium,
	args: ["--no-sandbox", "--disable-gpu"] });
const seen = { problems: [], requests: [], flames: {}, graphs: {}, pages: {} };

async function open(file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 },
		...options });
	await context.setOffline(true);
	const page = await context.newPage();
	page.setDefaultTimeout(120000);
	page.on("console",
		(message) => seen.problems.push(`${file}: ${message.type()}: ${message.text()}`));
	page.on("pageerror", (error) => seen.problems.push(`${file}: error: ${error.message}`));
	page.on("dialog", (dialog) => { seen.problems.push(`${file}: dialog: ${dialog.message()}`);
		dialog.dismiss(); });
	page.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
	await page.goto("file://" + file);
	return page;
}

// A flame graph: what is said of the box with most below the root, before and after it is zoomed
// to.
for (const [name, file] of Object.entries(given.flames)) {
	const page = await open(file);
	const boxes = page.locator("#boxes > g"), details = page.locator("#details");
	const found = { boxes: await boxes.count(), heading: await page.textContent("#heading"),
		total: await page.textContent("#total") };
	await boxes.nth(0).hover();
	found.all = await details.textContent();
	await boxes.nth(1).click();
	found.zoomed = await details.textContent();
	found.width = await boxes.nth(1).locator("rect").evaluate(
		(r) => r.getBoundingClientRect().width);
	await page.click("#reset");
	seen.flames[name] = found;
	await page.context().close();
}

// A graph of calls: how it stands in the window, and whether it is moved, zoomed and pointed at.
const placed = (page) => page.$$eval("#boxes rect",
	(all) => all.map((r) => { const b = r.getBoundingClientRect();
	return [b.left, b.top, b.right, b.bottom]; }));
const legend = (page) => page.textContent("#legend");
for (const [name, file] of Object.entries(given.graphs)) {
	const found = {};
	for (const colorScheme of name === "out" ? ["light", "dark"] : ["light"]) {
		const page = await open(file, { colorScheme });
		found[colorScheme] = await page.evaluate(
			() => [getComputedStyle(document.getElementById("back")).fill,
			getComputedStyle(document.querySelector("#boxes rect")).fill]);
		if (colorScheme === "dark") { await page.context().close(); continue; }
		found.heading = await page.textContent("#heading");
		found.legend = await legend(page);
		found.boxes = await placed(page);
		found.letters = await page.$$eval("#boxes text",
			(all) => Math.min(...all.map((t) => t.getBoundingClientRect().height)));
		found.outside = await page.$$eval("#boxes > g", (all) => all.filter((g) => {
			const box = g.querySelector("rect").getBoundingClientRect();
			return [...g.querySelectorAll("text")].some(
				(t) => t.getBoundingClientRect().left < box.left ||
				t.getBoundingClientRect().right > box.right);
		}).length);
		await page.mouse.move(640, 400);
		await page.mouse.wheel(0, -300);
		found.zoomed = await placed(page);
		await page.keyboard.press("0");
		found.whole = await placed(page);
		await page.mouse.move(30, 700);
		await page.mouse.down();
		await page.mouse.move(80, 730, { steps: 4 });
		await page.mouse.up();
		found.moved = await placed(page);
		await page.keyboard.press("Escape");
		await page.click("#whole");
		await page.locator("#boxes > g").nth(0).hover();
		found.pointed = [await legend(page), await page.locator("#boxes .near").count(),
			await page.locator("#lines .near").count()];
		await page.mouse.move(2, 798);
		found.left = [await legend(page), await page.locator(".near").count()];
		await page.locator("#boxes > g").nth(1).click();
		await page.mouse.move(2, 798);
		found.kept = await legend(page);
		await page.keyboard.press("Escape");
		found.let_go = await legend(page);
		await page.context().close();
	}
	seen.graphs[name] = found;
}

// A page: its figures, each flame graph's whole, each table, and a stack of the first.
const rows = (page) => page.$$eval("#table tbody tr",
	(all) => all.map((r) => [...r.children].map((d) => d.textContent)));
for (const [name, file] of Object.entries(given.pages)) {
	const page = await open(file), found = { flames: {}, tables: {} };
	found.title = await page.title();
	found.figures = await page.$$eval("#figures .figure",
		(all) => all.map((f) => [...f.children].map((e) => e.textContent)));
	found.live = await page.locator("#live, a[href='#live']").count();
	for (const input of await page.locator("#flame-choices input[name=measure]").all()) {
		await input.check({ force: true });
		found.flames[await input.getAttribute("value")] = await page.textContent("#flame-say");
	}
	await page.locator("#flame-choices input[name=measure]").first().check({ force: true });
	for (const input of await page.locator("#who-choices input").all()) {
		await input.check({ force: true });
		found.tables[await input.getAttribute("value")] = await rows(page);
	}
	await page.locator("#who-choices input").first().check({ force: true });
	await page.locator("#table button").first().click();
	found.stack = await page.$$eval("#table .frames li",
		(all) => all.map((e) => e.textContent.trim()));
	seen.pages[name] = found;
	await page.context().close();
}

await browser.close();
console.log(JSON.stringify(seen));
