// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/mapping.h"

#include "process/openjob.h"

void mapping__set_file(struct mapping *m, struct elf_file *f)
{
	m->file = f;
	m->kind = MAPPING_FILE;
	m->build_id = f->build_id;
}

bool mapping__settle(struct mapping *m)
{
	struct open_job *o = m->opening;

	if (!o)
		return true;
	if (o->state != OPENING_DONE)
		return false;
	m->opening = NULL;
	if (o->file)
		mapping__set_file(m, elf_file__get(o->file));
	else if (m->kind == MAPPING_FILE && !o->no_elf)
		o->set->failed_cnt++;
	if (o->misnamed) {
		m->misnamed = true;
		m->build_id = (struct build_id){ 0 };
	}
	open_job__put(o);
	return true;
}

bool mapping__open(struct mapping *m)
{
	return !m->opening || (open_job__start(m->opening) && mapping__settle(m));
}
