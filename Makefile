# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists the targets. All files are built below $(BUILD). Only `setup` needs root and the network.

PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= lib
BUILD ?= build$(if $(SAN),-san)
DEPS := .deps
# make cross sets it, for example to aarch64-linux-gnu-
CROSS :=
CC = $(CROSS)gcc
AR = $(CROSS)ar
OBJCOPY = $(CROSS)objcopy
CLANG ?= clang
# Ubuntu's /usr/sbin/bpftool runs the bpftool of the running kernel, if that is installed.
BPFTOOL ?= $(firstword $(wildcard /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool) bpftool)
VERSION := 0.1.0

JOBS ?= $(shell nproc)

Q := $(if $(V),,@)
msg = @$(if $(V),true,printf '  %-8s %s\n' "$(1)" "$(2)")

MACHINES := x86_64 aarch64
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BPF_ARCH_x86_64 := x86
BPF_ARCH_aarch64 := arm64
# Distributions sign return addresses on AArch64.
ARCH_EXAMPLE_CFLAGS := $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
DUCKDB := $(DEPS)/duckdb$(if $(filter aarch64,$(MACHINE)),-aarch64)
# A file NAME_MACHINE.c is compiled for that machine only.
OTHER_MACHINES := $(filter-out $(MACHINE),$(MACHINES))

# Other compilers have other warnings: make WERROR=
WERROR ?= -Werror
WARNINGS := -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	$(if $(findstring clang,$(CC)),-Wno-gnu-variable-sized-type-not-at-end)
# The collector runs as root and reads files of untrusted users.
CFLAGS ?= -O2 -g -D_FORTIFY_SOURCE=2
LDFLAGS ?= -Wl,-z,relro,-z,now
# xxhash.h reads keys with memcpy(): its alternative breaks the aliasing rules (tests/unit/test_hash.c).
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARNINGS) -D_GNU_SOURCE -DXXH_FORCE_MEMORY_ACCESS=0 -DSTACKS_VERSION='"$(VERSION)"' \
	-Isrc -I. -Iinclude -Icontrib/dwflst_compat -I$(BUILD)/gen -I$(DUCKDB)/include -MMD -MP
ALL_LDFLAGS := $(LDFLAGS)
ifdef SAN
# -Og -g1 compile in a third of the time of -O2 -g, but gcc has wrong warnings there; the plain build has the warnings.
ALL_CFLAGS += -Og -g1 -w -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -U_FORTIFY_SOURCE
ALL_LDFLAGS += -fsanitize=$(SAN)
endif

# The folders of src, and for each folder the other folders that it may include headers of (tools/check-layers).
base_MAY :=
worker_MAY := base
event_MAY := base
elf_MAY := base worker event
process_MAY := base worker event elf
symbol_MAY := base worker event elf process
jit_MAY := base worker event elf process symbol
runtime_MAY := base worker event elf process symbol
cfi_MAY := base worker event elf
unwind_MAY := base worker event elf process jit cfi
store_MAY := base
stacks_MAY := base worker event elf process symbol jit store
capture_MAY := base worker event elf
formats_MAY := base event
pprof_MAY := base worker event elf symbol cfi
collector_MAY := base worker event elf process symbol jit runtime cfi unwind store stacks capture
stacksexport_MAY := base worker event elf symbol cfi store pprof
stacktrace_MAY := base worker event elf process symbol jit cfi unwind formats pprof
libstacktrace_MAY := base worker event elf process symbol jit cfi unwind
LAYERS := base worker event elf process symbol jit runtime cfi unwind store stacks capture formats pprof collector stacksexport \
	stacktrace libstacktrace
objs = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out $(addsuffix .c,$(addprefix %_,$(OTHER_MACHINES))),$(wildcard $(foreach d,$(1),src/$(d)/*.c src/$(d)/*/*.c))))
# The parts of a program: its folder, and the folders that its folder may use.
layer_objs = $(call objs,$($(1)_MAY) $(1))

collector_OBJS := $(call layer_objs,collector)
collector_LIBS := -lbpf -ldw -lelf -lnettle -lzstd -llzma -lz -liberty -lcap -lpthread
stacksexport_OBJS := $(call layer_objs,stacksexport) $(BUILD)/gen/profile.pb-c.o $(BUILD)/gen/perfetto.pb-c.o $(BUILD)/gen/web_assets.o
stacksexport_LIBS := -L$(DUCKDB)/lib -lduckdb -lprotobuf-c -lmicrohttpd -ljansson -lncursesw -ltinfo -lnettle -ldw -lelf -lzstd -llzma -lz -liberty -lpthread -lm \
	-Wl,-rpath,'$$ORIGIN/../lib/stacks'
