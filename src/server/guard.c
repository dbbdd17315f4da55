/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who may ask.  See guard.h. */
#include "server/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"

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
	for (const char *const *allowed = s->options.allowed_hosts; allowed && *allowed; allowed++)
		if (!strcasecmp(name, *allowed))
			return true;
	return !s->loopback && *s->host_name &&
	       (!strcasecmp(name, s->host_name) ||
		!strcasecmp(name, s->options.address ? s->options.address : ""));
}

bool guard_is_token(const struct server *s, const char *token)
{
	return s->options.token && token && secret_same(token, strlen(token), s->options.token);
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

void guard_cookie_name(const struct server *s, char ret_name[GUARD_COOKIE_SIZE])
{
	snprintf(ret_name, GUARD_COOKIE_SIZE, "memoir_token_%u", s->port);
}

/* Has it a secret that is right? */
static bool has_secret(const struct server *s, const struct credentials *c)
{
	const char *a = c->authorization;
	char room[1024], name[GUARD_COOKIE_SIZE + 1];
	const char *password;

	guard_cookie_name(s, name);
	strcat(name, "=");

	if (a && !strncasecmp(a, "Bearer ", 7) && guard_is_token(s, a + 7))
		return true;
	if (a && s->options.password && !strncasecmp(a, "Basic ", 6)) {
		password = basic_password(a + 6, room, sizeof(room));
		if (password && secret_same(password, strlen(password), s->options.password))
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

static bool is_known(const struct server *s, const struct credentials *c)
{
	return has_secret(s, c) || (s->options.same_user && c->is_ours(c->connection));
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
		return refuse(
			ret_fault, 403,
			"this is not the host that was asked for: --allow-host allows other names");
	if (origin) {
		const char *rest = strstr(origin, "://");

		if (!rest || strcasecmp(rest + 3, c->host) != 0)
			return refuse(ret_fault, 403, "pages from elsewhere may not ask");
	}
	/* A link that leads here is fine; what another page fetches by itself is not. */
	if (c->site && !strcmp(c->site, "cross-site") &&
	    (!c->mode || strcmp(c->mode, "navigate") != 0))
		return refuse(ret_fault, 403, "pages from elsewhere may not ask");
	if (s->options.open_to_all || is_known(s, c))
		return true;
	return refuse(ret_fault, 401,
		      s->options.password    ? "a password is needed"
		      : s->options.same_user ? "this server answers its own user: others open the "
					       "address with ?token=… that it printed, or send "
					       "Authorization: Bearer …"
					     : "a token is needed: open /?token=…, or send "
					       "Authorization: Bearer …");
}

bool guard_may_change(const struct server *s, const struct credentials *c)
{
	return !s->options.open_to_all || is_known(s, c) || c->is_ours(c->connection);
}
