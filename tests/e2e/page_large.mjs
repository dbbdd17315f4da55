// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a reader waits on a recording of ten million allocations: from each action to the
// picture that answers it, in milliseconds.  test_page_large.py starts it and says what is too
// long.
import { axe, boxes, clickBox, close, given, key, open, seen, settled, shot, text, untilHash,
	walk } from "./page_browser.mjs";

const times = {};
seen.times = times;

/* From the event that the browser gets to the frame behind the one that shows the answer.  What the
 * driver does before it clicks (it waits until the place is visible and still for some frames) is
 * not the page's time. */
async function timed(page, name, action, condition, argument) {
	await page.evaluate(() => {
		window.begun = 0;
		for (const type of ["click", "mousedown", "mousemove", "keydown", "input", "hashchange",
			"popstate"])
			window.addEventListener(type, (event) => { window.begun ||= event.timeStamp; },
				{ capture: true, once: true });
	});
	await action();
	await page.waitForFunction(condition, argument, { polling: "raf" });
	times[name] = Math.round(
		await page.evaluate(
		() => new Promise(
		(done) => requestAnimationFrame(() => done(performance.now() - window.begun)))));
}
const fresh = () => !document.querySelector(".skeleton, [data-fresh=false]");
const said = (page) => page.locator("[data-card=flame] .said").innerText();
const changed = (old) => !document.querySelector(".skeleton, [data-fresh=false]") &&
	document.querySelector("[data-card=flame] .said").innerText !== old;

