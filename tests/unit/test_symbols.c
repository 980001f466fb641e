// SPDX-License-Identifier: GPL-2.0-or-later
/* src/symbol: names and lines of real files. */
#include "lib/test.h"

#include <glob.h>
#include <time.h>
#include <sys/auxv.h>

#include "lib/shell.h"
#include "symbol/demangle.h"
#include "symbol/symbol.h"

/* The symbols that readelf prints for a file and its separate debug file. */
struct listed {
	uint64_t addr, sz;
	bool global, weak, label;
	char *name;
};

struct listing {
	struct listed *v;
	size_t cnt;
};

static void add_line(struct listing *l, char *line)
{
	char type[32], bind[32], ndx[32], name[8192], sz[64];
	unsigned long addr;

	if (sscanf(line, " %*d: %lx %63s %31s %31s %*s %31s %8191s", &addr, sz, type, bind, ndx,
		   name) != 6 ||
	    strcmp(ndx, "UND") == 0 || strcmp(ndx, "ABS") == 0)
		return;
	if (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0 && strcmp(type, "NOTYPE") != 0)
		return;
	name[1 + strcspn(name + 1, "@")] = '\0';
	if (l->cnt % 4096 == 0)
		l->v = realloc(l->v, (l->cnt + 4096) * sizeof(*l->v));
	l->v[l->cnt++] = (struct listed){ .addr = addr,
					  .sz = strtoull(sz, NULL, 0),
					  .global = strcmp(bind, "GLOBAL") == 0 ||
						    strcmp(bind, "UNIQUE") == 0,
					  .weak = strcmp(bind, "WEAK") == 0,
					  .label = strcmp(type, "NOTYPE") == 0,
					  .name = strdup(name) };
}

static struct listing list(const char *path)
{
	char *debug = shell__output("id=$(readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: "
				    "\\(..\\)/\\1\\//p'); f=/usr/lib/debug/.build-id/$id.debug; "
				    "[ ! -e $f ] || echo $f",
				    path);
	char *text = shell__output("readelf -sW '%s' %s 2>/dev/null || true", path,
				   strtok(debug, "\n") ? debug : "");
	struct listing l = { 0 };

	assert_non_null(text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		add_line(&l, line);
	free(debug);
	free(text);
	return l;
}

static void listing__free(struct listing *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		free(l->v[i].name);
	free(l->v);
}

/* Returns the sized function that starts last, then the shortest. */
static const struct listed *linear(const struct listing *l, uint64_t addr)
{
	const struct listed *best = NULL;

	for (size_t i = 0; i < l->cnt; i++) {
		const struct listed *s = &l->v[i];

		if (s->sz == 0 || addr < s->addr || addr - s->addr >= s->sz)
			continue;
		if (!best || s->addr > best->addr || (s->addr == best->addr && s->sz < best->sz))
			best = s;
	}
	return best;
}

static int binding(const struct listed *s)
{
	return s->label ? 3 : s->global ? 0 : s->weak ? 1 : 2;
}

/* Checks that it is a name of that place, and that no name with a better binding was passed over.
 */
static void assert_best_name(const struct listing *l, const struct listed *want, const char *name)
{
	int best = 4, found = 4;

	for (size_t i = 0; i < l->cnt; i++) {
		const struct listed *s = &l->v[i];
		char readable[SYMBOL_NAME_MAX];

		if (s->addr != want->addr || s->sz != want->sz)
			continue;
		symbol_name(s->name, readable);
		best = binding(s) < best ? binding(s) : best;
		if (strcmp(readable, name) == 0 && binding(s) < found)
			found = binding(s);
	}
	if (found != best)
		print_error("%#lx: %s (%s)\n", want->addr, name, want->name);
	assert_int_equal(found, best);
}

/* Only an unsized symbol may name a place outside all sized ones. */
static void assert_unsized(const struct listing *l, const struct symbol *got)
{
	const char *at = strrchr(got->name, '@');

	if (at && strcmp(at, "@plt") == 0)
		return;
	for (size_t i = 0; i < l->cnt; i++)
		if (l->v[i].addr == got->address && l->v[i].sz == 0)
			return;
	fail_msg("%#lx: %s", got->address, got->name);
}

static bool is_unsized_function(const struct listing *l, uint64_t addr)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (l->v[i].addr == addr && l->v[i].sz == 0 && !l->v[i].label)
			return true;
	return false;
}

