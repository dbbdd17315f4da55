/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other end of a connection.  See peer.h.
 *
 * Both ends of a connection on one machine are sockets of the same network namespace: the other one
 * is that whose addresses are ours the other way round.  The kernel looks it up by them
 * (sock_diag(7)); where that is not built in or not allowed, its tables in /proc are read. */
#include "peer/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIME_WAIT 6 /* a state that the kernel's headers give no name to programs */
#define LINE_MAX_SIZE 512
#define OVERFLOW_USER 65534 /* the kernel's default */

/* As IPv6 has it, in network order; IPv4 is mapped into that. */
struct end {
	uint32_t words[4];
	uint16_t port;
};

static bool end_of(const struct sockaddr_storage *a, struct end *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *four = (const void *)a;

		ret->words[2] = htonl(0xffff);
		ret->words[3] = four->sin_addr.s_addr;
		ret->port = four->sin_port;
	} else if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)a;

		memcpy(ret->words, &six->sin6_addr, sizeof(ret->words));
		ret->port = six->sin6_port;
	}
	return ret->port;
}

static bool is_mapped(const struct end *e)
{
	return !e->words[0] && !e->words[1] && e->words[2] == htonl(0xffff);
}

static void put_address(uint32_t to[4], const struct end *e, bool four)
{
	if (four)
		to[0] = e->words[3];
	else
		memcpy(to, e->words, sizeof(e->words));
}

/* What came back: a socket that is connected as we are, or one that only listens, or an error. */
static int read_answer(const char *bytes, size_t size, const struct end *here,
		       const struct end *there, uid_t *ret_user)
{
	struct nlmsghdr head;
	struct inet_diag_msg socket;
	int error;

	if (size < sizeof(head))
		return -EIO;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_type == NLMSG_ERROR && size >= sizeof(head) + sizeof(error)) {
		memcpy(&error, bytes + sizeof(head), sizeof(error));
		return error == -ENOENT ? -ENOENT : -EOPNOTSUPP;
	}
	if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < sizeof(head) + sizeof(socket))
		return -EIO;
	memcpy(&socket, bytes + sizeof(head), sizeof(socket));
	/* One that its process has closed is nobody's, and said to be root's. */
	if (socket.id.idiag_sport != there->port || socket.id.idiag_dport != here->port ||
	    socket.idiag_state == TIME_WAIT || !socket.idiag_inode)
		return -ENOENT;
	*ret_user = socket.idiag_uid;
	return 0;
}

int peer_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static int ask_kernel(int fd, const struct end *here, const struct end *there, uid_t *ret_user)
{
	bool four = is_mapped(here) && is_mapped(there);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = four ? AF_INET : AF_INET6,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0u,
			  .id = { .idiag_sport = there->port,
				  .idiag_dport = here->port,
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	char answer[1024];
	ssize_t n = -1;

	put_address(question.body.id.idiag_src, there, four);
	put_address(question.body.id.idiag_dst, here, four);
	/* The kernel answers within the call that asks. */
	if (send(fd, &question, sizeof(question), MSG_NOSIGNAL) == (ssize_t)sizeof(question))
		n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	return n < 0 ? -EOPNOTSUPP : read_answer(answer, (size_t)n, here, there, ret_user);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " ");
}

static const char *skip_word(const char *p)
{
	return skip_blanks(p + strcspn(p, " "));
}

/* "0100007F:1F90", or with 32 digits: words of 32 bits as they are in memory, and the port. */
static bool parse_end(const char *text, struct end *ret)
{
	size_t digits = strcspn(text, ": ");
	unsigned port = 0;

	if ((digits != 8 && digits != 32) || text[digits] != ':')
		return false;
	memset(ret, 0, sizeof(*ret));
	if (digits == 8)
		ret->words[2] = htonl(0xffff);
	for (size_t i = 0; i < digits; i++) {
		uint32_t *word = &ret->words[digits == 8 ? 3 : i / 8];

		*word = *word << 4 | (uint32_t)(hex_digit(text[i]) & 15);
	}
	for (text += digits + 1; hex_digit(*text) >= 0; text++)
		port = port << 4 | (unsigned)hex_digit(*text);
	ret->port = htons((uint16_t)port);
	return true;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	*ret = 0;
	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		*ret = *ret * 10 + (uint64_t)(*text - '0');
	return true;
}

