// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/confined.h"

#include <errno.h>

#include "base/log.h"
#include "capture/alloctask.h"
#include "cfi/framestask.h"
#include "cfi/scantask.h"
#include "cfi/tabletask.h"
#include "elf/addresstask.h"
#include "elf/sdttask.h"
#include "jit/codetask.h"
#include "jit/gdblisttask.h"
#include "symbol/nametask.h"
#include "symbol/symtabtask.h"
#include "worker/sandbox.h"

static const task_fn tasks[TASK_CNT] = {
	[TASK_TABLE] = table_task__run,	      [TASK_SYMBOLS] = symtab_task__run,
	[TASK_NAMES] = name_task__run,	      [TASK_CODE] = code_task__run,
	[TASK_IMAGES] = gdb_list_task__run,   [TASK_FRAMES] = frames_task__run,
	[TASK_ADDRESSES] = address_task__run, [TASK_NOTES] = sdt_task__run,
	[TASK_ALLOCATORS] = alloc_task__run,  [TASK_SCAN] = scan_task__run,
};

int confined__begin(const struct collector_options *o, struct workers **workers)
{
	char text[SANDBOX_LACKS_MAX];
	uint32_t lack;

	*workers = NULL;
	if (o->no_sandbox) {
		log__warn("files of other users are parsed with all rights of this process "
			  "(--no-sandbox)");
		return 0;
	}
	*workers = workers__new(tasks);
	if (!*workers)
		return -errno;
	lack = workers__lack(*workers);
	sandbox__lacks_text(lack, text);
	if (lack)
		log__info("the workers that parse files of other users share with the system, "
			  "because this was refused: %s; a filter of system calls confines them",
			  text);
	return 0;
}
