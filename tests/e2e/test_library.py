# SPDX-License-Identifier: GPL-2.0-or-later
"""libstacktrace as users have it: installed, linked with pkg-config, and in three live profilers."""
import os
import re
import subprocess

import pytest

from conftest import BUILD, EXAMPLES, ROOT, needs_bpf, wait_worked

# The program of docs/libstacktrace.md.
PROGRAM = re.search(r"```c\n(.*?)```", (ROOT / "docs/libstacktrace.md").read_text(), re.S)[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that `make install-library` filled, with an environment for pkg-config."""
    dest = tmp_path_factory.mktemp("dest")
    subprocess.run(["make", "-s", "install-library", f"DESTDIR={dest}", "PREFIX=/usr"], cwd=ROOT, check=True)
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(dest), LD_LIBRARY_PATH=str(dest / "usr/lib"),
               PKG_CONFIG_PATH=f"{dest}/usr/lib/pkgconfig")
    return dest, env


def flags(env, *what):
    return subprocess.run(["pkg-config", *what, "libstacktrace"], env=env, check=True, capture_output=True,
                          text=True).stdout.split()


def check(text):
    *frames, end = text.splitlines()
    assert [f.split()[1] for f in frames] == ["main", "__libc_start_call_main", "__libc_start_main", "_start"]
    assert end == "root"


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang"])
def test_a_program_links_with_pkg_config(installed, tmp_path, compiler):
    dest, env = installed
    source = tmp_path / ("p.cc" if compiler == "g++" else "p.c")
    source.write_text(PROGRAM)
    subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-Werror", *flags(env, "--cflags"), "-o", tmp_path / "p", source,
                    *flags(env, "--libs")], check=True)
    out = subprocess.run([tmp_path / "p"], env=env, check=True, capture_output=True, text=True)
    assert out.stderr == ""
    check(out.stdout)
    needed = subprocess.run(["readelf", "-d", tmp_path / "p"], check=True, capture_output=True, text=True).stdout
    assert "[libstacktrace.so.0]" in needed


def test_the_static_library_exports_no_internal_name(installed, tmp_path):
    dest, env = installed
    # our internal names must not clash
    (tmp_path / "p.c").write_text(PROGRAM + "\nint buf__free, elf_file__new, process_table__new;\n")
    subprocess.run(["gcc", *flags(env, "--cflags"), "-o", tmp_path / "p", tmp_path / "p.c", dest / "usr/lib/libstacktrace.a",
                    "-ldw", "-lelf", "-llzma", "-lz", "-liberty"], check=True)
    check(subprocess.run([tmp_path / "p"], check=True, capture_output=True, text=True).stdout)


UPSTREAM = """
#ifndef _LIBDWFL_STACKTRACE_H
#define _LIBDWFL_STACKTRACE_H 1
#include <elfutils/libdwfl.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct Dwflst_Process_Tracker Dwflst_Process_Tracker;
extern Dwflst_Process_Tracker *dwflst_tracker_begin (const Dwfl_Callbacks *callbacks);
extern uint64_t dwflst_perf_sample_preferred_regs_mask (GElf_Half machine);
#ifdef __cplusplus
}
#endif
#endif
"""
SHIM = "#include <dwflst_compat.h>\n"
THEIRS = "#include <elfutils/libdwfl_stacktrace.h>\n"


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_the_shim_works_beside_the_upstream_header(installed, tmp_path, compiler):
    """elfutils 0.193 also has these functions."""
    _, env = installed
    (tmp_path / "elfutils").mkdir()
    (tmp_path / "elfutils" / "libdwfl_stacktrace.h").write_text(UPSTREAM)
    source = tmp_path / ("p.cc" if compiler == "g++" else "p.c")
    command = [compiler, "-Wall", "-Werror", "-fsyntax-only", "-Wno-unused-function", f"-I{tmp_path}", *flags(env, "--cflags"), source]
    for includes, fits in (SHIM, True), (SHIM + THEIRS, True), (THEIRS, True), (THEIRS + SHIM, False):
        source.write_text(includes + "int main(void) { return !dwflst_perf_sample_preferred_regs_mask(EM_X86_64); }\n")
        p = subprocess.run(command, capture_output=True, text=True)
        assert (p.returncode == 0) == fits, p.stderr
    assert "include only one of them" in p.stderr


def test_nothing_but_the_header_is_exported(installed):
    dest, _ = installed
    header = (dest / "usr/include/stacktrace.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    declared = set(re.findall(r"\b(stacktrace_\w+)\(", code)) - set(re.findall(r"typedef[^;]*", code))
    declared = {name for name in declared if "##" not in name and not name.endswith("_init")}
    names = subprocess.run(["nm", "-D", "--defined-only", dest / "usr/lib/libstacktrace.so"], check=True, capture_output=True,
                           text=True).stdout.split("\n")
    symbols = {line.split()[-1] for line in names if line and " A " not in line}
    assert {s.split("@@")[0] for s in symbols} == declared
    assert {s.split("@@")[1] for s in symbols} == {"STACKTRACE_0.1"}


def test_manual_pages_name_each_function(installed):
    dest, _ = installed
    text = "".join(p.read_text() for p in (dest / "usr/share/man/man3").iterdir())
    names = re.findall(r"^\t(stacktrace_\w+);", (ROOT / "src/libstacktrace/libstacktrace.map").read_text(), re.M)
    assert names
    for name in names:
        assert re.search(rf"\b{name}\b", text), name
        assert (dest / f"usr/share/man/man3/{name}.3").exists(), name
    for page in (dest / "usr/share/man/man3").iterdir():
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
        assert lint.returncode == 0, lint.stdout


def test_uninstall_leaves_nothing(tmp_path):
    for target in "install-library", "uninstall":
        subprocess.run(["make", "-s", target, f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT, check=True)
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == []


@pytest.fixture(scope="module")
def cpu():
    p = subprocess.Popen([EXAMPLES / "cpu", "600"], stdout=subprocess.DEVNULL)
    wait_worked(0.1, p)
    yield p
    p.kill()
    p.wait()


def folded(text):
    """[(names root first, count)]"""
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in text.splitlines()]


@needs_bpf
@pytest.mark.parametrize("name", ["profiler", "dwflst_profiler", "bpf_profiler"])
def test_live_profilers_print_their_usage(name):
    p = subprocess.run([EXAMPLES / "stacktrace" / name], capture_output=True, text=True)
    assert p.returncode == 2 and p.stderr.startswith(f"usage: {name} SECONDS")


@pytest.mark.parametrize("name", ["profiler", "dwflst_profiler", "bpf_profiler"])
def test_live_profilers_find_the_known_shares(cpu, name):
    """Three quarters of cpu's time are below render(), one quarter is below compress(). Every stack is complete."""
    total, seconds = 0, 2.5
    while total < 100:  # on a busy machine it takes longer
        assert seconds < 100
        out = subprocess.run([BUILD / "examples/stacktrace" / name, str(seconds), str(cpu.pid)], check=True, capture_output=True, text=True)
        stacks = folded(out.stdout)
        total = sum(n for _, n in stacks)
        seconds *= 3
    whole = sum(n for names, n in stacks if names[0] == "_start" and "main" in names)
    assert whole >= 0.97 * total, out.stdout
    render = sum(n for names, n in stacks if "render" in names)
    compress = sum(n for names, n in stacks if "compress" in names)
    assert render + compress >= 0.95 * total
    assert 0.55 < render / total < 0.92
    back = [names for names, _ in stacks if "by_value" in names]  # qsort calls back
    assert back and all("qsort_r" in names for names in back)


