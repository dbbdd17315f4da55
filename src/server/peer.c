/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other end of a connection.  See peer.h.
 *
 * The kernel's tables of TCP sockets have a line for each end: the other one is that whose
 * addresses are ours the other way round.  Addresses there are words of 32 bits as they are in
 * memory. */
#include "server/peer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct end {
	uint32_t words[4];
	unsigned port;
};

/* As IPv6 has it; IPv4 is mapped into that. */
static bool end_of(const struct sockaddr_storage *a, struct end *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *four = (const void *)a;

		ret->words[2] = htonl(0xffff);
		ret->words[3] = four->sin_addr.s_addr;
		ret->port = ntohs(four->sin_port);
	} else if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)a;

		memcpy(ret->words, &six->sin6_addr, sizeof(ret->words));
		ret->port = ntohs(six->sin6_port);
	}
	return ret->port;
}

/* "0100007F:1F90", or with 32 digits. */
static bool parse_end(const char *text, struct end *ret)
{
	size_t digits = strcspn(text, ":");
	bool six = digits == 32;

	if ((digits != 8 && !six) || !text[digits])
		return false;
	memset(ret, 0, sizeof(*ret));
	if (!six)
		ret->words[2] = htonl(0xffff);
	for (unsigned i = 0; i < digits / 8; i++) {
		char word[9] = "";

		memcpy(word, text + (size_t)8 * i, 8);
		ret->words[six ? i : 3] = (uint32_t)strtoul(word, NULL, 16);
	}
	ret->port = (unsigned)strtoul(text + digits + 1, NULL, 16);
	return true;
}

static bool same(const struct end *a, const struct end *b)
{
	return a->port == b->port && !memcmp(a->words, b->words, sizeof(a->words));
}

enum found { NO_TABLE, NOBODY, OURS, ANOTHERS };

static enum found look(const char *path, const struct end *here, const struct end *there)
{
	FILE *table = fopen(path, "re");
	enum found found = NOBODY;
	char *line = NULL;
	size_t room = 0;

	if (!table)
		return NO_TABLE;
	while (found == NOBODY && getline(&line, &room, table) > 0) {
		char local[48], remote[48];
		struct end l, r;
		unsigned uid;
		uint64_t inode;

		if (sscanf(line, " %*d: %47s %47s %*x %*s %*s %*x %u %*u %" SCNu64, local, remote,
			   &uid, &inode) != 4 ||
		    !parse_end(local, &l) || !parse_end(remote, &r) || !same(&l, there) ||
		    !same(&r, here))
			continue;
		/* One that its process has closed is nobody's, and said to be root's. */
		found = inode && (!uid || uid == geteuid()) ? OURS : ANOTHERS;
	}
	free(line);
	fclose(table);
	return found;
}

bool peer_is_ours(int fd)
{
	struct sockaddr_storage mine = { 0 }, other = { 0 };
	socklen_t mine_size = sizeof(mine), other_size = sizeof(other);
	struct end here, there;
	enum found four, six;

	if (getsockname(fd, (struct sockaddr *)&mine, &mine_size) < 0 ||
	    getpeername(fd, (struct sockaddr *)&other, &other_size) < 0 || !end_of(&mine, &here) ||
	    !end_of(&other, &there))
		return false;
	four = look("/proc/net/tcp", &here, &there);
	six = four == OURS ? four : look("/proc/net/tcp6", &here, &there);
	return four == OURS || six == OURS || (four == NO_TABLE && six == NO_TABLE);
}