stacktrace_OBJS := $(call layer_objs,stacktrace) $(BUILD)/gen/profile.pb-c.o
stacktrace_LIBS := -lprotobuf-c -ldw -lelf -lzstd -llzma -lz -liberty -lpthread
PROGRAMS := collector stacksexport stacktrace
library_OBJS := $(call layer_objs,libstacktrace)
library_LIBS := -ldw -lelf -llzma -lz -liberty -lpthread
library_SONAME := libstacktrace.so.0
library_HEADERS := include/stacktrace.h $(wildcard contrib/dwflst_compat/*.h)
LIBRARY := $(BUILD)/lib/$(library_SONAME).$(VERSION:0.%=%) $(BUILD)/lib/libstacktrace.a
# Completions do not depend on the architecture: a cross build runs the native program.
COMPLETION_BIN ?= $(BUILD)/bin
COMPLETIONS := $(foreach p,$(PROGRAMS),$(addprefix $(BUILD)/completions/,$(p) _$(p) $(p).fish))

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c)) \
	$(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/tests/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/%,$(wildcard tests/tools/*.c))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(filter-out examples/lib%,$(wildcard examples/*.c))) \
	$(patsubst examples/lib%.c,$(BUILD)/examples/lib%.so,$(wildcard examples/lib*.c)) \
	$(addprefix $(BUILD)/examples/stacktrace/,profiler dwflst_profiler bpf_profiler)
BPF_OBJS := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.bpf.o,$(wildcard bpf/*.bpf.c))
SKEL := $(BUILD)/gen/collector.skel.h

.PHONY: all setup demo test check unit e2e bench install uninstall format format-check fuzz clean help
.DELETE_ON_ERROR:
.SECONDARY:

## all: build the programs and the examples (the default)
all: $(addprefix $(BUILD)/bin/,$(PROGRAMS)) $(LIBRARY) $(EXAMPLES)

## cross: build the programs for ARCH (aarch64), into build-ARCH
.PHONY: cross
cross:
	@tools/cross $(ARCH)
	@$(MAKE) --no-print-directory CROSS=$(ARCH)-linux-gnu- BUILD=build-$(ARCH) cross-programs

.PHONY: cross-programs
cross-programs: $(addprefix $(BUILD)/bin/,$(PROGRAMS)) $(LIBRARY) $(EXAMPLES)

## setup: install the dependencies of the build; changes nothing when run again
setup:
	@tools/setup

## setup-tests: install these and the dependencies of the tests
.PHONY: setup-tests
setup-tests:
	@tools/setup tests

## demo: set up, build, record 10 s of a running workload and show the result
demo: setup
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/demo

## test: set up, lint, build and run every test
test:
	@tools/setup packages
	@$(MAKE) --no-print-directory -j$$(($(JOBS) + 1)) setup-tests check-build # builds while it fetches what the tests need
	@$(RUN_ALL)

## check: lint, build and run every test, without set-up
check:
	@$(MAKE) --no-print-directory -j$(JOBS) check-build
	@$(RUN_ALL)

# One make for all of it, so that no CPU waits for the last job of a part.
.PHONY: check-build san-build
check-build: lint all plain-build san-build
san-build:
	@$(MAKE) --no-print-directory SAN=address,undefined unit-build

## unit: build and run the unit tests only
unit: unit-build
	@BUILDS=$(BUILD) tests/run unit

# Every unit test runs with sanitizers. Those that check less then, and those of the running machine, run without, too.
PLAIN_TESTS = $(filter $(BUILD)/tests/test_capture% $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(shell grep -lE 'SANITIZED|workers_scene' tests/unit/test_*.c)),$(UNIT_TESTS))
RUN_ALL = PLAIN='$(notdir $(PLAIN_TESTS))' tests/run
.PHONY: plain-build
plain-build: $(PLAIN_TESTS) $(TEST_TOOLS) shadow-build

.PHONY: unit-build
unit-build: $(UNIT_TESTS) $(TEST_TOOLS) $(if $(SAN),,shadow-build)

## test-vm: test the collector on other kernels, from 5.10 to Debian's newest, in qemu; not part of test
## test-vm ARCH=aarch64: the same for AArch64, emulated, with cross-built programs
VM_BUILD = $(if $(filter-out x86_64,$(ARCH)),build-$(ARCH),$(BUILD))
.PHONY: test-vm
test-vm:
	@$(if $(filter-out x86_64,$(ARCH)),tools/cross $(ARCH))
	@$(MAKE) --no-print-directory $(if $(filter-out x86_64,$(ARCH)),CROSS=$(ARCH)-linux-gnu-) BUILD=$(VM_BUILD) vm-programs
	@ARCH=$(or $(ARCH),x86_64) BUILD=$(VM_BUILD) tests/vm/run

.PHONY: vm-programs
vm-programs: $(BUILD)/bin/collector $(EXAMPLES) $(addprefix $(BUILD)/tests/,vfs_calls sockets connections threads_end hold_memory test_capture_running test_capture_stack test_usercopy)

## test-distros: run the demo and the fast tests on bare roots of Debian 12 and 13; root, network, minutes; not part of test
.PHONY: test-distros
test-distros:
	@tests/distros/run

## test-containers: do the same on Fedora and Ubuntu, with podman or docker
.PHONY: test-containers
test-containers:
	@tests/distros/containers

## check-all: compare the flat table of every ELF file of this machine with libdw's results; minutes
.PHONY: check-all
check-all: $(BUILD)/tests/check_tables
	@find /usr/bin /usr/sbin /usr/lib /usr/libexec -type f \( -perm /111 -o -name '*.so*' \) -print0 | \
		xargs -0 $< 0

## differential: walk the stacks of about thirty real programs, as libdwfl and gdb do, and compare; minutes
.PHONY: differential
differential: setup-tests
	@tests/differential/setup
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BUILD)/tests/compare_walks
	@tests/differential/run
	@$(DEPS)/venv/bin/python tests/differential/stopped.py

## nightly: all checks that take too long for test: clang, tsan, single-step, check-all, differential, test-vm, fuzz, fleet, runtimes; hours, goes on after a failure
NIGHTLY := clang tsan single-step check-all differential test-vm fuzz fleet runtimes
.PHONY: nightly $(NIGHTLY)
nightly: setup-tests
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) $(MAKE) --no-print-directory -k $(NIGHTLY)

## clang: build the programs with clang, into build-clang; unit tests use attributes of GCC
clang:
	@$(MAKE) --no-print-directory -j$(JOBS) CC="$(CLANG)" BUILD=build-clang all

## tsan: run the unit tests and some end-to-end tests with ThreadSanitizer, from build-tsan
tsan:
	@$(MAKE) --no-print-directory -j$(JOBS) SAN=thread BUILD=build-tsan all tsan-build
	@BUILDS=build-tsan PROGRAMS='$(notdir $(TSAN_TESTS))' tests/run unit
	@BUILD=build-tsan PYTHONPATH=tests/lib $(DEPS)/venv/bin/python -m pytest -q -p per_test_timeout -p no:cacheprovider tests/e2e/test_wake.py \
		tests/e2e/test_sandbox.py::test_workers_are_not_recorded

# Without tests of DuckDB, which is not built with the sanitizer, and without tests that time what a recorded process does.
TSAN_TESTS = $(filter-out $(BUILD)/tests/test_capture% $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(shell grep -l duck tests/unit/test_*.c)),$(UNIT_TESTS))
.PHONY: tsan-build
tsan-build: $(TSAN_TESTS) $(TEST_TOOLS)

## single-step: single-step ls, python3 and libgmp, and compare each walk with a shadow stack; minutes
single-step: shadow-build $(BUILD)/shadow/gmp_numbers
	@BUILD=$(BUILD) tests/singlestep

## servers: record PostgreSQL, nginx, gunicorn and a Go server, and check that top names what slows each down; skips what is not installed
.PHONY: servers
servers: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=tests/lib $(DEPS)/venv/bin/python -m pytest -q -p per_test_timeout -p no:cacheprovider tests/servers

## fleet: ask Spark, ClickHouse, Trino (TRINO_URL), Iceberg and DuckDB about a fleet folder; minutes; skips engines that are not installed
.PHONY: fleet
fleet: setup-tests
	@tools/setup fleet
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@PYTHONPATH=tests/lib:tests/cli $(DEPS)/fleet/bin/python -m pytest -q -rs -p per_test_timeout -p no:cacheprovider tests/fleet

## runtimes: run the tests of Python, Java, Node, Ruby and PHP with the versions of Debian 13, too, and those in .deps/runtimes/NAME/bin; root
.PHONY: runtimes
runtimes: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/distros/runtimes

## bench: measure costs and print them as tables
bench: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/bench/run

## bench-unwind: measure only the unwinder, beside libdwfl, libunwind and (if cargo is installed) framehop
.PHONY: bench-unwind
bench-unwind: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/bench/run unwinder

## soak: record for HOURS (default 4) under a load that changes, with kills and a full disk; SOAK_OPTIONS=--machine changes the clock and unplugs CPUs, too
.PHONY: soak
soak: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BUILD)/tests/storm
	@$(DEPS)/venv/bin/python tests/soak/soak.py $(or $(HOURS),4) $(SOAK_OPTIONS)

## kills: kill a recording collector 100 times, and check what each kill lost
.PHONY: kills
kills: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(DEPS)/venv/bin/python tests/soak/kills.py

## fuzz: fuzz every parser for FUZZ_SECONDS each (default 60)
fuzz:
	@tests/fuzz/run

## pictures: record a web shop and photograph stacksexport view on it, for docs/pictures; root
.PHONY: pictures
pictures: setup-tests
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(DEPS)/venv/bin/python tools/pictures

## install: install below $(DESTDIR)$(PREFIX), the library in its $(LIBDIR)
install: all install-programs install-library

# packaging/package.mk also installs files from other folders.
INSTALL_BIN ?= $(BUILD)/bin
INSTALL_LIBRARY ?= $(LIBRARY)
INSTALL_ZSH ?= share/zsh/site-functions
PKGCONFIG_PREFIX ?= $(PREFIX)
UNIT_PREFIX ?= $(PREFIX)
.PHONY: install-programs
install-programs: $(COMPLETIONS)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/stacks $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(addprefix $(INSTALL_BIN)/,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(DUCKDB)/lib/libduckdb.so $(DESTDIR)$(PREFIX)/lib/stacks
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include include/stacks_tracing.h
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(addprefix $(BUILD)/completions/,$(PROGRAMS))
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/$(INSTALL_ZSH) $(addprefix $(BUILD)/completions/_,$(PROGRAMS))
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d $(patsubst %,$(BUILD)/completions/%.fish,$(PROGRAMS))
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,@PREFIX@,$(UNIT_PREFIX),' packaging/collector.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/collector.service
	cd sql && find . -name '*.sql' -exec install -D -m 644 {} $(DESTDIR)$(PREFIX)/share/stacks/sql/{} \;

## install-library: install only the library
.PHONY: install-library
install-library: $(INSTALL_LIBRARY)
	install -d $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(INSTALL_LIBRARY) $(DESTDIR)$(PREFIX)/$(LIBDIR)
	ln -sf $(notdir $(firstword $(INSTALL_LIBRARY))) $(DESTDIR)$(PREFIX)/$(LIBDIR)/$(library_SONAME)
	ln -sf $(library_SONAME) $(DESTDIR)$(PREFIX)/$(LIBDIR)/libstacktrace.so
	sed 's,@PREFIX@,$(PKGCONFIG_PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' src/libstacktrace/libstacktrace.pc.in \
		> $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/libstacktrace.pc
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include $(library_HEADERS)
	install -m 644 $(wildcard man/*.3) $(DESTDIR)$(PREFIX)/share/man/man3
	for page in $(notdir $(wildcard man/*.3)); do \
		for name in $$(sed -n 's/^\.Nm \(stacktrace_[a-z_]*\).*/\1/p' man/$$page); do \
			[ $$name.3 = $$page ] || ln -sf $$page $(DESTDIR)$(PREFIX)/share/man/man3/$$name.3; done; done

## uninstall: remove the files of install
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(PROGRAMS)) $(patsubst man/%,$(DESTDIR)$(PREFIX)/share/man/man1/%,$(wildcard man/*.1))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/,stacks_tracing.h $(notdir $(library_HEADERS)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/bash-completion/completions/,$(PROGRAMS))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/$(INSTALL_ZSH)/_,$(PROGRAMS))
	rm -f $(patsubst %,$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/%.fish,$(PROGRAMS))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/$(LIBDIR)/,$(notdir $(LIBRARY)) $(library_SONAME) libstacktrace.so pkgconfig/libstacktrace.pc)
	rm -f $(DESTDIR)$(PREFIX)/share/man/man3/stacktrace.3 $(DESTDIR)$(PREFIX)/share/man/man3/stacktrace_*.3
	rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/collector.service
	rm -rf $(DESTDIR)$(PREFIX)/lib/stacks $(DESTDIR)$(PREFIX)/share/stacks

FORMATTED = $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')
## format: apply .clang-format
format:
	@clang-format -i $(FORMATTED)

# Versions of clang-format differ in their output, and those of clang-tidy in what they find: other versions are not run.
LLVM_VERSION := 14
llvm_is_ours = $(if $(shell $(1) --version 2>/dev/null | grep 'version $(LLVM_VERSION)\.'),$(1))
## format-check: fail if a file is not formatted
format-check:
	$(if $(call llvm_is_ours,clang-format),@clang-format --dry-run -Werror $(FORMATTED),@echo "lint: there is no clang-format $(LLVM_VERSION): not run" >&2)

## lint: check formatting, the include rules of the folders, the style of comments, sizes, names, scripts, and what clang-tidy finds
.PHONY: lint lint-source lint-scripts lint-tidy
lint: format-check lint-source lint-scripts lint-tidy

lint-source:
	@tools/check-layers $(foreach l,$(LAYERS),"$(l): $($(l)_MAY)")
	@tools/check-circles bpf $(sort $(dir $(wildcard src/*/*.h src/*/*/*.h)))
	@tools/check-english
	@tools/check-sizes
	@tools/check-names

