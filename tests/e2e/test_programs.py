# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ordinary Debian programs: the same output, errors and status under `memoir run` as without."""
import os
import shutil
import socket
import subprocess

import pytest

import harness

# Each is run by name, in a folder with the files that `folder` makes.  {tmp} is that folder.
COMMANDS = {
    # shells and what they are made of
    "bash": ["bash", "-c", "a=(1 2 3); for i in ${a[@]}; do echo $((i*i)); done; echo {a..e} | "
             "tr a-z A-Z"],
    "bash-pipeline": ["bash", "-c", "seq 1000 | sort -rn | awk '{s+=$1} END {print s}' | tee "
                      "x | wc -c"],
    "bash-job": ["bash", "-c", "sleep 0.1 & wait $!; echo $?; kill -9 $$ & wait"],
    "dash": ["dash", "-c", "for f in *; do echo $f; done; exit 3"],
    "busybox-sh": ["busybox", "sh", "-c", "echo hello | busybox sed s/l/L/g"],
    "busybox-awk": ["busybox", "awk", "BEGIN { for (i = 0; i < 1000; i++) a[i] = i * i; print "
                    "a[999] }"],
    "env": ["env", "-i", "A=1", "sh", "-c", "echo $A"],
    "xargs": ["sh", "-c", "ls | xargs -n 2 echo"],
    "timeout": ["timeout", "5", "echo", "in time"],
    "nice": ["nice", "-n", "5", "nice"],
    "sleep-timeout": ["timeout", "0.2", "sleep", "5"],
    # text
    "cat": ["cat", "text.txt"],
    "sort": ["sort", "-k2", "-n", "table.txt"],
    "sort-parallel": ["sort", "--parallel=4", "-S", "1M", "big.txt"],
    "uniq": ["uniq", "-c", "text.txt"],
    "grep": ["grep", "-nE", "(foo|line).*[0-9]+", "text.txt"],
    "grep-perl": ["grep", "-P", r"(?<=line )\d+$", "text.txt"],
    "grep-none": ["grep", "nowhere", "text.txt"],
    "sed": ["sed", "-e", "s/line/LINE/g;5,10d", "text.txt"],
    "awk": ["awk", "{ n[$1] += $2 } END { for (k in n) print k, n[k] | \"sort\" }", "table.txt"],
    "cut": ["cut", "-d ", "-f2", "table.txt"],
    "tr": ["sh", "-c", "tr a-z A-Z < text.txt"],
    "wc": ["wc", "text.txt", "table.txt"],
    "diff": ["diff", "-u", "text.txt", "other.txt"],
    "patch": ["sh", "-c", "diff -u text.txt other.txt > d; cp text.txt t; patch t d; cmp t "
              "other.txt"],
    "cmp": ["cmp", "text.txt", "other.txt"],
    "join": ["join", "table.txt", "table.txt"],
    "od": ["od", "-A", "x", "-t", "x1z", "text.txt"],
    "expr": ["expr", "6", "*", "7"],
    "printf": ["printf", "%s-%05d\n", "a", "42"],
    "date": ["date", "-u", "-d", "@86400", "+%F"],
    "bc": ["sh", "-c", "echo 'scale=200; 4*a(1)' | bc -l"],
    "factor": ["factor", "123456789012345678901234567890"],
    "ed": ["sh", "-c", "printf '1,3p\\nq\\n' | ed -s text.txt"],
    # files and archives
    "ls": ["ls", "-la", "--time-style=+", "/usr/share/doc"],
    "find": ["find", "/usr/include", "-name", "std*.h"],
    "du": ["du", "-a", "/usr/include/linux"],
    "tar": ["sh", "-c", "tar --sort=name --mtime=@0 -cf - *.txt | tar -tvf -"],
    "gzip": ["sh", "-c", "gzip -nc big.txt | gzip -dc | md5sum"],
    "gzip-alone": ["gzip", "-nc", "text.txt"],
    "xz": ["xz", "-T1", "-c", "big.txt"],
    "xz-threads": ["xz", "-T4", "-0", "-c", "big.txt"],
    "bzip2": ["bzip2", "-c", "big.txt"],
    "zstd": ["zstd", "-q", "-c", "-T2", "big.txt"],
    "zip": ["sh", "-c", "zip -qX a.zip text.txt && unzip -p a.zip"],
    "md5sum": ["md5sum", "big.txt", "text.txt"],
    "sha512sum": ["sha512sum", "big.txt"],
    "base64": ["base64", "text.txt"],
    "file": ["file", "/bin/ls", "text.txt", "data.json"],
    "dd": ["dd", "if=big.txt", "bs=1000", "count=10", "status=none"],
    "stat": ["stat", "-c", "%s %a", "text.txt"],
    # languages
    "python3": ["/usr/bin/python3", "-I", "-c", "print(sum(len(str(i)) for i in range(20000)))"],
    "python3-threads": ["/usr/bin/python3", "-I", "-c",
                        "import threading, json\nr=[]\nt=[threading.Thread(target=lambda i=i: "
                        "r.append(len(json.dumps(list(range(i*1000)))))) for i in range(8)]\n"
                        "[x.start() for x in t]\n[x.join() for x in t]\nprint(sorted(r))"],
    "python3-malloc": ["/usr/bin/python3", "-X", "dev", "-I", "-c",
                       "print({i: str(i) for i in range(3000)})"],
    "python3-fork": ["/usr/bin/python3", "-I", "-c",
                     "import multiprocessing as m\nif __name__ == '__main__':\n"
                     "  with m.get_context('fork').Pool(3) as p: print(p.map(len, ['a'*i for i in "
                     "range(50)]))"],
    "python3-crash": ["/usr/bin/python3", "-I", "-c", "import os; os.abort()"],
    "python3-raise": ["/usr/bin/python3", "-I", "-c", "raise ValueError('x' * 100)"],
    "python3-ctypes": ["/usr/bin/python3", "-I", "-c",
                       "import ctypes; c=ctypes.CDLL(None); c.malloc.restype=ctypes.c_void_p; "
                       "p=c.malloc(100); c.free(ctypes.c_void_p(p)); print(p is not None)"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..20000; print join(',', map length "
             "$h{$_}, sort keys %h)"],
    "perl-fork": ["perl", "-e", "$|=1; my $p = fork; if (!$p) { print 'child '; exit 4 } waitpid "
                  "$p, 0; print $? >> 8"],
    "perl-regex": ["perl", "-ne", "print if /line (\\d*[05])$/", "text.txt"],
    "perl-die": ["perl", "-e", "die 'over'"],
    "tclsh": ["sh", "-c", "echo 'for {set i 0} {$i<1000} {incr i} {lappend l [expr $i*$i]}; puts "
              "[llength $l]' | tclsh"],
    "node": ["node", "-e", "let m=new Map(); for(let i=0;i<100000;i++) m.set('k'+i,{i}); "
             "console.log(m.size)"],
    "node-worker": ["node", "-e", "const {Worker}=require('worker_threads'); const w=new Worker("
                    "'require(\"worker_threads\").parentPort.postMessage(6*7)',{eval:true}); "
                    "w.on('message',m=>console.log(m))"],
    "java": ["java", "-Xshare:auto", "-XX:+UseSerialGC", "-version"],
    "ruby": ["ruby", "-e", "puts (1..10000).map(&:to_s).join.size"],
    # compilers and tools
    "gcc": ["gcc", "-O2", "-S", "-o", "-", "hello.c"],
    "gcc-run": ["sh", "-c", "gcc hello.c -o hello && ./hello"],
    "gcc-error": ["gcc", "-c", "broken.c"],
    "g++": ["g++", "-fsyntax-only", "hello.cpp"],
    "cc1": ["CC1", "-quiet", "-O2", "hello.c", "-o", "-"],
    "cc1plus": ["CC1PLUS", "-quiet", "-O1", "hello.cpp", "-o", "-"],
    "clang": ["clang", "-O2", "-S", "-emit-llvm", "-o", "-", "hello.c"],
    "clang-error": ["clang", "-c", "broken.c"],
    "clang++": ["clang++", "-fsyntax-only", "hello.cpp"],
    "as-ld": ["sh", "-c", "echo '.globl _start\n_start: mov $60,%eax\nmov $7,%edi\nsyscall' | as "
              "-o a.o && ld a.o -o a && ./a"],
    "objdump": ["objdump", "-d", "--no-show-raw-insn", "/bin/true"],
    "readelf": ["readelf", "-aW", "/bin/true"],
    "nm": ["nm", "-D", "/bin/bash"],
    "strings": ["strings", "/bin/true"],
    "make": ["make", "-j4", "-f", "jobs.mk"],
    "cmake": ["cmake", "-P", "script.cmake"],
    "ninja": ["ninja", "-f", "jobs.ninja"],
    "gdb-version": ["gdb", "--version"],
    "gdb": ["gdb", "-nx", "-batch", "-ex", "print sizeof(long)*6"],
    "git-status": ["git", "-C", "repo", "status", "--short"],
    "git-log": ["git", "-C", "repo", "log", "-p", "--stat"],
    "git-grep": ["git", "-C", "repo", "grep", "-n", "line", "HEAD"],
    "git-gc": ["git", "-C", "repo", "gc", "-q"],
    "m4": ["sh", "-c", "echo 'define(x,hello)x' | m4"],
    "ctags": ["ctags", "-x", "hello.c"],
    # data
    "sqlite3": ["sqlite3", ":memory:", "create table t(a); with recursive c(x) as (select 1 union "
                "all select x+1 "
                "from c where x<5000) insert into t select x*x%997 from c; select count(distinct "
                "a), sum(a) from t;"],
    "sqlite3-error": ["sqlite3", ":memory:", "select * from nothing;"],
    "jq": ["jq", ".items|map(.n)|add", "data.json"],
    "xmllint": ["xmllint", "--format", "data.xml"],
    "openssl": ["openssl", "dgst", "-sha256", "big.txt"],
    "openssl-rsa": ["sh", "-c", "openssl genrsa 1024 2>/dev/null | openssl rsa -check -noout 2>&1"],
    "curl-file": ["curl", "-s", "file://{tmp}/text.txt"],
    "curl-version": ["curl", "--version"],
    "ssh-version": ["ssh", "-V"],
    "gpg-version": ["gpg", "--version"],
    "redis-version": ["redis-server", "--version"],
    "dpkg-query": ["dpkg-query", "-W", "-f", "${Package}\n"],
    "apt-cache": ["apt-cache", "policy", "bash"],
    "getent": ["getent", "passwd", "root"],
    "ldd": ["sh", "-c", "ldd /bin/ls | sed 's/(0x.*//'"],
    "ld.so": ["/lib64/ld-linux-x86-64.so.2", "/bin/echo", "through the loader"],
    "libc": ["/lib/x86_64-linux-gnu/libc.so.6"],
    "locale": ["locale", "-a"],
    "iconv": ["iconv", "-f", "latin1", "-t", "utf-16le", "text.txt"],
    "msgfmt": ["msgfmt", "--version"],
    "script": ["script", "-qec", "echo on a terminal", "/dev/null"],
    "valgrind": ["valgrind", "--version"],
    "strace": ["strace", "-V"],
    "pandoc": ["pandoc", "--version"],
}
FOLDER_SCRIPT = r"""
for i in $(seq 1 200); do echo "line $i"; done > text.txt
for i in $(seq 1 50); do echo "k$((i%7)) $((i*13%101))"; done | sort > table.txt
sed 's/line 1/zeile 1/' text.txt > other.txt
seq 1 60000 > big.txt
echo '{"items": [{"n": 1}, {"n": 2}, {"n": 39}]}' > data.json
echo '<a><b c="1">text</b><d/></a>' > data.xml
printf '#include <stdio.h>\nint main(void) { for (int i = 0; i < 3; i++) printf("%%d\\n", i * i); return 5; }\n' > hello.c
printf '#include <cstddef>\ntemplate <int N> struct F { static const long v = N * F<N-1>::v; };\ntemplate <> struct F<0> { static const long v = 1; };\nlong x = F<15>::v;\n' > hello.cpp
printf 'int main(void) { return undeclared + ; }\n' > broken.c
printf 'all: a b c\na b c:\n\t@echo made $@\n.NOTPARALLEL:\n' > jobs.mk
printf 'rule r\n  command = echo $out > $out\n  description = r\nbuild one: r\nbuild two: r one\n' > jobs.ninja
printf 'foreach(i RANGE 500)\nlist(APPEND l ${i})\nendforeach()\nlist(LENGTH l n)\nmessage(STATUS "n ${n}")\n' > script.cmake
mkdir repo && cd repo && git init -q -b main . && cp ../text.txt . && git add . &&
GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' git -c user.name=a -c user.email=a@b commit -q --date 2020-01-01T00:00:00Z -m one
"""
ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0",
       "NODE_NO_WARNINGS": "1"}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    subprocess.run(["sh", "-ec", FOLDER_SCRIPT], cwd=folder, check=True,
                   env=dict(harness.ENVIRONMENT, **ENV, HOME=str(folder)))
    return folder


