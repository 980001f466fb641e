# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine in qemu, without KVM: a kernel, a disk, and in memory busybox, the collector, the examples and what they link to."""
import pathlib
import re
import shutil
import subprocess

from conftest import BUILD, ROOT, Recording

DEPS = ROOT / ".deps" / "vm"
SECONDS = 600

# qemu 7.2 computes wrong flags for cmpxchg16b, and 6.12 looks at them before it sets others: without the instruction it does
# without. Newer kernels cannot: their BPF local storage needs it.
CPU = {"trixie": "max,la57=off,cx16=off"}
CPU_DEFAULT = "max,la57=off"

# The machine's CPUs take turns. In threads of their own, one can run what another has patched since: 7.3 dies then of
# an int3 that was there while a tracepoint was switched on.
ACCELERATOR = "tcg,thread=single"


def kernels():
    """[suite] of those that tests/vm/setup could get."""
    return sorted(p.parent.name for p in DEPS.glob("*/release"))


def libraries(program):
    """Files that it is linked to, the loader too."""
    return set(re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout))


def install(source, root, target):
    target = root / target.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def pack(root, out):
    """The folder as an archive that the kernel unpacks (newc)."""
    names = "\n".join(["."] + sorted(str(p.relative_to(root)) for p in root.rglob("*")))
    with open(out, "wb") as f:
        subprocess.run([DEPS / "busybox", "cpio", "-o", "-H", "newc"], cwd=root, input=names.encode(), stdout=f,
                       stderr=subprocess.DEVNULL, check=True)


def make_initramfs(folder, cases):
    root = folder / "root"
    install(DEPS / "busybox", root, "busybox")
    install(pathlib.Path(__file__).with_name("init"), root, "init")
    programs = {"collector": BUILD / "bin/collector"}
    programs |= {f"examples/{name}": BUILD / "examples" / name for name in ("cpu", "sleeper", "lock", "memory", "pingpong", "spans_async")}
    programs |= {f"tests/{name}": BUILD / "tests" / name for name in ("vfs_calls", "sockets", "connections", "test_capture_running", "threads_end")}
    for target, program in programs.items():
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
    """What a machine that has run its cases left behind."""

    def __init__(self, folder, suite, cases):
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir(parents=True)
        command = [
            "nice", "-n", "19", "qemu-system-x86_64", "-accel", ACCELERATOR, "-cpu", CPU.get(suite, CPU_DEFAULT),
            "-smp", "2", "-m", "1024", "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", f"file:{folder}/console", "-serial", f"file:{folder}/tar",
            "-drive", f"file={make_disk(folder)},if=none,id=disk,format=raw", "-device", "nvme,drive=disk,serial=1",
            "-kernel", DEPS / suite / "vmlinuz", "-initrd", make_initramfs(folder, cases),
            "-append", "console=ttyS0 panic=-1 quiet",
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
        """Also one that failed."""
        assert self.said(f"{name}.status"), self.console()
        return Recording(self.out / name, int(self.said(f"{name}.status")), self.said(f"{name}.stdout"), self.said(f"{name}.stderr"))
