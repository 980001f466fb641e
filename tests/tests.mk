# SPDX-License-Identifier: GPL-2.0-or-later
# How unit tests, fuzz replays, test tools, benchmarks, shadow programs and examples are built. Part of the Makefile.

# All objects except the programs' main.o. A test links only the objects that it refers to.
TEST_LIB := $(BUILD)/tests/libtest.a
TEST_LAYERS ?= $(LAYERS)
TEST_OBJS := $(filter-out %/main.o,$(call objs,$(TEST_LAYERS)) $(if $(filter pprof,$(TEST_LAYERS)),$(BUILD)/gen/profile.pb-c.o) \
	$(if $(filter stacksexport,$(TEST_LAYERS)),$(BUILD)/gen/perfetto.pb-c.o))
$(TEST_LIB): $(TEST_OBJS)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsP $@ $^

# A test is linked in a third of the time by gold (setup-tests installs it), and compiled in two thirds of it without -O2.
TEST_LINK := $(if $(CROSS),,$(if $(shell command -v ld.gold),-fuse-ld=gold))
TEST_CFLAGS := -Og -g1 -Wno-maybe-uninitialized
TEST_INCLUDES := -Itests/unit # lib/
$(BUILD)/tests/test_stacks_tracing: TEST_CFLAGS := # reads the code that a probe becomes

$(BUILD)/tests/%: tests/unit/%.c $(TEST_LIB) $(BUILD)/lib/stacks/libduckdb.so | $(BUILD)/share/stacks/sql
	$(call msg,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) $(TEST_INCLUDES) $(ALL_LDFLAGS) $(TEST_LINK) -o $@ $< $(TEST_LIB) -lcmocka \
		$(collector_LIBS) $(stacksexport_LIBS) -Wl,-rpath,$(abspath $(DUCKDB))/lib

