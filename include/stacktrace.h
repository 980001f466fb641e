/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libstacktrace turns stack samples (registers and the bytes of a stack) into call chains. It uses
 * the programs' call-frame information and needs no frame pointers. It is for profilers that sample
 * with perf_event_open(2), BPF or ptrace(2).
 *
 *	stacktrace_tracker *t = stacktrace_tracker_new(NULL);
 *	struct stacktrace_sample s = stacktrace_sample_init();
 *	...
 *	end = stacktrace_sample_getframes(t, &s, on_frame, arg);
 *
 * A tracker has the mappings of processes, and shares ELF files and their tables among all
 * processes of a session. All state is in the tracker, which has one lock: any number of threads
 * may use it. The library never prints. Link with `pkg-config --cflags --libs libstacktrace`; see
 * stacktrace(3).
 *
 * Functions return 0 or a negative errno unless their comment says otherwise. Initialize structs
 * that begin with `size` by stacktrace_…_init(), so that they can grow without breaking programs.
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

/* Defines stacktrace_NAME_init(), which returns a struct of zeros with `size` set. */
#define STACKTRACE_INIT(name)                                                 \
	static inline struct stacktrace_##name stacktrace_##name##_init(void) \
	{                                                                     \
		struct stacktrace_##name init;                                \
                                                                              \
		memset(&init, 0, sizeof(init));                               \
		init.size = sizeof(init);                                     \
		return init;                                                  \
	}

/* Returns the version of the library that is loaded, such as "0.1.0". */
const char *stacktrace_version(void);

typedef struct stacktrace_tracker stacktrace_tracker;

/* ---- trackers -------------------------------------------------------------------------------- */

/* The source of the mappings of a process. */
enum stacktrace_source {
	/* /proc, read when a process is first seen and when code appears at a new address, plus
	 * the reported mappings. For programs that run now, on this machine. */
	STACKTRACE_LIVE,
	/* The reported mappings; /proc for processes without any. For streams. */
	STACKTRACE_TOLD,
	/* Only the reported mappings. For recordings of another time or another machine. */
	STACKTRACE_TOLD_ONLY,
};

/* Downloads from debuginfod: numbers of files, and the received bytes `got` of the `total` (0:
 * unknown) of the current one. */
struct stacktrace_downloads {
	size_t pending, found, failed;
	uint64_t got, total;
};

struct stacktrace_options {
	size_t size; /* of this struct */
	enum stacktrace_source source;
	const char *proc; /* NULL: "/proc" */
	/* Root folder of the machine that was recorded, searched before this machine's. NULL:
	 * none. */
	const char *sysroot;
	/* Trees of files by build ID (XX/REST), ended by NULL. NULL: ~/.debug/.build-id (perf's
	 * cache) and the trees of /usr/lib/debug and /usr/lib, also those of the sysroot. */
	const char *const *build_id_dirs;
	/* A thread downloads files that are not found from the servers of $DEBUGINFOD_URLS.
	 * Walks do not wait for it. Needs libdebuginfod. */
	bool debuginfod;
	/* Folder (mode 0700) that keeps tables for the next start. NULL: none. */
	const char *cache_dir;
	/* Limits of memory; 0 selects the default. The least recently used entry is evicted
	 * first. */
	size_t max_processes; /* 32768 */
	size_t max_files; /* open files that no process maps: 1024, or a quarter of RLIMIT_NOFILE */
	/* Bytes of tables and call-frame information of files that are not owned by root (256
	 * MB). The files of one user take at most half of it. */
	size_t max_file_bytes;
	/* Frames of a walk: 8192, which is also the maximum. */
	size_t max_frames;
	/* Bytes for stacks of threads, which complete truncated stacks: such a stack gets the
	 * callers of the thread's previous stack if both have five frames in common. 0: stacks
	 * are not completed. */
	size_t max_stitch;
	/*
	 * Called once before the first walk of a process for which no mapping was reported, so that
	 * you can report them with stacktrace_map() and similar functions. Other threads cannot use
	 * the tracker during the call. NULL: not called.
	 */
	void (*on_process)(stacktrace_tracker *, pid_t pid, void *arg);
	/* Called by the downloading thread, during downloads and at the end of each. NULL: not
	 * called. */
	void (*on_download)(const struct stacktrace_downloads *, void *arg);
	void *arg; /* passed to both callbacks */
};
STACKTRACE_INIT(options)

