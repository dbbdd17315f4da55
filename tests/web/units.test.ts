// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers in words.
import { afterEach, describe, expect, test } from "vitest";
import { parse, setRoute } from "../../web/src/app/route";
import { sizeLabel } from "../../web/src/jemalloc/shown";
import {
	bytes,
	count,
	date,
	duration,
	exact,
	middle,
	percent,
	plural,
	short,
	signed,
} from "../../web/src/parts/units";

afterEach(() => setRoute(parse("")));

describe("bytes", () => {
	test.each([
		[0, "0 B"],
		[1, "1 B"],
		[1023, "1023 B"],
		[1024, "1.00 KiB"],
		[10235, "10.0 KiB"],
		[102_400, "100 KiB"],
		[1_048_576, "1.00 MiB"],
		[-1536, "−1.50 KiB"],
		[2 ** 50, "1.00 PiB"],
	])("%d", (value, text) => expect(bytes(value)).toBe(text));
	test("what would round to a whole of the next unit is said in that", () => {
		expect(bytes(1_048_575)).toBe("1.00 MiB");
		expect(bytes(1023 * 1024)).toBe("1023 KiB");
	});
	test("decimal, when the address says so", () => {
		setRoute(parse("#/overview/x?units=decimal"));
		expect(bytes(1000)).toBe("1.00 kB");
		expect(bytes(1_500_000)).toBe("1.50 MB");
	});
	test("exactly", () => expect(exact(1_048_576)).toBe("1,048,576 bytes"));
});

describe("counts", () => {
	test.each([
		[0, "0"],
		[1234.4, "1,234"],
		[-5000, "−5,000"],
	])("%d", (value, text) => expect(count(value)).toBe(text));
	test.each([
		[950, "950"],
		[9999, "9,999"],
		[10_000, "10.0 k"],
		[48_123_456, "48.1 M"],
		[2.5, "2.5"],
		[-3e9, "−3.0 G"],
	])("%d short", (value, text) => expect(short(value)).toBe(text));
	test("one and many", () => {
		expect(plural(1, "block")).toBe("1 block");
		expect(plural(2000, "box", "boxes")).toBe("2,000 boxes");
		expect(plural(0, "block")).toBe("0 blocks");
	});
	test("a sign for what changed", () => {
		expect([signed("1.00 KiB"), signed("−1"), signed("0 B")]).toEqual([
			"+1.00 KiB",
			"−1",
			"0 B",
		]);
	});
});

describe("times", () => {
	test.each([
		[0, "0 s"],
		[2e-6, "2.0 µs"],
		[0.00032, "320 µs"],
		[0.0051, "5.10 ms"],
		[0.32, "320 ms"],
		[1.5, "1.50 s"],
		[12.44, "12.4 s"],
		[118, "1m 58s"],
		[3661, "1h 01m"],
		[200_000, "2d 7h"],
		[-0.32, "−320 ms"],
	])("%d s", (value, text) => expect(duration(value)).toBe(text));
	test("the year only where it is another one", () => {
		expect(date(0)).toContain("1970");
		expect(date(Date.now() / 1000)).not.toContain(String(new Date().getFullYear()));
	});
});

test("percent", () => {
	expect([
		percent(1, 3),
		percent(1, 1),
		percent(0, 5),
		percent(1, 2000),
		percent(-1, 4),
		percent(1, 0),
	]).toEqual(["33.3 %", "100 %", "0 %", "0.05 %", "−25.0 %", "–"]);
});

test("long names are cut in the middle to the limit", () => {
	const name = "a".repeat(50) + "b".repeat(50);
	expect(middle(name, 20)).toHaveLength(20);
	expect(middle(name, 20)).toMatch(/^a+…b+$/);
	expect(middle("short", 20)).toBe("short");
});

test("size classes", () => {
	expect([sizeLabel(16), sizeLabel(1280), sizeLabel(2 ** 21)]).toEqual(["16", "1.25k", "2M"]);
});
