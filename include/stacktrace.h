/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libstacktrace turns stack samples (registers and the bytes of a stack) into call chains, by the
 * call-frame information of the programs, without frame pointers. It is for profilers that sample
 * with perf_event_open(2), BPF or ptrace(2).
 *
 *	stacktrace_tracker *t = stacktrace_tracker_new(NULL);
 *	struct stacktrace_sample s = stacktrace_sample_init();
 *	...
 *	end = stacktrace_sample_getframes(t, &s, on_frame, arg);
 *
 * A tracker knows the mappings of processes, and shares ELF files and their tables among all
 * processes of a session. Any number of threads may use it: it has one lock, and there is no state
 * outside of it. It never prints. Link with `pkg-config --cflags --libs libstacktrace`; see
 * stacktrace(3).
 *
 * Functions return 0 or a negative errno unless their comment says otherwise. Initialize structs
 *that begin with `size` by stacktrace_…_init(), so that they can grow without breaking programs.
 */
#ifndef STACKTRACE_H
#define STACKTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STACKTRACE_VERSION_MAJOR 0
#define STACKTRACE_VERSION_MINOR 1

/* struct stacktrace_NAME s = stacktrace_NAME_init(): all zero but for its size. */
#define STACKTRACE_INIT(name)                                                 \
	static inline struct stacktrace_##name stacktrace_##name##_init(void) \
	{                                                                     \
		struct stacktrace_##name init;                                \
                                                                              \
		memset(&init, 0, sizeof(init));                               \
		init.size = sizeof(init);                                     \
		return init;                                                  \
	}

/* "0.1.0": of the library that is loaded. */
const char *stacktrace_version(void);

typedef struct stacktrace_tracker stacktrace_tracker;

/* ---- trackers -------------------------------------------------------------------------------- */

/* Where the mappings of a process come from. */
enum stacktrace_source {
	/* /proc, when a process is first seen and when code is somewhere new; what is told comes on
	 * top. For programs that run now, on this machine. */
	STACKTRACE_LIVE,
	/* What is told; /proc about processes of which nothing was told. For streams. */
	STACKTRACE_TOLD,
	/* What is told. For recordings of another time or another machine. */
	STACKTRACE_TOLD_ONLY,
};

/* What debuginfod is asked for, in files, and of the one that comes just now how many bytes of how
 * many (0: not known). */
struct stacktrace_downloads {
	size_t pending, found, failed;
	uint64_t got, total;
};

struct stacktrace_options {
	size_t size; /* of this struct */
	enum stacktrace_source source;
	const char *proc;    /* NULL: "/proc" */
	const char *sysroot; /* NULL: none. Root folder of the machine that was recorded; first */
	/* Trees of files by build ID, XX/REST, the last is NULL. NULL: ~/.debug/.build-id (perf's
	 * cache) and those of /usr/lib/debug and /usr/lib, of the sysroot too. */
	const char *const *build_id_dirs;
	/* Files that are not found are fetched from the servers of $DEBUGINFOD_URLS by a thread;
	 * walks do not wait. Needs libdebuginfod. */
	bool debuginfod;
	const char *cache_dir; /* where tables are kept for the next start, 0700; NULL: nowhere */
	/* Limits of memory; 0 selects the default. The least recently used entry is evicted first.
	 */
	size_t max_processes; /* 32768 */
	size_t max_files;     /* open files that no process maps: 1024, or a quarter of the limit */
	/* What hangs on files that others than root may have made: tables, call-frame information
	 * (256 MB; one user's leave half of it to others'). */
	size_t max_file_bytes;
	size_t max_frames; /* of a walk: 8192, which is also the most */
	/* Bytes for stacks of threads: one that is cut gets its callers from the thread's stack of
	 * before, where both are the same for five frames. 0: none does. */
	size_t max_stitch;
	/*
	 * Called once before the first walk of a process for which no mapping was reported, so that
	 * you can report them with stacktrace_map() and the functions beside it. The tracker is
	 * locked for other threads meanwhile. NULL: not called.
	 */
	void (*on_process)(stacktrace_tracker *, pid_t pid, void *arg);
	/* Called by the thread that downloads, while it does and at each end; NULL: not called. */
	void (*on_download)(const struct stacktrace_downloads *, void *arg);
	void *arg; /* of both */
};
STACKTRACE_INIT(options)

/*
 * NULL for the options: all of them zero. NULL + errno: EINVAL for a size that is no options',
 * ENOENT without /proc or the sysroot, ELIBACC without libdebuginfod, EPERM when others can write
 * into the cache, ENOMEM. The options' strings are copied.
 */
stacktrace_tracker *stacktrace_tracker_new(const struct stacktrace_options *options);
/* No other thread uses it any more. A file system that hangs delays it by a second. Accepts NULL.
 */
void stacktrace_tracker_free(stacktrace_tracker *tracker);

/* ---- processes ------------------------------------------------------------------------------- */

#define STACKTRACE_BUILD_ID_MAX 20 /* bytes that count of a longer one */

