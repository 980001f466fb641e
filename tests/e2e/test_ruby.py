# SPDX-License-Identifier: GPL-2.0-or-later
"""Ruby: a program's methods, blocks and C functions, with lines, from every event source."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import needs_bpf, wait_for
from scriptcalls import check_callers, stopped_stacks, write

pytestmark = needs_bpf


def interpreters():
    """The one of this system, with and without YJIT if it has that, and those that STACKS_RUBIES names (a list like
    PATH). Each is a command."""
    found = [p for p in [shutil.which("ruby", path="/usr/bin"), *os.environ.get("STACKS_RUBIES", "").split(":")] if p]
    for ruby in found:
        out = subprocess.run([ruby, "--yjit", "-v"], capture_output=True, text=True)
        yield [ruby]
        if "+YJIT" in out.stdout:
            yield [ruby, "--yjit", "--yjit-call-threshold=5"]


RUBIES = list(interpreters())
every_ruby = pytest.mark.parametrize("ruby", RUBIES, ids=["-".join([pathlib.Path(r[0]).name, *r[1:2]]) for r in RUBIES])
if not RUBIES:
    pytestmark = pytest.mark.skip(reason="no Ruby in /usr/bin (Debian: ruby)")

BUSY = """
def spin(n)
  t = 0
  i = 0
  while i < n
    t += i * i
    i += 1
  end
  t
end
def key(x)
  spin(2000)
end
def callbacks
  (1..20).sort_by { |x| key(x) }
end
def recurse(n)
  return spin(20000) if n == 0
  recurse(n - 1)
end
def generate
  yield spin(5000)
end
class A
  def initialize
    @x = spin(5000)
  end
  def method
    [1, 2].inject { |a, b| spin(1000) + a }
  end
  def <=>(other)
    spin(1000)
  end
end
def fails
  begin
    raise ArgumentError, spin(2000).to_s
  rescue ArgumentError
    spin(2000)
  ensure
    spin(2000)
  end
end
def main
  finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 1.2
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
    callbacks
    recurse(300)
    generate { |x| x }
    A.new.method
    [A.new, A.new].sort
    fails
  end
end
main
"""

# Each function's possible callers, with the lines of the calls; None: a method in C.
CALLS = {
    "spin": {("key", 12), ("recurse", 18), ("generate", 22), ("initialize", 26), ("block in method", 29), ("<=>", 32),
             ("fails", 37), ("rescue in fails", 39), ("ensure in fails", 41), ("fails", 41)},
    "key": {("block in callbacks", 15)},
    "block in callbacks": {("each", None)},
    "callbacks": {("main", 47)},
    "recurse": {("recurse", 19), ("main", 48)},
    "generate": {("main", 49)},
    "initialize": {("new", None)},
    "block in method": {("each", None)},
    "method": {("main", 50)},
    "<=>": {("sort", None)},
    "rescue in fails": {("fails", 36), ("fails", 38)},
    "ensure in fails": {("fails", 36), ("fails", 38)},
    "fails": {("main", 52)},
    "main": {("<main>", 55)},
}


def is_of_program(frame, script):
    return frame["module"] in (str(script), "<cfunc>") or (frame["module"] or "").startswith("<internal:")


def calls(stack, script):
    """(name, line) of the calls of a program, leaf first. Those of a method in C have no line."""
    return [(f["name"], f["line"] if f["module"] == str(script) else None) for f in stack if is_of_program(f, script)]


@every_ruby
def test_a_busy_program_has_whole_stacks_in_the_right_order(record, tmp_path, ruby):
    script = write(tmp_path, BUSY, "prog.rb")
    r = record("-p", "profile:u:499", "--", *ruby, script)
    rows = r.rows("SELECT ustack, unwind FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL")
    program = [(calls(s, script), u, s) for s, u in rows if any(f["module"] == str(script) for f in s)]
    assert not check_callers(program, CALLS, "<main>", is_known=lambda call: call[1] is not None)


WAITING = """
require 'json'
require 'socket'
require 'monitor'
def deep(n, enter)
  n == 0 ? enter.call : deep(n - 1, enter)
end
$lock = Mutex.new
$monitor = Monitor.new
$a, $b = UNIXSocket.pair
def sleeps; sleep 1000; end
def locks; $lock.lock; end
def synchronizes; $lock.synchronize { 1 }; end
def enters; $monitor.synchronize { 1 }; end
def reads_a_queue; Queue.new.pop; end
def waits_for_a_condition
  m = Mutex.new
  m.synchronize { ConditionVariable.new.wait(m) }
