// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * src/unwind: real programs, stopped anywhere. Each stack is compared with libdwfl's walk, some
 * with gdb's.
 */
#include "lib/test.h"

#include <sys/syscall.h>

#include "lib/shell.h"
#include "lib/walks.h"

#define THREADS_MAX 64

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

struct tally {
	size_t walks, frames;
	size_t by_status[UNWIND_STATUS_CNT];
};

static void catch_thread(struct walks *w, pid_t pid, pid_t tid, struct tally *tally)
{
	if (!live__interrupt(tid))
		return;
	live__capture(tid, w->event, 0, 256 << 10);
	live__let_go(tid);
	w->event->tgid = (uint32_t)pid;
	assert_true(walks__agree(w));
	tally->walks++;
	tally->frames += w->fast->cnt;
	tally->by_status[w->fast->status]++;
}

/* Returns a number that changes with the process's mappings. */
static uint64_t maps_of(pid_t pid)
{
	char path[64];
	uint64_t hash = 0;
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && (c = getc(f)) != EOF)
		hash = hash * 31 + (uint64_t)c;
	if (f)
		fclose(f);
	return hash;
}

/* Stops every thread `rounds` times, 2 ms of the program's work apart. */
static struct tally catch_all(pid_t pid, int rounds)
{
	struct walks *w = walks__new(pid);
	struct tally tally = { 0 };
	pid_t tids[THREADS_MAX];
	uint64_t maps = maps_of(pid);

	for (int i = 0; i < rounds; i++) {
		size_t cnt = live__threads(pid, tids, THREADS_MAX);

		if (maps_of(pid) != maps) { /* it is still loading */
			walks__free(w);
			maps = maps_of(pid);
			w = walks__new(pid);
		}
		for (size_t j = 0; j < cnt; j++)
			catch_thread(w, pid, tids[j], &tally);
		live__wait_cpu(pid, 2000000);
	}
	walks__free(w);
	return tally;
}

#define ROUNDS (40 / EVERY_NTH_SANITIZED(2))

static struct tally check_program(const char *const argv[], uint64_t warm_up_ms)
{
	pid_t pid = live__start(argv, false);
	struct tally tally;

	live__wait_cpu(pid, warm_up_ms * 1000000);
	tally = catch_all(pid, ROUNDS);
	live__kill(pid);
	assert_true(tally.walks >= ROUNDS / 2);
	return tally;
}

/* Skips the test if the machine lacks the program. */
static void need(const char *program)
{
	if (!shell__has(program))
		skip_because("%s is not installed", program);
}

#define ROOTS(t) ((t).by_status[UNWIND_ROOT])

/* ---- available programs ---- */

static void python_is_walked(void **state)
{
	char path[256], *program;
	struct tally t;

	write_file(*state, "x.py",
		   "import json, re\n"
		   "def f(n):\n"
		   "    return sorted([n, 1, 2], key=lambda x: f(n - 1)) if n else "
		   "json.dumps(list(range(99)))\n"
		   "while True:\n"
		   "    try:\n        f(7)\n    except TypeError:\n        pass\n"
		   "    re.sub('a+b', 'c', 'aaab' * 1000)\n");
	program = shell__output("python3 -c 'import sys; print(sys.executable, end=\"\")'");
	snprintf(path, sizeof(path), "%s/x.py", (char *)*state);
	t = check_program((const char *[]){ program, path, NULL }, 300);
	free(program);
	assert_true(t.frames / t.walks > 10);
	assert_int_equal(ROOTS(t) + t.by_status[UNWIND_TRUNCATED], t.walks);
}

static void perl_is_walked(void **state)
{
	struct tally t = check_program(
		(const char *[]){ "perl", "-e",
				  "sub f { my $n = shift; $n ? f($n - 1) + 1 : "
				  "(sort { $a <=> $b } map { $_ * 7 % 100 } 1 .. 200)[3] } "
				  "f(20) while 1",
				  NULL },
		100);

	(void)state;
	assert_int_equal(ROOTS(t), t.walks);
}

static void sqlite_is_walked(void **state)
{
	struct tally t;

	(void)state;
	need("sqlite3");
	t = check_program((const char *[]){ "sqlite3", ":memory:",
					    "with recursive c(x) as (select 1 union all select x+1 "
					    "from c where x<90000000) select sum(x*x%7), "
					    "group_concat(x%3) from c group by x%100 order by 2",
					    NULL },
			  100);
	assert_int_equal(ROOTS(t), t.walks);
}

static void shell_is_walked(void **state)
{
	struct tally t = check_program(
		(const char *[]){
			"bash", "-c",
			"f() { local n=$1; ((n)) && f $((n - 1)); }; while :; do f 30; done",
			NULL },
		100);

	(void)state;
	assert_true(t.frames / t.walks > 20);
	assert_int_equal(ROOTS(t), t.walks);
}

