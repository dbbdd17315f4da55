/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recorder without a program: shared memory with rings, nodes and modules that a test fills as it
 * likes, by the protocol of wire/shm.h.  The ring's writer is the least that keeps it; the real one
 * (recorder/ring.h) is tested for real by tests/e2e. */
#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"
#include "wire/shm.h"

struct fake {
	int fd;
	struct shm_control *control;
};

struct fake_ring {
	struct shm_ring *ring;
	uint64_t tail;
};

void fake_init(struct fake *f, const char *output);
void fake_release(struct fake *f);
/* Announces a ring of 1 << order events. */
struct fake_ring fake_ring(struct fake *f, uint32_t order, uint32_t tid);
/* A filled node's id; with `pc` 0 it is announced but left unfilled. */
uint32_t fake_node(struct fake *f, uint32_t parent, uint64_t pc);
void fake_fill_node(struct fake *f, uint32_t id, uint32_t parent, uint64_t pc);
uint32_t fake_module(struct fake *f, uint64_t start, uint64_t end, const char *name);
/* Publishes one event; waits while the ring is full. */
void fake_put(struct fake *f, struct fake_ring *r, const struct event *e);
