// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/handle.h"
#include "lib/shell.h"
#include "elf/debugfile.h"
#include "symbol/symbol.h"

/*
 * In the folder: prog, stripped, with a debuglink to prog.debug; the same without a build ID as
 * plain; bad.debug, of another program. The test moves them.
 */
static int make_programs(void **state)
{
	char *out;

	if (shell__setup(state) != 0)
		return -1;
	out = shell__output("cd %s && echo 'static int hidden(int n) { return n * 3; } "
			    "int main(int c, char **v) { (void)v; return hidden(c); }' > p.c && "
			    "gcc -g -O0 -Wl,--build-id -o full p.c && "
			    "gcc -g -O0 -Wl,--build-id=none -o full.plain p.c && "
			    "gcc -g -O1 -Wl,--build-id -o bad p.c && "
			    "objcopy --only-keep-debug full prog.debug && "
			    "objcopy --only-keep-debug full.plain plain.debug && "
			    "objcopy --only-keep-debug bad bad.debug && "
			    "objcopy -S --add-gnu-debuglink=prog.debug full prog && "
			    "objcopy -S --add-gnu-debuglink=plain.debug full.plain plain && "
			    "mkdir .debug dir kept && mv *.debug kept",
			    (char *)*state);
	free(out);
	return out ? 0 : -1;
}

/* Returns the path of the debug file that is found for FOLDER/name, "" for none. The caller frees
 * it. */
static char *found(const char *folder, const char *name)
{
	char path[256], dir[256];
	struct elf_file *f, *debug;
	char *s;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(dir, sizeof(dir), "%s/dir", folder);
	f = elf_file__open(path);
	assert_non_null(f);
	debug = debug_file__open(f, dir);
	s = strdup(debug ? debug->path + strlen(folder) + 1 : "");
	elf_file__put(debug);
	elf_file__put(f);
	return s;
}

#define assert_found(folder, name, want)                \
	do {                                            \
		char *found_path = found(folder, name); \
		assert_string_equal(found_path, want);  \
		free(found_path);                       \
	} while (0)