static void compare_at(struct elf_file *f, const struct listing *l, uint64_t addr)
{
	const struct listed *want = linear(l, addr);
	struct symbol got;
	bool found = elf_file__symbol(f, addr, &got);

	if (!want) {
		if (found)
			assert_unsized(l, &got);
		return;
	}
	assert_true(found);
	if (got.address != want->addr && is_unsized_function(l, got.address))
		return;
	assert_int_equal(got.address, want->addr);
	assert_best_name(l, want, got.name);
}

static bool in_code(const struct elf_file *f, uint64_t addr)
{
	for (size_t i = 0; i < f->segment_cnt; i++)
		if ((f->segments[i].flags & PF_X) && addr >= f->segments[i].vaddr &&
		    addr - f->segments[i].vaddr < f->segments[i].sz)
			return true;
	return false;
}

static void compare_file(const char *path)
{
	struct elf_file *f = elf_file__open(path);
	struct listing l = list(path);
	size_t step = 1 + l.cnt / (l.cnt > 50000 ? 100 : 500), compared = 0;

	assert_non_null(f);
	for (size_t i = 0; i < l.cnt; i += step) {
		const struct listed *s = &l.v[i];

		if (s->sz == 0 || !in_code(f, s->addr))
			continue;
		compare_at(f, &l, s->addr);
		compare_at(f, &l, s->addr + s->sz / 2);
		compare_at(f, &l, s->addr + s->sz - 1);
		compare_at(f, &l, s->addr + s->sz);
		compared++;
	}
	print_message("%s: %zu of %zu\n", path, compared, l.cnt);
	assert_true(compared > 0 || l.cnt == 0); /* stripped */
	listing__free(&l);
	elf_file__put(f);
}

static void real_files_have_symbols(void **state)
{
	static const char *paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
				       "/lib64/ld-linux-x86-64.so.2",
				       "/lib/x86_64-linux-gnu/libm.so.6",
				       "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
				       "/usr/lib/x86_64-linux-gnu/libelf.so.1",
				       "/usr/bin/python3.[0-9]*[0-9]",
				       "/usr/bin/node" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i += EVERY_NTH_SANITIZED(4)) {
		glob_t g;

		if (glob(paths[i], 0, NULL, &g) == 0)
			compare_file(g.gl_pathv[0]);
		globfree(&g);
	}
}

static void find_by_name(const char *path, const char *mangled, const char *readable)
{
	char *line = shell__output("nm '%s' | grep ' [tTwWi] %s$'", path, mangled);
	struct elf_file *f = elf_file__open(path);
	struct symbol s;

	assert_non_null(line);
	assert_non_null(f);
	assert_true(elf_file__symbol(f, strtoull(line, NULL, 16) + 1, &s));
	assert_string_equal(s.name, readable);
	assert_int_equal(s.address, strtoull(line, NULL, 16));
	elf_file__put(f);
	free(line);
}

static const char cxx[] =
	"#include <vector>\n"
	"namespace shop { __attribute__((noinline)) int work(std::vector<int> &v)\n"
	"{ v.push_back(1); return v[0]; } }\n"
	"int main() { std::vector<int> v; return shop::work(v); }\n";
static const char rust[] = "struct Cart(u32);\n"
			   "impl Cart { #[inline(never)] fn sum(&self) -> u32 { self.0 + 1 } }\n"
			   "fn main() { println!(\"{}\", Cart(std::process::id()).sum()); }\n";
static const char go[] = "package main\ntype Cart struct{ n int }\n//go:noinline\n"
			 "func (c *Cart) Sum() int { return c.n + 1 }\n"
			 "func main() { c := &Cart{1}; println(c.Sum()) }\n";

static void programs_of_other_languages_have_symbols(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	shell__write(*state, "p.cpp", cxx);
	shell__run("cd %s && g++ -O1 -o prog p.cpp", (char *)*state);
	find_by_name(path, "_ZN4shop4workERSt6vectorIiSaIiEE",
		     "shop::work(std::vector<int, std::allocator<int> >&)");
	find_by_name(path, "_start", "_start");
	compare_file(path);
	shell__write(*state, "main.go", go);
	if (shell__has("go")) {
		shell__run(
			"cd %s && HOME=${HOME:-$PWD} GO111MODULE=off go build -o prog main.go 2>&1",
			(char *)*state);
		find_by_name(path, "main\\.(\\*Cart)\\.Sum", "main.(*Cart).Sum");
		compare_file(path);
	}
	shell__write(*state, "p.rs", rust);
	if (shell__has("rustc")) {
		shell__run("cd %s && rustc -O --crate-name prog -o prog p.rs 2>&1", (char *)*state);
		find_by_name(path, "_[RZ].*4Cart.*3sum.*", "prog::Cart::sum");
		compare_file(path);
	}
}

