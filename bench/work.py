# SPDX-License-Identifier: MIT OR Apache-2.0
"""The real programs that bench.py runs: name, command, environment.  Each takes about a second."""
import os
import shutil
import subprocess

PYTHON = """
import json
total = 0
for round in range(2):
    data = {}
    for i in range(60000):
        data['key %d' % i] = [i, str(i) * 2, {'a': i % 7, 'b': 'x' * (i % 23)}]
    text = json.dumps(data)
    back = json.loads(text)
    words = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    total += len(back) + len(words)
print(total)
"""
PERL = r"""
my $total = 0;
for my $round (1..4) {
    my (%count, @lines);
    for my $i (1..90000) {
        my $line = join ' ', map { "word" . (($i * $_) % 977) } 1..5;
        push @lines, $line;
        $count{$_}++ for split / /, $line;
    }
    my @sorted = sort { $a cmp $b } @lines;
    $total += scalar(keys %count) + length($sorted[100]);
}
print "$total\n";
"""
SQL = """
create table t(id integer primary key, name text, value real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)
insert into t select x, 'name ' || hex(x * 7919 % 100003), x * 0.5 from c;
create index i on t(name);
select count(*), max(name) from (select name, group_concat(value) g from t group by name order by g);
select sum(length(upper(name) || replace(name, 'name', 'row') || printf('%08d', id))) from t;
"""
CXX = """
#include <map>
#include <regex>
#include <string>
#include <vector>
#include <algorithm>
std::map<std::string, std::vector<int>> index;
int count(const std::string &text)
{
	std::regex word("[a-z]+([0-9]*)");
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		index[i->str()].push_back((int)i->position());
	std::vector<std::pair<std::string, std::size_t>> all;
	for (auto &entry : index)
		all.emplace_back(entry.first, entry.second.size());
	std::sort(all.begin(), all.end());
	return (int)all.size();
}
"""


def programs(build, folder):
    """[(name, command, environment)] of those that can be run here."""
    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    found = [("factor", [os.path.join(build, "bench", "bench_factor")], {})]
    if os.path.exists("/usr/bin/python3"):
        found.append(("python", ["/usr/bin/python3", "-sS", write("work_json.py", PYTHON)],
                      {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}))
    if shutil.which("perl"):
        found.append(("perl", ["perl", write("work.pl", PERL)], {"PERL_HASH_SEED": "0"}))
    if shutil.which("sqlite3"):
        found.append(("sqlite", ["sqlite3", ":memory:", f".read {write('work.sql', SQL)}"], {}))
    if shutil.which("g++"):
        source, expanded = write("work.cpp", CXX), os.path.join(folder, "work.ii")
        subprocess.run(["g++", "-std=c++17", "-E", source, "-o", expanded], check=True)
        compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True,
                                  text=True,
                                  check=True).stdout.strip()
        found.append(("g++ -O2",
                      [compiler, "-quiet", "-O2", "-std=c++17", expanded, "-o", "/dev/null"], {}))
    if shutil.which("clang++"):
        # What this compiler's own run of the preprocessor makes of it, so that it takes all of it.
        source, expanded = write("work.cpp", CXX), os.path.join(folder, "work-clang.ii")
        subprocess.run(["clang++", "-std=c++17", "-E", source, "-o", expanded], check=True)
        found.append(("clang -O2", ["clang++", "-O2", "-std=c++17", "-c", expanded, "-o",
                                    os.path.join(folder, "work.o")], {}))
    return found
