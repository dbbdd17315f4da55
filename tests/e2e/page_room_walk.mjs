// SPDX-License-Identifier: MIT OR Apache-2.0
// Looks at how the page uses its room: what stays where it is, what folds away, what fills the
// window, and what is left of it in narrow windows.  test_page_room.py starts it and says what
// should have been seen.
import { axe, boxes, close, given, key, open, settled, shot, text, texts, untilHash, untilKey,
	walk } from "./page_browser.mjs";

const { id, second } = given;
const addressOf = (name) => ({
	table: `#/flame/${id}?as=table`, flat: `#/allocations/${id}?list=flat`,
	callers: `#/functions/${id}?function=${given.function}`,
	compare: `#/compare/${id}?against=${second}`,
}[name] ?? `#/${name}/${id}`);
const visit = async (page, address) => {
	await page.evaluate((to) => { location.hash = to; }, address);
	await settled(page);
};
const height = (page, selector) => page.locator(selector).first().evaluate(
	(e) => e.getBoundingClientRect().height);

/* Where the things are that can be clicked above an answer. */
const tools = (page) => page.evaluate(() => {
	const found = {};
	for (const e of document.querySelectorAll(
		".question-row button, .card-head .tools .choice button, .card-head .tools input, " +
		".flame-tools input, .flame-tools .choice button, .view-tools .choice button")) {
		const card = e.closest("[data-card]")?.dataset.card ?? "", box = e.getBoundingClientRect();
		/* Below rows of which there are more or fewer. */
		if (/^(graph-|lifetime)/.test(card)) continue;
		found[`${card}: ${e.innerText || e.ariaLabel}`] = [Math.round(box.x),
			Math.round(box.y + scrollY)];
	}
	return found;
});
const moved = (before, after) => Object.keys(before).filter((name) => name in after &&
	String(before[name]) !== String(after[name])).map(
	(name) => `${name} ${before[name]} → ${after[name]}`);

