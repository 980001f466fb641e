# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine in qemu without KVM: a kernel, a disk, and in memory busybox, the collector, the examples and their
libraries."""
import os
import pathlib
import re
import shutil
import subprocess

from conftest import BUILD, ROOT, Recording

ARCH = os.environ.get("ARCH", "x86_64")
VM = ROOT / ".deps" / "vm"
DEPS = VM if ARCH == "x86_64" else VM / ARCH
SECONDS = 600 if ARCH == "x86_64" else 1800

# qemu 7.2 computes wrong flags for cmpxchg16b, and 6.12 reads them before it sets others. If the CPU lacks the instruction,
# 6.12 works without it. Newer kernels cannot: their BPF local storage needs it.
CPU = {"trixie": "max,la57=off,cx16=off"} if ARCH == "x86_64" else {}
CPU_DEFAULT = {"x86_64": "max,la57=off", "aarch64": "max,pauth-impdef=on"}[ARCH]

UNIT_TESTS = ["test_capture_running", "test_capture_stack", "test_usercopy"]

# The console, and the disk to which the machine writes its recordings.
PORTS = {"x86_64": ("ttyS0", "ttyS1"), "aarch64": ("ttyAMA0", "ttyS0")}[ARCH]
MACHINE = {"x86_64": [], "aarch64": ["-machine", "virt"]}[ARCH]
TAR_PORT = {"x86_64": "isa-serial", "aarch64": "pci-serial"}[ARCH]
SYSCALL = {"x86_64": "do_syscall_64", "aarch64": "el0_svc"}[ARCH]  # on each kernel stack of a system call

# The CPUs of the machine take turns. If each had its own thread, one CPU could run code that another has patched meanwhile:
# 7.3 crashes then at an int3 that was there while a tracepoint was switched on.
ACCELERATOR = "tcg,thread=single"


def kernels():
    """The suites that tests/vm/setup was able to get."""
    return sorted(p.parent.name for p in DEPS.glob("*/release"))


def release(suite):
    """The version of its kernel, as (6, 12)."""
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", (DEPS / suite / "release").read_text()).groups()))


def attaches_to_functions(suite):
    """By fentry. AArch64 came to it with Linux 6.4 (DYNAMIC_FTRACE_WITH_DIRECT_CALLS)."""
    return ARCH == "x86_64" or release(suite) >= (6, 4)


def read_elf(program, what):
    return subprocess.run(["readelf", what, program], check=True, capture_output=True, text=True).stdout


def foreign_libraries(program):
    """Files of the architecture's Debian packages. The C library of the cross compiler is a different build and does not
    match the loader of these packages.
    The test brings along what is not among them."""
    found, todo = {re.search(r"interpreter: (\S+?)\]", read_elf(program, "-lW"))[1]}, [program]
    while todo:
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", read_elf(todo.pop(), "-dW")):
            path = next((p for folder in ("/lib", "/usr/lib") if (p := pathlib.Path(folder, f"{ARCH}-linux-gnu", name)).exists()), None)
            if path and str(path) not in found:
                found.add(str(path))
                todo.append(path)
    return found


def libraries(program):
    """The files that it is linked to, including the loader; none if it is no program."""
    if pathlib.Path(program).read_bytes()[:4] != b"\x7fELF":
        return set()
    if ARCH != "x86_64":
        return foreign_libraries(program) if "interpreter" in read_elf(program, "-lW") else set()
    return set(re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout))


def install(source, root, target):
    target = root / target.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def pack(root, out):
    """The folder as an archive that the kernel unpacks (newc)."""
    names = "\n".join(["."] + sorted(str(p.relative_to(root)) for p in root.rglob("*")))
    with open(out, "wb") as f:
        subprocess.run(["cpio", "-o", "-H", "newc"], cwd=root, input=names.encode(), stdout=f,
                       stderr=subprocess.DEVNULL, check=True)


def make_initramfs(folder, cases, more):
    root = folder / "root"
    install(DEPS / "busybox", root, "busybox")
    install(pathlib.Path(__file__).with_name("init"), root, "init")
    programs = {"collector": BUILD / "bin/collector"}
    programs |= {f"examples/{name}": BUILD / "examples" / name for name in ("cpu", "sleeper", "lock", "memory", "pingpong", "spans_async")}
    programs |= {f"tests/{name}": BUILD / "tests" / name for name in ("vfs_calls", "sockets", "connections", "threads_end", "hold_memory", *UNIT_TESTS)}
    for target, program in (programs | more).items():
        install(program, root, target)
        for library in libraries(program):
            install(library, root, library)
    (root / "cases").write_text(cases)
    pack(root, folder / "initramfs")
    return folder / "initramfs"


def make_disk(folder):
    """64 MiB of ext4, /dev/nvme0n1 in the machine."""
    disk = folder / "disk"
    with open(disk, "wb") as f:
        f.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk], check=True)
    return disk


class Machine:
    """The results of a machine that has run its cases."""

    def __init__(self, folder, suite, cases, more={}):
        """`more`: additional programs: {place in the machine: file}."""
        self.suite, self.folder, self.out = suite, folder, folder / "out"
        self.out.mkdir(parents=True)
        command = [
            "nice", "-n", "19", f"qemu-system-{ARCH}", *MACHINE, "-accel", ACCELERATOR, "-cpu", CPU.get(suite, CPU_DEFAULT),
            "-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", f"file:{folder}/console", "-chardev", f"file,id=tar,path={folder}/tar", "-device", f"{TAR_PORT},chardev=tar",
            "-drive", f"file={make_disk(folder)},if=none,id=disk,format=raw", "-device", "nvme,drive=disk,serial=1",
            "-kernel", DEPS / suite / "vmlinuz", "-initrd", make_initramfs(folder, cases, more),
            "-append", f"console={PORTS[0]} tar={PORTS[1]} panic=-1 quiet",
        ]
        try:
            subprocess.run(command, timeout=SECONDS, check=True, stdin=subprocess.DEVNULL)
            subprocess.run(["tar", "x", "-f", folder / "tar", "-C", self.out], check=True)
        except subprocess.SubprocessError as e:
            raise AssertionError(f"{suite}: {e}\n{self.console()}") from e

    def console(self):
        return (self.folder / "console").read_text(errors="replace")

    def said(self, name):
        path = self.out / name
        return path.read_text(errors="replace") if path.exists() else ""

    def recording(self, name):
        """Also of a machine that failed."""
        assert self.said(f"{name}.status"), self.console()
        return Recording(self.out / name, int(self.said(f"{name}.status")), self.said(f"{name}.stdout"), self.said(f"{name}.stderr"))