static const char assembly[] = "	.text\n"
			       "	.globl _start\n"
			       "_start:	call sized\n" /* no type, no size */
			       "	jmp bare\n"
			       "	.type sized, @function\n"
			       "	.globl sized, __sized, a_weak\n"
			       "	.weak a_weak\n"
			       "	.type __sized, @function\n"
			       "	.type a_weak, @function\n"
			       "	.type a_local, @function\n"
			       "sized: __sized: a_weak: a_local: unsized_alias:\n"
			       "	nop\n"
			       "label:	nop\n" /* inside a function: ignored */
			       "	.type inner, @function\n"
			       "inner:	nop\n"
			       "	.size inner, 1\n"
			       "	nop\n"
			       "	.size sized, . - sized\n"
			       "	.size __sized, . - sized\n"
			       "	.size a_weak, . - sized\n"
			       "	.size a_local, . - sized\n"
			       "	.fill 16, 1, 0xcc\n" /* no function */
			       "	.type bare, @function\n"
			       "bare:	nop\n"
			       "	nop\n"
			       "	.section .text2, \"ax\"\n"
			       "	.fill 3, 1, 0xcc\n"
			       "other:	nop\n"
			       "	.data\n"
			       "	.type not_code, @function\n"
			       "not_code: .quad 1\n";

static void assert_at(struct elf_file *f, uint64_t addr, const char *name)
{
	struct symbol s;
	bool found = elf_file__symbol(f, addr, &s);

	if (found != (name != NULL) || (name && strcmp(s.name, name) != 0))
		fail_msg("%#lx: %s, not %s", addr, found ? s.name : "nothing",
			 name ? name : "nothing");
}

static uint64_t address(const char *path, const char *name)
{
	char *line = shell__output("nm '%s' | grep ' %s$'", path, name);
	uint64_t addr;

	assert_non_null(line);
	addr = strtoull(line, NULL, 16);
	free(line);
	return addr;
}

static void the_best_symbol_wins(void **state)
{
	char path[256];
	struct elf_file *f;
	uint64_t sized, start;

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	shell__write(*state, "p.s", assembly);
	shell__run("cd %s && gcc -nostdlib -static -o prog p.s", (char *)*state);
	f = elf_file__open(path);
	assert_non_null(f);
	sized = address(path, "sized");
	start = address(path, "_start");
	assert_at(f, start - 1, NULL);
	assert_at(f, start, "_start");
	assert_at(f, sized - 1, "_start");
	assert_at(f, sized, "sized");
	assert_at(f, sized + 1, "sized");
	assert_at(f, sized + 2, "inner");
	assert_at(f, sized + 3, "sized");
	assert_at(f, sized + 4, NULL);
	assert_at(f, sized + 20, "bare");
	assert_at(f, sized + 21, "bare");
	assert_at(f, sized + 22, NULL); /* the end of the section */
	assert_at(f, address(path, "other") - 1, NULL);
	assert_at(f, address(path, "other"), "other");
	assert_at(f, address(path, "not_code"), NULL);
	elf_file__put(f);
}

/* A stripped program with its other symbols in .gnu_debugdata, as in Fedora. */
static void mini_debuginfo_is_read(void **state)
{
	char path[256];
	uint64_t addr;
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	shell__write(*state, "p.c",
		     "__attribute__((noinline)) static int hidden(int n) { return n * 3; }\n"
		     "int main(int c, char **v) { (void)v; return hidden(c); }\n");
	shell__run("cd %s && gcc -O0 -o prog p.c", (char *)*state);
	addr = address(path, "hidden");
	shell__run("cd %s && objcopy -S --keep-symbol=hidden prog mini && xz -k mini && "
		   "strip --strip-all prog && objcopy --add-section .gnu_debugdata=mini.xz prog",
		   (char *)*state);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_at(f, addr + 4, "hidden");
	elf_file__put(f);
	shell__run(
		"cd %s && head -c 300 mini.xz > cut.xz && objcopy --remove-section .gnu_debugdata "
		"--add-section .gnu_debugdata=cut.xz prog",
		(char *)*state);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_at(f, addr + 4, NULL);
	elf_file__put(f);
}

