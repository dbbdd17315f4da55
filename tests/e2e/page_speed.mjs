// SPDX-License-Identifier: MIT OR Apache-2.0
// How long views take from their address until everything is shown (nothing is missing, dimmed or
// marked as busy), and until the page is at rest: what could wait is there, too, such as verdicts
// and curves.  test_page_speed.py and bench/views.py start it, for one thing each time:
//
//   {"loading": "#/overview/ID"}    says "ready", is told the server's address, and waits on this
//                                   page while that reads its recording
//   {"visits": [["name", "#/flame/ID"], …], "pid": SERVER}
//                                   goes from one to the next in a page that is open, and says how
//                                   many ticks of the processor each cost the server
//   {"waiting": [the same]}         looks at each while the server says that it still reads
import fs from "node:fs";
import { close, given, open, seen, walk } from "./page_browser.mjs";

const REST = 400; /* ms that a page is at rest for before it is believed */
seen.visits = {};

/* In the page: since when everything is shown, since when it is at rest, and what is told while it
 * waits for a file. */
function watch() {
	window.since = { shown: null, rest: null };
	window.told = [];
	const look = () => {
		const now = performance.now(), { shown, rest } = window.since;
		const all = document.querySelector("main .card, main .drop") &&
			!document.querySelector(".skeleton, .stale, [aria-busy=true], [data-fresh=false]");
		window.since = { shown: all ? shown ?? now : null,
			rest: all && window.atRest() ? rest ?? now : null };
		const said = document.querySelector("main [aria-label=Loading] p")?.innerText;
		if (said && said !== window.told.at(-1)) window.told.push(said);
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}

/* Milliseconds from `begun` until both. */
async function waited(page, begun) {
	const found = await page.waitForFunction(([from, enough]) => {
		const { shown, rest } = window.since;
		return rest > from && performance.now() - rest > enough &&
			{ shown: Math.round(shown - from), rest: Math.round(rest - from) };
	}, [begun, REST], { polling: "raf" });
	return found.jsonValue();
}

/* User and system time of the server so far. */
function ticks() {
	const fields = fs.readFileSync(`/proc/${given.pid}/stat`, "utf8").split(") ").at(-1).split(" ");
	return Number(fields[11]) + Number(fields[12]);
}

async function blank() {
	const page = await open("", { quiet: true });
	await page.addInitScript(watch);
	return page;
}

/* An address that differs in its hash alone would not be loaded. */
async function load(page, hash) {
	await page.goto("about:blank");
	await page.goto(`${given.address}/${hash}`);
}

await walk({
	async loading(is) {
		if (!given.loading) return;
		/* By then the browser has started, which is nobody's time. */
		given.address = "data:text/html,";
		const page = await blank();
		console.log("ready");
		given.address = await new Promise((done) => {
			process.stdin.once("data", (line) => done(String(line).trim()));
		});
		process.stdin.unref();
		await load(page, given.loading);
		const times = await waited(page, 0), zero = await page.evaluate(
			() => performance.timeOrigin);
		is.failed = await page.locator("main [role=alert]").allInnerTexts();
		is.told = await page.evaluate(() => window.told);
		/* From its address on, and on the clock of the world, which the server's reader has. */
		Object.assign(is, times, { at: { shown: zero + times.shown, rest: zero + times.rest } });
		await close(page);
	},

	async visits() {
		if (!given.visits) return;
		const page = await blank();
		await load(page, "#/recordings");
		await waited(page, 0);
		for (const [name, hash] of given.visits) {
			const before = ticks();
			const begun = await page.evaluate((to) => {
				location.hash = to;
				window.since = { shown: null, rest: null };
				return performance.now();
			}, hash);
			const times = await waited(page, begun);
			seen.visits[name] = { ...times, ticks: ticks() - before,
				failed: await page.locator("main [role=alert]").allInnerTexts() };
		}
		await close(page);
	},

	async waiting(is) {
		if (!given.waiting) return;
		const page = await blank();
		for (const [name, hash] of given.waiting) {
			await page.route("**/list", async (route) => {
				const rows = await (await route.fetch()).json();
				await route.fulfill({ json: rows.map(
					(row) => ({ ...row, state: "loading", progress: 0.37 })) });
			});
			await load(page, hash);
			const card = page.locator("main [aria-label=Loading] p");
			await card.waitFor();
			is[name] = { said: await card.innerText(),
				bar: await page.locator("main [aria-label=Loading] progress").evaluate(
				(bar) => bar.value) };
			await page.unroute("**/list");
			const times = await waited(page, await page.evaluate(() => performance.now()));
			is[name].then = await page.evaluate(
				() => document.querySelectorAll("main .card .said").length);
			is[name].shown = times.shown;
		}
		await close(page);
	},
});
