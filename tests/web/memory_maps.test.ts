// SPDX-License-Identifier: MIT OR Apache-2.0
import { describe, expect, it } from "vitest";
import {
	chosen,
	curves,
	kindOf,
	lifetime,
	permissions,
	shownName,
} from "../../web/src/parts/memory_maps";

const at = (secs: number) => ({ secs, fract_nsecs: 0 });
const usage = (secs: number, rss: number) => ({
	timestamp_relative: at(secs),
	address_space: 100,
	rss,
	anonymous: rss,
	shared_clean: 0,
	shared_dirty: 0,
	private_clean: 0,
	private_dirty: rss,
	swap: 0,
});

describe("a memory map", () => {
	it("has a curve of steps up to its end", () => {
		expect(curves([usage(1, 0), usage(3, 8), usage(4, 4)], 6)).toEqual({
			xs: [1, 3, 3, 4, 4, 6],
			rss: [0, 0, 8, 8, 4, 4],
			space: [100, 100, 100, 100, 100, 100],
		});
		expect(curves([], 6).xs).toEqual([]);
	});
	it("says what it may be used for, what it is and how long it was there", () => {
		expect(
			permissions({
				is_readable: true,
				is_writable: false,
				is_executable: true,
				is_shared: true,
			}),
		).toBe("r-xs");
		expect(kindOf("[anon:glibc]")).toContain("libc");
		expect(kindOf("/memfd:memoir (deleted)")).toBe("the recorder’s own");
		expect([shownName("/usr/lib/libc.so.6"), shownName("")]).toEqual([
			"libc.so.6",
			"anonymous",
		]);
		expect(lifetime({ timestamp_relative: at(1) })).toBeUndefined();
		expect(
			lifetime({ timestamp_relative: at(1), deallocation: { timestamp_relative: at(4) } }),
		).toBe(3);
	});
	it("is asked for by what the address says, and by nothing else", () => {
		expect(
			chosen({ name: "libc", writable: "only_true", peak_rss_min: "", sort: "size" }),
		).toEqual({ name: "libc", writable: "only_true" });
	});
});
