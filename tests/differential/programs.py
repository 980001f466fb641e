# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of a Debian system and their workloads while their stacks are compared: {name: command}."""
import pathlib
import shutil
import subprocess

FUNCTION = """static int f%d(int *a, int n) {
	int s = %d;
	for (int i = 0; i < n; i++) { s += a[i] * %d; switch (a[i] & 7) { case 0: s += a[i + 1]; break; case 1: s *= 3; break; default: s ^= a[i]; } }
	return s;
}
int g%d(int *a) { return f%d(a, 9); }
"""
CPLUSPLUS = """#include <map>
#include <string>
#include <vector>
#include <algorithm>
#include <regex>
#include <functional>
""" + "".join(f"std::map<std::string, std::vector<int>> m{i}; int h{i}(std::string s) {{ auto &v = m{i}[s]; std::sort(v.begin(), v.end(), [](int a, int b) {{ return a % {i + 2} < b; }}); return v[{i}]; }}\n" for i in range(60))

PYTHON = """
import json, re, sqlite3, zlib, decimal
def f(n): return sorted([n, 1, 2], key=lambda x: f(n - 1)) if n else json.dumps(list(range(99)))
db = sqlite3.connect(':memory:'); db.execute('create table t(a, b)')
while True:
    try: f(7)
    except TypeError: pass
    re.sub('a+b', 'c', 'aaab' * 1000); zlib.compress(b'abc' * 9999); decimal.Decimal(2) ** decimal.Decimal('0.5')
    db.executemany('insert into t values (?, ?)', [(i, str(i)) for i in range(99)]); db.execute('select sum(a) from t group by b').fetchall()
"""
PERL = "sub f { my $n = shift; $n ? f($n - 1) + 1 : (sort { $a <=> $b } map { $_ * 7 % 100 } 1 .. 200)[3] } while (1) { f(20); my %h; $h{$_ % 97} .= $_ for 1 .. 2000; my $s = 'aaab' x 99; $s =~ s/a+b/c/g }"
NODE = "function f(n) { return n ? f(n - 1) + 1 : JSON.stringify([...Array(100).keys()].sort()).length } while (1) { f(20); 'aaab'.repeat(999).replace(/a+b/g, 'c'); new Map([...Array(999).keys()].map(x => [x, {x}])) }"
RUBY = "def f(n) n > 0 ? f(n - 1) + 1 : (1..200).map { |x| x * 7 % 100 }.sort[3] end; loop { f(20); h = {}; 999.times { |i| h[i.to_s] = i }; 'aaab' * 99 =~ /(a+b)+/ }"
PHP = "function f($n) { if ($n) return f($n - 1) + 1; $a = range(1, 200); usort($a, fn($x, $y) => $y - $x); return $a[3]; } while (1) { f(20); preg_replace('/a+b/', 'c', str_repeat('aaab', 99)); json_decode(json_encode(range(1, 500))); }"
LUA = "local function f(n) if n > 0 then return f(n - 1) + 1 end local t = {} for i = 1, 200 do t[i] = i * 7 % 100 end table.sort(t, function(a, b) return a < b end) return t[3] end while true do f(20) string.gsub(string.rep('aaab', 99), 'a+b', 'c') end"
SQL = "with recursive c(x) as (select 1 union all select x+1 from c where x<90000000) select sum(x*x%7), group_concat(x%3) from c group by x%100 order by 2"
JAVA = """import java.util.*;
public class Work {
    static int f(int n) { return n == 0 ? 1 : f(n - 1) + 1; }
    public static void main(String[] a) {
        List<Map<String, Integer>> kept = new ArrayList<>();
        for (int i = 0; ; i++) { Map<String, Integer> m = new TreeMap<>(); for (int k = 0; k < 300; k++) m.put("k" + (i * k % 997), f(20)); kept.add(m); if (kept.size() > 2000) kept.clear(); }
    }
}
"""
GO = """package main
import ("fmt"; "sort"; "strings"; "time")
var sink int
func deep(n int) int { if n == 0 { m := map[string]int{}; for i := 0; i < 300; i++ { m[fmt.Sprint(i*7%100)] = i }
	k := []string{}; for s := range m { k = append(k, s) }; sort.Strings(k); return len(strings.Join(k, ",")) }; return deep(n-1) + 1 }
func main() { c := make(chan int); for i := 0; i < 3; i++ { go func() { for { c <- deep(20) } }() }
	go func() { for { time.Sleep(100 * time.Microsecond) } }(); for { sink = <-c } }
"""
RUST = """use std::collections::BTreeMap;
#[inline(never)] fn deep(n: u64) -> u64 { if n == 0 { return (0..500u64).map(|i| (i * 7 % 100, format!("{i}"))).collect::<BTreeMap<_, _>>().len() as u64; } deep(n - 1) + 1 }
fn main() { let t = std::thread::spawn(|| loop { std::hint::black_box(deep(9)); }); t.join().unwrap(); }
"""
EXCEPTIONS = """#include <stdexcept>
#include <string>
#include <iostream>
#include <sstream>
#include <vector>
#include <algorithm>
int deep(int n) { if (n == 0) throw std::runtime_error("x" + std::to_string(n)); std::string s(n, 'x'); return deep(n - 1) + (int)s.size(); }
int main() { for (;;) { try { deep(20); } catch (std::exception &e) { std::ostringstream o; o << e.what() << 1.5; }
	std::vector<std::string> v; for (int i = 0; i < 99; i++) v.push_back(std::to_string(i * 7 % 100)); std::sort(v.begin(), v.end()); } }
"""
REDIS = "for i in $(seq 1000); do redis-benchmark -p 16399 -q -n 20000 -c 20 -t set,get,lpush,sadd,zadd,mset >/dev/null 2>&1; done"


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()