end
def receives; $a.recv(1); end
def selects; IO.select([$b]); end
def sorts; [1, 2].sort_by { |x| sleep 1000 }; end
def maps; [1].map { |x| sleep 1000 }; end
def eaches; [[1]].each { |x| x.each_with_index { |y, i| sleep 1000 } }; end
def folds; (1..3).inject { |a, b| sleep 1000 }; end
def counts; 3.times { |i| 1.upto(2) { sleep 1000 } }; end
def hashes; Hash.new { |h, k| sleep 1000 }[1]; end
class Sleeper
  def initialize; sleep 1000; end
  def to_s; sleep 1000; end
  def <=>(other); sleep 1000; end
  def method_missing(name, *args); sleep 1000; end
  def respond_to_missing?(*) = true
  define_method(:defined) { sleep 1000 }
  def each; yield 1; end
  include Enumerable
end
def instantiates; Sleeper.new; end
def prints; "#{Sleeper.allocate}"; end
def compares; [Sleeper.allocate, Sleeper.allocate].sort; end
def misses; Sleeper.allocate.nothing; end
def calls_a_defined_method; Sleeper.allocate.defined; end
def sends; Sleeper.allocate.public_send(:to_s); end
def enumerates; Sleeper.allocate.map { |x| sleep 1000 }; end
def enumerates_slices; Sleeper.allocate.each_slice(1) { |x| sleep 1000 }; end
def evaluates; eval('sleep 1000', binding, 'evaluated', 7); end
def evaluates_in_an_object; Sleeper.allocate.instance_eval { sleep 1000 }; end
def handles
  begin
    raise 'x'
  rescue
    sleep 1000
  end
end
def ensures
  begin
    1
  ensure
    sleep 1000
  end
end
def throws; catch(:x) { sleep 1000 }; end
def resumes; Fiber.new { Fiber.new { sleep 1000 }.resume }.resume; end
def takes_the_next; Enumerator.new { |y| sleep 1000 }.next; end
def is_lazy; (1..3).lazy.map { |x| sleep 1000 }.first(2); end
def calls_a_proc; proc { |x| sleep 1000 }.call(1); end
def calls_a_lambda; ->(x) { sleep 1000 }.(1); end
def calls_a_symbol; [Sleeper.allocate].map(&:to_s); end
def calls_a_method; [1].each(&method(:takes)); end
def takes(x); sleep 1000; end
def substitutes; 'abc'.gsub(/b/) { sleep 1000 }; end
def requires; load ARGV[1]; end
enters = private_methods(false).map(&:to_s) - %w[deep takes inspect to_s]
enters = Object.private_instance_methods(false).map(&:to_s) - %w[deep takes DelegateClass] if enters.size < 30
enters = enters.select { |e| method(e).source_location&.first == __FILE__ }
$lock.lock
$monitor.enter
threads = enters.each_with_index.map { |e, i| Thread.new { deep(i, method(e)) } }
def stopped?(t)
  id = t.native_thread_id
  id && File.read("/proc/#{id}/stat").rpartition(')').last.split.first == 'S' && t.status == 'sleep'
end
sleep 0.05 until threads.all? { |t| stopped?(t) }
sleep 0.3
found = threads.zip(enters).to_h { |t, e| [t.native_thread_id, [e, t.backtrace_locations.map { |l| [l.label, l.path, l.lineno] }]] }
File.write(ARGV[0] + '.new', JSON.dump(found))
File.rename(ARGV[0] + '.new', ARGV[0])
sleep 1000
"""


def unqualified(label):
    """From 3.4 on, labels have the class."""
    return re.sub(r"[\w:]+[#.](?=\S+$)", "", label)


def without_rescues(calls, expected):
    """From 3.4 on, a rescue or ensure has its method's name, and the method is left out."""
    if not any(n.startswith("rescue in") for n, *_ in expected):
        calls = [(n.removeprefix("rescue in "), *rest) for i, (n, *rest) in enumerate(calls)
                 if not i or not calls[i - 1][0].startswith("rescue in")]
    return calls


def comparable(expected, stack):
    """Both as [(name, path, line)], without what Ruby says only of the caller: the path and line of a method in C, and from
    3.4 on of one in Ruby's own files."""
    ours = [(f["name"], f["module"], f["line"]) for f in stack if f["mark"] in ("ruby", "ruby_order")]
    ours = without_rescues(ours, expected)
    own = [m == "<cfunc>" or m.startswith("<internal:") for _, m, _ in ours]
    ours = [(n,) if c else (n, m, l) for c, (n, m, l) in zip(own, ours)]
    own += [False] * (len(expected) - len(own))
    return [(unqualified(n),) if c else (unqualified(n), m, l) for c, (n, m, l) in zip(own, expected)], ours


