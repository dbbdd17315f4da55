// SPDX-License-Identifier: MIT OR Apache-2.0
// Unit tests of what the page computes without a browser; tests/policy/page_code.py runs them.
import { defineConfig } from "vitest/config";

export default defineConfig({
	cacheDir: "../node_modules/.vite",
	test: { include: ["*.test.ts"], environment: "node" },
});