@pytest.fixture
def folders(template, tmp_path):
    """Two folders of the same name, so that even a path in the output is the same."""
    place = tmp_path / "work"

    def fresh():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place, symlinks=True)
        return place
    return fresh


def real_command(name, folder):
    command = [part.replace("{tmp}", str(folder)) for part in COMMANDS[name]]
    if command[0] in ("CC1", "CC1PLUS"):
        command[0] = subprocess.run(["gcc", f"-print-prog-name={command[0].lower()}"],
                                    capture_output=True, text=True).stdout.strip()
    if shutil.which(command[0], path=harness.ENVIRONMENT["PATH"]) is None:
        pytest.skip(f"no {command[0]}")
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_program(folders, tmp_path, name):
    env = dict(ENV)
    folder = folders()
    command = real_command(name, folder)
    plain = harness.execute(command, env=env, cwd=folder)
    again = harness.execute(command, env=env, cwd=folders())
    folder = folders()
    path = str(tmp_path / "out.dat")
    run = harness.execute([harness.MEMOIR, "run", "-o", path, "--", *command], env=env, cwd=folder)
    # A command whose output differs by itself is only compared in its status.
    if again.stdout == plain.stdout:
        assert run.stdout == plain.stdout
    if again.stderr == plain.stderr:
        assert run.own_stderr == plain.stderr
    assert run.status == plain.status, run
    if name in ("ld.so", "libc", "valgrind"):
        return  # may be recorded or not
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["lost_events"] == 0
    assert not info["truncated"]


