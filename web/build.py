#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the page and makes C of it; meson runs this.

  build.py --source web --work DIR --assets assets.c --report report_page.c --depfile FILE

Vite leaves web/dist-like folders in DIR; every file of the server's page becomes a row of
server/assets.h, gzip-compressed; the self-contained jemalloc page becomes one text.  The depfile
names every source, so that a build with nothing changed runs nothing.  Prints the page's weight
(all that the index page can load), which may not pass LIMIT.
"""
import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys

LIMIT = 500_000
# Where src/jemalloc/report.c puts what the page shows.
HOLE = b'<script type="application/json" id="data">null</script>'
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def sources(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in ("node_modules", "dist"))
        for name in sorted(names):
            if not name.startswith("."):
                yield os.path.join(folder, name)


def vite(source, out, mode):
    command = ["node", "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn",
               "--emptyOutDir", "--outDir", out, "--mode", mode]
    if subprocess.call(command, cwd=source, env=dict(os.environ, NODE_ENV="production")):
        sys.exit("the page does not build")


def c_bytes(data):
    """One string literal a line; octal, as a digit after \\x would belong to it."""
    return "\n".join('\t"' + "".join(f"\\{byte:03o}" for byte in data[i:i + 64]) + '"'
                     for i in range(0, len(data), 64))


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "work", "assets", "report", "depfile"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    source, work = os.path.abspath(args.source), os.path.abspath(args.work)
    if subprocess.call([os.path.join(source, "..", "scripts", "install-npm"), "web"]):
        sys.exit("the page's packages are not there")
    page, report = os.path.join(work, "dist"), os.path.join(work, "dist-report")
    vite(source, page, "production")
    vite(source, report, "report")

    rows, texts, weight = [], [], {}
    for path in sorted(sources(page)):
        name = "/" + os.path.relpath(path, page)
        with open(path, "rb") as file:
            data = file.read()
        packed = gzip.compress(data, 9, mtime=0)
        etag = hashlib.sha256(data).hexdigest()[:16]
        weight[name] = len(packed)
        texts.append(f"static const unsigned char file_{len(rows)}[] =\n{c_bytes(packed)};\n")
        rows.append(f'\t{{"{name}", "{TYPES[os.path.splitext(name)[1]]}", "\\"{etag}\\"",'
                    f" file_{len(rows)}, {len(packed)}}},\n")
    with open(args.assets, "w", encoding="ascii") as out:
        out.write('#include "server/assets.h"\n\n' + "".join(texts))
        out.write("const struct asset assets[] = {\n" + "".join(rows) + "};\n")
        out.write("const size_t assets_count = sizeof(assets) / sizeof(assets[0]);\n")

    with open(os.path.join(report, "jemalloc.html"), "rb") as file:
        text = file.read()
    if text.count(HOLE) != 1:
        sys.exit(f"jemalloc.html: {HOLE.decode()} is not there once")
    with open(args.report, "w", encoding="ascii") as out:
        out.write('#include "jemalloc/report_page.h"\n\n')
        out.write(f"const char report_page[] =\n{c_bytes(text)};\n")
        out.write("const size_t report_page_length = sizeof(report_page) - 1;\n")

    with open(args.depfile, "w", encoding="utf-8") as out:
        names = [p.replace(" ", "\\ ") for p in sources(source)]
        out.write(f"{args.assets}: " + " \\\n ".join(names) + "\n")

    total = sum(weight.values())
    with open(os.path.join(work, "weight.json"), "w", encoding="ascii") as out:
        json.dump({"files": weight, "total": total, "limit": LIMIT}, out, indent=1)
    print(f"page: {total / 1000:.1f} kB gzip in {len(rows)} files (limit {LIMIT // 1000} kB)",
          flush=True)
    if total > LIMIT:
        sys.exit("the page is too heavy")


main()
