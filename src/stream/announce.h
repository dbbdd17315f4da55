/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Telling others by UDP that a stream can be had, and hearing of it.
 *
 * A collector that listens on this machine only is announced on this machine only: to the loopback
 * network's broadcast address.  One that others can reach is announced to every network that has a
 * broadcast address as well. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ANNOUNCE_EVERY_NS 1000000000ull

/* A socket to announce with, or -errno. */
int announce_open(void);
/* Sends a datagram to everybody who may be listening.  What cannot be reached is left out. */
void announce_send(int fd, const void *bytes, size_t size, uint16_t port, bool others);

/* A socket that hears announcements on this port, as others on this machine may too; or -errno. */
int announce_listen(uint64_t port, struct err *err);
/* The next datagram: its size, 0 when there is none, or -errno; and who sent it. */
int announce_receive(int fd, void *bytes, size_t room, struct sockaddr_in *ret_from);
