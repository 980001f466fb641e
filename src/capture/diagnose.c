// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/diagnose.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"

#define BTF_FILE "/sys/kernel/btf/vmlinux"

static bool diagnose_has_capability(cap_value_t cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (caps)
		cap_get_flag(caps, cap, CAP_EFFECTIVE, &value);
	cap_free(caps);
	return value == CAP_SET;
}

/* Returns the first line of a file, or "". */
static const char *diagnose_read_line(const char *path, char *line, size_t sz)
{
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	if (f && fgets(line, (int)sz, f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return line;
}

/* Returns kernel.perf_event_paranoid, or "". */
static const char *diagnose_read_paranoid(char *line, size_t sz)
{
	return diagnose_read_line("/proc/sys/kernel/perf_event_paranoid", line, sz);
}

/* Kernels of Debian know a value above 2, with which only CAP_SYS_ADMIN opens perf events. */
static bool diagnose_is_more_paranoid(const char *paranoid)
{
	uint64_t level; /* it may be -1, too */

	return parse__u64(paranoid, &level) == 0 && level > 2;
}

int diagnose__rights(void)
{
	char line[16];
	bool admin = diagnose_has_capability(CAP_SYS_ADMIN);
	bool bpf = admin || diagnose_has_capability(CAP_BPF),
	     perfmon = admin || diagnose_has_capability(CAP_PERFMON);

	if (bpf && perfmon)
		return 0;
	log__error("not allowed to load BPF programs; run as root or add %s%s%s%s",
		   bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
		   perfmon ? "" : "CAP_PERFMON",
		   diagnose_is_more_paranoid(diagnose_read_paranoid(line, sizeof(line)))
			   ? ", or only CAP_SYS_ADMIN, which Debian's kernels need for perf events"
			   : "");
	return -EPERM;
}

int diagnose__start(void)
{
	int err = diagnose__rights();

	if (err)
		return err;
	if (access(BTF_FILE, R_OK)) {
		log__error(BTF_FILE ": %s: the kernel must be built with CONFIG_DEBUG_INFO_BTF=y",
			   strerror(errno));
		return -ENOENT;
	}
	return 0;
}

void diagnose__load(int err)
{
	char line[256];

	if (err == -ESRCH) { /* from libbpf, before the kernel has seen any program */
		log__error("libbpf cannot match the BPF programs with the kernel's types (" BTF_FILE
			   "): not enough memory, or a type is missing; --debug-bpf shows which");
		return;
	}
	log__error("the kernel refuses the BPF programs: %s", strerror(-err));
	if ((err == -EPERM || err == -EACCES) &&
	    strstr(diagnose_read_line("/sys/kernel/security/lockdown", line, sizeof(line)),
		   "[confidentiality]"))
		log__error("the kernel is locked down (/sys/kernel/security/lockdown: %s): boot it "
			   "with lockdown=integrity or none",
			   line);
	else if (err == -ENOMEM || err == -E2BIG)
		log__error("a smaller --ring-size and --stack-size need less memory");
	else
		log__error("--debug-bpf shows the verifier's log");
}

void diagnose__perf_event(int err, const char *what, uint64_t rate)
{
	char line[256];

	log__error("%s: perf_event_open: %s", what, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		log__error("run as root, or add %s, or set kernel.perf_event_paranoid to 0 (now "
			   "%s)",
			   diagnose_is_more_paranoid(diagnose_read_paranoid(line, sizeof(line)))
				   ? "CAP_SYS_ADMIN"
				   : "CAP_PERFMON",
			   line);
	else if (err == -EINVAL && rate)
		log__error("%llu Hz may be more than kernel.perf_event_max_sample_rate (%s)",
			   (unsigned long long)rate,
			   diagnose_read_line("/proc/sys/kernel/perf_event_max_sample_rate", line,
					      sizeof(line)));
	else if (err == -ENOSYS || err == -ENOENT)
		log__error("the kernel must be built with CONFIG_PERF_EVENTS=y");
}