/*
 * `options` may be NULL: all zero. Copies the strings of the options. Returns NULL with errno
 * EINVAL if the size is invalid, ENOENT without /proc or the sysroot, ELIBACC without
 * libdebuginfod, EPERM if other users can write into the cache, ENOMEM.
 */
stacktrace_tracker *stacktrace_tracker_new(const struct stacktrace_options *options);
/* Accepts NULL. No other thread may use the tracker. A file system that hangs delays it by one
 * second. */
void stacktrace_tracker_free(stacktrace_tracker *tracker);

/* ---- processes ------------------------------------------------------------------------------- */

#define STACKTRACE_BUILD_ID_MAX 20 /* longer build IDs are cut to this many bytes */

/* An executable mapping, with the fields of PERF_RECORD_MMAP2 or /proc/PID/maps. */
struct stacktrace_mapping {
	uint64_t start, size;  /* start address, size in bytes */
	uint64_t offset;       /* of `start` in the file */
	uint32_t major, minor; /* device; 0, 0: unknown */
	uint64_t inode;	       /* 0: unknown */
	/* As the process sees it. "[vdso]", "//anon" and "" are not files. */
	const char *path;
	const uint8_t *build_id; /* NULL: unknown */
	size_t build_id_size;
};

/*
 * Report the changes of processes in the order in which they happened. `pid` is the process id,
 * which is the id of its first thread. The functions return -EINVAL for invalid ids and mappings.
 */
int stacktrace_map(stacktrace_tracker *tracker, pid_t pid,
		   const struct stacktrace_mapping *mapping);
/* `child` starts with the mappings of `parent`. Report only processes, not threads. */
int stacktrace_fork(stacktrace_tracker *tracker, pid_t parent, pid_t child);
/* Forgets the mappings of the process. */
int stacktrace_exec(stacktrace_tracker *tracker, pid_t pid);
/* The process ended. Samples of it can still be walked for 1 s. */
int stacktrace_exit(stacktrace_tracker *tracker, pid_t pid);
/* For a process in a container: files that it sees under `at` are in the folder `from` here.
 * Layers are searched in the order in which they were reported, longer names first. */
int stacktrace_overlay(stacktrace_tracker *tracker, pid_t pid, const char *at, const char *from);
/* Reads /proc and opens the files that processes map. Optional: finds files before they are
 * deleted. Returns -ENOENT if the tracker uses only reported mappings. */
int stacktrace_scan(stacktrace_tracker *tracker);
/* Returns true if the process was reported or looked up before. */
bool stacktrace_knows(stacktrace_tracker *tracker, pid_t pid);

/* ---- samples --------------------------------------------------------------------------------- */

/*
 * Returns the sample_regs_user for perf_event_open(2) with which stacks of `machine` (EM_X86_64,
 * EM_386, EM_AARCH64) can be walked, or 0 if the machine is not supported.
 */
uint64_t stacktrace_preferred_regs_mask(uint16_t machine);

#define STACKTRACE_ABI_NONE 0 /* PERF_SAMPLE_REGS_ABI_NONE: the sample has no registers */
#define STACKTRACE_ABI_32   1 /* a 32-bit process: one frame */
#define STACKTRACE_ABI_64   2

