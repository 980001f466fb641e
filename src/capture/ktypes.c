// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/ktypes.h"

#include <bpf/btf.h>
#include <string.h>

int64_t ktypes__variable(const struct btf *btf, const char *name, uint32_t *type)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(section)[i];
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (strcmp(btf__name_by_offset(btf, var->name_off), name) != 0)
			continue;
		*type = var->type;
		return v->offset;
	}
	return -1;
}

int64_t ktypes__member(const struct btf *btf, uint32_t type, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	if (!t || !btf_is_composite(t))
		return -1;
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *called = btf__name_by_offset(btf, m->name_off);
		int64_t off = *called ? 0 : ktypes__member(btf, m->type, name);

		if (off >= 0 && (!*called || !strcmp(called, name)))
			return btf_member_bit_offset(t, i) / 8 + off;
	}
	return -1;
}

int64_t ktypes__member_of(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 ? ktypes__member(btf, (uint32_t)id, name) : -1;
}