await walk({
	/* Nothing that is clicked moves when answers arrive, rows are sorted or a question is asked. */
	async still(is) {
		is.moved = {};
		is.tools = 0;
		for (const width of given.widths) {
			const page = await open("#/recordings", { width });
			await settled(page);
			for (const name of given.still) {
				let release;
				const held = new Promise((done) => { release = done; });
				/* Facts are there before, as where another view was open. */
				await page.route(/\/data\/[^/]+\/(?!overview|timeline|matches)/, async (route) => {
					await held;
					await route.continue().catch(() => {});
				});
				await page.evaluate((to) => { location.hash = to; }, addressOf(name));
				await page.locator("[data-card=strip] .u-over").first().waitFor();
				const loading = await tools(page);
				release();
				await page.unrouteAll({ behavior: "wait" });
				await settled(page);
				const there = await tools(page), found = moved(loading, there);
				is.tools += Object.keys(there).length;
				const sort = page.locator(".table-head button").last();
				if (await sort.count()) {
					await sort.click();
					await settled(page);
					found.push(...moved(there, await tools(page)));
				}
				const more = addressOf(name).includes("?") ? "&" : "?";
				await visit(page, `${addressOf(name)}${more}from=0.01&filter=` +
					encodeURIComponent("size >= 100 and leaked"));
				found.push(...moved(there, await tools(page)));
				if (found.length) is.moved[`${name} ${width}`] = found;
			}
			await close(page);
		}
	},

	/* The timeline folds away by its button and by a key, and that is remembered. */
	async timeline(is) {
		const page = await open(`#/tree/${id}?by=line`, { height: 700 });
		await settled(page);
		const plot = page.locator("[data-card=strip] .plot"), button = page.getByRole("button",
			{ name: "Timeline", exact: true });
		is.before = [await plot.count(), await height(page, "[data-card=strip]")];
		await button.click();
		await settled(page);
		is.folded = [await plot.count(), await height(page, "[data-card=strip]"),
			await button.getAttribute("aria-expanded"),
			await text(page, "[data-card=strip] .said")];
		await axe(page, "folded");
		await page.reload();
		await settled(page);
		is.again = await plot.count();
		await page.keyboard.press("t");
		await plot.waitFor();
		is.open = await plot.count();
		await close(page);
	},

	/* Tables and the flame graph reach down to the end of the window, whatever is above them. */
	async heights(is) {
		is.left = {};
		for (const high of [900, 1400]) {
			const page = await open(`#/allocations/${id}?list=flat`, { height: high });
			await settled(page);
			for (const fold of ["", " folded"]) {
				is.left[`${high}${fold}`] = await page.evaluate(
					() => innerHeight - document.querySelector(".table").getBoundingClientRect()
					.bottom);
				await page.keyboard.press("t");
				await settled(page);
			}
			is.scrolls ??= await page.evaluate(() => document.scrollingElement.scrollHeight -
				innerHeight);
			await close(page);
		}
	},

	/* The flame graph fills the window, by its button and by a key; Escape leaves. */
	async fill(is) {
		const page = await open(`#/flame/${id}?measure=allocated&frames=all&unfold=1`,
			{ height: 620 });
		await settled(page);
		const filling = () => page.evaluate(() => {
			const box = document.querySelector(".filling")?.getBoundingClientRect();
			return box ? [box.x, box.y, box.width - innerWidth, box.height - innerHeight] : null;
		});
		is.before = [await filling(), await height(page, ".flame")];
		await page.keyboard.press("f");
		await page.locator(".filling").waitFor();
		await settled(page);
		is.filled = [await filling(), await height(page, ".flame")];
		await axe(page, "filling");
		await shot(page, "filling", false);
		/* Of a zoomed box Escape zooms out first, and leaves at last. */
		await page.locator(".flame-canvas").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => location.hash.includes("zoom="));
		await page.keyboard.press("Escape");
		await untilKey(page, "zoom", "");
		is.zoomed_out = await key(page, "fill");
		for (let i = 0; i < 3 && await key(page, "fill"); i++) await page.keyboard.press("Escape");
		await untilKey(page, "fill", "");
		is.left = await filling();
		await page.getByRole("button", { name: "Fill", exact: true }).click();
		await page.locator(".filling").waitFor();
		await page.getByRole("button", { name: "Leave", exact: true }).click();
		await page.waitForFunction(() => !document.querySelector(".filling"));
		/* Its search leaves only rows that fit in the table, too. */
		await visit(page, `#/flame/${id}?measure=allocated&as=table`);
		is.all = Number(await page.locator(".table").getAttribute("aria-rowcount"));
		await page.fill("[aria-label='Search in the flame graph']", given.function);
		await untilKey(page, "search", given.function);
		await settled(page);
		is.found = await texts(page, ".table-row [role=gridcell]:first-child");
		is.found_said = await text(page, ".flame-tools [role=status]");
		await close(page);
	},

	/* Every curve says what it is, and none is drawn twice. */
	async curves(is) {
		const page = await open(`#/overview/${id}`);
		await settled(page);
		const legends = () => page.locator(".plot").evaluateAll((plots) => plots.map(
			(p) => [p.closest("[data-card]").dataset.card,
				...[...p.querySelectorAll(".legend span")].map((s) => s.innerText)]));
		is.legends = {};
		for (const series of ["", "blocks", "rate", "rss"]) {
			await visit(page, `#/overview/${id}?series=${series}`);
			is.legends[series] = await legends();
		}
		await visit(page, `#/overview/${id}?filter=leaked&from=0.01&to=0.1&at=0.05`);
		is.matching = (await legends())[0];
		await close(page);
	},

	/* In narrow windows nothing is cut: columns that have no room are counted and can be had. */
	async narrow(is) {
		is.cut = [];
		is.tables = {};
		for (const width of given.narrow) {
			const page = await open("#/recordings", { width, height: 800 });
			for (const name of given.views) {
				await visit(page, name === "recordings" ? "#/recordings" : addressOf(name));
				await shot(page, `${name}-${width}`);
				is.cut.push(...await page.evaluate(() => [...document.querySelectorAll(
					"main button, main select, main input[type=search]")].filter((e) => {
					const box = e.getBoundingClientRect();
					return box.width && !e.closest(".table, .labels") && (box.right > innerWidth ||
						box.left < 0 || box.right > e.parentElement.getBoundingClientRect().right +
						1);
				}).map((e) => `${location.hash.slice(0, 14)} ${innerWidth}: ` +
					`${e.innerText || e.ariaLabel}`)));
				const frame = page.locator(".table-frame").first();
				if (!(await frame.count())) continue;
				is.tables[`${name} ${width}`] = await frame.evaluate(async (f) => {
					const table = f.querySelector(".table"),
						chip = f.querySelector(".table-hidden"),
						over = table.scrollWidth - table.clientWidth,
						cells = [...f.querySelectorAll(".table-head > div")];
					if (!chip) return { over, chip: null };
					const lead = f.querySelector(".table-head .lead.last") ?? cells[0],
						seen = new Set(), said = chip.innerText;
					for (let i = 0; i < 20; i++) {
						const edge = lead.getBoundingClientRect().right,
							{ right } = table.getBoundingClientRect();
						for (const cell of cells) {
							const box = cell.getBoundingClientRect();
							if (cell === lead || (box.left >= edge - 9 && box.right <= right + 1) ||
								cell.classList.contains("lead")) seen.add(cell);
						}
						chip.click();
						await new Promise((done) => { requestAnimationFrame(
							() => requestAnimationFrame(done)); });
						if (table.scrollLeft === 0) break;
					}
					table.scrollLeft = over;
					return { over, chip: said, columns: cells.length, seen: seen.size,
						lead: Math.round(lead.getBoundingClientRect().left -
							table.getBoundingClientRect().left) };
				});
			}
			await axe(page, `narrow ${width}`);
			await close(page);
		}
	},

	/* The panel shows what is asked, however it was written, and finds its rows. */
	async panel(is) {
		const filter = 'size >= 1k and function ~ "re" and not leaked and (size > 3 or leaked)';
		const page = await open(`#/functions/${id}?measure=allocated&filter=` +
			encodeURIComponent(filter));
		await settled(page);
		await page.getByRole("button", { name: "Filters" }).click();
		await page.locator(".panel-field").first().waitFor();
		is.groups = await texts(page, ".panel legend");
		is.set = await page.locator(".panel-field.set").evaluateAll((all) => all.map((f) =>
			`${f.querySelector("span").innerText}: ` +
				f.querySelector("input, select").value));
		is.rest = await texts(page, ".panel-top .label code");
		is.written = await text(page, ".panel-foot code");
		const all = await page.locator(".panel-field").count();
		await page.fill("[aria-label='Search filters']", "module like");
		is.found = [await page.locator(".panel-field").count(), all,
			await texts(page, ".panel-field span")];
		await page.fill("[aria-label='Search filters']", "no such thing");
		is.none = await page.locator(".panel-field").count();
		await page.fill("[aria-label='Search filters']", "size at least");
		await page.locator(".panel-field", { hasText: /^size at least/ }).locator("input").fill(
			"2k");
		await axe(page, "panel");
		await page.getByRole("button", { name: "Ask" }).click();
		await page.waitForFunction(() => decodeURIComponent(location.hash).includes("2k"));
		is.asked = await key(page, "filter");
		await close(page);
	},
});
