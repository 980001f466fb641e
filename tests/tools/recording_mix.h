/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a realistic mix of events, for measurements. Private to write_recording.c. */
#ifndef RECORDING_MIX_H
#define RECORDING_MIX_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/columns.h"
#include "store/recording.h"

struct shape {
	uint64_t stacks, processes, every;
};

/* Interns prefix, number, suffix. */
static uint32_t numbered(struct recording *r, const char *prefix, uint64_t n, const char *suffix)
{
	char text[64];
	int sz = snprintf(text, sizeof(text), "%s%" PRIu64 "%s", prefix, n, suffix);

	return recording__string(r, text, (size_t)sz);
}

struct random {
	uint64_t state;
};

static uint64_t next(struct random *s)
{
	s->state += 0x9e3779b97f4a7c15;
	uint64_t z = s->state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Small numbers are frequent, large ones rare. */
static uint64_t skewed(struct random *s, uint64_t below)
{
	uint64_t a = next(s) % below, b = next(s) % below;

	return a * b / below * (next(s) % below) / below;
}

#define THREADS	 60
#define COMMANDS 25

struct mix {
	struct shape shape;
	uint64_t row, row_cnt;
	uint32_t generation, kinds[2], states[4], unwind, cgroup, host;
	uint32_t commands[COMMANDS], buildids[COMMANDS], names[1500], modules[30];
};

static void intern_mix(struct recording *r, struct mix *m)
{
	static const char *const states[] = { "sleeping", "preempted", "disk_sleep", "idle" };

	m->generation = recording__generation(r);
	m->kinds[0] = recording__string(r, "switch", 6);
	m->kinds[1] = recording__string(r, "profile", 7);
	m->unwind = recording__string(r, "root", 4);
	m->cgroup = recording__string(r, "/system.slice/postgresql.service", 32);
	m->host = recording__string(r, "db-17.example.com", 17);
	for (size_t i = 0; i < 4; i++)
		m->states[i] = recording__string(r, states[i], strlen(states[i]));
	for (uint64_t i = 0; i < COMMANDS; i++) {
		struct random s = { i };
		uint64_t id[3] = { next(&s), next(&s), next(&s) };

		m->commands[i] = numbered(r, "worker-", i, "");
		m->buildids[i] = recording__bytes(r, id, 20);
	}
	for (uint64_t i = 0; i < 30; i++)
		m->modules[i] = numbered(r, "/usr/lib/x86_64-linux-gnu/libexample", i, ".so");
	for (uint64_t i = 0; i < 1500; i++)
		m->names[i] = numbered(r, "namespace::Some_Class::function_", i * i, "(int)");
}

/* The number of a stack determines its frames, and its frames determine its id. */
static int mix_stack(struct recording *r, const struct mix *m, uint64_t n, uint64_t *id)
{
	struct random s = { n };
	struct row_frame frames[64];
	size_t cnt = 8 + next(&s) % 50;

	*id = next(&s);
	if (recording__has_stack(r, *id))
		return 0;
	for (size_t i = 0; i < cnt; i++) {
		/* Roots are shared, leaves are not. */
		uint64_t name = skewed(&s, 1500) / (1 + i / 4);

		frames[i] = (struct row_frame){
			.name = m->names[name],
			.module = m->modules[name % 30],
			.build_id = m->names[name % 30],
			.has_file_offset = 1,
			.address = 0x1000 + name * 256,
			.offset = name * 7919 % 251,
			.file_offset = 0x1000 + name * 256 + name * 7919 % 251,
		};
	}
	return recording__add_stack(r, *id, frames, cnt);
}

/* One row of four is of the short process of its time, if there are such. */
static uint64_t mix_thread(struct mix *m, struct random *s)
{
	uint64_t thread = skewed(s, THREADS), at = m->row++;

	if (!m->shape.processes || next(s) % 4)
		return thread;
	return THREADS + at * m->shape.processes / m->row_cnt;
}

/* A command has its own stacks, and a user stack few kernel stacks that belong to it. */
static int mix_stacks(struct recording *r, const struct mix *m, struct random *s, struct row *row)
{
	uint64_t user =
		skewed(s, m->shape.stacks / COMMANDS) * COMMANDS + (uint64_t)row->pid % COMMANDS;
	uint64_t kernel = (user * 31 + next(s) % 4) % (m->shape.stacks / 10);
	int err = mix_stack(r, m, user, &row->ustack_id);

	return err ? err : mix_stack(r, m, m->shape.stacks + kernel, &row->kstack_id);
}

static void mix_row(struct mix *m, struct random *s, struct row *row)
{
	uint64_t thread = mix_thread(m, s), command = thread % COMMANDS;
	bool profile = next(s) % m->shape.every == 0;

	row->timestamp += (int64_t)skewed(s, 60000) + 800;
	row->duration = profile ? 10101010 : (int64_t)skewed(s, 4000000) + 1500;
	row->kind = m->kinds[profile];
	row->cpu = (int32_t)(next(s) % 8);
	row->tgid = 4000 + (int32_t)(thread < THREADS ? command : thread);
	row->pid = 4000 + (int32_t)thread;
	row->command = row->thread = m->commands[command];
	row->buildid = m->buildids[command];
	row->unwind = m->unwind;
	row->state = profile ? 0 : m->states[skewed(s, 4)];
	row->runnable = (int64_t)skewed(s, 200000) + 700;
	row->present = ROW_USTACK_ID | ROW_KSTACK_ID | (profile ? 0 : ROW_RUNNABLE);
	row->cgroup = m->cgroup;
	row->host = m->host;
	row->weight = 1;
}

#define BLOCK 250

static int make_block(struct recording *r, struct mix *m, struct random *s, struct row *rows)
{
	struct row row = rows[BLOCK - 1];
	int err = 0;

	if (m->generation != recording__generation(r))
		intern_mix(r, m);
	for (size_t i = 0; i < BLOCK && !err; i++) {
		mix_row(m, s, &row);
		err = mix_stacks(r, m, s, &row);
		rows[i] = row;
	}
	return err;
}

#endif
