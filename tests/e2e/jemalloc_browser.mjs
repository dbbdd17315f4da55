// SPDX-License-Identifier: MIT OR Apache-2.0
// Walks the page of jemalloc's statistics in Debian's Chromium, as a reader would, and prints what
// was seen as JSON.  test_jemalloc_page.py says what it should be.
//
//   node jemalloc_browser.mjs '{"chromium": …, "axe": …, "out": …, "walk": {name: address}, …}'
import fs from "node:fs";
import { chromium } from "playwright-core";

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium,
	args: ["--no-sandbox", "--disable-gpu"] });
const seen = { problems: [], requests: [], walk: {} };
const WAIT = { timeout: 120000 };
const PARTS = ["overview", "classes", "arenas", "extents", "mutexes", "hpa", "configuration",
	"compare", "definitions"];

async function open(address, options = {}, offline = true) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 },
		...options });
	if (offline) await context.setOffline(true);
	const page = await context.newPage();
	page.setDefaultTimeout(WAIT.timeout);
	page.on("console", (message) => seen.problems.push(`${message.type()}: ${message.text()}`));
	page.on("pageerror", (error) => seen.problems.push(`error: ${error.message}`));
	page.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
	await page.goto(address);
	return page;
}

// A part of the page, of the snapshot that is chosen; pictures are drawn when their width is known.
async function part(page, name) {
	await page.locator(".jem-parts button").nth(PARTS.indexOf(name)).click();
	await page.waitForSelector(`.jem-part[data-part=${name}]`);
	await settled(page);
}
const settled = async (page) => {
	await page.waitForFunction(() => document.querySelector(".jem-part")?.dataset.snapshot &&
		!document.querySelector(".skeleton") &&
		[...document.querySelectorAll(".jem-chart")].every(
			(c) => c.querySelector("svg, .jem-nothing")));
};
const compared = (page) =>
	page.waitForSelector(".jem-part[data-against]:not([data-against='']) #table-compare");
const notation = (page, name) => page.locator(".choice[aria-label='Notation of numbers'] button",
	{ hasText: name }).click();

const facts = (page) => page.$$eval("#summary tr",
	(rows) =>
	Object.fromEntries(
	rows.map((r) => [r.dataset.fact, r.querySelector(".jem-value").textContent])));
const said = (page) => page.$$eval(".card[data-card]",
	(cards) =>
	Object.fromEntries(cards.map((c) => [c.dataset.card, c.querySelector(".said").textContent])));
const tables = (page) => page.$$eval(".jem-grid",
	(all) => Object.fromEntries(all.map((t) => [t.id, {
	head: [...t.querySelectorAll("th button")].map((b) => b.firstChild.textContent),
	rows: [...t.querySelectorAll("tbody tr")].map((r) => [...r.children].map((d) => d.textContent)),
}])));
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));