# Checks what has changed since the last run: a file is checked again when its object was built again.
TIDY := $(call llvm_is_ours,clang-tidy)
TIDY_STAMPS := $(if $(TIDY),$(patsubst $(BUILD)/obj/%.o,$(BUILD)/tidy/%.ok,$(call objs,$(LAYERS))))
lint-tidy: $(TIDY_STAMPS)
	$(if $(TIDY),,@echo "lint: there is no clang-tidy $(LLVM_VERSION): not run" >&2)

$(BUILD)/tidy/%.ok: src/%.c $(BUILD)/obj/%.o .clang-tidy
	@mkdir -p $(@D)
	$(call msg,TIDY,$<)
	$(Q)$(TIDY) --quiet $< -- $(filter-out -MMD -MP -Werror,$(ALL_CFLAGS)) 2>/dev/null
	@touch $@

# shellcheck and ruff come with make setup-tests. F811: the tests of the page and of its server import fixtures.
lint-scripts: $(filter setup-tests,$(MAKECMDGOALS))
	@shellcheck -x -S warning $(shell git grep -lE '^#! ?/(usr/)?bin/(env )?(ba|da)?sh')
	@.deps/venv/bin/ruff check -q --no-cache --isolated --select E9,F --per-file-ignores 'tests/web/*:F811,tests/e2e/*:F811,tests/cli/test_view_*:F811,tests/cli/test_export_*:F811' . $(shell git grep -lE '^#!.*python')

