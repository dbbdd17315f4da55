// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the Fleet view as a reader would: services, what is below them down to a recording, what
// grows, the flame graph, a comparison, terms, the curve.  test_page_fleet.py starts it and says
// what should have been seen.
import { axe, close, given, hash, open, seen, settled, shot, text, untilHash, walk } from
	"./page_browser.mjs";

const said = (page, card) => text(page, `[data-card=${card}] .said`);
const rows = (page) => page.locator("[data-card] .table-row");
const choose = async (page, group, name) => {
	await page.getByRole("group", { name: group, exact: true }).getByRole("button",
		{ name, exact: true }).click();
	await drawn(page);
};
async function drawn(page) {
	await page.evaluate(() => new Promise(
		(done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
	await settled(page);
}
const firstRow = (page) => rows(page).first().innerText();

await walk({
	/* How long each view takes from its address on; for bench/fleet.py. */
	async speed(is) {
		if (!given.only?.includes("speed")) return;
		is.views = {};
		const page = await open("#/recordings");
		await drawn(page);
		const term = (field, value) => encodeURIComponent(`${field} = "${value}"`);
		for (const [name, query] of Object.entries({ services: "", hosts: "?rows=host",
			builds: "?rows=build", days: "?rows=day", recordings: "?rows=recording",
			growth: "?show=growth", flame: "?show=flame", leaked: "?show=flame&measure=leaked",
			compare: `?show=compare&rows=release&a=${term("release", "4.1")}` +
				`&b=${term("release", "4.2")}`,
			release: `?filter=${term("release", "4.2")}` })) {
			const began = performance.now();
			await page.goto(`${given.address}/#/fleet/${query}`);
			await drawn(page);
			is.views[name] = (performance.now() - began) / 1000;
		}
		await close(page);
	},
	/* Each list, graph and comparison as a script that says the same. */
	async scripts(is) {
		const page = await open("#/fleet/");
		const release = (name) => encodeURIComponent(`release = "${name}"`);
		is.scripts = {};
		for (const [name, query] of Object.entries({ services: "", hosts: "?rows=host&sort=name",
			one: `?filter=${release("4.2")}`, recordings: "?rows=recording",
			growth: "?show=growth", flame: "?show=flame", leaked: "?show=flame&measure=leaked",
			compare: "?show=compare&rows=release" +
				`&a=${release("4.1")}&b=${release("4.2")}` })) {
			await page.goto(`${given.address}/#/fleet/${query}`);
			await drawn(page);
			await page.getByRole("link", { name: "This view as a script" }).click();
			await untilHash(page, "code=");
			await page.locator(".console-editor").getByText("local answer").waitFor();
			await page.getByRole("button", { name: "Run", exact: true }).click();
			await page.waitForFunction(() => {
				const status = document.querySelector("[data-card=output] [role=status]");
				return status?.dataset.running === "false" && status.textContent;
			});
			await drawn(page);
			await shot(page, `fleet-script-${name}`);
			is.scripts[name] = { said: await text(page, "[data-card=output] [role=status]"),
				output: await text(page, ".console-output"),
				rows: await page.locator(".console-output .table-row").count(),
				wide: await page.locator(".about > *").evaluateAll((parts) => parts.filter((part) =>
					part.getBoundingClientRect().right >
						part.parentElement.getBoundingClientRect().right).length),
				wrong: await page.locator("[role=alert]").allInnerTexts() };
		}
		await close(page);
	},
	async shots(is) {
		for (const scheme of ["light", "dark"])
			for (const width of given.widths ?? [1440, 900, 400])
				for (const [name, query] of [["list", ""], ["growth", "?show=growth"],
					["flame", "?show=flame"], ["compare",
						`?show=compare&rows=release&a=${encodeURIComponent('release = "4.1"')}` +
							`&b=${encodeURIComponent('release = "4.2"')}`],
					["recordings", "?rows=recording"]]) {
					const page = await open(`#/fleet/${query}`, { width, height: 900, scheme });
					await drawn(page);
					await shot(page, `fleet-${name}-${width}-${scheme}`);
					if (width === 1440) await axe(page, `fleet-${name}-${scheme}`);
					const wide = await page.evaluate(
						() => document.documentElement.scrollWidth - innerWidth);
					if (wide > 0) seen.overflow.push(`fleet-${name}-${width}: ${wide}`);
					if (width === 400 && name === "list") is.narrow = await page.locator(
						"[data-card=fleet-list] [role=columnheader]").nth(1).innerText();
					await close(page);
				}
	},

	async down(is) {
		const page = await open("#/recordings");
		await page.getByRole("link", { name: "Fleet", exact: true }).click();
		await drawn(page);
		is.services = await said(page, "fleet-list");
		is.curve = await said(page, "fleet-curve");
		is.first = await firstRow(page);
		/* Far down a long list: rows come as they are seen. */
		await page.locator("[data-card=fleet-list] [role=grid]")
			.first().evaluate((e) => {
				const scroller = [e, ...e.querySelectorAll("*")].find(
					(x) => x.scrollHeight > x.clientHeight + 200) ?? e;
				scroller.scrollTop = scroller.scrollHeight / 2;
			});
		await drawn(page);
		is.drawn = await rows(page).count();
		await page.getByLabel("Search services").fill("shop");
		await untilHash(page, "search=shop");
		await drawn(page);
		is.searched = await said(page, "fleet-list");
		await rows(page).first().getByRole("link").first().click();
		await drawn(page);
		is.hosts = { hash: await hash(page), said: await said(page, "fleet-list") };
		await rows(page).first().getByRole("link").first().click();
		await drawn(page);
		is.recordings = { hash: await hash(page), said: await said(page, "fleet-list"),
			row: await firstRow(page) };
		await rows(page).first().getByRole("link").first().click();
		await drawn(page);
		is.opened = { hash: await hash(page), said: await text(page, ".said") };
		/* The same address, anew, shows the same. */
		const again = await open(await hash(page));
		await drawn(again);
		is.again = await text(again, ".said");
		await close(again);
		/* A term is taken away. */
		await page.getByRole("button", { name: /^Remove recording/ }).click();
		await drawn(page);
		is.removed = await hash(page);
		await close(page);
	},

	async question(is) {
		const page = await open("#/fleet/");
		await drawn(page);
		await page.getByLabel("Question", { exact: true }).fill("size >= 1000");
		await page.keyboard.press("Enter");
		await drawn(page);
		is.wrong = await page.getByRole("alert").first().innerText();
		await page.getByLabel("Question", { exact: true }).fill("release = 4.2");
		await page.keyboard.press("Enter");
		await drawn(page);
		is.narrowed = await said(page, "fleet-curve");
		await choose(page, "Rows are", "labels");
		await page.getByLabel("Name of the label").fill("zone");
		await page.keyboard.press("Enter");
		await drawn(page);
		is.zones = await said(page, "fleet-list");
		/* A span of the curve, and a moment. */
		const area = page.locator("[data-card=fleet-curve] .u-over");
		const box = await area.boundingBox();
		await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
		await page.mouse.up();
		await untilHash(page, "from=");
		await drawn(page);
		is.span = await hash(page);
		await page.mouse.click(box.x + box.width * 0.9, box.y + 40);
		await untilHash(page, "at=");
		await drawn(page);
		await choose(page, "Below is", "flame graph");
		is.moment = await said(page, "fleet-flame");
		await close(page);
	},

	async growth(is) {
		const page = await open("#/fleet/?show=growth");
		await drawn(page);
		is.growth = { said: await said(page, "fleet-growth"), first: await firstRow(page) };
		await rows(page).first().getByRole("link").first().click();
		await drawn(page);
		is.grows = { hash: await hash(page), said: await said(page, "fleet-flame") };
		await choose(page, "Which bytes", "leaked");
		is.leaked = await said(page, "fleet-flame");
		await close(page);
	},

	async compare(is) {
		const page = await open("#/fleet/?show=compare");
		await drawn(page);
		await page.getByLabel("Before", { exact: true }).selectOption('release = "4.1"');
		await drawn(page);
		await page.getByLabel("After", { exact: true }).selectOption('release = "4.2"');
		await drawn(page);
		is.compared = await said(page, "fleet-compare");
		is.changed = await firstRow(page);
		await close(page);
	},

	/* Of a fleet of two days: these, hosts and builds beside each other, as a reader chooses. */
	async sides(is) {
		if (!given.only?.includes("sides")) return;
		const page = await open("#/fleet/?show=compare");
		await drawn(page);
		for (const kind of ["days", "hosts", "builds"]) {
			await choose(page, "Sides are", kind);
			const names = await page.getByLabel("Before", { exact: true }).locator("option")
				.evaluateAll((all) => all.map((o) => o.value).filter(Boolean).sort());
			await page.getByLabel("Before", { exact: true }).selectOption(names[0]);
			await drawn(page);
			await page.getByLabel("After", { exact: true }).selectOption(names[1]);
			await drawn(page);
			is[kind] = { names: names.length, said: await said(page, "fleet-compare"),
				changed: await rows(page).count(), hash: await hash(page) };
		}
		await close(page);
	},

	/* From a row of each kind down to one recording. */
	async levels(is) {
		if (!given.only?.includes("levels")) return;
		for (const kind of ["builds", "releases", "days", "labels"]) {
			const page = await open("#/fleet/");
			await drawn(page);
			await choose(page, "Rows are", kind);
			if (kind === "labels") {
				await page.getByLabel("Name of the label").fill("zone");
				await page.keyboard.press("Enter");
				await drawn(page);
			}
			const steps = [await said(page, "fleet-list")];
			for (let i = 0; i < 4 && !(await hash(page)).includes("show=flame"); i++) {
				await rows(page).first().getByRole("link").first().click();
				await drawn(page);
				steps.push(decodeURIComponent(await hash(page)));
			}
			is[kind] = { steps, said: await said(page, "fleet-flame") };
			await close(page);
		}
	},

	async nothing(is) {
		const page = await open(`#/fleet/?filter=${encodeURIComponent('service = "no such"')}`);
		await drawn(page);
		is.nothing = await text(page, "[data-card=fleet-curve] .empty-title");
		await close(page);
	},
});