async function axe(page, within = "body") {
	/* Not as an element: the page allows no script but its own. */
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(
		fs.readFileSync(given.axe, "utf8"));
	return page.evaluate(async (selector) =>
		(await axe.run(selector, { resultTypes: ["violations"] })).violations
		.filter((v) => ["serious", "critical"].includes(v.impact)).map(
			(v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`), within);
}

// Every part of a file, numbers raw.  All in the page: there are many files.
const walk = (page) => page.evaluate(async (parts) => {
	const found = { parts: {} }, all = (selector, within = document) =>
		[...within.querySelectorAll(selector)];
	const texts = (selector) => all(selector).map((e) => e.textContent);
	const until = async (holds) => {
		for (const end = Date.now() + 120000; !holds();
			await new Promise((done) => setTimeout(done, 5))) if (Date.now() > end) throw new Error(
			`not in time: ${holds}`);
	};
	const settled = () => until(() => document.querySelector(".jem-part")?.dataset.snapshot &&
		!document.querySelector(".skeleton") &&
		all(".jem-chart").every((c) => c.querySelector("svg, .jem-nothing")));
	await settled();
	all(".choice[aria-label='Notation of numbers'] button").find(
		(b) => b.textContent === "raw").click();
	for (const [i, name] of parts.entries()) {
		all(".jem-parts button")[i].click();
		await until(() => document.querySelector(".jem-part")?.dataset.part === name);
		await settled();
		found.parts[name] = {
			said: Object.fromEntries(
				all(".card[data-card]").map(
				(c) => [c.dataset.card, c.querySelector(".said").textContent])),
			charts: Object.fromEntries(
				all(".jem-chart").map(
				(c) => [c.id, all(".jem-mark, .jem-piece, .jem-dot", c).length])),
			tables: Object.fromEntries(all(".jem-grid").map((t) => [t.id, {
				head: all("th button", t).map((b) => b.firstChild.textContent),
				rows: all("tbody tr", t).map((r) => [...r.children].map((d) => d.textContent)),
			}])),
			nothing: texts(".jem-nothing, .empty-title"),
		};
		if (name === "overview") {
			found.facts = Object.fromEntries(
				all("#summary tr").map(
				(r) => [r.dataset.fact, r.querySelector(".jem-value").textContent]));
			found.steps = all("#waterfall tr").map((r) => [r.dataset.step, r.className,
				r.querySelector(".jem-value").textContent]);
			found.banners = texts(".banner");
		}
		if (name === "mutexes") found.mutex_note = texts("#mutex-note");
		if (name === "definitions") found.definitions = texts("#definitions dt");
	}
	return found;
}, PARTS);

async function use(address, offline) {
	const found = {}, page = await open(address.full, {}, offline);
	await settled(page);
	found.human = await facts(page);
	await part(page, "classes");
	await page.hover("#chart-share svg", { position: { x: 80, y: 150 } });
	found.tip = await texts(page, "#chart-share .jem-tip");
	await page.hover("#chart-breakdown svg", { position: { x: 40, y: 20 } });
	found.piece_tip = await texts(page, "#chart-breakdown .jem-tip");
	const column = async () => (await tables(page))["table-bins"].rows.map((r) => r[0]);
	found.by_size = await column();
	await page.click("#table-bins th button:has-text('allocated')");
	found.by_allocated = await column();
	found.sort_address = page.url();
	const [saved] = await Promise.all([page.waitForEvent("download"),
		page.click("button[aria-label='Save as CSV: Bins']")]);
	found.csv = [saved.suggestedFilename(), fs.readFileSync(await saved.path(), "utf8")];
	found.sorted = await page.getAttribute("#table-bins th:has(button:has-text('allocated'))",
		"aria-sort");
	await page.click("button:has-text('logarithmic')");
	found.log = await page.$$eval("#chart-allocated .jem-axis text",
		(all) => all.map((t) => t.textContent));
	await page.goBack();
	await page.waitForFunction(() => !location.hash.includes("scale="));
	await page.selectOption("#arena", "0");
	await settled(page);
	found.arena_0 = await said(page);
	found.arena_address = page.url();
	await page.goBack();
	await page.waitForFunction(() => document.querySelector("#arena")?.value === "");
	await settled(page);
	found.back = await said(page);
	await part(page, "arenas");
	await page.click("#table-arenas button:has-text('1')");
	await page.waitForSelector(".jem-part[data-part=classes]");
	await settled(page);
	found.arena_1 = [page.url(), await said(page)];
	await page.context().close();
	return found;
}

async function series(address, offline) {
	const found = {}, page = await open(address, {}, offline);
	await settled(page);
	await notation(page, "raw");
	found.last = (await facts(page)).allocated;
	found.allocated = {};
	await page.focus("#slider");
	await page.keyboard.press("Home");
	for (let i = 0; i < 4; i++) {
		await page.waitForSelector(`.jem-part[data-snapshot="${i}"]`);
		found.allocated[i] = [(await facts(page)).allocated,
			await page.textContent(".jem-slider output")];
		await page.keyboard.press("ArrowRight");
	}
	found.advice = await page.$$eval("[data-advice]", (all) => all.map((a) => a.dataset.advice));
	await page.uncheck(".jem-curves label:has-text('active') input");
	await page.check(".jem-curves label:has-text('retained') input");
	found.curves = [await page.$$eval("#chart-series .jem-line",
		(all) => all.map((l) => l.getAttribute("class"))), page.url()];
	await page.click("#chart-series svg", { position: { x: 70, y: 60 } });
	await page.waitForSelector(".jem-part[data-snapshot='0']");
	found.clicked = page.url();
	found.advice_first = await page.$$eval("[data-advice]",
		(all) => all.map((a) => a.dataset.advice));
	await page.click("button[aria-label='The next snapshot']");
	await page.waitForSelector(".jem-part[data-snapshot='1']");
	await part(page, "compare");
	await page.selectOption("#against", "0");
	await page.waitForFunction(() => location.hash.includes("against="));
	await compared(page);
	found.compare = (await tables(page))["table-compare"];
	found.compare_said = await said(page);
	found.link = page.url();
	const again = await open(found.link, {}, offline);
	await settled(again);
	await compared(again);
	found.again = (await tables(again))["table-compare"];
	await again.context().close();
	await page.context().close();
	return found;
}

async function two(address) {
	const found = {}, page = await open(address);
	await settled(page);
	await part(page, "compare");
	await compared(page);
	found.choices = await texts(page, "select[aria-label='File of the snapshot before'] option");
	found.compare = (await tables(page))["table-compare"];
	await page.selectOption("#file", "1");
	await settled(page);
	found.title = await page.textContent("[data-card=file] h2");
	await page.context().close();
	return found;
}

async function look(address, name, offline) {
	seen.axe = {};
	for (const colorScheme of ["light", "dark"])
		for (const width of given.out ? [1280, 2560] : [1280]) {
			const page = await open(address, { colorScheme, viewport: { width, height: 900 } },
				offline);
			await settled(page);
			for (const p of PARTS) {
				await part(page, p);
				if (width === 1280) seen.axe[`${p} ${colorScheme}`] = await axe(page);
				if (given.out) await page.screenshot(
					{ path: `${given.out}/${name}-${p}-${colorScheme}-${width}.png`,
					fullPage: true });
			}
			await page.context().close();
		}
}

// The same page on the server: files are chosen and dropped, bad ones are explained, and one that
// grows is followed.
async function serve(address) {
	const found = { bad: {}, axe: {} }, page = await open(`${address}#/statistics`, {}, false);
	const title = () => page.textContent("[data-card=file] h2");
	await page.waitForSelector("[data-card=no-statistics]");
	found.nothing = await page.textContent("[data-card=no-statistics] .empty-title");
	found.axe.nothing = await axe(page);
	for (const [name, path] of Object.entries(given.bad)) {
		await page.goto(`${address}#/recordings`);
		await page.waitForSelector("[data-card=recordings]");
		await page.setInputFiles("input[type=file]", path);
		/* Refused, opened and found broken, or shown as far as it goes. */
		await page.waitForFunction((wanted) => {
			const refused = [...document.querySelectorAll(".failure p")].some(
				(p) => p.textContent.startsWith(wanted));
			const title = document.querySelector(
				"[data-card=file] h2, [data-card=broken] h2")?.textContent;
			return refused ||
				(title === wanted && !document.querySelector(".skeleton, .banner progress") &&
				document.querySelector("[data-card=broken], .jem-part:not([data-snapshot=''])"));
		}, name);
		found.bad[name] = await texts(page, ".failure p, .banner");
		found.axe[name] = await axe(page);
		for (const close of await page.locator(
			".failure button:has-text('Close')").all()) await close.click();
	}
	await page.goto(`${address}#/recordings`);
	await page.waitForSelector("[data-card=recordings]");
	await page.setInputFiles("input[type=file]", given.chosen);
	await page.waitForSelector("[data-card=file]");
	await page.waitForFunction(
		(name) => document.querySelector("[data-card=file] h2")?.textContent === name,
		given.chosen.split("/").pop());
	await settled(page);
	found.chosen = [await title(), await facts(page), page.url()];
	const dropped = await page.evaluateHandle((text) => {
		const transfer = new DataTransfer();
		transfer.items.add(new File([text], "dropped.json"));
		return transfer;
	}, fs.readFileSync(given.dropped, "utf8"));
	await page.dispatchEvent("#view", "dragenter", { dataTransfer: dropped });
	await page.dispatchEvent("#view", "drop", { dataTransfer: dropped });
	await page.waitForFunction(
		() => document.querySelector("[data-card=file] h2")?.textContent === "dropped.json");
	await settled(page);
	found.dropped = [await facts(page), await page.textContent(".jem-slider output")];
	await part(page, "compare");
	await compared(page);
	await page.selectOption("select[aria-label='File of the snapshot before']",
		{ label: given.chosen.split("/").pop() });
	await page.waitForFunction(() => document.querySelector("#against")?.options.length === 1);
	await compared(page);
	found.compare = (await tables(page))["table-compare"].rows[0];
	found.columns = await texts(page, "#column .view-link");
	/* A file comes into the folder that the server watches, and grows. */
	const growing = `${given.folder}/growing.json`, half = fs.readFileSync(given.growing);
	fs.writeFileSync(growing, half);
	await page.goto(`${address}#/recordings`);
	await page.click("[data-card=recordings] a.strong:has-text('growing.json')");
	await page.waitForFunction(
		() => document.querySelector(".jem-slider output")?.textContent.startsWith(
		"snapshot 2 of 2"));
	fs.appendFileSync(growing, half);
	await page.waitForFunction(
		() => document.querySelector(".jem-slider output")?.textContent.startsWith(
		"snapshot 4 of 4"));
	found.grown = await page.textContent(".jem-slider output");
	const [download] = await Promise.all([page.waitForEvent("download"),
		page.click("a:has-text('Save as a page')")]);
	found.saved = [download.suggestedFilename(),
		fs.readFileSync(await download.path(), "utf8").length];
	await page.goto(`${address}#/recordings`);
	await page.waitForSelector("[data-card=recordings] .strong");
	found.listed = await texts(page, "[data-card=recordings] .table-row");
	await page.goto(`${address}#/statistics/00000000000000000000000000000000`);
	await page.waitForSelector(".empty-title");
	found.unknown = await texts(page, ".empty-title");
	if (given.out) await page.screenshot({ path: `${given.out}/server.png` });
	await page.context().close();
	return found;
}

try {
	if (given.walk) {
		const page = await open("about:blank");
		for (const [name, address] of Object.entries(given.walk)) {
			await page.goto(address);
			seen.walk[name] = await walk(page);
		}
		await page.context().close();
	}
	if (given.use) seen.use = await use(given.use, true);
	if (given.series) seen.series = await series(given.series, true);
	if (given.two) seen.two = await two(given.two);
	if (given.leak) {
		const page = await open(given.leak, { timezoneId: "UTC" });
		await settled(page);
		seen.leak = [await said(page), (await tables(page))["table-growth"],
			await page.textContent(".jem-slider output"),
			await texts(page, "#chart-series .jem-axis text")];
		await page.context().close();
	}
	if (given.look) await look(given.look, "report", true);
	if (given.server) seen.server = await serve(given.server);
} finally {
	await browser.close();
}
process.stdout.write(JSON.stringify(seen));