static bool same_end(const struct end *a, const struct end *b)
{
	return a->port == b->port && !memcmp(a->words, b->words, sizeof(a->words));
}

/* A line of the table: number, local end, other end, state, queues, timer, retransmissions, user,
 * timeout, inode. */
static bool parse_line(const char *line, const struct end *here, const struct end *there,
		       uid_t *ret_user)
{
	struct end local, remote;
	uint64_t user, inode;

	line = skip_word(skip_blanks(line));
	if (!parse_end(line, &local) || !same_end(&local, there))
		return false;
	line = skip_word(line);
	if (!parse_end(line, &remote) || !same_end(&remote, here))
		return false;
	for (int i = 0; i < 5; i++)
		line = skip_word(line);
	if (!parse_number(line, &user) || !parse_number(skip_word(skip_word(line)), &inode) ||
	    !inode)
		return false;
	*ret_user = (uid_t)user;
	return true;
}

static int read_table(const char *path, const struct end *here, const struct end *there,
		      uid_t *ret_user)
{
	char bytes[LINE_MAX_SIZE + 4096];
	size_t have = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = -ENOENT;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (found && (n = read(fd, bytes + have, sizeof(bytes) - 1 - have)) > 0) {
		char *line = bytes, *end;

		have += (size_t)n;
		bytes[have] = 0;
		for (; found && (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			found = parse_line(line, here, there, ret_user) ? 0 : found;
		}
		have -= (size_t)(line - bytes);
		if (have >= LINE_MAX_SIZE)
			have = 0; /* no line is as long as that */
		memmove(bytes, line, have);
	}
	close(fd);
	return found;
}

int peer_user_by(int asking, int fd, uid_t *ret_user)
{
	struct sockaddr_storage mine, other;
	socklen_t mine_size = sizeof(mine), other_size = sizeof(other);
	struct end here, there;
	int found = -EOPNOTSUPP;

	memset(&mine, 0, sizeof(mine));
	memset(&other, 0, sizeof(other));
	if (getsockname(fd, (struct sockaddr *)&mine, &mine_size) < 0 ||
	    getpeername(fd, (struct sockaddr *)&other, &other_size) < 0)
		return -errno;
	if (!end_of(&mine, &here) || !end_of(&other, &there))
		return -EAFNOSUPPORT;
	if (asking >= 0)
		found = ask_kernel(asking, &here, &there, ret_user);
	if (!found || found == -ENOENT)
		return found;
	found = read_table("/proc/net/tcp", &here, &there, ret_user);
	return found ? read_table("/proc/net/tcp6", &here, &there, ret_user) : 0;
}

int peer_user(int fd, uid_t *ret_user)
{
	int asking = peer_open(), found = peer_user_by(asking, fd, ret_user);

	if (asking >= 0)
		close(asking);
	return found;
}

/* Users that a user namespace has no number for are all said to be this one.  May it be several? */
static bool is_ambiguous(uid_t user)
{
	char map[64];
	int fd = user == OVERFLOW_USER ? open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd >= 0 ? read(fd, map, sizeof(map) - 1) : -1;

	if (user != OVERFLOW_USER)
		return false;
	if (fd >= 0)
		close(fd);
	map[n > 0 ? n : 0] = 0;
	return !strstr(map, " 4294967295"); /* all of them have one */
}

bool peer_is_ours_by(int asking, int fd)
{
	uid_t user;

	return !peer_user_by(asking, fd, &user) &&
	       (!user || (user == geteuid() && !is_ambiguous(user)));
}

bool peer_is_ours(int fd)
{
	int asking = peer_open();
	bool ours = peer_is_ours_by(asking, fd);

	if (asking >= 0)
		close(asking);
	return ours;
}