static void compiler_is_walked(void **state)
{
	char command[512], *cc1 = shell__output("gcc -print-prog-name=cc1 | tr -d '\\n'");
	struct tally t;

	snprintf(command, sizeof(command),
		 "for i in $(seq 4000); do echo \"int f$i(int a,int*b){int s=0;"
		 "for(int i=0;i<a;i++){s+=b[i]*$i;if(s>9)s-=b[a-i];}return s;}\"; done > %s/x.c",
		 (char *)*state);
	shell__run("%s", command);
	snprintf(command, sizeof(command), "%s/x.c", (char *)*state);
	t = check_program(
		(const char *[]){ cc1, "-quiet", "-O2", "-o", "/dev/null", command, NULL }, 300);
	assert_int_equal(ROOTS(t), t.walks);
	free(cc1);
}

/* JIT code and built-ins without CFI, a dozen threads. */
static void node_is_walked(void **state)
{
	struct tally t;

	(void)state;
	need("node");
	t = check_program(
		(const char *[]){ "node", "-e",
				  "function f(n) { return n ? f(n - 1) + 1 : "
				  "JSON.stringify([...Array(100).keys()].sort()).length }"
				  " while (1) { f(20); 'aaab'.repeat(999).replace(/a+b/g, 'c') }",
				  NULL },
		400);
	assert_true(ROOTS(t) * 10 >=
		    t.walks * 9); /* JIT code may be newer than the mappings read */
}

/* Goroutines, their scheduler and the runtime's own threads; .debug_frame or nothing. */
static const char go_source[] =
	"package main\n"
	"import (\n\"strings\"\n\"time\"\n)\n"
	"var sink int\n"
	"func deep(n int) int { if n == 0 { return len(strings.Repeat(\"x\", 50000)) }\n"
	"	return deep(n-1) + 1 }\n"
	"func main() { for i := 0; i < 3; i++ { go func() { for { sink = deep(20) } }() }\n"
	"	for { time.Sleep(time.Microsecond) } }\n";

static void go_is_walked(void **state)
{
	char path[256];
	struct tally t;

	need("go");
	write_file(*state, "main.go", go_source);
	shell__run("cd %s && go build -o whole main.go 2>&1 && "
		   "go build -ldflags='-s -w' -o stripped main.go 2>&1",
		   (char *)*state);
	snprintf(path, sizeof(path), "%s/whole", (char *)*state);
	t = check_program((const char *[]){ path, NULL }, 100);
	assert_true((ROOTS(t) + t.by_status[UNWIND_OTHER_STACK]) * 50 >= t.walks * 49);
	assert_true(ROOTS(t) >
		    0); /* how often it is on the runtime's own stacks depends on Go's version */
	snprintf(path, sizeof(path), "%s/stripped", (char *)*state);
	t = check_program((const char *[]){ path, NULL }, 100);
	assert_true(ROOTS(t) >
		    0); /* how often it is on the runtime's own stacks depends on Go's version */
}

static void rust_is_walked(void **state)
{
	char path[256];
	struct tally t;

	need("rustc");
	write_file(*state, "x.rs",
		   "use std::collections::BTreeMap;\n"
		   "#[inline(never)] fn deep(n: u64) -> u64 {\n"
		   "    if n == 0 { return (0..500u64).map(|i| (i * 7 % 100, format!(\"{i}\")))"
		   ".collect::<BTreeMap<_, _>>().len() as u64; }\n"
		   "    deep(n - 1) + 1 }\n"
		   "fn main() { let t = std::thread::spawn(|| loop { "
		   "std::hint::black_box(deep(9)); });\n"
		   "    t.join().unwrap(); }\n");
	shell__run("cd %s && rustc -O x.rs 2>&1", (char *)*state);
	snprintf(path, sizeof(path), "%s/x", (char *)*state);
	t = check_program((const char *[]){ path, NULL }, 100);
	assert_int_equal(ROOTS(t), t.walks);
}

/* ---- frame by frame against gdb ---- */

static const char gdb_script[] =
	"set backtrace past-main on\nset debuginfod enabled off\n"
	"python\nf = gdb.newest_frame()\n"
	"while f is not None:\n"
	"  if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): print('pc', hex(f.pc()))\n"
	"  f = f.older()\nend\n";

/* Compares the stack of a thread with gdb; the whole process is stopped, so that gdb sees the same.
 */
static void check_against_gdb(const char *dir, pid_t pid, pid_t tid)
{
	struct walks *w = walks__new(pid);
	const struct trace *t = w->fast;
	size_t cnt = 0;
	char *text;

	kill(pid, SIGSTOP);
	live__wait_state(tid, 'T');
	assert_true(live__interrupt(tid));
	live__capture(tid, w->event, 0, EVENT_STACK_MAX);
	live__let_go(tid);
	w->event->tgid = (uint32_t)pid;
	assert_true(walks__agree(w));
	assert_int_equal(t->status, UNWIND_ROOT);
	text = shell__output("gdb -nx -batch -p %d -x %s/script 2>/dev/null | grep '^pc'", tid,
			     dir);
	assert_non_null(text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), cnt++)
		if (cnt >= t->cnt || strtoull(line + 3, NULL, 16) != t->frames[cnt].pc) {
			walks__print("not as gdb", t);
			fail_msg("frame %zu is %s for gdb", cnt, line);
		}
	assert_int_equal(cnt, t->cnt);
	free(text);
	kill(pid, SIGCONT);
	walks__free(w);
}