await walk({
	async large(is) {
		/* The page itself is in the browser's cache from here on, as for any second visit. */
		const page = await open("#/recordings");
		await page.locator(".table-row").first().waitFor();
		await timed(page, "first view",
			() => page.evaluate((id) => { location.hash = `#/overview/${id}`; }, given.id),
			() => document.querySelectorAll(".figure").length === 5 &&
			document.querySelector("[data-card=strip] canvas") &&
			document.querySelector("[data-card=who] .table-row"));
		is.figures = await page.locator(".figure").allInnerTexts();
		await settled(page);
		await timed(page, "flame graph",
			() => page.locator(".view-link", { hasText: "Flame graph" }).click(),
			() => document.querySelector(".flame-canvas")?.drawn > 1 &&
			!document.querySelector("[data-fresh=false]"));
		is.boxes = (await boxes(page)).length;
		for (const label of ["leaked", "allocated", "temporary"]) {
			const before = await said(page);
			await timed(page, label, () => page.locator("[data-card=flame] .choice button",
				{ hasText: new RegExp(`^${label}$`) }).click(), changed, before);
		}
		const over = page.locator("[data-card=strip] .u-over"), place = await over.boundingBox();
		let before = await said(page);
		await timed(page, "moment", () => page.mouse.click(place.x + place.width * 0.4,
			place.y + 40), fresh);
		await settled(page);
		before = await said(page);
		await page.mouse.move(place.x + place.width * 0.3, place.y + 40);
		await page.mouse.down();
		await page.mouse.move(place.x + place.width * 0.5, place.y + 40);
		await settled(page);
		before = await said(page);
		await timed(page, "brush moved", () => page.mouse.move(place.x + place.width * 0.6,
			place.y + 40), changed, before);
		await page.mouse.up();
		await page.locator("button", { hasText: "Whole run" }).click();
		await settled(page);
		/* A box that is a part of the whole. */
		const names = await boxes(page),
			wanted = names.filter((b) => b.depth && b.width < names[0].width * 0.6).sort(
			(a, b) => b.width - a.width)[0].name;
		await timed(page, "zoom", () => clickBox(page, wanted),
			() => location.hash.includes("zoom="));
		await timed(page, "zoom out", () => page.keyboard.press("Escape"), () => true);
		await timed(page, "search", () => page.fill("[aria-label='Search in the flame graph']",
			wanted.slice(0, 6)), () => document.querySelector(".flame-tools [role=status]"));
		await page.fill("[aria-label='Search in the flame graph']", "");
		before = await said(page);
		await page.fill("#question", "size >= 1000");
		await timed(page, "filter", () => page.locator("#question").press("Enter"), changed,
			before);
		await settled(page);
		before = await said(page);
		await timed(page, "bottom-up", () => page.locator("[data-card=flame] .choice button",
			{ hasText: "bottom-up" }).click(), fresh);
		await timed(page, "back", () => page.goBack(), fresh);
		is.filter = await key(page, "filter");
		is.said = await text(page, "[data-card=flame] .said");
		/* Frames while the zoom moves: drawing itself, without waiting for the screen. */
		is.draw_ms = await page.evaluate(async () => {
			const canvas = document.querySelector(".flame-canvas"),
				outer = canvas.closest(".flame");
			const begin = performance.now();
			for (let i = 0; i < 30; i++) {
				outer.scrollTop = i % 2;
				outer.dispatchEvent(new Event("scroll"));
				await new Promise((done) => requestAnimationFrame(done));
			}
			return (performance.now() - begin) / 30;
		});
		await close(page);
	},

	/* The lists: each view as it opens, sorting, and the far end of ten million rows. */
	async lists(is) {
		const page = await open("#/recordings");
		await page.locator(".table-row").first().waitFor();
		/* A reader sees the page before he does something on it. */
		await settled(page);
		const first = (card) => !document.querySelector(".skeleton, [data-fresh=false]") &&
			document.querySelector(`[data-card=${card}] [data-row="0"] .number`);
		const visit = (name, view, query, condition, argument) =>
			timed(page, name, () => page.evaluate((to) => { location.hash = to; },
			`#/${view}/${given.id}${query}`), condition, argument);
		await visit("stacks", "allocations", "", first, "allocations");
		await timed(page, "stacks sorted",
			() => page.locator('[data-sort="only_matched.leaked_count"]').click(), first,
			"allocations");
		await timed(page, "stacks filtered",
			() => page.evaluate(() => { location.hash += "&filter=size+%3E+500"; }), first,
			"allocations");
		await visit("blocks", "allocations", "?list=flat", first, "allocations");
		is.blocks = await text(page, "[data-card=allocations] .said");
		await page.locator(".table").focus();
		await timed(page, "last block", () => page.keyboard.press("End"),
			() => [...document.querySelectorAll(".table-row")].at(-1)?.querySelector(".number"));
		await timed(page, "blocks by size", () => page.locator('[data-sort="size"]').click(), first,
			"allocations");
		await visit("functions", "functions", "", first, "functions");
		await visit("call tree", "tree", "", first, "tree");
		await visit("threads", "threads", "", first, "threads");
		await visit("histograms", "histograms", "",
			() => !document.querySelector(".skeleton, [data-fresh=false]") &&
			document.querySelectorAll(".bars").length === 2);
		await visit("address space", "address_space", "",
			() => !document.querySelector(".skeleton, [data-fresh=false]") &&
			document.querySelector(".area canvas") &&
			document.querySelector("[data-card=holders] [data-row='0']"));
		await close(page);
	},

	/* Every view by its address alone, filtered, in the dark; those with the most in their address
	 * loaded once more. */
	async permalinks(is) {
		const views = { overview: "", flame: "&measure=leaked",
			allocations: "&sort=only_matched.leaked_count", functions: "", tree: "", source: "",
			threads: "", histograms: "", address_space: "", compare: `&against=${given.id}&at=1`,
			download: "" };
		const shown = (page) =>
			page.evaluate(() => [...document.querySelectorAll("main .card")].map(
			(card) => `${card.dataset.card}: ${card.querySelector(".said")?.innerText ?? ""}`));
		is.views = {};
		for (const [name, more] of Object.entries(views)) {
			const page = await open(`#/${name}/${given.id}?filter=size+%3E%3D+1000${more}`,
				{ scheme: "dark" });
			await settled(page);
			is.views[name] = { first: await shown(page),
				failed: await page.locator("[role=alert]").count() };
			await shot(page, `${name}-large`, false);
			if (more) {
				await axe(page, `${name}-large`);
				await page.reload();
				await settled(page);
				is.views[name].again = await shown(page);
			}
			await close(page);
		}
	},

	/* By keys alone: down a list, into a stack, its menu, what that leads to, and back. */
	async keyboard(is) {
		const page = await open(`#/allocations/${given.id}`);
		await settled(page);
		await page.keyboard.press("Tab");
		await page.keyboard.press("Enter"); /* past the column */
		for (let i = 0;
			i < 60 && !await page.evaluate(() => document.activeElement.matches(".table"));
			i++) await page.keyboard.press("Tab");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.locator(".frames").waitFor();
		is.opened = await key(page, "open");
		await page.keyboard.press("Shift+F10");
		await page.locator("[role=menu]").waitFor();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await untilHash(page, "filter=");
		await settled(page);
		is.filter = await key(page, "filter");
		await page.goBack(); /* Alt+Left is the window's, which a browser without one lacks */
		await page.waitForFunction(() => !location.hash.includes("filter="));
		await settled(page);
		is.back = await page.locator("[data-card=allocations] [data-row='0'] .number").count();
		await close(page);
	},

	/* The server fails once, then answers. */
	async failing(is) {
		const page = await open("#/recordings", { quiet: true });
		await settled(page);
		let broken = true;
		await page.route("**/data/*/functions?*",
			(route) =>
			(broken ?
			route.fulfill({ status: 500, contentType: "application/json",
			body: '{"error": "the disk is full"}' }) : route.continue()));
		await page.goto(`${given.address}/#/functions/${given.id}`);
		is.said = await text(page, "[role=alert]");
		broken = false;
		await page.getByRole("button", { name: "Try again" }).first().click();
		await page.locator("[data-card=functions] [data-row='0'] .number").first().waitFor();
		is.again = await page.locator("[role=alert]").count();
		await close(page);
	},
});
