# SPDX-License-Identifier: GPL-2.0-or-later
# Packages of the built programs. Part of the Makefile.

ARCH ?= $(shell uname -m)
MULTIARCH = $(shell $(CC) -print-multiarch)

# ---- the archive -----------------------------------------------------------------------------------------------------

# The programs in the archive run on every distribution since glibc 2.28. All libraries except the C library and DuckDB are
# linked statically, and the linker uses the C library of Debian 11. The recipes fail if a newer version of a function is
# needed anyway.
DIST_GLIBC := 2.28
DIST_NAME := stacks-$(VERSION)-linux-$(ARCH)
DIST := $(BUILD)/dist
DIST_ARCHIVE := $(DIST)/$(DIST_NAME).tar.zst
OLD_LIBC := $(DEPS)/glibc-$(ARCH)
DIST_LDFLAGS = $(LDFLAGS) --sysroot=$(OLD_LIBC) -B$(OLD_LIBC)/usr/lib/$(MULTIARCH)/ -L$(OLD_LIBC)/usr/lib/$(MULTIARCH) \
	-Wl,--as-needed -Wl,--strip-debug
# dist_libs LIBS,END: -lNAME becomes the path of libNAME.END. libdw.a also needs bzip2 and dlopen().
dist_libs = $(foreach flag,$(1),$(if $(filter -l%,$(filter-out -lduckdb -lpthread -lm,$(flag))),$(call dist_file,$(flag:-l%=lib%.$(2))),$(flag))) \
	$(call dist_file,libbz2.$(2)) -lpthread -ldl
dist_file = $(shell $(CC) -print-file-name=$(1))
DIST_PROGRAMS := $(addprefix $(DIST)/bin/,$(PROGRAMS))
DIST_LIBRARY := $(DIST)/lib/$(notdir $(firstword $(LIBRARY)))

## dist: make an archive of programs that run on any distribution since glibc 2.28
## dist ARCH=aarch64: the same for AArch64, cross-built
.PHONY: dist
ifeq ($(ARCH),$(MACHINE))
dist: $(DIST_ARCHIVE)
else
dist: $(addprefix $(BUILD)/bin/,$(PROGRAMS))
	@tools/cross $(ARCH)
	@$(MAKE) --no-print-directory CROSS=$(ARCH)-linux-gnu- BUILD=build-$(ARCH) COMPLETION_BIN=$(BUILD)/bin dist
endif

$(OLD_LIBC)/version: packaging/old-libc
	$(call msg,FETCH,$(@D))
	$(Q)packaging/old-libc $(ARCH) $(@D)

$(DIST)/bin/collector: $(collector_OBJS)
$(DIST)/bin/stacksexport: $(stacksexport_OBJS) $(BUILD)/lib/stacks/libduckdb.so
$(DIST)/bin/stacktrace: $(stacktrace_OBJS)
# libduckdb needs libstdc++, which is not in the root of the old C library.
$(DIST)/bin/stacksexport: dist_LDFLAGS := -Wl,--allow-shlib-undefined
# libmicrohttpd.a without gnutls, which has no static library: packaging/notls.c.
$(DIST)/bin/stacksexport: dist_MORE := $(DIST)/obj/notls.o $(DIST)/obj/libmicrohttpd.a
$(DIST)/bin/stacksexport: $(DIST)/obj/notls.o $(DIST)/obj/libmicrohttpd.a

$(DIST)/obj/notls.o: packaging/notls.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(DIST)/obj/libmicrohttpd.a:
	$(call msg,OBJCOPY,$@)
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --wildcard --weaken-symbol='gnutls_*' $(call dist_file,libmicrohttpd.a) $@

$(DIST_PROGRAMS): $(OLD_LIBC)/version packaging/check-glibc
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(DIST_LDFLAGS) $(dist_LDFLAGS) -o $@ $($(@F)_OBJS) $(dist_MORE) $(call dist_libs,$(filter-out -lmicrohttpd,$($(@F)_LIBS)),a)
	$(Q)packaging/check-glibc $(DIST_GLIBC) $@

