// SPDX-License-Identifier: MIT OR Apache-2.0
// Opens pictures of heap dumps in Debian's Chromium, as a reader would, and prints what was seen as JSON.
// test_heap_pictures.py says what it should be.
//
//   node heap_browser.mjs '{"chromium": …, "flames": {name: file}, …}'
import { chromium } from "playwright-core";

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium, args: ["--no-sandbox", "--disable-gpu"] });
const seen = { problems: [], requests: [], flames: {} };

async function open(file, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	await context.setOffline(true);
	const page = await context.newPage();
	page.setDefaultTimeout(120000);
	page.on("console", (message) => seen.problems.push(`${file}: ${message.type()}: ${message.text()}`));
	page.on("pageerror", (error) => seen.problems.push(`${file}: error: ${error.message}`));
	page.on("dialog", (dialog) => { seen.problems.push(`${file}: dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
	await page.goto("file://" + file);
	return page;
}

// A flame graph: what is said of the box with most below the root, before and after it is zoomed to.
for (const [name, file] of Object.entries(given.flames)) {
	const page = await open(file);
	const boxes = page.locator("#boxes > g"), details = page.locator("#details");
	const found = { boxes: await boxes.count(), heading: await page.textContent("#heading"), total: await page.textContent("#total") };
	await boxes.nth(0).hover();
	found.all = await details.textContent();
	await boxes.nth(1).click();
	found.zoomed = await details.textContent();
	found.width = await boxes.nth(1).locator("rect").evaluate((r) => r.getBoundingClientRect().width);
	await page.click("#reset");
	seen.flames[name] = found;
	await page.context().close();
}

await browser.close();
console.log(JSON.stringify(seen));