/* An executable mapping, as PERF_RECORD_MMAP2 or /proc/PID/maps have it. */
struct stacktrace_mapping {
	uint64_t start, size;  /* addresses: bytes */
	uint64_t offset;       /* of start in the file */
	uint32_t major, minor; /* device; 0, 0: not known */
	uint64_t inode;	       /* 0: not known */
	const char *path;      /* as the process sees it; "[vdso]", "//anon" and "" are no files */
	const uint8_t *build_id; /* NULL: not known */
	size_t build_id_size;
};

/*
 * What happens to processes; in the order in which it happened. `pid` is the process's id, that of
 * its first thread. -EINVAL for ids and mappings that there cannot be.
 */
int stacktrace_map(stacktrace_tracker *tracker, pid_t pid,
		   const struct stacktrace_mapping *mapping);
/* `child` begins with what `parent` maps. For processes, not threads. */
int stacktrace_fork(stacktrace_tracker *tracker, pid_t parent, pid_t child);
int stacktrace_exec(stacktrace_tracker *tracker, pid_t pid); /* maps nothing any more */
int stacktrace_exit(stacktrace_tracker *tracker, pid_t pid); /* samples may still come, for 1 s */
/* A container's process: what it sees at `at` is below the folder `from` here. Layers are asked in
 * the order in which they are told, longer names first. */
int stacktrace_overlay(stacktrace_tracker *tracker, pid_t pid, const char *at, const char *from);
/* Reads all of /proc and opens what is mapped, which is not needed, but finds files while they are
 * there. -ENOENT: what is told is all there is. */
int stacktrace_scan(stacktrace_tracker *tracker);
bool stacktrace_knows(stacktrace_tracker *tracker, pid_t pid);

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * sample_regs_user for perf_event_open(2) such that stacks of `machine` (EM_X86_64, EM_386,
 * EM_AARCH64) can be walked; 0: not supported.
 */
uint64_t stacktrace_preferred_regs_mask(uint16_t machine);

#define STACKTRACE_ABI_NONE 0 /* PERF_SAMPLE_REGS_ABI_NONE: the sample has no registers */
#define STACKTRACE_ABI_32   1 /* a 32-bit process: gives one frame */
#define STACKTRACE_ABI_64   2

enum stacktrace_sample_flags {
	STACKTRACE_STACK_IS_CUT = 1 << 0, /* the stack goes on past the bytes: perf's dyn_size is
					     all that was asked for */
	/* Do not wait for tables that must be built. Returns -EAGAIN then, and has called back for
	 * no frame; try again later, or when stacktrace_stats() has no tables_pending. The thread
	 * with the first sample in a file still opens that file. To avoid that, let another thread
	 * call stacktrace_scan(), or stacktrace_find() for the mappings that it reported. */
	STACKTRACE_DONT_WAIT = 1 << 1,
};

#define STACKTRACE_RED_ZONE_X86_64 128 /* bytes below the stack pointer that are the leaf's */

/*
 * Everything is borrowed.
 *
 * On x86-64 the stack must begin STACKTRACE_RED_ZONE_X86_64 bytes below the stack pointer, with
 * stack_address set to where it begins. Functions use these bytes without moving the stack pointer,
 * and call-frame information may read them: in OpenSSL's sha512_block_data_order_avx2() the CFA is
 * *(rsp - 8) + 8. Without them a walk of such a sample ends there. AArch64 has no red zone.
 * PERF_SAMPLE_STACK_USER cannot copy them; ptrace(2), process_vm_readv(2) and BPF programs can.
 * Where their page is not there the stack may begin at the stack pointer.
 */
struct stacktrace_sample {
	size_t size; /* of this struct */
	pid_t pid, tid;
	const void *stack; /* its bytes, from the red zone up */
	size_t stack_size;
	uint64_t stack_address; /* of the first byte; 0: the stack pointer */
	const uint64_t *regs;
	size_t n_regs;
	/* Which registers these are: perf's numbers, in the order of the mask's bits; or … */
	uint64_t perf_mask;
	/* … regs[i] has DWARF number mapping[i], -1: none that counts. NULL: perf_mask says it. */
	const int *mapping;
	uint32_t abi;	  /* STACKTRACE_ABI_*, perf's */
	uint16_t machine; /* EM_*; 0: this machine's */
	uint16_t flags;	  /* enum stacktrace_sample_flags */
};
STACKTRACE_INIT(sample)

/*
 * How a frame was found. The first two are exact, and so is STACKTRACE_BY_CODE unless data among
 * the code misled it. Behind each of the others a caller may be missing.
 */
enum stacktrace_found {
	STACKTRACE_BY_SAMPLE, /* the leaf, by the registers */
	STACKTRACE_BY_CFI,    /* by call-frame information of the frame before it */
	/* The frame before it has no call-frame information: */
	STACKTRACE_BY_FRAME_POINTER,  /* by the frame pointer; functions without one are missing */
	STACKTRACE_BY_RETURN_ADDRESS, /* by what is on top of the leaf's stack */
	STACKTRACE_BY_STITCH,	      /* it was there in an earlier stack of the thread */
	STACKTRACE_BY_CODE,	      /* by the instructions of the frame before it */
	STACKTRACE_BY_LEAF_POINTER,   /* by the frame pointer, which may be the leaf's caller's */
	/* The frame before it leaves frames for an exception, some of which may be missing: */
	STACKTRACE_BY_UNWINDING,
};