static void debuglinks_are_followed(void **state)
{
	char *folder = *state;

	assert_found(folder, "prog", "");
	shell__run("cd %s && mkdir -p dir$PWD && cp kept/prog.debug dir$PWD", folder);
	{
		char *path = found(folder, "prog");

		assert_int_equal(strncmp(path, "dir/tmp/", 8), 0);
		free(path);
	}
	shell__run("cd %s && cp kept/prog.debug .debug", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
	shell__run("cd %s && cp kept/prog.debug .", folder);
	assert_found(folder, "prog", "prog.debug");
	/* another program's is skipped */
	shell__run("cd %s && cp kept/bad.debug prog.debug", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
	shell__run("cd %s && rm prog.debug && mkfifo prog.debug", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
	shell__run("cd %s && rm prog.debug && ln -s /dev/zero prog.debug", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
}

/* The owner of the folder may lead root's programs to a file system that does not answer. */
static void links_lead_to_no_other_folder(void **state)
{
	char *folder = *state;

	shell__run("cd %s && cp kept/prog.debug .debug && ln -s kept/prog.debug prog.debug",
		   folder);
	assert_found(folder, "prog", "prog.debug"); /* in the folder */
	shell__run("cd %s && ln -sf ../$(basename $PWD)/kept/prog.debug .", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
	shell__run("cd %s && ln -sf /proc/self/root$PWD/kept/prog.debug .", folder);
	assert_found(folder, "prog", ".debug/prog.debug");
	shell__run("cd %s && mv .debug other && ln -s $PWD/other .debug", folder);
	assert_found(folder, "prog", "");
}

/* Installs the debug file of prog; dir/.build-id/link points to it. */
static void put_by_build_id(const char *folder)
{
	shell__run("cd %s && id=$(readelf -n prog | sed -n 's/.*Build ID: \\(..\\)/\\1 /p') && set "
		   "$id && "
		   "mkdir -p dir/.build-id/$1 && cp kept/prog.debug dir/.build-id/$1/$2.debug && "
		   "ln -s $1/$2.debug dir/.build-id/link",
		   folder);
}

static void build_ids_are_searched(void **state)
{
	char *folder = *state;

	put_by_build_id(folder);
	shell__run("cd %s && cp kept/prog.debug .", folder);
	{
		char *path = found(folder, "prog");

		assert_int_equal(strncmp(path, "dir/.build-id/", 14), 0);
		free(path);
	}
	/* at the right place, but of another program */
	shell__run("cd %s && cp kept/bad.debug $(readlink -f dir/.build-id/link)", folder);
	assert_found(folder, "prog", "prog.debug");
	shell__run("cd %s && echo nonsense > $(readlink -f dir/.build-id/link)", folder);
	assert_found(folder, "prog", "prog.debug");
}

static void crcs_are_checked_without_a_build_id(void **state)
{
	char *folder = *state;

	assert_found(folder, "plain", "");
	shell__run("cd %s && cp kept/bad.debug plain.debug", folder);
	assert_found(folder, "plain", "");
	shell__run("cd %s && cp kept/plain.debug .", folder);
	assert_found(folder, "plain", "plain.debug");
	shell__run("cd %s && echo >> plain.debug", folder);
	assert_found(folder, "plain", "");
}

static void only_trusted_debug_files_are_believed(void **state)
{
	char *folder = *state;

	if (getuid() != 0)
		skip_because("only root can give files away");
	shell__run("cd %s && cp kept/prog.debug . && chmod 755 prog && chmod 644 prog.debug",
		   folder);
	assert_found(folder, "prog", "prog.debug"); /* root's for root's program */
	shell__run("cd %s && chmod 666 prog.debug", folder);
	assert_found(folder, "prog", ""); /* world-writable, for root's program */
	shell__run("cd %s && chmod 644 prog.debug && chown 12345 prog.debug", folder);
	assert_found(folder, "prog", ""); /* a user's for root's program */
	shell__run("cd %s && chown 12345 prog", folder);
	assert_found(folder, "prog", "prog.debug"); /* a user's for the same user's program */
	shell__run("cd %s && chown 54321 prog", folder);
	assert_found(folder, "prog", ""); /* a user's for another user's program */
	shell__run("cd %s && chown 0 prog.debug", folder);
	assert_found(folder, "prog", "prog.debug"); /* root's for any user's program */
}

/* Makes a file's section names HUGE_SZ bytes: a hole. */
#define HUGE_SZ (1L << 30)

static void make_names_huge(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf64_Ehdr e;
	Elf64_Shdr names;
	off_t at;

	assert_int_equal(pread(fd, &e, sizeof(e), 0), sizeof(e));
	at = (off_t)(e.e_shoff + e.e_shstrndx * sizeof(names));
	assert_int_equal(pread(fd, &names, sizeof(names), at), sizeof(names));
	names.sh_size = HUGE_SZ;
	assert_int_equal(pwrite(fd, &names, sizeof(names), at), sizeof(names));
	assert_int_equal(ftruncate(fd, (off_t)names.sh_offset + HUGE_SZ), 0);
	close(fd);
}

static long kilobytes_used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* A declared size does not allocate memory. */
static void names_are_not_read_when_they_are_huge(void **state)
{
	long before = kilobytes_used();
	char path[256];

	shell__run("cd %s && cp kept/prog.debug .", (char *)*state);
	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	make_names_huge(path);
	assert_found(*state, "prog", "");
	assert_in_range(kilobytes_used() - before, 0, HUGE_SZ / 1024 / 4);
}

/* The purpose: the table of a stripped program has the names of its debug file. */
static void a_stripped_program_has_symbols_of_its_debug_file(void **state)
{
	char path[256];
	char *line = shell__output("nm %s/full | grep ' hidden$'", (char *)*state);
	struct elf_file *f;
	struct symbol s;

	assert_non_null(line);
	shell__run("cd %s && cp kept/prog.debug .", (char *)*state);
	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_true(elf_file__symbol(f, strtoull(line, NULL, 16) + 3, &s));
	assert_string_equal(s.name, "hidden");
	elf_file__put(f);
	free(line);
}

/* The kernel caches the result of a look-up, but tmpfs does not cache absent files. */
static void absence_is_known_without_a_disk(void **state)
{
	const char *folder = *state;
	char prog[256], dir[256], nowhere[256];
	struct elf_file *f, *plain;
	bool known;

	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", folder);
	snprintf(prog, sizeof(prog), "%s/prog", folder);
	snprintf(dir, sizeof(dir), "%s/dir", folder);
	f = elf_file__open(prog);
	snprintf(prog, sizeof(prog), "%s/plain", folder);
	plain = elf_file__open(prog);
	assert_null(debug_file__open(f, dir));
	known = handle__resolve(AT_FDCWD, nowhere, 0) == -ENOENT &&
		handle__resolve(AT_FDCWD, nowhere, RESOLVE_CACHED) == -ENOENT;
	assert_int_equal(debug_file__is_absent(f, dir), known);
	assert_true(debug_file__is_absent(plain, dir)); /* without a build ID */
	put_by_build_id(folder);
	assert_false(debug_file__is_absent(f, dir));
	elf_file__put(plain);
	elf_file__put(f);
}

#define test_with_programs(f) cmocka_unit_test_setup_teardown(f, make_programs, shell__teardown)

RUN_TESTS(test_with_programs(debuglinks_are_followed),
	  test_with_programs(links_lead_to_no_other_folder),
	  test_with_programs(absence_is_known_without_a_disk),
	  test_with_programs(build_ids_are_searched),
	  test_with_programs(crcs_are_checked_without_a_build_id),
	  test_with_programs(only_trusted_debug_files_are_believed),
	  test_with_programs(names_are_not_read_when_they_are_huge),
	  test_with_programs(a_stripped_program_has_symbols_of_its_debug_file))
