// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists what there is: programs with their costs, and probes with what they lack. */
#include "capture/capture_private.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/diagnose.h"
#include "capture/feature.h"

struct capture_cost *capture__costs(struct capture *c, size_t *cnt)
{
	const struct bpf_object_skeleton *s = c->skel->skeleton;
	struct capture_cost *costs = calloc((size_t)s->prog_cnt, sizeof(*costs));

	*cnt = 0;
	for (int i = 0; costs && i < s->prog_cnt; i++) {
		const struct bpf_program *prog = *s->progs[i].prog;
		struct bpf_prog_info info = { 0 };
		uint32_t sz = sizeof(info);

		if (bpf_program__fd(prog) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &sz))
			continue;
		costs[(*cnt)++] = (struct capture_cost){ bpf_program__name(prog), info.run_cnt,
							 info.run_time_ns };
	}
	return costs;
}

int capture__list(capture_list_fn fn, void *arg)
{
	struct collector_bpf *skel = collector_bpf__open();
	struct features *f = skel ? features__new() : NULL;
	int err = f ? 0 : -errno;

	if (f)
		err = features__too_old(f) ? -ENOTSUP : features__err(f);
	for (const struct probe *p = probes; p->name && !err; p++) {
		const char *way;

		fn(p, features__choose(f, skel->obj, p, &way) ? features__why(f) : NULL, arg);
	}
	if (!err)
		diagnose__rights();
	features__free(f);
	collector_bpf__destroy(skel);
	return err;
}
