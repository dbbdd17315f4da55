# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs on another processor: Debian's kernel for it, booted in full-system emulation.

A Machine is given jobs first, each a command with its environment; then it boots once, runs them
one after the other, and what each printed, its status and the files that it wrote are there to look
at.  The system is an initramfs: Debian's packages for that processor (scripts/foreign-root), what
scripts/cross has built, and the jobs' programs.  Results come back as a tar archive on a virtual
disk.  Nothing of this computer is changed.
"""
import glob
import lzma
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import time

import harness

TIMEOUT = 1500  # of a boot with all its jobs
LIBRARIES = """libstdc++6 libgcc-s1 libzstd1 liblz4-1 libdw1 libelf1 libmicrohttpd12
libcurl3-gnutls liblua5.4-0 libdeflate0 libpcre2-8-0 libxxhash0 libzydis4.0 libcapstone4
zlib1g libjemalloc2""".split()


class Processor:
    def __init__(self, name, debian, triplet, kernel, qemu, console, modules, kernels=None,
                 processors=2, disk="virtio-blk-device", absent=(), packed=False, flags=(),
                 lacks=()):
        self.name, self.debian, self.triplet, self.kernel = name, debian, triplet, kernel
        self.processors, self.disk = processors, disk
        self.absent = absent # libraries that Debian has not got for it
        self.packed = packed # the initramfs is compressed: there is little room for it
        self.flags = flags # what programs need to be compiled with for stacks
        self.lacks = lacks # what is not done there: cases ask
        self.kernels = kernels or {} # with pages of other sizes: release and package
        self.qemu, self.console, self.modules = qemu, console, modules
        self.build = os.path.join(harness.ROOT, "build-" + name)


PROCESSORS = {p.name: p for p in (
    Processor(
        "aarch64", "arm64", "aarch64-linux-gnu", "linux-image-arm64",
        # The cheap algorithm for signatures of addresses: they are made at every call.
        ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on,lpa2=off"], "ttyAMA0",
        ["virtio_mmio", "virtio_blk"], {"16k": ("trixie", "linux-image-arm64-16k")}),
    # This computer has one processor, 2 GiB, and an initramfs in the first 256 MiB.
    Processor(
        "mips64el", "mips64el", "mips64el-linux-gnuabi64", "linux-image-5kc-malta",
        ["qemu-system-mips64el", "-M", "malta", "-cpu", "5KEc", "-vga", "none"], "ttyS0",
        ["virtio_pci", "virtio_blk"], processors=1, disk="virtio-blk-pci",
        absent=["libzydis4.0"], packed=True,
        lacks=("hooks in place", "signed addresses", "calls by name")),
    Processor(
        "armhf", "armhf", "arm-linux-gnueabihf", "linux-image-armmp",
        ["qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15"], "ttyAMA0",
        ["virtio_mmio", "virtio_blk"], flags=("-funwind-tables",),
        lacks=("hooks in place", "signed addresses", "frame records", "functions of Python")),
)}

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /out /run /root
/bin/busybox --install -s /usr/bin 2>/dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TZ=UTC TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ip link set lo up 2>/dev/null
for module in $(cat /modules); do insmod $module; done
echo 1 >/proc/sys/kernel/print-fatal-signals
# job NAME SECONDS COMMAND ...
job() {
	name=$1 limit=$2
	shift 2
	mkdir -p /tmp/$name
	cd /tmp/$name
	timeout -s KILL $limit "$@" >/out/$name.stdout 2>/out/$name.stderr </dev/null
	echo $? >/out/$name.status
	# The recorder's other half writes the file's end after the program's.
	for i in $(seq 300); do
		pidof memoir-collector >/dev/null || break
		sleep 0.1
	done
	echo "job $name: $(cat /out/$name.status), up $(cut -d. -f1 /proc/uptime) s"
}
. /jobs
cut -d' ' -f1 /proc/uptime >/out/uptime
dmesg | grep -vi 'random: crng' | tail -50 >/out/dmesg
cd /out
tar -c . >/dev/vda
sync
poweroff -f
"""


class Unavailable(Exception):
    """What is needed for this cannot be had here; the text says what."""