enum stacktrace_sample_flags {
	/* The stack continues after the bytes of the sample: perf's dyn_size equals the size
	 * that was requested. */
	STACKTRACE_STACK_IS_CUT = 1 << 0,
	/* Do not wait for tables that must be built. The walk then returns -EAGAIN, without
	 * calls of the callback; try again later, or when stacktrace_stats() reports no
	 * tables_pending. The thread with the first sample in a file still opens that file. To
	 * avoid that, let another thread call stacktrace_scan(), or stacktrace_find() for the
	 * mappings that it reported. */
	STACKTRACE_DONT_WAIT = 1 << 1,
};

#define STACKTRACE_RED_ZONE_X86_64 128 /* bytes below the stack pointer that the leaf may use */

/*
 * The library does not keep the pointers after the call.
 *
 * On x86-64 the stack must begin STACKTRACE_RED_ZONE_X86_64 bytes below the stack pointer, with
 * stack_address set to its first byte. Functions use these bytes without moving the stack pointer,
 * and call-frame information may read them: in OpenSSL's sha512_block_data_order_avx2() the CFA is
 * *(rsp - 8) + 8. Without these bytes the walk of such a sample ends there. AArch64 has no red
 * zone. PERF_SAMPLE_STACK_USER cannot copy them; ptrace(2), process_vm_readv(2) and BPF programs
 * can. If their page is not in memory, the stack may begin at the stack pointer.
 */
struct stacktrace_sample {
	size_t size; /* of this struct */
	pid_t pid, tid;
	const void *stack; /* its bytes, from the red zone up */
	size_t stack_size;
	uint64_t stack_address; /* of the first byte; 0: the stack pointer */
	const uint64_t *regs;
	size_t n_regs;
	/* Which registers `regs` has: either a mask of perf's register numbers (values in the
	 * order of its bits), … */
	uint64_t perf_mask;
	/* … or the DWARF number of each regs[i] in mapping[i] (-1: ignored). NULL: perf_mask
	 * counts. */
	const int *mapping;
	uint32_t abi;	  /* STACKTRACE_ABI_*, perf's values */
	uint16_t machine; /* EM_*; 0: this machine's */
	uint16_t flags;	  /* enum stacktrace_sample_flags */
};
STACKTRACE_INIT(sample)

/*
 * How a frame was found. The first two are exact. STACKTRACE_BY_CODE is exact unless data among the
 * code misled it. Before a frame that was found in another way, a caller may be missing.
 */
enum stacktrace_found {
	STACKTRACE_BY_SAMPLE, /* the leaf, from the registers */
	STACKTRACE_BY_CFI,    /* by call-frame information of the previous frame */
	/* The previous frame has no call-frame information: this frame was found */
	STACKTRACE_BY_FRAME_POINTER,  /* by the frame pointer; functions without one are missing */
	STACKTRACE_BY_RETURN_ADDRESS, /* by the word on top of the leaf's stack */
	STACKTRACE_BY_STITCH,	      /* in an earlier stack of the thread */
	STACKTRACE_BY_CODE,	      /* by the instructions of the previous frame */
	STACKTRACE_BY_LEAF_POINTER,   /* by the frame pointer, perhaps of the leaf's caller */
	/* The previous frame unwinds the stack for an exception; some frames may be missing. */
	STACKTRACE_BY_UNWINDING,
};

enum stacktrace_frame_flags {
	STACKTRACE_SIGNAL = 1 << 0, /* a signal trampoline: the next frame was interrupted */
};

struct stacktrace_frame {
	uint64_t pc; /* program counter; in a caller, the return address */
	uint64_t sp; /* stack pointer in this frame */
	/* An address inside the instruction, for names and lines: pc in the leaf, pc - 1 in a
	 * caller. */
	uint64_t place;
	enum stacktrace_found found;
	uint32_t flags; /* enum stacktrace_frame_flags */
};