@pytest.mark.parametrize("name", ["bash-pipeline", "python3-threads", "perl-fork", "gcc", "git-log",
                                  "sort-parallel", "sqlite3", "node", "busybox-sh"])
def test_program_with_preload_only(folders, tmp_path, name):
    folder = folders()
    command = real_command(name, folder)
    plain = harness.execute(command, env=ENV, cwd=folder)
    path = str(tmp_path / "out.dat")
    run = harness.execute(command, env=dict(ENV, LD_PRELOAD=harness.LIBRARY,
                                            MEMORY_PROFILER_OUTPUT=path), cwd=folders())
    assert (run.stdout, run.stderr, run.status) == (plain.stdout, plain.stderr, plain.status)
    harness.wait_finished(path)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_redis(tmp_path, mode):
    """A server with jemalloc, threads and a forked child that saves; stopped by SHUTDOWN."""
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        pytest.skip("no redis")
    port, path = str(free_port()), str(tmp_path / "out.dat")
    server = ["redis-server", "--port", port, "--save", "", "--dir", str(tmp_path), "--io-threads",
              "2"]
    env = dict(harness.ENVIRONMENT)
    if mode == "run":
        server = [harness.MEMOIR, "run", "-o", path, "--", *server]
    else:
        env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    process = subprocess.Popen(server, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)

    def ask(*words):
        return subprocess.run(["redis-cli", "-p", port, *words], capture_output=True, text=True,
                              timeout=30).stdout.strip()
    try:
        harness.wait_for(lambda: ask("PING") == "PONG", what="redis")
        script = "for i=1,20000 do redis.call('set','k'..i,string.rep('x',i%100)) end return 42"
        assert ask("EVAL", script, "0") == "42"
        assert ask("DBSIZE") == "20000"
        assert "started" in ask("BGSAVE")
        harness.wait_for(lambda: "rdb_bgsave_in_progress:0" in ask("INFO", "persistence"),
                         what="the save")
        assert "rdb_last_bgsave_status:ok" in ask("INFO", "persistence")
        assert (tmp_path / "dump.rdb").exists()
        assert ask("FLUSHALL") == "OK"
        ask("SHUTDOWN", "NOSAVE")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(10)
    harness.wait_finished(path)
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["lost_events"] == 0
    assert info["allocations"] > 40000