class Result:
    """What a job did."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        with open(os.path.join(folder, name + ".status"), encoding="ascii") as file:
            self.status = int(file.read())
        self.stdout, self.stderr = (self._read(end) for end in ("stdout", "stderr"))

    def _read(self, end):
        with open(os.path.join(self.folder, f"{self.name}.{end}"), "rb") as file:
            return file.read()

    def path(self, file):
        return os.path.join(self.folder, file)

    @property
    def own_stderr(self):
        return harness.Run(self.status, self.stdout, self.stderr, 0).own_stderr

    @property
    def recording(self):
        return harness.Recording(self.path(self.name + ".dat"), self)

    def __repr__(self):
        return (f"job {self.name}: status {self.status}, stdout {self.stdout[-500:]!r}, "
                f"stderr {self.stderr[-1500:]!r}")


def call(command, why, **keywords):
    """Runs a command; Unavailable where it says that packages cannot be had."""
    done = subprocess.run(command, cwd=harness.ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **keywords)
    text = done.stdout.decode(errors="replace")
    if done.returncode == 2:
        raise Unavailable(f"{why}: {text.strip().splitlines()[-1] if text.strip() else '?'}")
    assert done.returncode == 0, f"{why}: {text[-3000:]}"


class Machine:
    def __init__(self, arch, folder, targets, packages=(), kills=3, pages=None):
        self.processor, self.pages = PROCESSORS[arch], pages
        self.folder, self.kills = str(folder), kills
        self.packages, self.targets = list(packages), list(targets)
        self.stage = os.path.join(self.folder, "stage")
        self.jobs, self.seconds = [], {}
        os.makedirs(os.path.join(self.stage, "memoir"), exist_ok=True)
        for tool in (self.processor.qemu[0], self.processor.triplet + "-gcc", "cpio"):
            if not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")

    @property
    def root(self):
        return os.path.join(self.processor.build, "root")

    def prepare(self):
        """Builds for the processor, and has Debian's packages for it."""
        start = time.monotonic()
        call(["nice", "-n5", "scripts/cross", self.processor.name, *self.targets], "cross build")
        self.seconds["build"] = time.monotonic() - start
        start = time.monotonic()
        name = "boot-full" if self.packages else "boot"
        self.system = os.path.join(self.processor.build, name)
        call(["scripts/foreign-root", self.processor.debian, self.system, self.processor.kernel,
              "busybox", *(name for name in LIBRARIES if name not in self.processor.absent),
              *self.packages], "packages")
        self.kernel = self.system
        if self.pages:
            release, package = self.processor.kernels[self.pages]
            self.kernel = os.path.join(self.processor.build, "kernel-" + self.pages)
            call(["scripts/foreign-root", f"{self.processor.debian}/{release}", self.kernel,
                  package], "kernel")
        self.seconds["packages"] = time.monotonic() - start

    def compile(self, name, *flags, source=None, shared=False, libraries=()):
        """Cross-compiles tests/e2e/programs/<source>; gives its path in the machine."""
        source = source or name
        path = next(p for p in (os.path.join(harness.PROGRAMS, source + end)
                                for end in (".c", ".cpp")) if os.path.exists(p))
        compiler = self.processor.triplet + ("-g++" if path.endswith(".cpp") else "-gcc")
        out = os.path.join(self.stage, "memoir", name)
        cxx = path.endswith(".cpp")
        subprocess.run([compiler, "--sysroot=" + self.root, "-std=c++17" if cxx else "-std=gnu17",
                        "-g", "-w", "-D_GNU_SOURCE", "-pthread",
                        "-fsized-deallocation" if cxx else "-fno-builtin",
                        *self.processor.flags, *flags, *(["-shared", "-fPIC"] if shared else []),
                        path, "-o", out, "-ldl", *libraries], check=True, cwd=harness.PROGRAMS)
        return "/memoir/" + name

    def add(self, name, command, env=None, record=True, library="libmemoir.so", limit=300,
            script=None):
        """A job: a command, or a shell script; recorded with the library preloaded."""
        words = ["env"]
        env = dict(env or {})
        if record:
            env = {"LD_PRELOAD": "/memoir/" + library, "MEMORY_PROFILER_OUTPUT": f"/out/{name}.dat",
                   **env}
        words += [f"{key}={value}" for key, value in env.items()]
        if script:
            where = os.path.join(self.stage, "memoir", name + ".sh")
            with open(where, "w", encoding="utf-8") as file:
                file.write("#!/bin/busybox sh\n" + script)
            os.chmod(where, 0o755)
            command = ["/memoir/" + name + ".sh"]
        words += [str(word) for word in command]
        self.jobs.append(f"job {name} {limit} " + shlex.join(words) + "\n")

    def _put_modules(self):
        """Kernel modules with what they need; their names in the order in which to load them."""
        (base,) = glob.glob(os.path.join(self.kernel, "usr/lib/modules/*"))
        builtin = open(os.path.join(base, "modules.builtin"), encoding="ascii").read()
        order = []

        def add(name):
            if f"/{name}.ko" in builtin:
                return
            found = glob.glob(os.path.join(base, f"kernel/**/{name}.ko*"), recursive=True)
            assert found, f"no kernel module {name}"
            with (lzma.open if found[0].endswith(".xz") else open)(found[0], "rb") as file:
                module = file.read()
            needs = re.search(rb"[\0]depends=([^\0]*)", module)[1].decode()
            for each in filter(None, needs.split(",")):
                add(each)
            with open(os.path.join(self.stage, name + ".ko"), "wb") as file:
                file.write(module)
            if name not in order:
                order.append(name)
        for name in self.processor.modules:
            add(name)
        return order

    def _make_initramfs(self):
        stage, system = self.stage, self.system
        for name in self.targets:
            built = os.path.join(self.processor.build, name)
            if os.path.isfile(built):
                shutil.copy(built, os.path.join(stage, "memoir"))
        modules = self._put_modules()
        with open(os.path.join(stage, "modules"), "w", encoding="ascii") as file:
            file.write(" ".join(f"/{name}.ko" for name in modules))
        with open(os.path.join(stage, "init"), "w", encoding="utf-8") as file:
            file.write(INIT)
        os.chmod(os.path.join(stage, "init"), 0o755)
        with open(os.path.join(stage, "jobs"), "w", encoding="utf-8") as file:
            file.writelines(self.jobs)
        out = os.path.join(self.folder, "initramfs")
        # Two archives behind each other are one to the kernel.
        skip = r"^\./(boot|\.apt|usr/lib/modules|usr/share/(doc|man|locale|info|i18n)|usr/include)"
        with open(out, "wb") as file:
            for folder, leave in ((system, skip), (stage, "^$")):
                subprocess.run(f"find . | grep -vE '{leave}' | cpio -o -H newc -R 0:0 --quiet",
                               shell=True, cwd=folder, check=True, stdout=file)
        if self.processor.packed:
            subprocess.run(["zstd", "-q", "-3", "-T2", "--rm", "-f", out, "-o", out + ".zst"],
                           check=True)
            os.rename(out + ".zst", out)
        return out

    def boot(self, memory="2G"):
        """Boots, runs the jobs, and returns {name: Result}."""
        start = time.monotonic()
        initramfs = self._make_initramfs()
        disk = os.path.join(self.folder, "disk")
        with open(disk, "wb") as file:
            file.truncate(2 << 30)
        (kernel,) = glob.glob(os.path.join(self.kernel, "boot/vmlinu*"))
        self.seconds["image"] = time.monotonic() - start
        start = time.monotonic()
        log = os.path.join(self.folder, "console")
        with open(log, "wb") as file:
            subprocess.run([
                "nice", "-n5", *self.processor.qemu, "-smp", str(self.processor.processors),
                "-m", memory, "-nographic",
                "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", initramfs,
                "-drive", f"file={disk},if=none,id=out,format=raw",
                "-device", self.processor.disk + ",drive=out",
                "-append", f"console={self.processor.console} loglevel=4 panic=-1"],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                check=True)
        self.seconds["boot and run"] = time.monotonic() - start
        os.remove(initramfs)
        out = os.path.join(self.folder, "out")
        os.makedirs(out, exist_ok=True)
        try:
            with tarfile.open(disk) as archive:
                archive.extractall(out)
        except tarfile.TarError:
            with open(log, errors="replace", encoding="utf-8") as file:
                raise AssertionError("nothing came back: " + file.read()[-3000:]) from None
        os.remove(disk)
        return {name[:-7]: Result(out, name[:-7]) for name in sorted(os.listdir(out))
                if name.endswith(".status")}
