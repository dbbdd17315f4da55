/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who may ask.  See guard.h. */
#include "server/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_SIZE 256

/* The name in "name:port", "[::1]:port"; false if it is none. */
static bool host_name(const char *host, char ret_name[NAME_MAX_SIZE])
{
	bool bracket = *host == '[';
	size_t size = bracket ? strcspn(++host, "]") : strcspn(host, ":");
	const char *rest = host + size + (bracket && host[size]);

	if (!size || size >= NAME_MAX_SIZE || (bracket && host[size] != ']') ||
	    (*rest && (*rest != ':' || strspn(rest + 1, "0123456789") != strlen(rest + 1))))
		return false;
	memcpy(ret_name, host, size);
	ret_name[size] = 0;
	return true;
}

static bool is_address(const char *name)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* A name that others may let lead here is none of ours; an address leads nowhere else. */
bool guard_is_our_host(const struct server *s, const char *host)
{
	char name[NAME_MAX_SIZE];
	size_t size;

	if (!host || !host_name(host, name))
		return false;
	size = strlen(name);
	if (is_address(name) || !strcasecmp(name, "localhost") ||
	    (size > 10 && !strcasecmp(name + size - 10, ".localhost")))
		return true;
	return !s->loopback && *s->host_name &&
	       (!strcasecmp(name, s->host_name) ||
		!strcasecmp(name, s->options.address ? s->options.address : ""));
}

static bool same_secret(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned char difference = n != m;

	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
	return !difference;
}

bool guard_is_token(const struct server *s, const char *token)
{
	return s->options.token && token && same_secret(token, s->options.token);
}

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "user:password" in base64; the password, or NULL. */
static const char *basic_password(const char *text, char *room, size_t size)
{
	unsigned bits = 0, have = 0;
	size_t n = 0;
	char *colon;

	for (; base64_digit(*text) >= 0; text++) {
		bits = bits << 6 | (unsigned)base64_digit(*text);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		if (n + 1 >= size)
			return NULL;
		room[n++] = (char)(bits >> have);
	}
	room[n] = 0;
	colon = strchr(room, ':');
	return colon ? colon + 1 : NULL;
}

static bool is_known(const struct server *s, const struct credentials *c)
{
	const char *a = c->authorization;
	char room[1024], name[] = GUARD_COOKIE "=";
	const char *password;

	if (a && !strncasecmp(a, "Bearer ", 7) && guard_is_token(s, a + 7))
		return true;
	if (a && s->options.password && !strncasecmp(a, "Basic ", 6)) {
		password = basic_password(a + 6, room, sizeof(room));
		if (password && same_secret(password, s->options.password))
			return true;
	}
	for (const char *p = c->cookie; p && *p; p += strspn(p, "; ")) {
		size_t n = strcspn(p, ";");

		if (!strncmp(p, name, strlen(name)) && n - strlen(name) < sizeof(room)) {
			memcpy(room, p + strlen(name), n - strlen(name));
			room[n - strlen(name)] = 0;
			if (guard_is_token(s, room))
				return true;
		}
		p += n;
	}
	return false;
}

static bool refuse(struct fault *f, int status, const char *text)
{
	*f = (struct fault){ .status = status, .position = -1, .progress = -1 };
	snprintf(f->text, sizeof(f->text), "%s", text);
	return false;
}

bool guard_allows(const struct server *s, const struct credentials *c, struct fault *ret_fault)
{
	const char *origin = c->origin;

	if (!guard_is_our_host(s, c->host))
		return refuse(ret_fault, 403, "this is not the host that was asked for");
	if (origin) {
		const char *rest = strstr(origin, "://");

		if (!rest || strcasecmp(rest + 3, c->host) != 0)
			return refuse(ret_fault, 403, "pages from elsewhere may not ask");
	}
	/* A link that leads here is fine; what another page fetches by itself is not. */
	if (c->site && !strcmp(c->site, "cross-site") &&
	    (!c->mode || strcmp(c->mode, "navigate") != 0))
		return refuse(ret_fault, 403, "pages from elsewhere may not ask");
	if ((s->options.token || s->options.password) && !is_known(s, c))
		return refuse(ret_fault, 401,
			      s->options.token ? "a token is needed: open /?token=…, or send "
						 "Authorization: Bearer …"
					       : "a password is needed");
	return true;
}
