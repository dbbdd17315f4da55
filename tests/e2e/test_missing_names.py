# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions without names: where that matters, what would help, and names that the server fetches
from a debuginfod when somebody asks it to."""
import http.server
import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

import harness
import serving
from test_page import run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
FUNCTION = "load_table"


class Debuginfod(http.server.BaseHTTPRequestHandler):
    """One that has a file, and gives it out when it is told to."""
    files, asked, go = {}, [], threading.Event()

    def do_GET(self):
        if self.path == "/go":
            self.go.set()
            return self.answer(200, b"")
        self.asked.append(self.path)
        self.go.wait(60)
        data = self.files.get(self.path)
        self.answer(200 if data else 404, data or b"")

    def answer(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def record_stripped(program, folder, name):
    """Its recording holds no names either; what was split off is for the server."""
    path, debug = str(folder / name), str(folder / f"{name}.debug")
    shutil.copy(program, path)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", path], check=True)
    recording = str(folder / f"{name}.dat")
    assert harness.record([path], recording).status == 0
    notes = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE, text=True)
    with open(debug, "rb") as file:
        identity = notes.stdout.split("Build ID: ")[1].split()[0]
        return recording, f"/buildid/{identity}/debuginfo", file.read()


@pytest.fixture(scope="module")
def made(tmp_path_factory, compile_program):
    folder = tmp_path_factory.mktemp("names")
    flags = ("-O1", "-fno-optimize-sibling-calls")
    first = record_stripped(compile_program("whose", flags=flags), folder, "stripped")
    other = record_stripped(compile_program("whose", flags=(*flags, "-DOTHER")), folder, "other")
    Debuginfod.files[first[1]] = first[2]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    yield {"folder": folder, "first": first[0], "other": other[0], "servers": address,
           "env": {"DEBUGINFOD_URLS": address, "DEBUGINFOD_CACHE_PATH": str(folder / "cache"),
                   "XDG_CACHE_HOME": str(folder / "xdg")}}
    server.shutdown()


@pytest.fixture
def environment(monkeypatch):
    def use(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)
    return use


def post(address, path, **headers):
    request = urllib.request.Request(address + path, method="POST", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_what_matters_is_named(made):
    found = harness.ask("ask", "missing_names", made["first"])
    matter = [m for m in found["modules"] if m["matters"]]
    assert matter[0]["name"] == "stripped" and matter[0]["share"] > 0.8
    assert matter[0]["package"] is None
    assert found["modules"] == sorted(found["modules"], key=lambda m: -m["share"])
    assert all(m["matters"] == (m["share"] >= 0.01) for m in found["modules"])
    assert found["debuginfod"]["asked"] is False


def test_report_says_it_once(made, tmp_path, compile_program):
    text = harness.execute([harness.MEMOIR, "report", made["first"]]).stdout.decode()
    assert text.count("Names are missing") == 1
    line = text[text.index("Names are missing"):].split("\n")[0]
    assert "stripped (" in line and "% of the memory)" in line and "libc.so" not in line
    named = str(tmp_path / "named.dat")
    assert harness.record([compile_program("shapes", flags=("-O1",))], named).status == 0
    assert b"Names are missing" not in harness.execute([harness.MEMOIR, "report", named]).stdout


def test_packages_are_those_of_the_system(made, tmp_path):
    """A program of a package: its debug package is what helps."""
    program = shutil.which("dpkg-deb")
    owner = subprocess.run(["dpkg", "-S", program], stdout=subprocess.PIPE, text=True)
    if owner.returncode:
        pytest.skip("dpkg does not know its own file")
    path = str(tmp_path / "dpkg.dat")
    assert harness.record([program, "--version"], path).status == 0
    found = harness.ask("ask", "missing_names", path)
    module = [m for m in found["modules"] if m["name"] == "dpkg-deb"]
    assert module and module[0]["package"] == f"{owner.stdout.split(':')[0]}-dbgsym"


def test_without_servers_nothing_is_asked(made, environment):
    environment(DEBUGINFOD_URLS="")
    with serving.Server(made["first"]) as server:
        recording, = server.ready()
        path = f"/data/{recording['id']}"
        assert "DEBUGINFOD_URLS" in server.get(path + "/missing_names")["debuginfod"]["problem"]
        status, said = post(server.address, path + "/find_names")
        assert status == 409 and "DEBUGINFOD_URLS is not set" in said["error"]


def test_nobody_else_makes_the_server_ask(made, environment):
    """A page from elsewhere, an unknown id, a method that only reads."""
    environment(**made["env"])
    before = len(Debuginfod.asked)
    with serving.Server(made["first"]) as server:
        recording, = server.ready()
        path = f"/data/{recording['id']}/find_names"
        assert post(server.address, path, Origin="http://elsewhere.example")[0] == 403
        assert post(server.address, path, Host="elsewhere.example")[0] == 403
        assert post(server.address, "/data/0123/find_names")[0] == 404
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.get(path)
        assert refused.value.code == 405
        assert "naming_progress" not in server.ready()[0]
    assert len(Debuginfod.asked) == before


@pytest.fixture(scope="module")
def seen(made, tmp_path_factory):
    out = os.environ.get("MEMOIR_SHOTS") or tmp_path_factory.mktemp("shots")
    os.environ.update(made["env"])
    Debuginfod.go.clear()
    try:
        with serving.Server(made["first"], made["other"]) as server:
            ids = {r["name"]: r["id"] for r in server.ready()}
            id_ = ids["stripped.dat"]
            before = server.get(f"/data/{id_}/missing_names")
            found = run_walk("page_names_walk.mjs", {
                "address": server.address, "id": id_, "other": ids["other.dat"],
                "servers": made["servers"], "function": FUNCTION, "quiet": True,
                "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)
            found["versions"] = {r["name"]: r["version"] for r in server.ready()}
            found["before"], found["after"] = before, server.get(f"/data/{id_}/missing_names")
            return found
    finally:
        for name in made["env"]:
            os.environ.pop(name)


def test_the_page_fetches_names(seen, made):
    is_ = walked(seen, "fetches")
    assert is_["note"].startswith("Names of functions are missing in stripped (")
    assert "libgcc" not in is_["note"]
    assert all(name.startswith("stripped+0x") for name in is_["functions"][:2])
    assert is_["looking"].startswith("Looking for names")
    assert FUNCTION in [name.split("(")[0] for name in is_["named"]]
    assert is_["notes"] == 0 or not seen["after"]["debuginfod"]["problem"]
    assert seen["versions"]["stripped.dat"] > seen["versions"]["other.dat"] == 1
    assert seen["before"]["debuginfod"] == {**seen["after"]["debuginfod"], "asked": False}
    assert "stripped" not in [m["name"] for m in seen["after"]["modules"]]
    assert any(path in Debuginfod.files for path in Debuginfod.asked)


def test_the_note_stays_closed(seen):
    is_ = walked(seen, "closes")
    assert (is_["closed"], is_["again"], is_["overview"]) == (0, 0, 0)


def test_looks(seen):
    assert seen["overflow"] == [] and seen["problems"] == []
    assert {name: found for name, found in seen["violations"].items() if found} == {}