enum stacktrace_frame_flags {
	STACKTRACE_SIGNAL = 1 << 0, /* a signal trampoline: the next frame was interrupted */
};

struct stacktrace_frame {
	uint64_t pc; /* as the CPU has it: of a caller, the return address */
	uint64_t sp; /* stack pointer in this frame */
	uint64_t
		place; /* an address in the instruction: pc, of a caller pc - 1. For names, lines */
	enum stacktrace_found found;
	uint32_t flags; /* enum stacktrace_frame_flags */
};

/* How a walk ended. */
enum stacktrace_end {
	STACKTRACE_ROOT,	 /* at the thread's first function */
	STACKTRACE_TRUNCATED,	 /* the stack is larger than the sample */
	STACKTRACE_NO_CFI,	 /* no call-frame information, and no frame pointer */
	STACKTRACE_NO_MAP,	 /* a pc in no executable mapping */
	STACKTRACE_BAD_MEMORY,	 /* a rule reads what is no stack */
	STACKTRACE_OTHER_STACK,	 /* the callers are on another stack: a signal's, a coroutine's */
	STACKTRACE_NO_PROGRESS,	 /* the stack pointer does not move: no call chain */
	STACKTRACE_LIMIT,	 /* max_frames */
	STACKTRACE_COMPAT,	 /* a 32-bit process: one frame */
	STACKTRACE_STITCHED,	 /* at the root, by callers of an earlier stack */
	STACKTRACE_STOPPED = 31, /* by the callback */
	STACKTRACE_END_COUNT
};
/* "root", "truncated", "no_cfi" …; "?" for what is none. */
const char *stacktrace_end_name(int end);

/* Gets the frames, leaf first, on the thread that asks. What is not 0 stops. The tracker is not
 * locked meanwhile: any function may be called. */
typedef int (*stacktrace_frame_fn)(const struct stacktrace_frame *frame, void *arg);

/*
 * Walks a sample; nothing has to be attached before, and it may be called as often as one likes.
 * Returns how the walk ended, enum stacktrace_end; there was at least one frame then, unless it is
 * STACKTRACE_STOPPED. Or -EINVAL (no program counter or stack pointer among the registers, a struct
 * of another size, a pid that is none), -ENODATA (abi 0: no registers), -ENOTSUP (a machine that is
 * not supported), -EAGAIN (STACKTRACE_DONT_WAIT), -ENOMEM.
 */
int stacktrace_sample_getframes(stacktrace_tracker *tracker, const struct stacktrace_sample *sample,
				stacktrace_frame_fn callback, void *arg);

/* ---- what is where --------------------------------------------------------------------------- */

struct stacktrace_place {
	uint64_t start, end;   /* addresses of the mapping */
	uint64_t file_offset;  /* of the address that was asked about */
	uint64_t elf_address;  /* the same as the file's own tables have it; 0: no file */
	uint64_t symbol_start; /* as elf_address; of JIT code: in the process */
	uint8_t build_id[STACKTRACE_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none */
	char module[4096]; /* path as the process sees it; "[vdso]", "" for memory without one */
	char symbol[1024]; /* demangled, cut where it is longer; "" where unknown */
};

/* For stacktrace_frame.place. -ENOENT: nothing executable is there, as far as the tracker knows. A
 * file's symbols are read when it is asked about first: that takes some milliseconds. */
int stacktrace_find(stacktrace_tracker *tracker, pid_t pid, uint64_t address,
		    struct stacktrace_place *place);

/* ---- statistics ------------------------------------------------------------------------------ */

struct stacktrace_stats {
	size_t size;			      /* of this struct */
	uint64_t samples, frames;	      /* walked */
	uint64_t ended[STACKTRACE_END_COUNT]; /* samples, by enum stacktrace_end */
	size_t processes;		      /* known now */
	size_t files;			      /* open now */
	uint64_t files_missing;		      /* mappings whose file was not found */
	size_t tables, tables_pending;	      /* that there are, if only in parts; being made */
	size_t tables_none;		      /* files without call-frame information */
	size_t table_bytes;		      /* of tables now */
	struct stacktrace_downloads downloads;
};
STACKTRACE_INIT(stats)

int stacktrace_stats(stacktrace_tracker *tracker, struct stacktrace_stats *stats);

/*
 * Until all that was asked for is there, tables and downloads, or the time has passed: -ETIMEDOUT.
 * Walks are right before, too, but slower, and where a file is still to be fetched shorter. Files
 * are asked for by the walks that come to them: one that goes on further may ask for the next.
 */
int stacktrace_settle(stacktrace_tracker *tracker, uint64_t max_ns);

#ifdef __cplusplus
}
#endif

#endif