@every_ruby
def test_stopped_threads_are_where_ruby_says(start, spawn, tmp_path, ruby):
    script, said = write(tmp_path, WAITING, "prog.rb"), tmp_path / "said.json"
    program = spawn(*ruby, script, said, write(tmp_path, "sleep 1000\n", "loaded.rb"))
    wait_for(said.exists)
    expected = {int(k): v for k, v in json.loads(said.read_text()).items()}
    found = stopped_stacks(start, program, "ruby")
    compared = {name: comparable(e, found.get(t, [])) for t, (name, e) in expected.items()}
    assert len(compared) > 35
    differing = {name: c for name, c in compared.items() if c[0] != c[1]}
    assert not differing, json.dumps(differing, indent=1)


SOURCES = """
require 'socket'
def writes(f) = f.syswrite('x' * 4096)
def sends(s) = s.send('x', 0)
def allocates = 'x' * (1 << 22)
def sleeps = sleep(0.001)
server = TCPServer.new('127.0.0.1', 0)
client = TCPSocket.new('127.0.0.1', server.addr[1])
peer = server.accept
file = File.open(ARGV[0], 'w')
finish = Time.now + 2
while Time.now < finish
  writes(file); sends(client); peer.recv(1); allocates; sleeps
end
"""


@every_ruby
def test_every_source_has_the_functions(record, tmp_path, ruby):
    script = write(tmp_path, SOURCES, "prog.rb")
    r = record("-p", "switch:u,rss:u:0,vfs:u,net:u", "--", *ruby, script, tmp_path / "out")
    for kind, function in [("switch", "sleeps"), ("rss", "allocates"), ("vfs_write", "writes"), ("tcp_send", "sends")]:
        cnt = r.one(f"""
            SELECT count(*) FROM stacks WHERE kind = '{kind}' AND
            list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), '{function}:{script}')""")
        assert cnt > 20, kind


DEEP = """
def deep(n) = n == 0 ? stops : deep(n - 1)
def deeper(n) = n == 0 ? stops : [n].each { |x| deeper(x - 1) }
def stops
  File.write("#{ARGV[0]}/#{Thread.current.native_thread_id}", '')
  sleep 1000
end
Thread.new { deep(1000) }
Thread.new { deeper(150) }
Fiber.new { deep(1000) }.resume
"""


TURNS = """
finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1.5
lock, queue = Mutex.new, Queue.new
lock.lock
over = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) >= finish }
def spin(over)
  i = 0
  i += 1 until i % 1000 == 0 && over.()
end
def naps(over) = (sleep 0.001 until over.())
def locks(lock) = lock.lock
def pops(queue) = queue.pop
threads = [Thread.new { spin(over) }, Thread.new { spin(over) }, Thread.new { naps(over) }]
blocked = [Thread.new { locks(lock) }, Thread.new { pops(queue) }]
threads.each(&:join)
"""


@every_ruby
def test_a_wait_for_the_gvl_has_a_name(record, tmp_path, ruby):
    if "ruby 3.1" not in subprocess.run([*ruby, "-v"], capture_output=True, text=True).stdout:
        pytest.skip("later versions wait for everything in the same way")
    script = write(tmp_path, TURNS, "prog.rb")
    r = record("-p", "switch:u", "--", *ruby, script)
    cnt = {}
    for stack, n in r.rows("""
            SELECT ustack, count(*) FROM stacks WHERE kind = 'switch' AND state IN ('sleeping', 'waiting') AND ustack_id IS NOT NULL
            GROUP BY ALL"""):
        function = next((f["name"] for f in stack if f["module"] == str(script) and f["name"] in ("spin", "naps", "locks", "pops")), None)
        waits = stack[0]["name"] == "(waits for the GVL)"
        assert waits == any(f["mark"] == "waits" for f in stack)
        cnt[function, waits] = cnt.get((function, waits), 0) + n
    assert cnt["spin", True] > max(5, 5 * cnt.get(("spin", False), 0)), cnt
    assert all(cnt["naps", w] > 4 for w in (True, False)), cnt
    assert cnt["locks", False] and cnt["pops", False], cnt  # they wait for their turn only when they begin, and are ended