def has(*names):
    return all(shutil.which(n) for n in names)


def built(path, source, *command):
    """The program built from the source, or None."""
    path.with_suffix(command[-1]).write_text(source)
    argv = [str(a) for a in command[:-1]] + ["-o", str(path), str(path.with_suffix(command[-1]))]
    return str(path) if subprocess.run(argv, capture_output=True).returncode == 0 else None


def postgres(tmp):
    """A server below tmp with its own user, and the load of pgbench."""
    bins = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not bins:
        return None
    data, run = tmp / "pg", f"setpriv --reuid nobody --regid nogroup --clear-groups {bins[-1]}"
    data.mkdir()
    shutil.chown(data, "nobody", "nogroup")
    subprocess.run(f"{run}/initdb -D {data}/d --no-sync >/dev/null 2>&1", shell=True)
    load = (f"sleep 1; {run}/createdb -h {data} -p 15432 b; {run}/pgbench -h {data} -p 15432 -i -s 2 b; "
            f"while :; do {run}/pgbench -h {data} -p 15432 -c 4 -T 20 b; "
            f"{run}/psql -h {data} -p 15432 b -c 'select sum(abalance), bid from pgbench_accounts join pgbench_branches using (bid) group by bid'; done")
    return ["sh", "-c", f"({load}) >/dev/null 2>&1 & exec {run}/postgres -D {data}/d -k {data} -p 15432 -c fsync=off -c max_parallel_workers_per_gather=2"]


def nginx(tmp, root):
    program = shutil.which("nginx") or root / ".deps/bench/usr/sbin/nginx"
    if not (pathlib.Path(program).exists() and has("wrk")):
        return None
    (tmp / "www").mkdir()
    (tmp / "www/index.html").write_text("<p>hello\n" * 2000)
    (tmp / "nginx.conf").write_text(f"worker_processes 2; error_log {tmp}/error.log; pid {tmp}/nginx.pid; events {{}} daemon off;\nhttp {{ access_log {tmp}/access.log; "
                                    f"client_body_temp_path {tmp}; proxy_temp_path {tmp}; fastcgi_temp_path {tmp}; uwsgi_temp_path {tmp}; scgi_temp_path {tmp}; gzip on; gzip_min_length 1; gzip_types *; server {{ listen 127.0.0.1:18080; root {tmp}/www; }} }}\n")
    return ["sh", "-c", f"(sleep 1; while :; do wrk -t1 -c20 -d10 -H 'Accept-Encoding: gzip' http://127.0.0.1:18080/; done) >/dev/null 2>&1 & exec {program} -c {tmp}/nginx.conf -p {tmp} -e {tmp}/error.log"]


