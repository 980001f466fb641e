#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: tests/aarch64/make.sh
# Builds the programs of tests/unit/test_aarch64.c and tests/unit/test_plt.c, and records the runs of the former under
# emulation. Needs Debian's gcc-aarch64-linux-gnu and qemu-user. The results are kept in the repository.
set -eu
cd "$(dirname "$0")"

compile() { # name flags…
	name=$1; shift
	aarch64-linux-gnu-gcc "$@" -c -ffreestanding -fno-stack-protector -fno-ident -fno-pic -o "$name.o" calls.c
	aarch64-linux-gnu-gcc -c -o start.o start.S
	aarch64-linux-gnu-ld -static --build-id=sha1 -z max-page-size=4096 -z noseparate-code -o "$name.elf" start.o "$name.o"
	aarch64-linux-gnu-strip --remove-section=.comment "$name.elf" --strip-debug
	rm "$name.o" start.o
	./record.py "$name.elf" >"$name.steps"
}

compile plain -O1 -mbranch-protection=none
compile signed -O2 -mbranch-protection=standard
compile no_frame_pointer -O1 -mbranch-protection=none -fomit-frame-pointer
compile signed_leaves -Os -mbranch-protection=pac-ret+leaf+b-key

# Each form of PLT stub. Only programs that are not position-independent have those that begin with bti.
stubs() { # name flags…
	name=$1; shift
	printf 'void first(void) {} void second(void) {} void third(void) {}\n' |
		aarch64-linux-gnu-gcc -shared -nostdlib -x c -o called.so -
	aarch64-linux-gnu-gcc -O1 -nostdlib "$@" -Wl,-e,calls,--build-id=none,-z,max-page-size=4096,-z,noseparate-code -o "$name.elf" stubs.c called.so
	aarch64-linux-gnu-strip --remove-section=.comment "$name.elf"
	rm called.so
}

stubs plt -mbranch-protection=none
stubs plt_bti -no-pie -mbranch-protection=bti -Wl,-z,force-bti
stubs plt_pac -mbranch-protection=none -Wl,-z,pac-plt