# libdw.a has no position-independent code: the shared library needs the libdw.so of the system.
$(DIST_LIBRARY): $(library_OBJS) $(OLD_LIBC)/version packaging/check-glibc
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(DIST_LDFLAGS) -Wl,--allow-shlib-undefined $(library_LDFLAGS) -o $@ $(library_OBJS) \
		$(call dist_libs,$(filter-out -liberty,$(library_LIBS)),so) $(call dist_file,libiberty.a)
	$(Q)packaging/check-glibc $(DIST_GLIBC) $@

$(DIST_ARCHIVE): $(DIST_PROGRAMS) $(DIST_LIBRARY) $(COMPLETIONS) $(wildcard packaging/*) $(wildcard man/* include/*) $(shell find sql -name '*.sql')
	$(call msg,DIST,$@)
	@rm -rf $(DIST)/$(DIST_NAME)
	$(Q)$(MAKE) -s install-programs install-library DESTDIR=$(abspath $(DIST))/$(DIST_NAME) PREFIX= LIBDIR=lib \
		INSTALL_BIN=$(DIST)/bin INSTALL_LIBRARY=$(DIST_LIBRARY) PKGCONFIG_PREFIX='$${pcfiledir}/../..' UNIT_PREFIX=@PREFIX@
	$(Q)packaging/licences $(DIST)/$(DIST_NAME)/share/doc/stacks
	$(Q)install -m 755 packaging/install $(DIST)/$(DIST_NAME)/install
	$(Q)sed 's,@VERSION@,$(VERSION),; s,@ARCH@,$(ARCH),; s,@GLIBC@,$(DIST_GLIBC),' packaging/README.dist > $(DIST)/$(DIST_NAME)/README
	$(Q)tar -C $(DIST) --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct)) \
		-I 'zstd -19 -T0' -cf $(abspath $@) $(DIST_NAME)

# ---- packages --------------------------------------------------------------------------------------------------------

## deb: make Debian packages of the programs and of the library, for this release of Debian and newer ones
.PHONY: deb
deb: $(addprefix $(BUILD)/bin/,$(PROGRAMS)) $(LIBRARY) $(COMPLETIONS)
	@packaging/make-deb $(VERSION) $(BUILD) $(BUILD)/deb

# rpm does not know packages of other package managers: --nodeps. Debian's sh cannot run rpm's script for man pages: bash.
## rpm: make RPM packages; tested with Debian's rpmbuild only
.PHONY: rpm
rpm: $(addprefix $(BUILD)/bin/,$(PROGRAMS)) $(LIBRARY) $(COMPLETIONS)
	$(call msg,RPM,$(BUILD)/rpm)
	@rm -rf $(BUILD)/rpm
	$(Q)rpmbuild -bb --quiet --build-in-place $(if $(wildcard /etc/debian_version),--nodeps \
		--define '__brp_compress bash /usr/lib/rpm/brp-compress /usr') \
		--define '_topdir $(abspath $(BUILD))/rpm/work' --define '_rpmdir $(abspath $(BUILD))/rpm' \
		--define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
		--define 'stacks_version $(VERSION)' --define 'stacks_build $(BUILD)' packaging/stacks.spec
	@rm -rf $(BUILD)/rpm/work
	@ls -1 $(BUILD)/rpm/*.rpm

## test-dist: test the archive in bare roots of Debian 11, 12 and 13; root, network, minutes; not part of test
.PHONY: test-dist
test-dist: $(DIST_ARCHIVE)
	@tests/distros/packages dist $<

## test-deb: test the Debian packages, with apt and systemd, in Debian 12 and 13
.PHONY: test-deb
test-deb: deb
	@tests/distros/packages deb $(BUILD)/deb
