/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process table: who maps what, at the time of the record in hand. Records arrive merged by
 * time (capture/merge.h), so the table is always the one of the sample that is looked up.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "event/record.h"
#include "elf/elffile.h"
#include "process/finder.h"

enum mapping_kind {
	MAPPING_FILE, /* .file when the ELF file could be opened, else path and build_id only */
	MAPPING_ANON, /* executable memory without a file: JIT code, a memfd that is no ELF file …
		       */
	MAPPING_VDSO, /* .file is the kernel's vdso image */
	MAPPING_VSYSCALL,
	MAPPING_UPROBES, /* the kernel's page of code that uprobes go through */
};

struct mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t pgoff;	     /* file offset of start */
	enum mapping_kind kind;
	struct elf_file *file;	  /* NULL when it could not be opened or is no ELF file */
	struct open_job *opening; /* that is still to be found out; NULL: it is not */
	struct build_id build_id; /* the file's, or what records said of it */
	bool vague;		  /* records have told its path, and neither ID nor inode */
	bool misnamed;	  /* … the build ID of another file, which has its path here; there
			     is no .file, and .build_id is not that */
	const char *path; /* as the process saw it, without " (deleted)"; lives as long as the
			     mapping: copy what has to stay */
};

/* Accepts NULL. */
static inline bool mapping__holds(const struct mapping *m, uint64_t addr)
{
	return m && addr >= m->start && addr < m->end;
}

struct process {
	uint32_t tgid;
	uint64_t from_ns;	  /* records before this time are in the mappings already */
	struct build_id build_id; /* of the main executable */
	struct open_job *exe;	  /* that is being opened: .build_id is not known yet */
	struct mapping *maps;	  /* ascending, no overlaps, executable ones only */
	size_t map_cnt;
	uint64_t version;    /* of .maps: another one whenever they change, and nobody else's; 0:
				not told */
	struct image *image; /* private to process/: .maps are its */
	uint16_t *hints;     /* PROCESS_HINTS, for process__find() alone; NULL: none */
};

/* Where the table learns what no record says. All zero: from nowhere. */
struct process_options {
	struct jobs *jobs; /* what files are opened by; borrowed; NULL: who asks for one waits */
	const char *proc;  /* "/proc" but in tests; NULL: it is not looked at */
	/*
	 * Records are of another time or machine, perhaps: /proc is asked only about a process of
	 * which they have told no mapping when it is looked up, and its word is taken for files
	 * with the right build ID or inode only.
	 */
	bool told;
	bool past; /* told, and over: /proc is asked for files, not for what is mapped */
	struct finder
		*finder; /* borrowed; NULL: files are where processes and this host have them */
	/* Asked once of each file, by who opens it, which may be another thread; the answer is its
	 * .origin. NULL: nobody */
	uint64_t (*identify)(const struct elf_file *);
	size_t process_max; /* of more, those go that were not looked up for longest; 0: none does
			     */
	size_t held_max;    /* bytes that hang on files that anybody may have made; 0: 256 MB */
	size_t file_max;    /* open files that no process maps; 0: as many as the limit allows */
};

struct process_table;

struct process_table *process_table__new(const struct process_options *); /* NULL + errno */
void process_table__free(struct process_table *);			  /* after jobs__free() */

/* Reads all of /proc: what runs already, or may have changed unseen. 0 or -errno. */
int process_table__scan(struct process_table *);

/* Opens the files of all, for who wants none to be opened later, in a walk. */
void process_table__open(const struct process_table *);

/* Applies a MMAP, COMM, FORK or EXIT record; others are ignored. */
void process_table__apply(struct process_table *, const struct record *);

/* The process, made from /proc on first sight. Never NULL but for lack of memory; may have no
 * mappings. It and its mappings are valid until the next scan, refresh, record or collection, or,
 * where there is a process_max, the first look at another one. */
struct process *process_table__get(struct process_table *, uint32_t tgid);

/* The process if it is known already, else NULL. */
struct process *process_table__find(const struct process_table *, uint32_t tgid);

/*
 * The process as it is now, for somebody who keeps it: its mappings stay what they are. To be
 * dropped before the table goes.
 */
struct process process__keep(const struct process *);
void process__drop(struct process *);

/* False while the main program is being opened: its build ID is not known yet. */
bool process__named(struct process *);
/* Opens all of its files, not only those that somebody comes across. False while one is. */
bool process__open(const struct process *);
/* Both. */
bool process__settled(struct process *);

/* Which mapping was the right one for addresses like that; may be wrong by now. */
#define PROCESS_HINTS 128

static inline uint16_t *process__hint(const struct process *p, uint64_t addr)
{
	return &p->hints[(addr >> 14) * 0x9e3779b97f4a7c15u >> 57];
}

/* For process__find(). */
const struct mapping *process__search(const struct process *, uint64_t addr);

/* The executable mapping that holds addr, or NULL. */
static inline const struct mapping *process__find(const struct process *p, uint64_t addr)
{
	size_t i = p->hints ? *process__hint(p, addr) : 0;

	if (i < p->map_cnt && addr - p->maps[i].start < p->maps[i].end - p->maps[i].start &&
	    !p->maps[i].opening)
		return &p->maps[i];
	return process__search(p, addr);
}

/* Reads /proc/PID/maps again (a pc was in no mapping); at most once per 100 ms and process, and
 * seldomer where that takes long. True when it changed. */
bool process_table__refresh(struct process_table *, struct process *);

/* In this process `from` is a folder of this host that is seen at `at`. 0 or -errno. */
int process_table__overlay(struct process_table *, uint32_t tgid, const char *at, const char *from);

/* Takes over what the finder has downloaded since; true when there was something. */
bool process_table__collect(struct process_table *);

struct process_table_stats {
	size_t processes, files;
	uint64_t files_failed; /* files that were asked for and could not be opened or had another
				  build ID */
};
void process_table__stats(const struct process_table *, struct process_table_stats *);

#endif
