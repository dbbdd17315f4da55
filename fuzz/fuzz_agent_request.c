/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests to the agent, of any bytes: what comes in pieces is read like what comes at once, and
 * every text ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "fuzz.h"

static void look_at(const struct request *r, size_t size)
{
	char value[64];

	if (r->head_size > size || r->head_size > REQUEST_HEAD_MAX ||
	    r->body_size > REQUEST_BODY_MAX || r->path[0] != '/' || !r->method[0])
		abort();
	if (strlen(r->path) >= sizeof(r->path) || strlen(r->query) >= sizeof(r->query) ||
	    strlen(r->host) >= sizeof(r->host) || strlen(r->token) >= sizeof(r->token))
		abort();
	for (const char *c = r->path; *c; c++)
		if ((unsigned char)*c < 0x20)
			abort();
	if (request_param(r, "name", value, sizeof(value)) == 1 && strlen(value) >= sizeof(value))
		abort();
	request_unknown_param(r, "name value", value, sizeof(value));
	/* A name that is not ours is refused, whatever is behind it. */
	if (request_host_allowed(r->host, "127.0.0.1", false) &&
	    !strncmp(r->host, "evil.example", strlen("evil.example")))
		abort();
}

FUZZ(agent_request, data, size)
{
	char *exact = malloc(size + !size); /* so that a read beyond the end is seen */
	struct request whole, part;
	const char *why;
	int e;

	if (!exact)
		return 0;
	if (size)
		memcpy(exact, data, size);
	e = request_parse(&whole, exact, size, &why);
	if (e < 0 && (-e < 400 || -e > 599 || !*why))
		abort();
	if (e == 1)
		look_at(&whole, size);
	/* Before the end of the head nothing is complete; behind it nothing changes. */
	for (size_t cut = 0; e == 1 && cut < whole.head_size; cut += 1 + cut / 8)
		if (request_parse(&part, exact, cut, &why) == 1)
			abort();
	if (e == 1 && (request_parse(&part, exact, whole.head_size, &why) != 1 ||
		       memcmp(&part, &whole, sizeof(part))))
		abort();
	free(exact);
	return 0;
}