/* 100 MB of zeros in a few KB. */
static void a_bomb_in_mini_debuginfo_is_bounded(void **state)
{
	char path[256];
	struct elf_file *f;
	struct symbol s;

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	shell__write(*state, "p.c", "int main(void) { return 0; }\n");
	shell__run("cd %s && gcc -s -o prog p.c && head -c 100M /dev/zero | xz -0 > bomb.xz && "
		   "objcopy --add-section .gnu_debugdata=bomb.xz prog",
		   (char *)*state);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_false(elf_file__symbol(f, 0, &s));
	elf_file__put(f);
}

/* For any file contents, the result is a clean name that starts at or before the place. */
static void corrupted_copies_are_harmless(void **state)
{
	FILE *p = fopen("/usr/lib/x86_64-linux-gnu/libxxhash.so.0", "r");
	char *image = malloc(1 << 20);
	size_t sz = fread(image, 1, 1 << 20, p), found = 0;

	(void)state;
	fclose(p);
	srand(3);
	for (int round = 0; round < 1500; round++) {
		char *copy = memcpy(malloc(sz), image, sz);
		struct elf_file *f;

		for (int i = 0; i < 20; i++) /* symbols and their names, section headers */
			copy[i % 2 ? 64 + (size_t)rand() % 4096 : sz - 1 - (size_t)rand() % 2048] =
				(char)rand();
		f = elf_file__from_memory(copy, round % 8 ? sz : (size_t)rand() % sz, "prog");
		for (uint64_t addr = 0; f && addr < 0x10000; addr += 0x333) {
			struct symbol s;

			if (!elf_file__symbol(f, addr, &s))
				continue;
			assert_true(s.address <= addr && s.name[0] != '\0');
			found++;
		}
		elf_file__put(f);
	}
	assert_true(found > 300);
	free(image);
}

/* The running one; the kernel gives its address. */
static void the_vdso_has_symbols(void **state)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file *f;
	struct symbol s;
	size_t named = 0;

	(void)state;
	if (!vdso)
		skip_because("this kernel gives no vDSO");
	f = elf_file__from_memory(memcpy(malloc(8192), vdso, 8192), 8192, "[vdso]");
	assert_non_null(f);
	for (uint64_t at = 0; at < 8192; at++)
		named += elf_file__symbol(f, at, &s) && strstr(s.name, "clock_gettime");
	assert_true(named > 0);
	elf_file__put(f);
}

static double ms(const struct timespec *from)
{
	struct timespec to;

	clock_gettime(CLOCK_MONOTONIC, &to);
	return (double)(to.tv_sec - from->tv_sec) * 1e3 +
	       (double)(to.tv_nsec - from->tv_nsec) / 1e6;
}

static void many_names_are_found_fast(void **state)
{
	struct elf_file *f = elf_file__open("/lib/x86_64-linux-gnu/libc.so.6");
	struct timespec from;
	struct symbol s, again;
	double build_ms;

	(void)state;
	assert_non_null(f);
	clock_gettime(CLOCK_MONOTONIC, &from);
	elf_file__symbol(f, 0, &s);
	build_ms = ms(&from);
	assert_non_null(f->slots[ELF_SLOT_SYMBOLS].data);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint64_t i = 0; i < 1000000; i++)
		elf_file__symbol(f, 0x26000 + i * 7919 % 0x150000, &s);
	print_message("libc: table in %.1f ms, %.0f ns per lookup\n", build_ms, ms(&from));
	elf_file__symbol(f, s.address, &again);
	assert_ptr_equal(s.name, again.name); /* made once */
	elf_file__put(f);
}

RUN_TESTS(cmocka_unit_test(real_files_have_symbols),
	  test_with_folder(programs_of_other_languages_have_symbols),
	  test_with_folder(the_best_symbol_wins), test_with_folder(mini_debuginfo_is_read),
	  test_with_folder(a_bomb_in_mini_debuginfo_is_bounded),
	  cmocka_unit_test(corrupted_copies_are_harmless), cmocka_unit_test(the_vdso_has_symbols),
	  cmocka_unit_test(many_names_are_found_fast))
