// SPDX-License-Identifier: MIT OR Apache-2.0
import { describe, expect, it } from "vitest";
import { programName } from "../../web/src/app/program_name";

const named = (more: { executable?: string; cmdline?: string }): string =>
	programName({ name: "app.dat", ...more });

describe("the name of a program", () => {
	it("is what it was called as", () => {
		expect(
			named({ executable: "/usr/bin/redis-check-rdb", cmdline: "redis-server --port 1" }),
		).toBe("redis-server");
		expect(named({ executable: "/bin/busybox", cmdline: "/bin/vi" })).toBe("vi");
		expect(named({ executable: "/bin/bash", cmdline: "-bash" })).toBe("bash");
	});
	it("is its file's where the command line does not tell", () => {
		expect(named({ executable: "/opt/my app/run", cmdline: "'/opt/my app/run' x" })).toBe(
			"run",
		);
		expect(named({ executable: "/usr/bin/app", cmdline: "" })).toBe("app");
		expect(named({})).toBe("app.dat");
	});
});
