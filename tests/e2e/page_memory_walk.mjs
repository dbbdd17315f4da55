// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the views of resident memory as a reader would: where it goes, who keeps it, memory maps.
// test_page_memory.py starts it and says what should have been seen.
import { axe, close, given, hash, key, open, settled, shot, text, texts, untilKey, walk } from
	"./page_browser.mjs";

const { id } = given;
const rows = (page, card) => page.locator(`[data-card=${card}] .table-row`);
const said = (page, card) => text(page, `[data-card=${card}] .said`);
const step = (page, name) => page.locator(`[data-step="${name}"]`);
const visit = async (page, address) => {
	await page.goto(`${given.address}/${address}`);
	await settled(page);
};

await walk({
	async rss(is) {
		const page = await open(`#/rss/${id}?at=${given.moment}`);
		await settled(page);
		is.steps = await page.locator("[data-step]").evaluateAll((all) => all.map((e) =>
			[e.dataset.step, e.className.split(" ")[0], Number(e.dataset.bytes)]));
		is.said = await said(page, "waterfall");
		is.most = await said(page, "over-time");
		await axe(page, "rss");
		/* A step opens by a click on it; each of its parts to its stack, and away again. */
		await step(page, "free_parts").click();
		await untilKey(page, "term", "free_parts");
		await settled(page);
		is.free = await said(page, "parts");
		is.free_rows = await texts(page, "[data-card=parts] .table-row");
		/* The same with keys: down from the first one, and Enter. */
		await step(page, "unknown").locator("button").focus();
		for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await untilKey(page, "term", "requested");
		await settled(page);
		is.requested = await said(page, "parts");
		is.requested_rows = await texts(page, "[data-card=parts] .table-row");
		await page.locator("[data-card=parts] .table").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.locator("[data-card=parts] .frames").waitFor();
		is.frames = await text(page, "[data-card=parts] .frames");
		is.permalink = await hash(page);
		await page.keyboard.press("Shift+F10");
		is.menu = await texts(page, "[role=menuitem]");
		await page.keyboard.press("Escape");
		await axe(page, "parts");
		/* What a number counts is where it leads. */
		const link = rows(page, "parts").first().locator("a.number[data-bytes]");
		is.asked = Number(await link.getAttribute("data-bytes"));
		await link.click();
		await page.waitForFunction(() => location.hash.startsWith("#/allocations/"));
		await settled(page);
		is.counted = Number(await page.locator("[data-card=allocations] [data-sum]")
			.getAttribute("data-sum"));
		await visit(page, is.permalink);
		is.again = await text(page, "[data-card=parts] .frames");
		/* Without blocks: a map of the program's own. */
		await step(page, "anonymous").click();
		await untilKey(page, "term", "anonymous");
		await settled(page);
		is.own = await text(page, "[data-card=parts] .table-row");
		await page.locator("[data-card=parts]").getByRole("button", { name: "Close" }).click();
		await untilKey(page, "term", "");
		/* Over time: a click in the graph is a moment, the table has the same samples. */
		const plot = await page.locator("[data-card=over-time] .u-over").boundingBox();
		await page.mouse.click(plot.x + plot.width * 0.9, plot.y + plot.height / 2);
		await page.waitForFunction((old) => new URLSearchParams(
			location.hash.split("?")[1]).get("at") !== old, String(given.moment));
		is.clicked = Number(await key(page, "at"));
		await settled(page);
		await page.locator("[data-card=over-time]").getByRole("button", { name: "table" }).click();
		await untilKey(page, "as", "table");
		await settled(page);
		is.samples = await rows(page, "over-time").count();
		is.columns = await texts(page, "[data-card=over-time] .table-head > div");
		await rows(page, "over-time").first().locator("a").first().click();
		await settled(page);
		is.first = await said(page, "waterfall");
		await page.getByRole("button", { name: "At its most" }).click();
		await settled(page);
		is.at_most = await said(page, "waterfall");
		await close(page);
	},

	async maps(is) {
		const page = await open(`#/maps/${id}`);
		await settled(page);
		is.said = await said(page, "maps");
		is.columns = await texts(page, "[data-card=maps] .table-head > div");
		is.first = await text(page, "[data-card=maps] .table-row");
		is.sorted = {};
		for (const name of ["timestamp", "lifetime", "size", "rss", "peak_rss", "thread", "address",
			"name"]) {
			await page.locator(`[data-card=maps] [data-sort=${name}]`).click();
			await settled(page);
			is.sorted[await key(page, "sort")] = await text(page, "[data-card=maps] .table-row");
		}
		await axe(page, "maps");
		/* What only maps can be asked for, each alone. */
		is.fields = {};
		for (const [name, value] of Object.entries(given.fields)) {
			const field = page.locator(`.map-fields [name=${name}]`);
			if (/^only_/.test(value)) {
				await field.selectOption(value);
			} else {
				await field.fill(value);
				await page.keyboard.press("Enter");
			}
			await untilKey(page, name, value);
			await settled(page);
			is.fields[name] = await said(page, "maps").catch(() => "");
			await page.getByRole("button", { name: "Any map" }).click();
			await untilKey(page, name, "");
		}
		/* The others are in the panel, and in the question. */
		is.panel = [];
		for (const together of given.panel) {
			await visit(page, `#/maps/${id}`);
			const filters = page.getByRole("button", { name: "Filters", exact: true });
			if (await filters.getAttribute("aria-expanded") !== "true") await filters.click();
			await page.locator(".panel").getByRole("button", { name: "Clear" }).click();
			for (const [label, value] of together) {
				const field = page.locator(`.panel-field:has(> span:text-is("${label}"))`).first()
					.locator("input, select");
				if (/^only_/.test(value)) await field.selectOption(value);
				else await field.fill(value);
			}
			await page.locator(".panel").getByRole("button", { name: "Ask" }).click();
			await page.waitForFunction(() => location.hash.includes("filter="));
			await settled(page);
			is.panel.push(await said(page, "maps"));
		}
		await close(page);
	},

	async map(is) {
		const page = await open(`#/maps/${id}?sort=-peak_rss&name=glibc`);
		await settled(page);
		/* With keys: the first row, its details, and out again. */
		await page.locator("[data-card=maps] .table").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.locator("[data-card=map] canvas").first().waitFor();
		await settled(page);
		is.map = Number(await key(page, "map"));
		is.title = await text(page, "[data-card=map] h2");
		is.said = await said(page, "map");
		is.stacks = await text(page, "[data-card=map] .map-stacks");
		is.parts = await texts(page, "[data-card=map] [aria-label=Parts] .table-row");
		await axe(page, "map");
		await page.locator("[data-card=map]").getByRole("button", { name: "table" }).click();
		await untilKey(page, "as", "table");
		is.history = await texts(page, "[data-card=map] [aria-label='Over time'] .table-row");
		is.picture = await (await page.request.get(new URL(await page.locator("[data-card=map]")
			.getByRole("link", { name: "Picture" }).getAttribute("href"), given.address).href))
			.text();
		await page.locator("[data-card=map]").getByRole("button", { name: "More…" }).click();
		is.menu = await texts(page, "[role=menuitem]");
		await page.getByRole("menuitem", { name: "Its blocks" }).click();
		await page.waitForFunction(() => location.hash.startsWith("#/allocations/"));
		await settled(page);
		is.blocks = Number(await page.locator("[data-card=allocations] [data-sum]")
			.getAttribute("data-sum-blocks"));
		await page.goBack();
		await page.locator("[data-card=map]").waitFor();
		await page.locator("[data-card=map]").getByRole("button", { name: "Close" }).focus();
		await page.keyboard.press("Escape");
		await untilKey(page, "map", "");
		/* It goes back with the next frame. */
		is.focus = await (await page.waitForFunction(
			() => document.activeElement.getAttribute("aria-label"))).jsonValue();
		/* Whole stacks below each row. */
		await page.locator("[data-card=maps]").getByRole("button", { name: "full" }).click();
		await page.locator("[data-card=maps] .stacks").first().waitFor();
		is.full = await text(page, "[data-card=maps] .stacks");
		/* From what is resident to the maps that it is in. */
		await visit(page, `#/rss/${id}?at=${given.moment}&term=anonymous`);
		await rows(page, "parts").first().locator("a.number").last().click();
		await page.waitForFunction(() => location.hash.startsWith("#/maps/"));
		await settled(page);
		is.from_rss = await texts(page, "[data-card=maps] .table-row");
		await visit(page, `#/rss/${id}?at=${given.moment}&term=code`);
		await rows(page, "parts").first().locator("a.number").last().click();
		await page.waitForFunction(() => location.hash.startsWith("#/maps/"));
		await settled(page);
		is.file = await key(page, "name");
		is.from_file = await texts(page, "[data-card=maps] .table-row");
		await close(page);
	},

	async space(is) {
		const page = await open(`#/address_space/${id}`);
		await settled(page);
		is.blocks = await said(page, "address_space");
		const pictures = page.locator(".area-picture canvas");
		const colours = () => pictures.evaluateAll((all) => all.map((c) => {
			const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height), found = {};
			for (let i = 0; i < data.length; i += 4) {
				const kind = data[i] > data[i + 1] + 30 ? "beside" : "other";
				found[kind] = (found[kind] ?? 0) + 1;
			}
			return found;
		}));
		await page.locator("[data-card=address_space]").getByRole("button", { name: "resident" })
			.click();
		await untilKey(page, "show", "resident");
		await settled(page);
		is.resident = await said(page, "address_space");
		is.coloured = await colours();
		await axe(page, "resident");
		/* A place of the picture by keys, and the map that it is in. */
		await page.locator(".area-picture").last().focus();
		await page.keyboard.press("ArrowUp");
		is.cell = await page.locator(".area-picture").last().getAttribute("aria-label");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => location.hash.includes("region="));
		await settled(page);
		await page.locator("[data-card=holders]").getByRole("link", { name: "The map there" })
			.click();
		await page.waitForFunction(() => location.hash.startsWith("#/maps/"));
		await settled(page);
		is.there = await texts(page, "[data-card=maps] .table-row");
		await close(page);
	},

	async looks(is) {
		is.done = [];
		const all = [[1440, "light"], [1440, "dark"], [900, "light"], [900, "dark"],
			[400, "light"], [400, "dark"]];
		const few = [[1440, "light"], [400, "dark"]];
		const views = {
			rss: `#/rss/${id}?at=${given.moment}&term=free_pages`,
			maps: `#/maps/${id}?at=${given.moment}`,
			map: `#/maps/${id}?map=${given.arena}`,
			resident: `#/address_space/${id}?show=resident`,
		};
		for (const [name, address] of Object.entries(views))
			for (const [width, scheme] of
				(process.env.MEMOIR_SHOTS || name === "rss" ? all : few)) {
				const page = await open(address, { width, scheme });
				await settled(page);
				await shot(page, `memory-${name}-${width}-${scheme}`);
				if (width !== 900) await axe(page, `${name} ${width} ${scheme}`);
				is.done.push(name);
				await close(page);
			}
	},
});
