# SPDX-License-Identifier: MIT OR Apache-2.0
"""A shared library with more than 100 MB of debug information, and addresses in it.

One C++ file full of templates, compiled once; its object is copied with other symbol names as often
as it takes, so that the library has many different units and is made in half a minute.  It is never
run, so what it lacks does not matter.
"""
import glob
import os
import random
import re
import subprocess

COPIES = 80
INSTANCES = 8
SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct record {
	int key[N + 1];
	std::string name;
	std::vector<std::shared_ptr<record>> more;
	bool operator<(const record &o) const { return name < o.name || key[0] < o.key[0]; }
};
template <int N> int work(const std::vector<record<N>> &in)
{
	std::map<std::string, std::vector<record<N>>> by_name;
	std::unordered_map<int, std::function<int(int)>> calls;
	std::vector<record<N>> copy(in);
	int sum = 0;
	for (auto &r : in) {
		by_name[r.name].push_back(r);
		calls[r.key[0]] = [&r](int x) { return x + r.key[N]; };
	}
	std::sort(copy.begin(), copy.end());
	for (auto &[name, rows] : by_name)
		if (std::regex_search(name, std::regex(name)))
			sum += (int)rows.size();
	for (auto &c : calls)
		sum += c.second(N);
	return std::accumulate(copy.begin(), copy.end(), sum,
			       [](int s, const record<N> &r) { return s + r.key[0]; });
}
"""


def make(path):
    """Makes the library unless it is there already."""
    if os.path.exists(path):
        return
    folder = path + ".d"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/many.cpp", "w", encoding="ascii") as file:
        file.write(SOURCE + "".join(f"template int work<{i}>(const std::vector<record<{i}>> &);\n"
                                    for i in range(INSTANCES)))
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-fPIC", "-c", "many.cpp"], cwd=folder,
                   check=True)
    for i in range(COPIES):
        subprocess.run(["objcopy", f"--prefix-symbols=v{i}_", "many.o", f"copy{i}.o"], cwd=folder,
                       check=True)
    subprocess.run(["g++", "-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all",
                    "-Wl,--build-id",
                    *(f"copy{i}.o" for i in range(COPIES)), "-o", path + ".new"], cwd=folder,
                   check=True,
                   stderr=subprocess.DEVNULL)
    for name in glob.glob(f"{folder}/*"):
        os.remove(name)
    os.rmdir(folder)
    os.rename(path + ".new", path)


def sections(path):
    """Name to (address, size)."""
    text = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True,
                          text=True).stdout
    return {m[1]: (int(m[2], 16), int(m[3], 16))
            for m in re.finditer(r"(\.\S+)\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", text)}


def addresses(path, count):
    start, size = sections(path)[".text"]
    return sorted(random.Random(1).sample(range(start, start + size), count))


def dump(path, count):
    """A heap profile dump as the agent gives it, of stacks through so many different addresses of
    the library."""
    text = subprocess.run(["readelf", "-lnW", path], check=True, capture_output=True,
                          text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", text)[1]
    bias, page = 0x7F0000000000, 4095
    lines = ["heap_v2/524288", f"  t*: {count}: {count * 100} [0: 0]"]
    places = addresses(path, count)
    random.Random(2).shuffle(places)
    for i in range(0, count, 20):
        # All but the first are behind a call, and stand for the byte before.
        pcs = [bias + a + (k > 0) for k, a in enumerate(places[i:i + 20])]
        lines += ["@ " + " ".join(map(hex, pcs)), "  t*: 20: 2000 [0: 0]"]
    lines += ["", "MAPPED_LIBRARIES:"]
    for offset, address, size, flags in re.findall(r"LOAD\s+(\w+) (\w+) \w+ (\w+) \w+ (R?W? ?E?)",
                                                   text):
        offset, address, size = (int(n, 16) for n in (offset, address, size))
        first, end = address & ~page, (address + size + page) & ~page
        lines.append(f"{bias + first:x}-{bias + end:x} r-{'x' if 'E' in flags else '-'}p "
                     f"{offset & ~page:08x} "
                     f"fe:00 1 {path}")
    return "\n".join(lines + [f"# build-id {build_id} {bias:x} {bias:x} {path}", ""])