# As in OpenSSL's sha512_block_data_order_avx2(): the caller's stack pointer is in the red zone, and the CFA is *(rsp - 8) +
# 8.
# The stack pointer is at the start of a page: the red zone is in the page below.
RED_ZONE = r"""
__asm__(".globl spin\n.type spin, @function\n"
	"spin:\n.cfi_startproc\n"
	"mov %rsp, %rax\n.cfi_def_cfa_register %rax\n"
	"sub $4096, %rsp\nand $-4096, %rsp\n"
	"mov %rax, -8(%rsp)\n.cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8\n" /* breg7 -8; deref; plus_uconst 8 */
	"mov $3000000, %ecx\n1: dec %ecx\njne 1b\n"
	"mov -8(%rsp), %rsp\n.cfi_def_cfa %rsp, 8\n"
	"ret\n.cfi_endproc\n.size spin, . - spin");
void spin(void);
__attribute__((noinline)) void caller(void) { spin(); __asm__ volatile(""); }
int main(void) { for (;;) caller(); }
"""


@needs_bpf
def test_a_bpf_profiler_hands_over_the_red_zone(compile_c):
    p = subprocess.Popen([compile_c(RED_ZONE)])
    try:
        wait_worked(0.1, p)
        out = subprocess.run([EXAMPLES / "stacktrace/bpf_profiler", "2", str(p.pid)], check=True, capture_output=True, text=True)
    finally:
        p.kill()
        p.wait()
    stacks = folded(out.stdout)
    total = sum(n for _, n in stacks)
    whole = sum(n for names, n in stacks if names[0] == "_start" and names[-2:] == ["caller", "spin"])
    assert total > 20 and whole >= 0.9 * total, out.stdout