static const char lock_source[] =
	"#include <pthread.h>\n#include <signal.h>\n#include <unistd.h>\n"
	"#define NI __attribute__((noinline))\n"
	"static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; volatile int sink;\n"
	"NI int spin(int n) { for (int i = 0; i < 1000 * n; i++) sink += i; return sink; }\n"
	"NI int deep(int n) { return n ? deep(n - 1) + 1 : spin(9); }\n"
	"NI void wait_for_lock(void) { pthread_mutex_lock(&lock); sink++; }\n"
	"static void *waiter(void *a) { wait_for_lock(); return a; }\n"
	"static void handler(int s) { for (;;) sink += deep(4) + s; }\n"
	"int main(int c, char **v) { pthread_t t; (void)v;\n"
	"	pthread_mutex_lock(&lock); pthread_create(&t, 0, waiter, 0);\n"
	"	signal(SIGUSR1, handler); if (c > 1) raise(SIGUSR1);\n"
	"	for (;;) sink = deep(20); }\n";

static void build_and_check(const char *dir, const char *command, const char *arg)
{
	char path[256];
	pid_t pid, tids[THREADS_MAX];
	size_t cnt;

	write_file(dir, "script", gdb_script);
	write_file(dir, "x.c", lock_source);
	shell__run("cd %s && %s -o x x.c -lpthread 2>&1", dir, command);
	snprintf(path, sizeof(path), "%s/x", dir);
	pid = live__start((const char *[]){ path, arg, NULL }, false);
	for (int i = 0; (cnt = live__threads(pid, tids, THREADS_MAX)) < 2 && i < LIVE_LOOKS; i++)
		usleep(1000);
	assert_int_equal(cnt, 2);
	live__wait_in(tids[1], SYS_futex);
	live__wait_cpu(pid, 50000000); /* until the other thread is in its final place, too */
	for (size_t i = 0; i < cnt; i++)
		check_against_gdb(dir, pid, tids[i]);
	live__kill(pid);
}

/* One thread in deep(), one in a futex. */
static void threads_as_gdb(void **state)
{
	need("gdb");
	build_and_check(*state, "gcc -O2 -g -fomit-frame-pointer", NULL);
}

static void stripped_as_gdb(void **state)
{
	need("gdb");
	build_and_check(*state, "gcc -O2 -s -fomit-frame-pointer", NULL);
}

static void static_as_gdb(void **state)
{
	need("gdb");
	build_and_check(*state, "gcc -O1 -static -fomit-frame-pointer", NULL);
}

static void signal_handler_as_gdb(void **state)
{
	need("gdb");
	build_and_check(*state, "gcc -O2 -fomit-frame-pointer", "handler");
}

static void cplusplus_as_gdb(void **state)
{
	need("gdb");
	need("g++");
	build_and_check(*state, "g++ -x c++ -fpermissive -w -O2", NULL);
}

/* ---- a handler on an alternate stack ---- */

static void an_alternate_stack_is_walked(void **state)
{
	char path[256];
	struct tally t;

	write_file(*state, "x.c",
		   "#include <signal.h>\n#include <stdlib.h>\nvolatile int sink;\n"
		   "static void handler(int s) { for (;;) sink += s; }\n"
		   "int main(void) { stack_t st = { .ss_sp = malloc(99999), .ss_size = 99999 };\n"
		   "	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };\n"
		   "	sigaltstack(&st, 0); sigaction(SIGUSR1, &sa, 0); raise(SIGUSR1); }\n");
	shell__run("cd %s && gcc -O2 -o x x.c", (char *)*state);
	snprintf(path, sizeof(path), "%s/x", (char *)*state);
	t = check_program((const char *[]){ path, NULL }, 100);
	assert_int_equal(t.by_status[UNWIND_OTHER_STACK], t.walks);
	assert_int_equal(t.frames, 3 * t.walks); /* handler, trampoline, interrupted code */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_with_folder(python_is_walked),
		cmocka_unit_test(perl_is_walked),
		cmocka_unit_test(sqlite_is_walked),
		cmocka_unit_test(shell_is_walked),
		test_with_folder(compiler_is_walked),
		cmocka_unit_test(node_is_walked),
		test_with_folder(go_is_walked),
		test_with_folder(rust_is_walked),
		test_with_folder(threads_as_gdb),
		test_with_folder(stripped_as_gdb),
		test_with_folder(static_as_gdb),
		test_with_folder(signal_handler_as_gdb),
		test_with_folder(cplusplus_as_gdb),
		test_with_folder(an_alternate_stack_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