$(BUILD)/tests/slowfs: tests/tools/slowfs.c
	$(call msg,TOOL,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -I/usr/include/fuse3 $(ALL_LDFLAGS) -o $@ $< -lfuse3

# sysprof's reader: Debian 12 has it in a shared library, newer releases have it in a static one.
SYSPROF_LIB = $(firstword $(foreach lib,libsysprof-capture-4.a libsysprof-4.so,$(if $(filter /%,$(shell $(CC) -print-file-name=$(lib))),-l:$(lib))) \
	-lsysprof-capture-4)
$(BUILD)/tests/sysprof_frames: tests/tools/sysprof_frames.c
	$(call msg,TOOL,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(SYSPROF_LIB)

# Programs that the tests run.
$(BUILD)/tests/%: tests/tools/%.c $(TEST_LIB)
	$(call msg,TOOL,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_INCLUDES) $(ALL_LDFLAGS) -o $@ $< $(TEST_LIB) $(collector_LIBS)

# Programs that the benchmark runs. One of them compares with libunwind, which tests/bench/setup installs.
$(BUILD)/bench/%: tests/bench/%.c $(wildcard tests/bench/*.h) $(TEST_LIB)
	$(call msg,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(TEST_LIB) $(collector_LIBS) $(bench_$*_LIBS)
bench_walks_LIBS = -lunwind-x86_64 $(patsubst %,-Wl$(comma)-u$(comma)framehop_walk %,$(wildcard $(FRAMEHOP)))
comma := ,
FRAMEHOP := $(BUILD)/bench/cargo/release/libframehop_peer.a
$(BUILD)/bench/walks: $(FRAMEHOP)
# Without cargo, the comparison leaves out framehop.
$(FRAMEHOP): tests/bench/framehop/src/lib.rs tests/bench/framehop/Cargo.toml
	$(Q)if command -v cargo >/dev/null; then \
		CARGO_TARGET_DIR=$(abspath $(BUILD))/bench/cargo cargo build -q --release --manifest-path tests/bench/framehop/Cargo.toml; fi

# A fuzz target with its corpus as a test, and (clang, tests/fuzz/run) with libFuzzer.
$(BUILD)/tests/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/fuzzscript.h $(TEST_LIB) $(BUILD)/lib/stacks/libduckdb.so
	$(call msg,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) $(TEST_INCLUDES) -DFUZZ_CORPUS='"tests/fuzz/corpus/$*"' $(ALL_LDFLAGS) $(TEST_LINK) -o $@ $< tests/fuzz/replay.c $(TEST_LIB) \
		$(collector_LIBS) $(stacksexport_LIBS) -Wl,-rpath,$(abspath $(DUCKDB))/lib

$(BUILD)/tests/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h tests/fuzz/fuzzscript.h $(TEST_LIB) $(BUILD)/lib/stacks/libduckdb.so
	$(call msg,FUZZ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_INCLUDES) -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $< $(TEST_LIB) \
		$(collector_LIBS) $(stacksexport_LIBS) -Wl,-rpath,$(abspath $(DUCKDB))/lib

# Programs for the shadow stack: NAME_main.c or .cc, with NAME.S if there is one, and a variant without symbols. They are
# static because the dynamic linker takes 100,000 instructions, which the examples and the nightly run cover.
SHADOW_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fomit-frame-pointer -fno-optimize-sibling-calls
SHADOW_CASES := $(patsubst tests/shadow/%_main.c,%,$(wildcard tests/shadow/*_main.c)) exceptions bridge.stripped \
	pushed_leaf.stripped tiny_gap.stripped static.headerless
SHADOW_PROGRAMS := $(addprefix $(BUILD)/shadow/,$(SHADOW_CASES))

.PHONY: shadow-build
shadow-build: $(BUILD)/tests/shadow_walks $(SHADOW_PROGRAMS)

$(BUILD)/shadow/%: tests/shadow/%_main.c $(wildcard tests/shadow/*.S)
	$(call msg,SHADOW,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHADOW_CFLAGS) $(if $(filter threads,$*),,-static) -o $@ $< $(wildcard tests/shadow/$*.S) -lpthread

$(BUILD)/shadow/%: tests/shadow/%_main.cc
	$(call msg,SHADOW,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -Wall -Wextra -fomit-frame-pointer -fno-optimize-sibling-calls -static-pie -o $@ $<

# If libgmp's header is not installed, this program is left out.
$(BUILD)/shadow/gmp_numbers: tests/shadow/gmp_numbers.c
	$(call msg,SHADOW,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SHADOW_CFLAGS) -o $@ $< -lgmp || echo "libgmp-dev is missing: single-step goes without gmp_numbers" >&2

$(BUILD)/shadow/%.stripped: $(BUILD)/shadow/%
	$(Q)strip -o $@ $<

# Sets e_shoff, e_shnum and e_shstrndx of the ELF header to 0.
$(BUILD)/shadow/%.headerless: $(BUILD)/shadow/%.stripped
	$(Q)cp $< $@
	$(Q)dd if=/dev/zero of=$@ bs=1 seek=40 count=8 conv=notrunc status=none
	$(Q)dd if=/dev/zero of=$@ bs=1 seek=60 count=4 conv=notrunc status=none

# Examples resemble the programs that users run: optimized, without frame pointers, as distributions build them.
EXAMPLE_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fomit-frame-pointer -fno-optimize-sibling-calls -Iinclude $(ARCH_EXAMPLE_CFLAGS)

$(BUILD)/examples/%: examples/%.c include/stacks_tracing.h
	$(call msg,EXAMPLE,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLE_CFLAGS) -o $@ $< -lpthread -lm

$(BUILD)/examples/lib%.so: examples/lib%.c include/stacks_tracing.h
	$(call msg,EXAMPLE,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLE_CFLAGS) -fPIC -shared -o $@ $<

# Profilers on the library.
PROFILERS := $(addprefix $(BUILD)/examples/stacktrace/,profiler dwflst_profiler bpf_profiler)
$(filter-out %/dwflst_profiler,$(PROFILERS)): $(BUILD)/examples/stacktrace/%: examples/stacktrace/%.c
$(BUILD)/examples/stacktrace/dwflst_profiler: contrib/dwflst_compat/dwflst_profiler.c
$(PROFILERS): $(wildcard examples/stacktrace/*.h) $(library_HEADERS) $(BUILD)/lib/libstacktrace.a
	$(call msg,EXAMPLE,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLE_CFLAGS) -D_GNU_SOURCE -Icontrib/dwflst_compat -Iexamples/stacktrace -I$(BUILD)/gen -o $@ $(filter %.c,$^) \
		$(BUILD)/lib/libstacktrace.a $(example_LIBS) $(library_LIBS) $(if $(SAN),-fsanitize=$(SAN))

$(BUILD)/examples/stacktrace/bpf_profiler: $(BUILD)/gen/bpf_profiler.skel.h
$(BUILD)/examples/stacktrace/bpf_profiler: example_LIBS := -lbpf

$(BUILD)/gen/bpf_profiler.bpf.o: examples/stacktrace/bpf_profiler.bpf.c examples/stacktrace/bpf_profiler.h
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<

$(BUILD)/gen/bpf_profiler.skel.h: $(BUILD)/gen/bpf_profiler.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name bpf_profiler > $@