def programs(tmp, root):
    (tmp / "x.py").write_text(PYTHON)
    (tmp / "x.c").write_text("".join(FUNCTION % (i, i, i + 3, i, i) for i in range(6000)))
    (tmp / "x.cc").write_text(CPLUSPLUS)
    (tmp / "Work.java").write_text(JAVA)
    (tmp / "main.go").write_text(GO)
    if has("javac"):
        subprocess.run(["javac", "-d", tmp, tmp / "Work.java"], capture_output=True)
    go = has("go") and subprocess.run(["go", "build", "-o", tmp / "goprog", "main.go"], cwd=tmp, capture_output=True).returncode == 0
    llvm = next(iter(sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libLLVM-*.so.1"))), "/usr/bin/gdb")
    loop = "while :; do {}; done"
    sh = lambda text: ["sh", "-c", loop.format(text)]
    table = {
        "python3": ["/usr/bin/python3", str(tmp / "x.py")],
        "perl": ["perl", "-e", PERL],
        "node": has("node") and ["node", "-e", NODE],
        "java": has("java") and ["java", "-XX:+PreserveFramePointer", "-Xmx64m", "-cp", str(tmp), "Work"],
        "ruby": has("ruby") and ["ruby", "-e", RUBY],
        "php": has("php") and ["php", "-r", PHP],
        "luajit": has("luajit") and ["luajit", "-e", LUA],
        "cc1": sh(f"{output('gcc', '-print-prog-name=cc1')} -quiet -O2 -o /dev/null {tmp}/x.c"),
        "cc1plus": sh(f"{output('gcc', '-print-prog-name=cc1plus')} -quiet -O2 -o /dev/null {tmp}/x.cc -imultiarch x86_64-linux-gnu -D_GNU_SOURCE"),
        "clang": sh(f"clang -O2 -c -o /dev/null {tmp}/x.c"),
        "ld": sh(f"gcc -r -nostdlib -o /dev/null -Wl,--whole-archive {output('gcc', '-print-file-name=libc.a')}"),
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "postgres": postgres(tmp),
        "redis": has("redis-benchmark", "redis-check-rdb") and ["bash", "-c", f"(sleep 0.5; {REDIS}) & exec -a redis-server redis-check-rdb --port 16399 --save '' --daemonize no"],
        "nginx": nginx(tmp, root),
        "git": sh(f"cd {root}; git log -p --stat >/dev/null; git grep -c -E '(a|b).*(c|d)' $(git rev-list HEAD | head -20) >/dev/null; git gc -q --dry-run; git fsck >/dev/null 2>&1; git blame README.md >/dev/null"),
        "tar, xz": sh("tar cf - /usr/include 2>/dev/null | xz -3 -T2 | xz -d >/dev/null"),
        "zstd, gzip, bzip2": sh(f"zstd -q -9 -T2 -c {llvm} >/dev/null; head -c 20M {llvm} | gzip -c >/dev/null; head -c 9M {llvm} | bzip2 -c >/dev/null"),
        "openssl": has("openssl") and sh("for a in sha256 aes-256-cbc rsa2048 ecdsap256 ed25519; do openssl speed -seconds 1 -bytes 1024 $a; done; openssl speed -seconds 1 -evp aes-256-gcm"),
        "Go": go and [str(tmp / "goprog")],
        "Rust": has("rustc") and [built(tmp / "rust", RUST, "rustc", "-O", ".rs")],
        "C++ exceptions": [built(tmp / "throws", EXCEPTIONS, "g++", "-O2", ".cpp")],
        "gdb": has("gdb") and sh("gdb -nx -batch -ex 'info functions main' -ex 'python [gdb.lookup_static_symbol(\"main\") for i in range(9999)]' -ex 'disassemble main' /usr/bin/gdb /usr/bin/node"),
        "bash": ["bash", "-c", "f() { local n=$1; ((n)) && f $((n - 1)); }; while :; do f 30; x=$(echo ${x//a/b}); [[ aaab =~ a+b ]]; done"],
        "systemd's tools": has("systemd-analyze", "journalctl") and sh("systemd-analyze calendar --iterations=2000 'Mon *-*-* 00:00:00' >/dev/null; systemd-analyze syscall-filter >/dev/null; systemd-tmpfiles --cat-config >/dev/null; journalctl --list-boots >/dev/null 2>&1; systemd-escape -p /a/b/c >/dev/null"),
        "find, grep, sort, awk, sed": sh("find /usr/share /usr/lib -type f -name '*.h' -o -size +9M | sort -k1.5 | sed 's/\\(a\\|b\\)*c/x/g' | awk '{n[substr($0, 1, 9)] += length($0)} END {for (k in n) print k, n[k]}' | grep -c -E '(a|b)+c'"),
        "dpkg, apt": sh("dpkg -l >/dev/null; apt-cache dump >/dev/null 2>&1; apt-cache search editor >/dev/null; dpkg-query -S /usr/bin/env >/dev/null"),
        "make, sh": sh(f"make -C {root} -n -B -s all >/dev/null 2>&1"),
        "vim": has("vim") and sh(f"vim -nNu NONE -es -c 'syntax on' -c 'for i in range(300) | %s/e/E/ge | %s/E/e/ge | endfor' -c 'q!' {root}/README.md"),
        "curl, ssh-keygen": has("ssh-keygen") and sh(f"rm -f {tmp}/k; ssh-keygen -q -t rsa -b 2048 -N '' -f {tmp}/k; ssh-keygen -lf {tmp}/k.pub >/dev/null; curl -s file:///usr/bin/gdb | md5sum >/dev/null"),
        "qemu": has("qemu-system-x86_64") and sh("timeout -s KILL 6 qemu-system-x86_64 -display none -net none -accel tcg"),
        "bash-static": has("bash-static") and ["bash-static", "-c", "f() { local n=$1; ((n)) && f $((n - 1)); }; while :; do f 30; x=$(echo ${x//a/b}); [[ aaab =~ a+b ]]; done"],
        "the collector": [str(root / "build/bin/collector"), "-p", "profile:u:999", "--status", "", "-d", str(tmp / "recording"), "--no-cache"],
    }
    return {name: argv for name, argv in table.items() if argv and None not in argv}
