// SPDX-License-Identifier: MIT OR Apache-2.0
// How the page is built.  `vite build` makes the server's page (index.html with
// its assets); `vite build --mode report` makes one jemalloc.html that holds its script and style
// itself, for `memoir jemalloc report`.  web/build.py runs both and embeds what they leave.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

const sha = (text: string): string =>
	`'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/* Puts script and style into the page, and allows exactly these two by their hashes. */
function inline(): Plugin {
	return {
		name: "inline",
		enforce: "post",
		generateBundle(_options, bundle) {
			let script = "",
				style = "";
			for (const [name, item] of Object.entries(bundle)) {
				if (item.type === "chunk") script += item.code;
				else if (name.endsWith(".css")) style += String(item.source);
				else continue;
				delete bundle[name];
			}
			script = script.replaceAll("</script", "<\\/script").trim();
			style = style.trim();
			const policy =
				`default-src 'none'; script-src ${sha(script)}; style-src ${sha(style)}; ` +
				"img-src data:";
			for (const item of Object.values(bundle)) {
				if (item.type !== "asset" || !item.fileName.endsWith(".html")) continue;
				item.source = String(item.source)
					.replace(/\s*<script type="module"[^>]*><\/script>/g, "")
					.replace(/\s*<link rel="(stylesheet|modulepreload)"[^>]*>/g, "")
					.replace(
						"</head>",
						() =>
							`<meta http-equiv="Content-Security-Policy" content="` +
							`${policy}">\n<style>${style}</style>\n</head>`,
					)
					.replace("</body>", () => `<script type="module">${script}</script>\n</body>`);
			}
		},
	};
}

export default defineConfig(({ mode }) => ({
	base: mode === "report" ? "./" : "/",
	esbuild: {
		jsx: "automatic" as const,
		jsxImportSource: "preact",
		legalComments: "none" as const,
	},
	define: { __REPORT__: JSON.stringify(mode === "report") },
	plugins: mode === "report" ? [inline()] : [],
	build: {
		target: "es2022",
		assetsInlineLimit: 0,
		modulePreload: false as const,
		reportCompressedSize: false,
		rollupOptions: { input: mode === "report" ? ["jemalloc.html"] : ["index.html"] },
	},
	server: {
		proxy: Object.fromEntries(
			["/api", "/list", "/data", "/upload", "/agents"].map((path) => [
				path,
				"http://127.0.0.1:8080",
			]),
		),
	},
}));