/* How a walk ended. */
enum stacktrace_end {
	STACKTRACE_ROOT,	 /* at the thread's first function */
	STACKTRACE_TRUNCATED,	 /* the stack is larger than the sample */
	STACKTRACE_NO_CFI,	 /* no call-frame information and no frame pointer */
	STACKTRACE_NO_MAP,	 /* a pc outside executable mappings */
	STACKTRACE_BAD_MEMORY,	 /* a rule reads outside the stack */
	STACKTRACE_OTHER_STACK,	 /* the callers are on another stack: of a signal, of a coroutine */
	STACKTRACE_NO_PROGRESS,	 /* the stack pointer does not change: no call chain */
	STACKTRACE_LIMIT,	 /* max_frames reached */
	STACKTRACE_COMPAT,	 /* a 32-bit process: one frame */
	STACKTRACE_STITCHED,	 /* at the root, with callers of an earlier stack */
	STACKTRACE_STOPPED = 31, /* the callback stopped the walk */
	STACKTRACE_END_COUNT
};
/* Returns "root", "truncated", "no_cfi" and so on, or "?" for an invalid value. */
const char *stacktrace_end_name(int end);

/* Called for each frame, leaf first, on the calling thread. Returns 0 to continue, another value
 * to stop. The tracker is not locked during the call: any function may be called. */
typedef int (*stacktrace_frame_fn)(const struct stacktrace_frame *frame, void *arg);

/*
 * Walks a sample; no process is attached. Can be called any number of times. Returns how the walk
 * ended (enum stacktrace_end); the callback got at least one frame unless that is
 * STACKTRACE_STOPPED. Returns -EINVAL (the registers lack a program counter or stack pointer, wrong
 * size of the struct, invalid pid), -ENODATA (abi 0: no registers), -ENOTSUP (machine not
 * supported), -EAGAIN (STACKTRACE_DONT_WAIT) or -ENOMEM.
 */
int stacktrace_sample_getframes(stacktrace_tracker *tracker, const struct stacktrace_sample *sample,
				stacktrace_frame_fn callback, void *arg);

/* ---- places ---------------------------------------------------------------------------------- */

struct stacktrace_place {
	uint64_t start, end;   /* addresses of the mapping */
	uint64_t file_offset;  /* of the requested address */
	uint64_t elf_address;  /* the requested address in the file's own tables; 0: no file */
	uint64_t symbol_start; /* like elf_address; for JIT code, an address in the process */
	uint8_t build_id[STACKTRACE_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none */
	/* Path as the process sees it, "[vdso]", or "" for memory without a file. */
	char module[4096];
	char symbol[1024]; /* demangled and cut to this size; "" if unknown */
};

/* Describes an address, such as stacktrace_frame.place. Returns -ENOENT if the tracker has no
 * executable mapping there. The first request for a file reads its symbols, which takes some
 * milliseconds. */
int stacktrace_find(stacktrace_tracker *tracker, pid_t pid, uint64_t address,
		    struct stacktrace_place *place);

/* ---- statistics ------------------------------------------------------------------------------ */

struct stacktrace_stats {
	size_t size;			      /* of this struct */
	uint64_t samples, frames;	      /* walked */
	uint64_t ended[STACKTRACE_END_COUNT]; /* samples, by enum stacktrace_end */
	size_t processes;		      /* known now */
	size_t files;			      /* open now */
	uint64_t files_missing;		      /* mappings without a file that could be opened */
	/* Tables that exist, also in part; tables that are being built. */
	size_t tables, tables_pending;
	size_t tables_none; /* files without call-frame information */
	size_t table_bytes; /* memory of the tables */
	struct stacktrace_downloads downloads;
};
STACKTRACE_INIT(stats)

int stacktrace_stats(stacktrace_tracker *tracker, struct stacktrace_stats *stats);

/*
 * Waits until all requested tables and downloads are complete. Returns -ETIMEDOUT after `max_ns`.
 * Walks before that are correct too, but slower, and shorter if a file is still to be downloaded.
 * Walks request the files that they reach: a walk that gets further may request more.
 */
int stacktrace_settle(stacktrace_tracker *tracker, uint64_t max_ns);

#ifdef __cplusplus
}
#endif

#endif
