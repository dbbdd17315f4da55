// SPDX-License-Identifier: MIT OR Apache-2.0
// What walks through the server's page share: Debian's Chromium, pages whose every console message
// and failed request is kept, the accessibility checker, and reading the flame graph's canvas.
//
//   node walk.mjs '{"chromium": …, "axe": …, "address": …, "out": …, …}'     prints what was seen
import fs from "node:fs";
import { chromium } from "playwright-core";

export const given = JSON.parse(process.argv[2]);
export const seen = { problems: [], violations: {}, overflow: [], took: {} };
/* Generous: other tests run at the same time. */
const PATIENCE = 60000;

const browser = await chromium.launch({ executablePath: given.chromium,
	args: ["--no-sandbox", "--disable-gpu"] });

/* A page at an address after the "#"; what goes wrong in it is a problem. */
export async function open(hash, { width = 1280, height = 900, scheme = "light", quiet = false,
	...more } = {}) {
	const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme,
		reducedMotion: "reduce", ...more });
	const page = await context.newPage();
	await page.addInitScript(follow, LATER);
	page.setDefaultTimeout(PATIENCE);
	if (!quiet) {
		page.on("console",
			(message) => seen.problems.push(`${hash}: ${message.type()}: ${message.text()}`));
		page.on("pageerror", (error) => seen.problems.push(`${hash}: ${error.message}`));
		page.on("request", (request) => {
			if (!request.url().startsWith(given.address) &&
				!/^(data|blob):/.test(request.url())) seen.problems.push(
				`asked for ${request.url()}`);
		});
	}
	const requests = { waiting: new Set(), count: 0 };
	asked.set(page, requests);
	page.on("request", (request) => {
		requests.waiting.add(request);
		requests.count++;
	});
	for (const event of ["requestfinished", "requestfailed"]) page.on(event,
		(request) => requests.waiting.delete(request));
	await page.goto(`${given.address}/${hash}`);
	return page;
}

export const close = (page) => page.context().close();

/* Requests of a page: those that are on their way, and how many there ever were. */
const asked = new WeakMap();
const LATER = 500; /* ms: what the page does so much later it does by itself, again and again */

/* In the page, before its own scripts: knows what the page has begun and not ended yet, that is
 * timers, answers that are on their way, and an address that it has not heard of. */
function follow(later) {
	const due = new Set(), { setTimeout, clearTimeout, fetch } = window;
	window.setTimeout = (run, ms = 0, ...rest) => {
		const timer = setTimeout(() => {
			due.delete(timer);
			run(...rest);
		}, ms);
		if (ms < later) due.add(timer);
		return timer;
	};
	window.clearTimeout = (timer) => {
		due.delete(timer);
		clearTimeout(timer);
	};
	const until = (promise) => {
		const mark = {}, over = () => due.delete(mark);
		due.add(mark);
		promise.then(over, over);
		return promise;
	};
	window.fetch = (...question) => until(fetch(...question));
	for (const name of ["arrayBuffer", "blob", "json", "text"]) {
		const read = Response.prototype[name];
		Response.prototype[name] = function () { return until(read.call(this)); };
	}
	let address = location.href;
	const heard = () => { address = location.href; };
	for (const event of ["hashchange", "popstate"]) addEventListener(event, heard);
	for (const name of ["pushState", "replaceState"]) {
		const go = history[name];
		history[name] = function (...to) {
			go.apply(this, to);
			heard();
		};
	}
	window.atRest = () => !due.size && address === location.href;
}

/* Nothing is on its way and nothing is dimmed or missing, and that two frames later too. */
export async function settled(page) {
	const requests = asked.get(page);
	for (let before = -1, rest = false; !rest || before !== requests.count ||
		requests.waiting.size;) {
		await page.waitForFunction(() => window.atRest() &&
			!document.querySelector(".skeleton, .stale, [aria-busy=true], [data-fresh=false]") &&
			document.querySelector("main .card, main .drop"));
		before = requests.count;
		rest = await page.evaluate(
			() => new Promise(
			(done) =>
			requestAnimationFrame(() => requestAnimationFrame(() => done(window.atRest())))));
	}
}

export const text = (page, selector) => page.locator(selector).first().innerText();
export const texts = (page, selector) => page.locator(selector).allInnerTexts();
export const hash = (page) => page.evaluate(() => location.hash);
/* One key of the address. */
export const key = (page, name) =>
	page.evaluate((n) => new URLSearchParams(location.hash.split("?")[1] ?? "").get(n), name);
export const untilKey = (page, name, value) =>
	page.waitForFunction(([n, v]) =>
	(new URLSearchParams(location.hash.split("?")[1] ?? "").get(n) ?? "") === v, [name, value]);
export const untilHash = (page, part) => page.waitForFunction((p) => location.hash.includes(p),
	part);

/* Serious findings of axe-core, by where they were found. */
export async function axe(page, name) {
	if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(
		fs.readFileSync(given.axe, "utf8"));
	const { violations } = await page.evaluate(
		() => globalThis.axe.run({ resultTypes: ["violations"] }));
	seen.violations[name] = violations.filter((v) => v.impact === "serious" ||
		v.impact === "critical").map(
		(v) => `${v.id}: ` +
			v.nodes.map((n) => `${n.html.slice(0, 160)} ` +
				n.any.map((a) => a.message).join("; ")).join(" | "));
}

/* Nothing may be wider than the window; a picture where pictures are wanted. */
export async function shot(page, name, fullPage = true) {
	const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
	if (wide > 0) seen.overflow.push(`${name}: ${wide} pixels too wide`);
	if (given.shots) await page.screenshot({ path: `${given.out}/${name}.png`, fullPage });
}

/* Boxes of the flame graph as they are on the screen. */
export const boxes = (page) => page.locator(".flame-canvas").evaluate((canvas) => canvas.boxes());
export async function boxPoint(page, name) {
	const canvas = page.locator(".flame-canvas");
	const at = await canvas.evaluate((c, wanted) => {
		const box = c.boxes().find((b) => b.name === wanted && b.width > 8);
		if (!box) return null;
		const outer = c.closest(".flame");
		if (box.y < 0 || box.y + 19 > outer.clientHeight) {
			outer.scrollTop += box.y - outer.clientHeight / 2;
			outer.dispatchEvent(new Event("scroll"));
		}
		c.scrollIntoView({ block: "center", behavior: "instant" });
		const again = c.boxes().find((b) => b.name === wanted && b.width > 8),
			place = c.getBoundingClientRect();
		return { x: place.left + again.x + again.width / 2, y: place.top + again.y + 9 };
	}, name);
	if (!at) throw new Error(
		`no box ${name} among ${(await boxes(page)).map((b) => b.name).join(", ")}`);
	return at;
}
export async function clickBox(page, name, options) {
	const at = await boxPoint(page, name);
	await page.mouse.click(at.x, at.y, options);
}

/* Runs the walks by their names; one that fails is told with its name. */
export async function walk(steps) {
	const only = given.only;
	for (const [name, step] of Object.entries(steps)) {
		if (only && !only.includes(name)) continue;
		const began = performance.now();
		try {
			await step((seen[name] = {}));
		} catch (error) {
			seen[name].failed = String(error.stack ?? error).slice(0, 2000);
		}
		seen.took[name] = Math.round((performance.now() - began) / 10) / 100;
	}
	await browser.close();
	console.log(JSON.stringify(seen));
}