@pytest.mark.long
def test_preload_into_everything(tmp_path):
    """--version or --help of two hundred programs in /usr/bin: the status is the same."""
    candidates = []
    for name in sorted(os.listdir("/usr/bin")):
        path = f"/usr/bin/{name}"
        try:
            with open(path, "rb") as file:
                head = file.read(20)
        except OSError:
            continue
        if head[:4] == b"\x7fELF" and not os.stat(path).st_mode & 0o6000:
            candidates.append(path)
    step = max(1, len(candidates) // 200)
    skipped = {"yes", "reset", "tset", "clear", "setterm", "wall", "write", "mesg", "systemctl",
               "loginctl",
               "gpg-agent", "ssh-agent", "pkill", "kill", "killall", "pgrep", "skill", "snice"}
    bad = []
    tried = 0
    for path in candidates[::step]:
        if os.path.basename(path) in skipped or "systemd" in path or "dbus" in path:
            continue
        tried += 1
        try:
            plain = harness.execute([path, "--version"], timeout=10, cwd=tmp_path)
            again = harness.execute([path, "--version"], timeout=10, cwd=tmp_path)
        except AssertionError:
            continue
        if again.stdout != plain.stdout:
            continue
        env = {"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": str(tmp_path / "%e_%p.dat")}
        try:
            run = harness.execute([path, "--version"], env=env, timeout=20, cwd=tmp_path)
        except AssertionError as error:
            bad.append(f"{path}: {error}")
            continue
        # In any order: the programs that groff starts race to print theirs.
        lines, expected = sorted(run.stdout.splitlines()), sorted(plain.stdout.splitlines())
        if run.status != plain.status or lines != expected:
            bad.append(f"{path}: {plain.status} became {run.status}: {run.stderr[-200:]!r}")
    assert not bad, "\n".join(bad)
    assert tried > 100
