// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses a folder of recordings as a reader would: from the list to its processes, to one of them,
// and through the flame graph of all.  test_page_folder.py starts it and says what should have been
// seen.
import { axe, boxes, clickBox, close, given, hash, key, open, settled, shot, text, texts,
	untilHash, untilKey, walk } from "./page_browser.mjs";

const rows = "[data-card=processes] .table-row";

await walk({
	async list(is) {
		const page = await open("#/recordings");
		await settled(page);
		is.first = await text(page, ".table-row");
		is.links = await texts(page, "nav .view-link");
		await page.locator(".table-row .across").first().click();
		await untilHash(page, "#/processes/");
		await settled(page);
		is.hash = await hash(page);
		await close(page);
	},

	async tree(is) {
		const page = await open(`#/processes/${given.id}`);
		await settled(page);
		is.said = await text(page, "[data-card=processes] .said");
		is.rows = await texts(page, `${rows} .process`);
		is.indents = await page.locator(`${rows} .process`).evaluateAll(
			(all) => all.map((e) => parseInt(e.style.paddingLeft)));
		await page.locator(`.table-head button[data-sort="peak_bytes"]`).click();
		await untilKey(page, "sort", "-peak_bytes");
		is.sorted = await texts(page, `${rows} .process .strong`);
		await page.getByRole("searchbox", { name: "Search processes" }).fill("idle");
		await untilKey(page, "find", "idle");
		await settled(page);
		is.found = await texts(page, `${rows} .process .strong`);
		await page.locator(rows).first().locator("[role=gridcell]").last().click();
		await untilHash(page, "#/overview/");
		await settled(page);
		is.opened = await hash(page);
		await close(page);
	},

	async held(is) {
		const page = await open(`#/processes/${given.id}`);
		await settled(page);
		is.boxes = (await boxes(page)).map((b) => b.name);
		await clickBox(page, "titles: endless");
		await page.waitForFunction(() => location.hash.includes("zoom="));
		await settled(page);
		is.zoomed = (await boxes(page)).map((b) => b.name);
		await page.getByRole("group", { name: "Measure" }).getByRole("button",
			{ name: "never freed" }).click();
		await untilKey(page, "measure", "leaked");
		await settled(page);
		is.holders = await texts(page, "[data-card=process-holders] .table-row");
		is.said = await text(page, "[data-card=process-holders] .said");
		is.measure = await key(page, "measure");
		await close(page);
	},

	async looks(is) {
		is.views = 0;
		for (const scheme of ["light", "dark"]) {
			const page = await open(`#/processes/${given.id}`, { width: 1440, scheme });
			await settled(page);
			await axe(page, scheme);
			for (const width of [1440, 900, 400]) {
				await page.setViewportSize({ width, height: 900 });
				await settled(page);
				await shot(page, `processes-${width}-${scheme}`);
				is.views++;
			}
			await close(page);
		}
	},
});