def state(tid):
    return pathlib.Path(f"/proc/{tid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@every_ruby
def test_deep_stacks_are_whole(start, spawn, tmp_path, ruby):
    script, stopped = write(tmp_path, DEEP, "prog.rb"), tmp_path / "stopped"
    stopped.mkdir()
    program = spawn(*ruby, script, stopped)
    wait_for(lambda: len(os.listdir(stopped)) == 3 and all(state(t) == "S" for t in os.listdir(stopped)))
    stacks = [[f["name"] for f in s if f["module"] == str(script)] for s in stopped_stacks(start, program, "ruby").values()]
    assert sorted(s.count("deep") for s in stacks)[-2:] == [1001, 1001]
    assert max(s.count("deeper") for s in stacks) == 151


WORKERS = """
def work
  finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.7
  (1..1000).sum { |i| i * i } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
end
2.times { fork { work } }
Process.waitall
"""


def test_workers_have_the_functions_of_their_own(record, tmp_path):
    script = write(tmp_path, WORKERS, "prog.rb")
    r = record("-p", "profile:u:199", "--", *RUBIES[0], script)
    rows = r.rows(f"""
        SELECT tgid, count(*) FROM stacks WHERE kind = 'profile' AND
        list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), 'work:{script}') GROUP BY tgid""")
    assert len(rows) == 2 and all(cnt > 20 for _, cnt in rows)


THREADS = """
def work(n)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.5
  [n].each { |x| (1..1000).sum { |i| i * i } } while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < finish
end
3.times.map { |n| Thread.new { work(n) } }.each(&:join)
f = Fiber.new { work(4); Fiber.yield; work(5) }
2.times { f.resume }
Ractor.new { work(6) }.take if ARGV[0]
"""


def test_threads_and_fibers_have_whole_stacks(record, tmp_path):
    script = write(tmp_path, THREADS, "prog.rb")
    r = record("-p", "profile:u:199", "--", *RUBIES[0], script, "ractor")
    rows = r.rows(f"""
        SELECT pid, count(*), count(*) FILTER (WHERE list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), 'work:{script}'))
        FROM stacks WHERE kind = 'profile' GROUP BY pid HAVING count(*) > 50""")
    assert len(rows) >= 4  # Ruby may run the last one on the native thread of one that has ended
    for pid, total, working in rows:
        assert working >= 0.75 * total, (pid, total, working)
    whole, all_of_them = r.rows(f"""
        SELECT count(*) FILTER (WHERE unwind = 'root'), count(*) FROM stacks
        WHERE kind = 'profile' AND list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), 'work:{script}')""")[0]
    assert whole >= 0.99 * all_of_them


FORGED = """
#include <pthread.h>
#include <stdint.h>
int ruby_api_version[3] = { 3, 3, 0 };
uint64_t rb_cObject = 8, rb_stdout = 8, *ruby_current_vm_ptr;
static uint64_t symbols[4], ids[8], first[200], plus[4];
static uint64_t vm[16], thread[16], native[16], ec[16], stack[4096];
static __thread uint64_t *volatile slot;
int main(int argc, char **argv)
{
	uint64_t *frames = stack + 4096 - 7 * 500;

	(void)argv;
	vm[5] = (uintptr_t)thread;
	thread[4] = (uintptr_t)vm;
	thread[5] = (uintptr_t)native;
	thread[6] = (uintptr_t)ec;
	native[2] = (uint64_t)pthread_self();
	ec[0] = (uintptr_t)stack;
	ec[1] = 4096;
	ec[2] = (uintptr_t)frames;
	ec[3] = (uintptr_t)stack;                /* a tag that is none */
	ec[6] = (uintptr_t)thread;
	for (int i = 0; i < 500; i++) {
		frames[7 * i] = i % 3 ? 0x1234 : 0;
		frames[7 * i + 2] = i % 5 ? (uintptr_t)ids + 8 * (unsigned)i : 0;
		frames[7 * i + 4] = i % 7 ? (uintptr_t)(stack + i) : 0xffffffffffff0000;
	}
	symbols[0] = 5000;
	symbols[2] = (uintptr_t)ids;
	ids[0] = 7 | 1 << 13;
	ids[2] = (uintptr_t)first;
	first[0] = 7 | 1 << 13;
	first[2 + 2 * '+'] = (uintptr_t)plus;
	plus[0] = 5;
	plus[2] = 1;
	plus[3] = '+';
	ruby_current_vm_ptr = vm;
	slot = ec;
	for (volatile uint64_t i = 0; i < 3000000000; i++)
		;
	return argc == 17 ? (int)(symbols[1] + ids[7]) : 0;
}
"""


def test_a_forged_runtime_is_bounded(record, compile_c, tmp_path):
    program = shutil.copy(compile_c(FORGED, "-O1", "-rdynamic"), tmp_path / "ruby")
    r = record("-p", "profile:u:99", "--", program)
    rows = r.rows("SELECT unwind, len(ustack) FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL")
    assert len(rows) > 20 and max(n for _, n in rows) <= 1024 + 32
    assert r.one("SELECT count(*) FROM stacktraces, unnest(frames) AS t(f) WHERE f.mark = 'ruby'") == 0


def test_ids_of_stacks_are_the_same_in_every_process(record, tmp_path):
    """The functions lie elsewhere in each process."""
    script = write(tmp_path, BUSY, "prog.rb")
    ids = []
    for _ in range(2):
        r = record("-p", "profile:u:499", "--", *RUBIES[0], script)
        ids.append({i for (i,) in r.rows("""
            SELECT stack_id FROM stacktraces WHERE frames[1].module LIKE '%libruby%' AND frames[2].name = 'spin'""")})
    assert len(ids[0] & ids[1]) >= 2
