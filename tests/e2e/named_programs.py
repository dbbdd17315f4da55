# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of whose memory a person knows whose it is: what is run, and which functions are right.

The answers are a person's, by what the programs' sources do: what works is right; what only gets
memory for others (an allocator, a wrapper, a copy of a text, a pool, a container) is wrong, and so
is a place without a name, unless the symbol table of the same program before it was stripped says
what it is in. """
import bisect
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import harness

SOURCES = os.path.join(harness.HERE, "named")
CACHE = os.path.join(harness.BUILD, "named")
PROGRAMS = {}


class Missing(Exception):
    """The program cannot be had here."""


class Named:
    """`record` gives a recording's path; `right` is a pattern of all right functions; `quick` ones
    are recorded by `make test`."""

    def __init__(self, title, record, right, quick=False, symbols=None):
        self.title, self.record, self.quick = title, record, quick
        self.right = re.compile(right)
        self.symbols = symbols  # gives the file before it was stripped

    def is_right(self, function, names):
        function = called(function, names)
        return bool(self.right.match(function)), function


class Names:
    """Functions of a program by address, out of its symbol table."""

    def __init__(self, path):
        self.module = os.path.basename(path)
        text = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True,
                              check=True).stdout
        rows = re.findall(r"^([0-9a-f]+) [tTwWi] (.+)$", text, re.M)
        self.rows = sorted((int(address, 16), name) for address, name in rows)
        self.starts = [address for address, _ in self.rows]

    def at(self, module, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.rows[i][1] if i >= 0 and module.startswith(self.module) else None


def called(function, names):
    """A function, or a place without a name by the symbol table that was stripped."""
    place = re.fullmatch(r"([^/]+)\+0x([0-9a-f]+)", function)
    return names.at(place[1], int(place[2], 16)) or function if place and names else function


def need(*programs):
    for name in programs:
        if not shutil.which(name, path=harness.ENVIRONMENT["PATH"]):
            raise Missing(f"no {name}")


def build(name, *commands, env=None):
    """Runs the commands in a folder of build/named that is kept, unless they have made `name`."""
    path = os.path.join(CACHE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    newest = max(os.path.getmtime(f) for f in glob.glob(f"{SOURCES}/*"))
    if not os.path.exists(path) or os.path.getmtime(path) < newest:
        for command in commands:
            if not shutil.which(command[0]):
                raise Missing(f"no {command[0]}")
            done = subprocess.run(command, cwd=os.path.dirname(path), timeout=300,
                                  capture_output=True, env={**os.environ, **(env or {})})
            if done.returncode:
                raise Missing(f"{command[0]}: {done.stderr[-300:]!r}")
    return path


def recorded(folder, command, options=(), **keywords):
    path = os.path.join(folder, "out.dat")
    run = harness.execute([harness.MEMOIR, "run", "-q", *options, "-o", path, "--", *command],
                          cwd=folder, timeout=300, **keywords)
    assert os.path.exists(path), run
    return path


def served(folder, command, port, load):
    """A server: it is recorded until `load`, which is called with its port, is done."""
    path = os.path.join(folder, "out.dat")
    with open(os.path.join(folder, "said"), "wb") as said:
        process = subprocess.Popen([harness.MEMOIR, "run", "-q", "-o", path, "--", *command],
                                   cwd=folder, stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=said, env=harness.ENVIRONMENT)
        try:
            harness.wait_for(lambda: listens(port), timeout=60, what=f"{command[0]} to listen")
            load(port)
        finally:
            for pid in harness.descendants(process.pid):
                harness.kill(pid, signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return path


def listens(port):
    with socket.socket() as s:
        return not s.connect_ex(("127.0.0.1", port))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def talk(port, *parts):
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        for part in parts:
            s.sendall(part)
        s.shutdown(socket.SHUT_WR)
        s.settimeout(5)
        try:
            while s.recv(65536):
                pass
        except OSError:
            pass


def lines(folder):
    """A file of words for interpreters to read."""
    path = os.path.join(folder, "words")
    with open(path, "w", encoding="ascii") as file:
        for i in range(20000):
            file.write(f"{i * 7919 % 5003} some words {i} and more\n")
    return path


def program(name, title, right, quick=False, symbols=None):
    """The function below is how it is recorded."""
    def add(record):
        PROGRAMS[name] = Named(title, record, right, quick, symbols)
        return record
    return add


# Programs of its own, in several languages.

C_WORKS = "(load_names|parse_rows|fill_pages|build_index|write_report|answer_questions)$"
CXX_WORKS = (r"shop::(store::(read_items|index_items)|read_raw|sort_names|join|make_rules)\b|"
             r"main::\{lambda|\(anonymous\)::operator\(\)")
RUST_WORKS = ("(shop::)*(main$|read_items|index_items|describe_items|copy_items|fill_pages)|"
              "<shop::shop::Item as (core::clone::Clone|shop::shop::Describe)>::(clone|describe)$")


def compiled(compiler, source, output, *flags):
    return build(output, [compiler, *flags, f"{SOURCES}/{source}", "-o",
                          os.path.basename(output)])


def stripped(path):
    bare = os.path.join(os.path.dirname(path), "stripped", os.path.basename(path))
    os.makedirs(os.path.dirname(bare), exist_ok=True)
    subprocess.run(["strip", "--strip-all", path, "-o", bare], check=True)
    return bare


def shop_c(level):
    return compiled("gcc", "shop.c", f"c{level}/shop", "-g", f"-O{level}")


def shop_cxx(level):
    return compiled("g++", "shop.cpp", f"cxx{level}/shop", "-std=c++17", "-g", f"-O{level}")


def shop_rust(name, *flags):
    return compiled("rustc", "shop.rs", f"{name}/shop", *flags)


for optimized in (0, 2):
    program(f"c-O{optimized}", f"C, -O{optimized}", C_WORKS, quick=True)(
        lambda folder, o=optimized: recorded(folder, [shop_c(o)]))
    program(f"cxx-O{optimized}", f"C++, -O{optimized}", CXX_WORKS, quick=True)(
        lambda folder, o=optimized: recorded(folder, [shop_cxx(o)]))
program("c-stripped", "C, -O2, stripped", C_WORKS, quick=True, symbols=lambda: shop_c(2))(
    lambda folder: recorded(folder, [stripped(shop_c(2))]))
for kind, how in {"debug": ["-g"], "release": ["-O"],
                  "v0": ["-O", "-C", "symbol-mangling-version=v0"]}.items():
    program(f"rust-{kind}", f"Rust, {' '.join(how)}", RUST_WORKS, quick=kind == "release")(
        lambda folder, k=kind, h=how: recorded(folder, [shop_rust(f"rust-{k}", *h)]))


@program("go", "Go with cgo", r"main\.(readTexts|takeBlocks)|shop_(names|page|table)$|"
         # The runtime's own, when it starts threads.
         r"_cgo_try_pthread_create$|x_cgo_(thread_start|init|sys_thread_create)$")
def go(folder):
    made = build("go/shop", ["go", "build", "-o", "shop", f"{SOURCES}/shop.go"],
                 env={"GO111MODULE": "off", "GOCACHE": f"{CACHE}/go-cache", "HOME": folder})
    return recorded(folder, [made])


PYTHON_WORKS = (r"Shop\.(read_items|index_items|describe)\b|parse_rows|fill_pages|find_words|"
                # Code that is imported belongs to who imports it.
                r"queue_work|main$|<module>$")


@program("python", "Python", PYTHON_WORKS, quick=True)
def python(folder):
    need("python3.11")
    return recorded(folder, ["/usr/bin/python3.11", f"{SOURCES}/shop.py"])


@program("numpy", "Python with numpy",
         r"(load_matrix|multiply|smooth|sort_rows|pick|main)$|<module>$|"
         # Before the program begins, where nobody else is there: the start of Python itself.
         r"(FileFinder|SourceFileLoader|FileLoader)\.|_ModuleLock|addpackage$|_call_with_frames")
def numpy(folder):
    need("python3.11")
    if not glob.glob("/usr/lib/python3/dist-packages/numpy/__init__.py"):
        raise Missing("no python3-numpy")
    return recorded(folder, ["/usr/bin/python3.11", f"{SOURCES}/array.py"])


@program("node", "node --perf-basic-prof",
         r"(readPages|copyPages|typedRows|encodeTexts|packBytes)$|\(anonymous\)$|"
         # What node itself makes while it starts, before there is a program: not its containers.
         r"ossl_\w+$|alg_copy$|(OBJ|EVP|ERR|CONF|provider)_\w+$|int_err_\w+|"
         r"__static_initialization_and_destruction|node::\w+|v8::\w+")
def node(folder):
    need("node")
    return recorded(folder, ["node", "--perf-basic-prof", "--interpreted-frames-native-stack",
                             f"{SOURCES}/shop.js"])


JVM = r"(?!.*(os::malloc|AllocateHeap|Arena|::operator new|\+0x))[A-Z]\w*(<.*>)?::\w+"


def jvm(folder, *words):
    """With the native library and the agent that writes the perf map, in a folder of their own."""
    need("javac", "gcc")
    homes = [h for h in glob.glob("/usr/lib/jvm/java-*-openjdk-amd64") if
             os.path.exists(f"{h}/include/jvmti.h")]
    if not homes:
        raise Missing("no default-jdk-headless")
    home = homes[0]
    library = build("java/libshop.so", [f"{home}/bin/javac", "-d", ".", f"{SOURCES}/Shop.java"],
                    ["gcc", "-g", "-O2", "-fPIC", "-shared", f"-I{home}/include",
                     f"-I{home}/include/linux", f"{SOURCES}/shop_jni.c", "-o", "libshop.so"])
    made = os.path.dirname(library)
    return recorded(folder, [f"{home}/bin/java", "-Xmx64m", *(
        ["-XX:+PreserveFramePointer", f"-agentpath:{library}"] if words else []),
        f"-Djava.library.path={made}", "-cp", made, "Shop", *words])


@program("java-jni", "Java with a native library",
         "Java_Shop_(holdNames|holdPages|makeTable)$|" + JVM)
def java_jni(folder):
    return jvm(folder)


@program("java", "Java with a perf map", r"Shop::(readBuffers|askLibrary|main)$|" +
         # The agent's own; and where Java's frames end the stack, the function that it called.
         "compiled$|generated$|Unsafe_AllocateMemory0$|" + JVM)
def java(folder):
    path = jvm(folder, "buffers")
    pid = harness.ask("report", "--json", "--no-verdicts", path, timeout=300)["pid"]
    if os.path.exists(f"/tmp/perf-{pid}.map"):
        os.unlink(f"/tmp/perf-{pid}.map")
    return path


@program("qt", "Qt 5", r"shop::(readNames|indexNames|readFigures|fillPages|buildTree|writeJson|"
         r"makeVariants)\b|main$")
def qt(folder):
    need("g++", "pkg-config")
    flags = harness.execute(["pkg-config", "--cflags", "--libs", "Qt5Core"])
    if flags.status:
        raise Missing("no qtbase5-dev")
    made = build("qt/shop", ["g++", "-g", "-O2", "-fPIC", f"{SOURCES}/shop_qt.cpp", "-o", "shop",
                             *flags.stdout.decode().split()])
    return recorded(folder, [made])


# Programs of other people, as Debian has them.

@program("perl", "perl", r"Perl_(pp_\w+|yyparse|newXS\w*|newATTRSUB\w*|newOP\w*|newSVOP|newUNOP\w*|"
         r"newLISTOP\w*|newBINOP|newSTATEOP|ck_\w+|my_setenv|boot_core_\w+|gv_\w+|do_\w+|"
         r"pad_\w+|cv_\w+|init_\w+|reg\w+|re_\w+|lex_\w+|require_\w+)$|perl_(parse|construct|run)$",
         quick=True)
def perl(folder):
    need("perl")
    return recorded(folder, ["perl", "-ne", "@f=split; $h{$f[0]}{$f[3]}=$_; push @l,[@f]; "
                             "END{print scalar @l}", lines(folder)])


# Wrong: zmalloc and the like, je_*, and what only passes on.
@program("redis", "redis-server",
         r"(createClient|_sdsMakeRoomFor|aeCreateEventLoop|_?dict\w+|db\w+|hdr_init|tls\w+|"
         r"create\w*Object|processMultibulkBuffer|list\w+Node\w+|zsl\w+|_?sds\w+|lp\w+|"
         r"ziplist\w+|quicklist\w+|_?rax\w+|hash\w+|set\w+|intset\w+|init\w+|populate\w+|"
         r"moduleInit\w*|lua\w+|scripting\w+|evict\w+|ACL\w+|createReplicationBacklog|"
         r"connCreate\w+|bio\w+|main)$", quick=True)
def redis(folder):
    need("redis-server", "redis-benchmark")
    port = free_port()

    def load(port):
        harness.execute(["redis-benchmark", "-p", str(port), "-n", "2000", "-r", "2000", "-q", "-t",
                         "set,lpush,sadd,hset,zadd,mset"], timeout=120)
    return served(folder, ["redis-server", "--port", str(port), "--save", ""], port, load)


POSTGRES = ("/usr/lib/postgresql/15/bin/initdb", "/usr/lib/postgresql/15/bin/postgres")


@program("postgres", "postgres --single",
         # Who makes tuples, indexes, plans and catalogues.
         r"\w*[tT]uple\w*$|_?bt\w+$|index_\w+$|heap_\w+$|CreateTupleDesc\w*$|Relation\w+$|"
         r"Exec\w+$|create_\w+$|pgstat_\w+$|errmsg$|pg_strong_random$|PathNameOpenFilePerm$|"
         r"(hash|init|Init|Create|Build|build|make|load)\w+$|\w*[cC]ache\w*$")
def postgres(folder):
    for path in POSTGRES:
        need(path)
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    as_nobody = as_nobody if os.geteuid() == 0 else []
    place = subprocess.run(["mktemp", "-d", "/tmp/named-XXXXXX"], capture_output=True, text=True,
                           check=True).stdout.strip()
    try:
        if as_nobody:
            shutil.chown(place, "nobody")
        subprocess.run([*as_nobody, POSTGRES[0], "-N", "-D", f"{place}/d", "-E", "UTF8",
                        "--locale=C.UTF-8"], check=True, capture_output=True,
                       env=harness.ENVIRONMENT, timeout=120)
        path = os.path.join(place, "out.dat")
        done = harness.execute([*as_nobody, harness.MEMOIR, "run", "-q", "-o", path, "--",
                                POSTGRES[1], "--single", "-D", f"{place}/d", "postgres"],
                               stdin=(b"create table t(a int primary key, b text);\n"
                               b"insert into t select i, repeat('x', i % 300) from "
                               b"generate_series(1,20000) i;\n"
                               b"select count(*), b from t group by b order by 1 limit 3;\n"
                               b"create index ti on t(b);\n"
                               b"select string_agg(b, ',') from t where a < 2000;\n"),
                               timeout=120)
        assert os.path.exists(path), done
        return shutil.move(path, os.path.join(folder, "out.dat"))
    finally:
        shutil.rmtree(place, ignore_errors=True)


CLANG = "/usr/lib/llvm-14/bin/clang"


@program("clang", "clang -cc1 -fsyntax-only",
         # Whatever is clang's or LLVM's and has a name of its own, but for what hands out memory.
         r"(?![^(]*(\b[aA]llocate\b|BumpPtr|safe_|SmallVector|DenseMap|StringMap|FoldingSet))"
         r"(bool |void |.* )?(clang|llvm)::\w+|main$|cc1_main|"
         # What libstdc++ keeps in reserve for exceptions, before the program begins.
         r"libstdc\+\+\.so[.\d]*\+0xa57b9$")
def clang(folder):
    need(CLANG)
    include = ["/usr/include/c++/12", "/usr/include/x86_64-linux-gnu/c++/12",
               "/usr/lib/llvm-14/lib/clang/14.0.6/include", "/usr/include/x86_64-linux-gnu",
               "/usr/include"]
    return recorded(folder, [CLANG, "-cc1", "-fsyntax-only",
                             *(word for i in include for word in ("-internal-isystem", i)),
                             "-x", "c++", f"{SOURCES}/work.cpp"])


@program("graphviz", "dot", r"(named_virtual_node|make_aux_edge|new_virtual_edge|virtual_\w+|"
         r"gvplugin_library_load|rank\w*|fast_\w+|new_spline|\w*edge\w*|\w*node\w*|"
         r"ag(open|sub|node|edge|bind|attr|initid|rename)\w*|gv\w+|dot_\w+|mincross\w*|init_\w+|"
         r"\w+_layout|make_\w+|"
         r"parse_\w+|lang_\w+|config_\w+|build_\w+|routesplines\w*|tri\w*|store_\w*|sfio_\w+)$")
def graphviz(folder):
    need("dot")
    with open(os.path.join(folder, "graph.dot"), "w", encoding="ascii") as file:
        file.write("digraph g {\n")
        for i in range(120):
            file.write(f'n{i * 37 % 59} -> n{i * 91 % 61} [label="e{i}" color=red];\n')
        file.write("}\n")
    return recorded(folder, ["dot", "-Tsvg", "graph.dot", "-o", "graph.svg"])


# Programs that are built from Debian's source, as they are and stripped: the symbol table that was
# taken away says what a place was in.

def source(package, output, *commands):
    """The path of a program that the commands make in the source of a package; kept."""
    folder = os.path.join(CACHE, "source", package)
    made = glob.glob(f"{folder}/*/{output}")
    if made:
        return made[0]
    os.makedirs(folder, exist_ok=True)
    script = os.path.join(harness.ROOT, "scripts/debian-source")
    done = subprocess.run([script, package, folder], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Missing(f"no source of {package}")
    place = done.stdout.split()[-1]
    for command in commands:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, shell=True,
                              timeout=1200, env=harness.ENVIRONMENT)
    if not os.path.exists(f"{place}/{output}"):
        raise Missing(f"{package} does not build: {done.stderr[-300:]}")
    return f"{place}/{output}"


CFLAGS = "CFLAGS='-O2 -g'"


def mawk_path():
    return source("mawk", "mawk", "./configure -q", f"make -s {CFLAGS}")


def gawk_path():
    return source("gawk", "gawk", "./configure -q --disable-nls --disable-pma",
                  f"make -s -C support {CFLAGS}", f"make -s gawk {CFLAGS}")


def dash_path():
    return source("dash", "src/dash", "./autogen.sh", "./configure -q", f"make -s {CFLAGS}")


def memcached_path():
    return source("memcached", "memcached", "./configure -q", f"make -s {CFLAGS} memcached")


def lighttpd_path():
    return source("lighttpd", "src/lighttpd", "autoreconf -i",
                  "./configure -q --without-pcre2 --without-zlib --without-zstd --without-brotli",
                  f"make -s {CFLAGS}")


def tcl_path():
    return source("tcl8.6", "unix/tclsh", "cd unix && ./configure -q --enable-symbols "
                  "--disable-shared", "make -s -C unix tclsh")


def nginx_path():
    return source("nginx", "objs/nginx", "./configure --without-http_rewrite_module "
                  "--without-http_gzip_module --with-cc-opt='-O2 -g'", "make -s")


def mosquitto_path():
    return source("mosquitto", "src/mosquitto", "make -s -C src mosquitto WITH_TLS=no "
                  "WITH_CJSON=no WITH_DOCS=no WITH_UUID=no WITH_SYSTEMD=no")


def lua_path():
    return source("lua5.4", "src/lua", "make -s linux MYCFLAGS=-g")


def sqlite_path():
    return source("sqlite3", "sqlite3", "./configure -q --disable-tcl",
                  "make -s CFLAGS='-O1 -g' sqlite3")


AWK = ("{a[$1]=a[$1] $3; b[NR]=$0; n=split($0,p); c[p[2] n]++} END{print length(a), length(c); "
       "print toupper(substr(b[1],2)); exit}")


def mawk_run(path, folder):
    return recorded(folder, [path, AWK, lines(folder)])


def gawk_run(path, folder):
    return recorded(folder, [path, AWK, lines(folder)])


def dash_run(path, folder):
    return recorded(folder, [path, f"{SOURCES}/work.sh", lines(folder)])


def lua_run(path, folder):
    return recorded(folder, [path, f"{SOURCES}/work.lua", lines(folder)])


def sqlite_run(path, folder):
    with open(os.path.join(folder, "work.sql"), "w", encoding="ascii") as file:
        file.write("create table t(a integer primary key, b text, c text);\nbegin;\n")
        for i in range(8000):
            file.write(f"insert into t(b,c) values('row {i}','{'x' * (i % 90)}');\n")
        file.write("commit;\ncreate index ti on t(c);\n"
                   "select count(*), b from t group by c order by b limit 5;\n")
    return recorded(folder, [path, ":memory:", ".read work.sql"])


def tcl_run(path, folder):
    library = os.path.join(os.path.dirname(tcl_path()), "../library")
    return recorded(folder, [path, f"{SOURCES}/work.tcl", lines(folder)],
                    env={"TCL_LIBRARY": os.path.normpath(library)})


def lighttpd_run(path, folder):
    port = free_port()
    made = os.path.dirname(lighttpd_path())
    with open(os.path.join(folder, "conf"), "w", encoding="ascii") as file:
        file.write(f'server.document-root = "{folder}"\nserver.port = {port}\n'
                   f'server.bind = "127.0.0.1"\n'
                   'server.modules = ("mod_access", "mod_alias", "mod_dirlisting", '
                   '"mod_staticfile", "mod_redirect")\ndir-listing.activate = "enable"\n')

    def load(port):
        for name in ("", "conf", "said", "nothing") * 20:
            talk(port, f"GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    return served(folder, [path, "-D", "-f", "conf", "-m", f"{made}/.libs"], port, load)


def nginx_run(path, folder):
    port = free_port()
    with open(os.path.join(folder, "conf"), "w", encoding="ascii") as file:
        file.write("daemon off; master_process off; pid pid; error_log err;\n"
                   "events { worker_connections 256; }\nhttp { access_log off;\n"
                   "types { text/plain txt; }\nmap $arg_a $b { default 0; x1 1; x2 2; }\n"
                   f"server {{ listen 127.0.0.1:{port}; root {folder}; autoindex on; }} }}\n")
    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        os.mkdir(os.path.join(folder, f"{name}_temp"))

    def load(port):
        for name in ("", "conf", "nothing") * 20:
            talk(port, f"GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    return served(folder, [path, "-p", f"{folder}/", "-c", "conf"], port, load)


def mosquitto_run(path, folder):
    port = free_port()
    with open(os.path.join(folder, "conf"), "w", encoding="ascii") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser nobody\n")

    def load(port):
        for i in range(60):
            name = b"%03d" % i
            talk(port, b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04c" + name,
                 # It subscribes, and publishes what is kept.
                 b"\x82\x09\x00\x01\x00\x04t" + name + b"\x00",
                 b"\x31\x26\x00\x04u" + name + b"k" * 32, b"\xe0\x00")
    return served(folder, [path, "-c", "conf"], port, load)


def memcached_run(path, folder):
    port = free_port()

    def load(port):
        talk(port, *(b"set k%d 0 0 200 noreply\r\n%s\r\n" % (i, b"x" * 200) for i in range(5000)),
             b"get k3\r\nquit\r\n")
        time.sleep(0.5)
    return served(folder, [path, "-p", str(port), "-u", "nobody", "-U", "0"], port, load)


BUILT = {
    # Wrong: emalloc, zmalloc, and what grows or copies for others.
    "mawk": (mawk_path, mawk_run, r"(xnew_STRING|new_STRING\w*|find_by_\w+|double_the_hash_table|"
             r"allocate_fbankv|add_to_\w+|array_\w+|assign_\w+|convert_\w+|re_\w+|REcompile\w*|"
             r"\w*fin_\w*|FINopen\w*|FINgets|main|execute|set_field0|slow_\w+|space_\w+|"
             r"bi_\w+|make_empty_table|FINdopen|insert|hash_init|field_init|"
             r"code_\w+|collect_\w+|parse|kw_init|new_\w+|add_string_associations)$"),
    # Wrong: emalloc_real, ezalloc_real, erealloc_real, more_blocks.
    "gawk": (gawk_path, gawk_run, r"(r_dupnode|\w+_lookup|concat_exp|grow_int_table|"
             r"new_array_element|set_element|set_locale_stuff|build_trtable|analyze|r_make_\w+|"
             r"make_str_node|make_number_node|make_regexp|set_record|grow_fields_arr|init_\w+|"
             r"int_\w+|str_\w+|cint_\w+|tree_\w+|leaf_\w+|do_\w+|dfa(?!alloc)\w+|re_\w+|"
             r"iop_alloc|main|r_interpret|load_\w+|install\w*|yyparse|bcalloc|format_\w+|"
             r"grow_table|resetup|assoc_\w+|init_interpret|init_the_tables|get_a_record)$"),
    # Wrong: ckmalloc, savestr, stalloc and growstackblock, dash's stack of memory.
    "dash": (dash_path, dash_run, r"(setvar\w*|setparam|outmem|simplecmd|ifsbreakup|pushlocalvars|"
             r"growjobtab|makejob|initvar|setinputfile|evaltree|readtoken\w*|argstr|"
             r"expbackq|recordregion|getpwhome|cmdlookup|defun|copyfunc|init|procargs|mklocal|"
             r"pushfile|setinputfd|main|redirect|xxreadtoken|setprompt|getoptsreset|evalcommand|"
             r"pushredir|savefd|copynode|optschanged|hashcd|expandmeta|getpwd|"
             r"setpwd|poplocalvars)(\.\w+)*$"),
    # Wrong: ck_malloc, ck_calloc, ck_realloc_u32.
    "lighttpd": (lighttpd_path, lighttpd_run, r"(buffer_\w+|chunk\w*|fdevent_\w+|config_\w+|"
                 r"array_\w+|plugins_\w+|plugin_\w+|server_\w+|stat_cache_\w+|connection\w*|"
                 r"request_\w+|http_\w+|h2_\w+|mod_\w+|log_\w+|network_\w+|yy\w+|"
                 r"configparser\w*|splaytree_\w+|main|server_main\w*|gw_\w+|sock_addr\w*|"
                 r"request_init\w*|main_init_once|fdnode_init|keyvalue\w+|"
                 r"pcre_\w+|dirlist_\w+|fdlog_\w+|li_\w+)"
                 r"(\.\w+)*$"),
    # Wrong: ngx_alloc, ngx_palloc and the like, ngx_create_pool; arrays, lists and buffers.
    "nginx": (nginx_path, nginx_run, r"ngx_http_alloc_request$|main$|"
              r"ngx_(?!\w*alloc|create_pool|pstrdup|array_|list_|pool_|create_temp_buf)\w+"),
    # Wrong: mosquitto__malloc, mosquitto__calloc, mosquitto__realloc, mosquitto__strdup.
    "mosquitto": (mosquitto_path, mosquitto_run, r"(db__\w+|retain__\w+|sub__\w+|context__\w+|"
                  r"packet__\w+|config__\w+|sys_tree__\w+|calc_load|main|"
                  r"drop_privileges|handle__\w+|"
                  r"net__\w+|mux\w*__\w+|listeners?__\w+|persist__\w+|log__\w+|send__\w+|"
                  r"mosquitto_\w*security\w*|conf__\w+|plugin__\w+|will__\w+|acl__\w+|"
                  r"unpwd__\w+|bridge__\w+|loop__\w+|session_expiry__\w+|keepalive__\w+|"
                  r"mosquitto_main_loop|mosquitto__daemonise|security__\w+|control__\w+|"
                  r"conf_\w+|create_\w+|add__\w+)(\.\w+)*$"),
    # Wrong: Tcl_Alloc, TclpAlloc, GetBlocks, TclThreadAllocObj, Tcl_DbCkalloc.
    "tcl": (tcl_path, tcl_run, r"(Tcl_(?!\w*(Alloc|alloc))\w+|Tcl(?!pAlloc|pRealloc|ThreadAlloc)"
            r"[A-Z]\w+|AttemptNewList|NewListIntRep|SetListFromAny|StringAppend\w*|\w+ObjCmd|"
            r"GrowStringBuffer|Init\w+|Register\w+|SetDict\w*|AllocStringEntry|AllocArrayEntry|"
            r"RebuildTable|Create\w+|TEBCresume|UpdateStringOf\w+|Alloc(Channel|Chain)\w*|"
            r"New\w+|Build\w+|main|GetThreadHash|\w+Proc|Append\w+|Copy\w+|Dup\w+)(\.\w+)*$"),
    # Wrong: memory_allocate, which takes memory for the slabs, and what libevent copies.
    "memcached": (memcached_path, memcached_run, r"(bipbuf_new|assoc_\w+|memcached_thread_init|"
                  r"lru_\w+|cache_create|main|event_\w+new\w*|evmap_\w+|evthread_\w+|"
                  r"server_socket\w*|"
                  r"resp_allocate|rbuf_alloc|conn_\w+|grow_slab_list|slabs_init|do_slabs_\w+|"
                  r"logger_\w+|thread_\w+|setup_thread|stats_\w+|settings_init|item_\w+|"
                  r"do_item_\w+|epoll_\w+|cqi_new|init_\w+|create_worker|start_\w+|hash_init|"
                  r"evsig_\w+|evbuffer_\w+|min_heap\w*|"
                  r"process_\w+)(\.\w+)*$"),
    # Wrong: l_alloc, luaM_*.
    "lua": (lua_path, lua_run, r"(rehash|lua_(?!newstate)\w+|luaH_\w+|luaS_\w+|luaF_\w+|luaL_\w+|"
            r"luaV_\w+|luaD_\w+|luaK_\w+|luaY_\w+|luaX_\w+|luaZ_\w+|setnodevector|internshrstr|"
            r"createstrobj|growstrtab|box\w+|str_\w+|gmatch\w*|tconcat|g_read\w*|stack_init|"
            r"resizebox|close_func|registerlocalvar|newupvalue|addk|statement|"
            r"forbody|body|constructor|new_localvar|f_luaopen|newprefile|newbox|"
            r"prepbuffsize)(\.\w+)*$"),
    # Wrong: sqlite3Malloc and the like, sqlite3DbStrDup, and strings that grow.
    "sqlite": (sqlite_path, sqlite_run, r"(local_getline|pcache1\w+|sqlite3Vdbe\w+|process_input|"
               r"setupLookaside|balance\w*|sqlite3Hash\w+|sqlite3Add\w+|shell_\w+|find_home_dir|"
               r"sqlite3(Btree|Pager|Pcache|Create|Start|End|Parser|Run|Select|Expr|Find|Init|"
               r"Insert|Src|Name|Locate|Key|WhereBegin|Where|Table|Column|Allocate|Column|Schema)"
               r"\w*|vdbe\w+|btree\w+|openDatabase|memdb\w*|open_db|"
               r"main|do_meta_command|newDatabase|where\w+|accessPayload|allocateTempSpace|"
               r"memjrnlWrite|yy_reduce|growOp3|resizeOpArray|"
               r"sqlite3_(initialize|prepare\w*|str_new|exec)|"
               r"allocateCursor|renameTableTest|process_sqliterc|codeable\w+)(\.\w+)*$"),
}

for name, (path, run, right) in BUILT.items():
    program(name, f"{name}, from source", right)(
        lambda folder, p=path, r=run: r(p(), folder))
    program(f"{name}-stripped", f"{name}, the same stripped", right, symbols=path)(
        lambda folder, p=path, r=run: r(stripped(p()), folder))


# Of projects whose wrappers are in no list of Memoir's: what is found by its shape.
WRAPPERS = {
    "c-O0": ("grab",),
    "c-stripped": ("grab",),
    "mosquitto": ("mosquitto__malloc", "mosquitto__calloc", "mosquitto__strdup"),
    "mosquitto-stripped": ("mosquitto__malloc", "mosquitto__calloc"),
    "gawk": ("emalloc_real", "ezalloc_real"),
    "gawk-stripped": ("more_blocks",),
    "lighttpd": ("ck_malloc", "ck_calloc", "ck_realloc_u32"),
    "dash": ("ckmalloc", "ckrealloc", "savestr"),
    "dash-stripped": ("savestr",),
    "tcl": ("TclpAlloc", "Tcl_Alloc", "GetBlocks", "TclThreadAllocObj"),
    "tcl-stripped": ("TclpAlloc", "GetBlocks"),
}