## clean: remove built files
clean:
	rm -rf build build-san build-fuzz build-aarch64 build-clang build-tsan

## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | sed 's/^\([a-z-]*\): /\1\t/' | expand -t 16

# ---- programs --------------------------------------------------------------------------------------------------------

$(BUILD)/bin/collector: $(collector_OBJS)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(collector_LIBS)

$(BUILD)/bin/stacksexport: $(stacksexport_OBJS) $(BUILD)/lib/stacks/libduckdb.so | $(BUILD)/share/stacks/sql
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(stacksexport_OBJS) $(stacksexport_LIBS)

$(BUILD)/bin/stacktrace: $(stacktrace_OBJS)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(stacktrace_LIBS)

$(BUILD)/lib/stacks/libduckdb.so: | $(DUCKDB)/lib/libduckdb.so
	@mkdir -p $(@D)
	$(Q)ln -sf $(abspath $(DUCKDB))/lib/libduckdb.so $@

# At the place, relative to the program, where it is after installation.
$(BUILD)/share/stacks/sql:
	@mkdir -p $(@D)
	$(Q)ln -sfn $(CURDIR)/sql $@

$(DUCKDB)/lib/libduckdb.so $(DUCKDB)/include/duckdb.h:
	@echo "libduckdb is missing: run 'make setup' first" >&2; exit 1

