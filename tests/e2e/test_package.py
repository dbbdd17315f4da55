# SPDX-License-Identifier: MIT OR Apache-2.0
"""The release tarball, and the Debian package that is made of it: in a chroot that has what
debian/control names and nothing else, neither npm nor a network."""
import hashlib
import os
import re
import subprocess
import tarfile

import pytest

import harness

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("package")]
TIMEOUT = 1800
BUILD = """set -e
cd /build
tar -xf memoir-*.tar.xz
rm memoir-*.tar.xz
cd memoir-*
! command -v npm
! command -v node
DEB_BUILD_OPTIONS="nocheck parallel=2" unshare --net dpkg-buildpackage -us -uc
dpkg -i ../memoir_*.deb
AUTOPKGTEST_TMP=$(mktemp -d) debian/tests/record >../recorded
"""


def run(*words, **keywords):
    done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, **keywords)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def built_from():
    with open(os.path.join(harness.ROOT, "debian", "control"), encoding="utf-8") as file:
        rows = re.search(r"^Build-Depends:\n((?: .*\n)+)", file.read(), flags=re.M)[1]
    return [re.match(r"[a-z0-9.+-]+", row.strip())[0] for row in rows.splitlines()]


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    folders = [tmp_path_factory.mktemp(name) for name in ("once", "again")]
    for folder in folders:
        run(os.path.join(harness.ROOT, "scripts", "dist"), folder)
    (one,), (two,) = ([*folder.iterdir()] for folder in folders)
    assert one.name == two.name
    assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(two.read_bytes()).digest()
    return one


@pytest.fixture(scope="module")
def package(tarball, tmp_path_factory):
    """The folder with what dpkg-buildpackage writes."""
    out = tmp_path_factory.mktemp("package")
    (out / "go").write_text(BUILD)
    names = [name if name != "debhelper-compat" else "debhelper" for name in built_from()]
    run("mmdebstrap", "--variant=buildd", f"--include={','.join(names)}",
        '--customize-hook=mkdir "$1/build"', f"--customize-hook=copy-in {tarball} {out}/go /build",
        '--customize-hook=chroot "$1" sh /build/go',
        f'--customize-hook=cd "$1/build" && rm -r memoir-*/ && cp * {out}', "bookworm", "/dev/null")
    return out


def test_tarball_has_the_page_and_nothing_of_npm(tarball):
    with tarfile.open(tarball) as archive:
        names = archive.getnames()
    top = tarball.name.removesuffix(".tar.xz")
    assert {f"{top}/web/built/assets.c", f"{top}/web/built/report_page.c",
            f"{top}/debian/control"} <= set(names)
    assert not [name for name in names if "node_modules" in name or "/.git/" in name]


def test_make_needs_no_npm(tarball, tmp_path):
    """Nor a network: `make` in the unpacked tarball, and the page is in what it builds."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/usr/local/bin", "/usr/lib/ccache"):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in ("node", "nodejs", "npm", "npx") and not (tools / name).exists():
                (tools / name).symlink_to(os.path.join(folder, name))
    run("tar", "-xf", tarball, "-C", tmp_path)
    root = tmp_path / tarball.name.removesuffix(".tar.xz")
    run("unshare", "--net", "--map-root-user", "make", cwd=root, env=dict(
        os.environ, PATH=str(tools), CCACHE_BASEDIR=str(root), CCACHE_NOHASHDIR="1"))
    assert run(root / "build" / "memoir", "--version")
    with open(root / "build" / "memoir", "rb") as built:
        page = (root / "web" / "built" / "assets.c").read_text()
        assert re.search(r'"(/assets/[^"]+\.js)"', page)[1].encode() in built.read()


def test_package_records(package):
    assert re.match(r"peak \d{8}", (package / "recorded").read_text())


def test_completion_is_where_shells_look(package):
    deb, = package.glob("memoir_*.deb")
    files = run("dpkg-deb", "-c", deb)
    folders = run("zsh", "-fc", "print -l $fpath").splitlines()
    assert any(f"{folder}/_memoir\n" in files for folder in folders), folders
    for name in ("bash-completion/completions/memoir", "fish/vendor_completions.d/memoir.fish"):
        assert f"/usr/share/{name}\n" in files


def test_lintian_is_content(package):
    changes, = package.glob("*.changes")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", changes)
    assert not re.search(r"^[EW]:", said, flags=re.M), said


def test_preloaded_libraries_call_what_they_may(package, tmp_path):
    """Debian's flags (_FORTIFY_SOURCE, stack protector) add no import."""
    deb, = package.glob("memoir_*.deb")
    run("dpkg-deb", "-x", deb, tmp_path)
    folder, = tmp_path.glob("usr/lib/*/memoir")
    for policy in ("imports", "exports"):
        run("/usr/bin/python3", os.path.join(harness.ROOT, "tests", "policy", f"{policy}.py"),
            harness.ROOT, folder)


def test_versions_agree():
    with open(os.path.join(harness.ROOT, "debian", "changelog"), encoding="utf-8") as file:
        packaged = re.match(r"memoir \((.*?)\)", file.read())[1]
    assert f"memoir {packaged}\n" == run(harness.MEMOIR, "--version")
