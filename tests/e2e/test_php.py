# SPDX-License-Identifier: GPL-2.0-or-later
"""PHP: a program's functions, methods, closures and functions in C, with lines, from every event source."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from conftest import needs_bpf, wait_for
from scriptcalls import check_callers, shown, stopped_stacks, write

pytestmark = needs_bpf

OPCACHE = ["-d", "opcache.enable=1", "-d", "opcache.enable_cli=1"]
JIT = [*OPCACHE, "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.jit=tracing"]


def interpreters():
    """The one of this system, and those that STACKS_PHPS names (a list like PATH): with and without opcache and its JIT, if
    it has them. Each is a command."""
    found = [p for p in [shutil.which("php", path="/usr/bin"), *os.environ.get("STACKS_PHPS", "").split(":")] if p]
    for php in found:
        yield [php]
        if "Zend OPcache" in subprocess.run([php, "-v"], capture_output=True, text=True).stdout:
            yield [php, *OPCACHE]
            yield [php, *JIT]


PHPS = list(interpreters())
every_php = pytest.mark.parametrize("php", PHPS, ids=["-".join([pathlib.Path(p[0]).name, *[["opcache"], ["jit"]][len(p) > 5][:len(p) > 1]]) for p in PHPS])
if not PHPS:
    pytestmark = pytest.mark.skip(reason="no PHP in /usr/bin (Debian: php-cli)")

BUSY = r"""<?php
function spin($n) {
    $t = 0;
    for ($i = 0; $i < $n; $i++) {
        $t = ($t + $i * $i) % 1000003;
    }
    return $t;
}
function key_of($x) {
    return spin(2000);
}
function callbacks() {
    return array_map('key_of', [1, 2, 3]);
}
function recurse($n) {
    if ($n == 0) return spin(20000);
    return recurse($n - 1);
}
function generate() {
    yield spin(5000);
}
class A {
    private $x;
    function __construct() {
        $this->x = spin(5000);
    }
    function method() {
        $a = [2, 1];
        usort($a, function ($x, $y) {
            return spin(2000) * 0 + $x - $y;
        });
    }
    static function replaces() {
        return preg_replace_callback('/b/', fn($m) => spin(2000), 'abc');
    }
    function __toString() {
        return (string)spin(2000);
    }
    function __get($name) {
        return spin(2000);
    }
}
function fails() {
    try {
        throw new Exception((string)spin(2000));
    } catch (Exception $e) {
        spin(2000);
    } finally {
        spin(2000);
    }
}
function main() {
    $finish = 1.2; // seconds of CPU time
    while (($u = getrusage())['ru_utime.tv_sec'] + $u['ru_utime.tv_usec'] / 1e6 < $finish) {
        callbacks();
        recurse(300);
        foreach (generate() as $x);
        (new A())->method();
        A::replaces();
        $s = "x" . new A();
        $s = (new A())->nothing;
        fails();
    }
}
main();
"""

# Each function's possible callers, with the lines of the calls; None: a function in C.
CALLS = {
    "spin": {("key_of", 10), ("recurse", 16), ("generate", 20), ("A::__construct", 25), ("{closure}", 30), ("{closure}", 34),
             ("A::__toString", 37), ("A::__get", 40), ("fails", 45), ("fails", 47), ("fails", 49)},
    "key_of": {("array_map", None)},
    "array_map": {("callbacks", 13)},
    "callbacks": {("main", 55)},
    "recurse": {("recurse", 17), ("main", 56)},
    "generate": {("main", 57)},
    "A::__construct": {("main", 58), ("main", 60), ("main", 61)},
    "usort": {("A::method", 31), ("A::method", 29)},
    "{closure}": {("usort", None), ("preg_replace_callback", None)},
    "A::method": {("main", 58)},
    "A::replaces": {("main", 59)},
    "A::__toString": {("main", 60)},
    "A::__get": {("main", 61)},
    "fails": {("main", 62)},
    "main": {("{main}", 65)},
}


def plain(name):
    """Without the place of a closure."""
    return re.sub(r"^.*\{closure.*", "{closure}", name)


def calls(stack):
    """(name, line) of the calls of a program, leaf first. Those of a function in C have no line."""
    return [(plain(f["name"]), None if f["module"].startswith("<") else f["line"]) for f in stack if f["mark"] in ("php", "php_order")]


@every_php
def test_a_busy_program_has_whole_stacks_in_the_right_order(record, tmp_path, php):
    script = write(tmp_path, BUSY, "prog.php")
    r = record("-p", "profile:u:499", "--", *php, script)
    rows = r.rows("SELECT ustack, unwind FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL")
    program = [(calls(s), u, s) for s, u in rows if any(f["module"] == str(script) for f in s)]
    assert not any(f["mark"] == "php_gone" for _, _, stack in program for f in stack)
    inexact = check_callers(program, CALLS, "{main}")
    assert len(inexact) <= 0.01 * len(program), inexact


WAITING = r"""<?php
[, $folder, $loaded] = $argv;
function stops() {
    global $folder;
    $found = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    file_put_contents("$folder/new-" . getmypid(), json_encode($found));
    rename("$folder/new-" . getmypid(), "$folder/" . getmypid());
    sleep(1000);
}
const STOPS_AT = 8;
function deep($n, $enter) { return $n ? deep($n - 1, $enter) : $enter(); }
class Base {
    function inherited() { stops(); }
}
trait Loud {
    function used() { stops(); }
}
class Sleeper extends Base implements IteratorAggregate, ArrayAccess, Countable {
    use Loud;
    function __call($name, $args) { stops(); }
    static function __callStatic($name, $args) { stops(); }
    function __get($name) { stops(); }
    function __set($name, $value) { stops(); }
    function __isset($name) { stops(); return true; }
    function __toString() { stops(); return ''; }
    function __invoke($x) { stops(); }
    function getIterator(): Iterator { stops(); return new ArrayIterator([]); }
    function offsetGet($x): mixed { stops(); return 0; }
    function offsetSet($x, $y): void { stops(); }
    function offsetExists($x): bool { stops(); return true; }
    function offsetUnset($x): void { stops(); }
    function count(): int { stops(); return 0; }
    function closure() { return function () { stops(); }; }
    static function made() { return static fn() => stops(); }
}
class Dies { function __destruct() { stops(); } }
class Builds { function __construct() { stops(); } }
function generates() { yield 1; stops(); yield 2; }
function generates_outer() { yield 0; foreach (generates() as $x) yield $x; }
function delegates() { yield from generates(); }
function fails() { throw new Exception('x'); }
$enters = [
    'function' => fn() => stops(),
    'sorts' => fn() => usort_of([2, 1]),
    'maps' => fn() => array_map(fn($x) => stops(), [1]),
    'maps_a_name' => fn() => array_map('stops', [1]),
    'walks' => function () { $a = [1]; array_walk($a, function ($x) { stops(); }); },
    'filters' => fn() => array_filter([1], fn($x) => stops()),
    'reduces' => fn() => array_reduce([1], fn($a, $x) => stops(), 0),
    'replaces' => fn() => preg_replace_callback('/b/', fn($m) => stops(), 'abc'),
    'calls' => fn() => call_user_func('stops'),
    'calls_an_array' => fn() => call_user_func_array([new Sleeper(), 'used'], []),
    'nests' => fn() => array_map(fn($x) => array_map(fn($y) => usort_of([2, 1]), [1]), [1]),
    'inherits' => fn() => (new Sleeper())->inherited(),
    'uses_a_trait' => fn() => (new Sleeper())->used(),
    'misses' => fn() => (new Sleeper())->nothing(),
    'misses_statically' => fn() => Sleeper::nothing(),
    'gets' => fn() => (new Sleeper())->nothing,
    'sets' => function () { $s = new Sleeper(); $s->nothing = 1; },
    'tests' => fn() => isset((new Sleeper())->nothing),
    'prints' => fn() => "x" . new Sleeper(),
    'invokes' => fn() => (new Sleeper())(1),
    'iterates' => function () { foreach (new Sleeper() as $x); },
    'reads_an_element' => fn() => (new Sleeper())[1],
    'writes_an_element' => function () { $s = new Sleeper(); $s[1] = 2; },
    'unsets_an_element' => function () { $s = new Sleeper(); unset($s[1]); },
    'counts' => fn() => count(new Sleeper()),
    'closes' => fn() => (new Sleeper())->closure()(),
    'closes_statically' => fn() => Sleeper::made()(),
    'builds' => fn() => new Builds(),
    'builds_by_reflection' => fn() => (new ReflectionClass('Builds'))->newInstance(),
    'destroys' => function () { $d = new Dies(); $d = null; },
    'generates' => function () { foreach (generates() as $x); },
    'generates_by_hand' => function () { $g = generates(); $g->current(); $g->next(); },
    'generates_twice' => function () { foreach (generates_outer() as $x); },
    'spreads' => fn() => [...generates()],
    'catches' => function () { try { fails(); } catch (Exception $e) { stops(); } },
    'finally' => function () { try { fails(); } finally { stops(); } },
    'includes' => fn() => require $loaded,
    'evaluates' => fn() => eval("\n\nreturn stops();"),
    'binds' => fn() => Closure::bind(function () { stops(); }, new Sleeper(), 'Sleeper')(),
    'is_first_class' => fn() => (stops(...))(),
    'is_anonymous' => fn() => (new class { function named() { stops(); } })->named(),
    'loads' => function () { spl_autoload_register(function ($n) { stops(); }); new Missing(); },
    'buffers' => function () { ob_start(function ($b) { stops(); return $b; }); echo 1; ob_end_flush(); },
    'handles_errors' => function () { set_error_handler(function () { stops(); }); echo $undefined; },
    'serializes' => fn() => json_encode(new class implements JsonSerializable { function jsonSerialize(): mixed { stops(); return 1; } }),
    'runs_a_fiber' => function () { (new Fiber(function () { stops(); }))->start(); },
    'resumes_a_fiber' => function () { $f = new Fiber(function () { Fiber::suspend(); stops(); }); $f->start(); $f->resume(); },
    'delegates' => function () { foreach (delegates() as $x); },
    'shuts_down' => function () { register_shutdown_function(fn() => stops()); exit(0); },
];
function usort_of($a) { usort($a, function ($x, $y) { stops(); return 0; }); }
$n = 0;
foreach ($enters as $name => $enter) {
    $n++;
    if (($pid = pcntl_fork()) == 0) {
        deep($n, $enter);
        exit(0);
    }
    $names[$pid] = $name;
}
file_put_contents("$folder/new-names", json_encode($names));
rename("$folder/new-names", "$folder/names");
sleep(1000);
"""

FIBERS = {"runs_a_fiber", "resumes_a_fiber"}  # the native stack ends where the fiber begins
DELEGATING = {"delegates"}  # PHP links the generators between only when it is asked for a backtrace


def is_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def said_calls(script, found):
    """What debug_backtrace() has, as (name, path, line) or, of functions in C, (name,). It has the place of the call with
    the callee."""
    place = (str(script), 8)
    said = [("sleep",)]
    for f in found:
        name = f["class"] + "::" + f["function"] if "class" in f else f["function"]
        name = "{main}" if name in ("require", "include") else "{eval}" if name == "eval" else re.sub(r"\0.*(?=::)", "", plain(name))
        said.append((name, *place) if place else (name,))
        place = (f["file"], f["line"]) if "file" in f else None
    return said + ([("{main}", *place)] if place else [])


def our_calls(stack):
    ours = [(plain(f["name"]), f["module"], f["line"]) for f in stack if f["mark"] in ("php", "php_order")]
    return [(n,) if m.startswith("<") else (n, m, line) for n, m, line in ours]


@every_php
def test_stopped_programs_are_where_php_says(start, spawn, request, tmp_path, php):
    said = tmp_path / "said"
    said.mkdir()
    script = write(tmp_path, WAITING, "prog.php")
    program = spawn(*php, script, said, write(tmp_path, "<?php\n\nstops();\n", "loaded.php"), start_new_session=True)
    request.addfinalizer(lambda: os.killpg(program.pid, signal.SIGKILL))
    wait_for((said / "names").exists)
    names = {int(k): v for k, v in json.loads((said / "names").read_text()).items()}
    wait_for(lambda: all((said / str(p)).exists() and is_stopped(p) for p in names))
    expected = {p: said_calls(script, json.loads((said / str(p)).read_text())) for p in names}
    found = stopped_stacks(start, program, "php", len(names))
    assert len(names) > 45
    differing = {n: p for p, n in names.items() if expected[p] != our_calls(found.get(p, []))}
    assert differing.keys() <= DELEGATING, "\n".join(
        f"{n}: {expected[p]}\n{shown(found[p]) if p in found else 'no stack'}" for n, p in differing.items() if n not in DELEGATING)
    by_order = [n for p, n in names.items() if any(f["mark"] == "php_order" for f in found[p])]
    assert set(by_order) <= FIBERS


SOURCES = """<?php
function writes($f) { fwrite($f, str_repeat('x', 65536)); fflush($f); }
function sends($s) { fwrite($s, 'x'); }
function allocates() { return str_repeat('x', 1 << 22); }
function sleeps() { usleep(1000); }
$server = stream_socket_server('tcp://127.0.0.1:0');
$client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
$peer = stream_socket_accept($server);
$file = fopen($argv[1], 'w');
$finish = hrtime(true) + 2000000000;
for ($i = 0; $i < 60 || hrtime(true) < $finish; $i++) {
    writes($file); sends($client); fread($peer, 1); allocates(); sleeps();
}
"""


@every_php
def test_every_source_has_the_functions(record, tmp_path, php):
    script = write(tmp_path, SOURCES, "prog.php")
    r = record("-p", "switch:u,rss:u:29,vfs:u,net:u", "--", *php, script, tmp_path / "out")
    for kind, function in [("switch", "sleeps"), ("rss", "allocates"), ("vfs_write", "writes"), ("tcp_send", "sends")]:
        cnt = r.one(f"""
            SELECT count(*) FROM stacks WHERE kind = '{kind}' AND
            list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), '{function}:{script}')""")
        assert cnt > 20, kind


DEEP = """<?php
function deep($n) { return $n ? deep($n - 1) : stops(); }
function deeper($n) { return $n ? array_map(fn($x) => deeper($x), [$n - 1]) : stops(); }
function stops() { touch("$GLOBALS[folder]/" . getmypid()); sleep(1000); }
$folder = $argv[1];
if (pcntl_fork()) deep(1000); else deeper(150);
"""


@every_php
def test_deep_stacks_are_whole(start, spawn, request, tmp_path, php):
    script, stopped = write(tmp_path, DEEP, "prog.php"), tmp_path / "stopped"
    stopped.mkdir()
    program = spawn(*php, script, stopped, start_new_session=True)
    request.addfinalizer(lambda: os.killpg(program.pid, signal.SIGKILL))
    wait_for(lambda: len(os.listdir(stopped)) == 2 and all(is_stopped(p) for p in os.listdir(stopped)))
    stacks = [[f["name"] for f in s] for s in stopped_stacks(start, program, "php").values()]
    assert max(s.count("deep") for s in stacks) == 1001
    assert max(s.count("deeper") for s in stacks) == 151
    assert all(s.count("{main}") == 1 for s in stacks)


def fastcgi(socket_path, script):
    """Sends one request to PHP-FPM and returns the answer."""
    def record(kind, content):
        return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content

    params = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET"}
    pairs = b"".join(bytes([len(k), len(v)]) + (k + v).encode() for k, v in params.items())
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(socket_path))
        s.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b""))
        return b"".join(iter(lambda: s.recv(4096), b""))


FPM = """[global]
error_log = {0}/log
[www]
user = nobody
listen = {0}/socket
pm = static
pm.max_children = 2
"""


@pytest.mark.parametrize("option", ["opcache.file_update_protection=0", "opcache.enable=0"], ids=["opcache", "plain"])
def test_the_workers_of_fpm_show_which_script_waits(start, spawn, request, tmp_path, public, option):
    fpm = next(iter(sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))), None)
    if not fpm:
        pytest.skip("no PHP-FPM in /usr/sbin (Debian: php-fpm)")
    folder = public(write(tmp_path, "<?php function slow() { usleep(20000); } slow(); echo 'slow';", "slow.php")).parent
    shutil.copy(write(tmp_path, "<?php function fast() { usleep(1000); } fast(); echo 'fast';", "fast.php"), folder)
    config = write(tmp_path, FPM.format(tmp_path), "fpm.conf")
    master = spawn(fpm, "-F", "-y", config, "-R", "-d", option, start_new_session=True)
    request.addfinalizer(lambda: os.killpg(master.pid, signal.SIGKILL))
    wait_for((tmp_path / "socket").exists)
    collector = start("-p", "switch:u", fpm.name[:15])
    for _ in range(80):
        for name in ["slow", "fast"]:
            assert name.encode() in fastcgi(tmp_path / "socket", folder / f"{name}.php")
    r = collector.stop()
    rows = r.rows("""
        SELECT list_transform(list_filter(ustack, lambda f: f.mark IN ('php', 'php_order')), lambda f: [f.name, parse_filename(f.module)]), count(*)
        FROM stacks WHERE kind = 'switch' AND list_contains(list_transform(ustack, lambda f: f.name), 'usleep') GROUP BY ALL""")
    rows = [(s, c) for s, c in rows if s]  # in each worker the first events come before PHP is recognised
    whole = [[["usleep", "<standard>"], [n, f"{n}.php"], ["{main}", f"{n}.php"]] for n in ["slow", "fast"]]
    if option == "opcache.enable=0":  # a script may be freed before it is read: then less is said, but nothing wrong
        assert all(any(all(f in w for f in stack) for w in whole) for stack, _ in rows), rows
    else:
        assert sorted(s for s, _ in rows) == sorted(whole) and all(c >= 40 for _, c in rows), rows


FORGED = """
#include <stdint.h>
uint64_t module_registry[7], executor_globals[240];
static uint64_t module[8], functions[4096], frames[512][10];
void execute_ex(void)
{
	for (volatile uint64_t i = 0; i < 3000000000; i++)
		;
}
int main(void)
{
	static uint64_t buckets[4];

	module_registry[2] = (uintptr_t)buckets;
	module_registry[3] = 1ULL << 32 | 1;
	buckets[0] = (uintptr_t)module;
	module[0] = 20220829ULL << 32;
	executor_globals[36] = (uintptr_t)&executor_globals[36];
	executor_globals[61] = (uintptr_t)frames[511];
	for (int i = 0; i < 4096; i++)
		functions[i] = i % 7 == 0 ? 1 : i % 7 == 1 ? 2 : i % 5 ? (uintptr_t)&functions[i * 31 % 4096] : ~0ULL << i % 64;
	for (int i = 0; i < 512; i++) {
		frames[i][0] = (uintptr_t)&functions[i];
		frames[i][3] = i % 11 ? (uintptr_t)&functions[7 * i + i % 2] : i;
		frames[i][5] = i % 3 ? 0 : 1 << 17;
		frames[i][6] = (uintptr_t)frames[i ? i - 1 : 400]; /* they end nowhere */
	}
	execute_ex();
	return (int)module[1];
}
"""


def test_a_forged_runtime_is_bounded(record, compile_c, tmp_path):
    program = shutil.copy(compile_c(FORGED, "-O1", "-rdynamic"), tmp_path / "php")
    r = record("-p", "profile:u:499", "--", program)
    rows = r.rows("SELECT list_transform(ustack, lambda f: f.mark), unwind FROM stacks WHERE kind = 'profile' AND command = 'php' AND ustack_id IS NOT NULL")
    with_calls = [m for m, _ in rows if any((x or "").startswith("php") for x in m)]
    assert len(with_calls) > 100
    assert all(len(m) < 1100 for m, _ in rows)
    assert {u for m, u in rows if m in with_calls} == {"limit"}
    assert r.lost() == 0