$(call objs,stacksexport): | $(DUCKDB)/include/duckdb.h
$(call objs,pprof): $(BUILD)/gen/profile.pb-c.h
$(call objs,stacksexport): $(BUILD)/gen/profile.pb-c.h $(BUILD)/gen/perfetto.pb-c.h
$(call objs,capture): $(SKEL)

# The programs and the library have the same objects. Hidden symbols need no GOT, so that the programs' code is that of -fPIE.
$(BUILD)/obj/%.o: src/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -include src/base/poison.h -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -c -o $@ $<

# Each number in its loop needs its own register. If two share a wide one, each use waits to extract its half.
$(BUILD)/obj/cfi/interp.o: ALL_CFLAGS += -fno-tree-slp-vectorize

# ---- completions of shells -------------------------------------------------------------------------------------------

$(BUILD)/completions/_%: $(COMPLETION_BIN)/%
	@mkdir -p $(@D)
	$(Q)$< --completion zsh > $@

$(BUILD)/completions/%.fish: $(COMPLETION_BIN)/%
	@mkdir -p $(@D)
	$(Q)$< --completion fish > $@

$(BUILD)/completions/%: $(COMPLETION_BIN)/%
	@mkdir -p $(@D)
	$(Q)$< --completion bash > $@

# ---- the library -----------------------------------------------------------------------------------------------------

# Its threads may outlive a dlclose(): -z nodelete.
library_LDFLAGS := -shared -Wl,-soname,$(library_SONAME) -Wl,--version-script,src/libstacktrace/libstacktrace.map \
	-Wl,--gc-sections -Wl,-z,nodelete $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL
$(BUILD)/lib/$(library_SONAME).%: $(library_OBJS) src/libstacktrace/libstacktrace.map
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(library_LDFLAGS) -o $@ $(library_OBJS) $(library_LIBS)

# One object file in which hidden symbols are local, so that our names cannot clash with the program's.
$(BUILD)/lib/libstacktrace.a: $(library_OBJS)
	$(call msg,AR,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -r -nostdlib -o $(@:.a=.o) $^
	$(Q)$(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $(@:.a=.o)

# ---- BPF -------------------------------------------------------------------------------------------------------------

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*.h)
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -D__TARGET_ARCH_$(BPF_ARCH_$(MACHINE)) \
		-I. -Ivmlinux -I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<

$(BUILD)/bpf/collector.bpf.o: $(BPF_OBJS)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/bpf/collector.bpf.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name collector_bpf > $@

# ---- generated code --------------------------------------------------------------------------------------------------

$(BUILD)/gen/profile.pb-c.c $(BUILD)/gen/profile.pb-c.h &: src/pprof/profile.proto
	$(call msg,PROTOC,$@)
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(BUILD)/gen -Isrc/pprof $<

$(BUILD)/gen/perfetto.pb-c.c $(BUILD)/gen/perfetto.pb-c.h &: src/stacksexport/tracks/perfetto.proto
	$(call msg,PROTOC,$@)
	@mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(BUILD)/gen -Isrc/stacksexport/tracks $<

$(BUILD)/gen/profile.pb-c.o $(BUILD)/gen/perfetto.pb-c.o: %.o: %.c
	$(call msg,CC,$@)
	$(Q)$(CC) -O2 -g -I$(BUILD)/gen -c -o $@ $<

# The page of `stacksexport view`: all files of web/, and as one file for `stacksexport report`.
WEB_FILES := $(filter-out web/report.html,$(sort $(shell find web -type f))) $(BUILD)/gen/report.html
$(BUILD)/gen/web_assets.c: $(WEB_FILES) tools/embed | $(BUILD)/gen/
	$(call msg,EMBED,$@)
	$(Q)tools/embed web $(WEB_FILES) > $@

$(BUILD)/gen/report.html: $(shell find web -type f) tools/bundle-web | $(BUILD)/gen/
	$(call msg,BUNDLE,$@)
	$(Q)python3 tools/bundle-web web > $@

$(BUILD)/gen/web_assets.o: $(BUILD)/gen/web_assets.c
	$(call msg,CC,$@)
	$(Q)$(CC) -O2 -g -Isrc -c -o $@ $<

$(BUILD)/gen/:
	@mkdir -p $@

include tests/tests.mk packaging/package.mk

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)
