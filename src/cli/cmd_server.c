/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir server: recordings in a browser, and for scripts over HTTP. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/naming.h"
#include "query/value.h"
#include "server/library.h"
#include "server/server.h"
#include "server/watches.h"

#define PASSWORD_MAX 512

static const char *interface, *token, *password_file, *upload_limit, *agent_token_file;
static const char **agents;
static size_t agent_count, agent_room;
static uint64_t port;
static bool open_page, any_port;

static const char *add_agent(const struct command_option *row, const char *value)
{
	agents = xgrow(agents, agent_count, &agent_room, sizeof(*agents));
	agents[agent_count++] = value;
	return NULL;
}

static const struct command_option options[] = {
	{ "port", 'p', "N", "listen at this port (8080, or the next that is free)", COMMAND_NUMBER,
	  &port },
	{ "any-port", 0, NULL, "listen at any port that is free", COMMAND_FLAG, &any_port },
	{ "interface", 'i', "ADDRESS", "listen at this address (127.0.0.1)", COMMAND_TEXT,
	  &interface },
	{ "debug-symbols", 'd', "PATH",
	  "look here for debug symbols: a file or a folder; again for more", COMMAND_CALL,
	  .set = naming_set_path },
	{ "debuginfod", 0, NULL, "ask the servers of DEBUGINFOD_URLS for debug symbols",
	  COMMAND_FLAG, &naming_debuginfod },
	{ "open", 'o', NULL, "open the page in a browser", COMMAND_FLAG, &open_page },
	{ "token", 't', "TEXT", "answer only those who know it (needed at other addresses)",
	  COMMAND_TEXT, &token },
	{ "password-file", 0, "FILE", "the same with a password, which is the file's first line",
	  COMMAND_TEXT, &password_file },
	{ "upload-limit", 0, "SIZE", "how large a file may be that is sent (4GiB; 0: none)",
	  COMMAND_TEXT, &upload_limit },
	{ "agent", 'a', "ADDRESS",
	  "a running program's agent: http://HOST:PORT, unix:/SOCKET, a process; again for more",
	  COMMAND_CALL, .set = add_agent },
	{ "agent-token-file", 0, "FILE", "what those agents want for changes: its first line",
	  COMMAND_TEXT, &agent_token_file },
	{ 0 },
};

static int wrong(const char *text)
{
	fprintf(stderr, "memoir server: %s (memoir server --help says more)\n", text);
	return 2;
}

/* The first line of a file that nobody else should be able to read; false after saying why not. */
static bool read_secret(const char *path, char ret_text[PASSWORD_MAX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || (n = read(fd, ret_text, PASSWORD_MAX - 1)) < 0) {
		fprintf(stderr, "memoir server: %s: %s\n", path, strerror(errno));
		return false;
	}
	ret_text[n] = 0;
	ret_text[strcspn(ret_text, "\r\n")] = 0;
	if (!*ret_text)
		fprintf(stderr, "memoir server: %s: the first line is empty\n", path);
	else if (st.st_mode & 077)
		fprintf(stderr,
			"memoir server: %s: others can read it; chmod 600 %s keeps them out\n",
			path, path);
	return *ret_text;
}

/* Names of functions are what the page is about: nothing to say if the browser does not start. */
static void open_browser(const char *url)
{
	extern char **environ;
	char *argv[] = { (char *)"xdg-open", (char *)url, NULL };
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ))
		fprintf(stderr, "memoir server: there is no xdg-open; open the address by hand\n");
}

/* Files, and agents by their addresses. */
static bool add_all(struct server *s, int argc, char **argv, const char *agent_token)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	for (int i = 0; i < argc + (int)agent_count; i++) {
		const char *text = i < argc ? argv[i] : agents[i - argc];
		int error = i >= argc || watches_is_address(text)
				    ? watches_add(s->watches, text, agent_token, &err)
				    : library_add(s->library, text, &err);

		if (error) {
			fprintf(stderr, "memoir server: %s: %s\n", text, err.text);
			return false;
		}
	}
	return true;
}

static void say_address(const struct server *s)
{
	bool v6 = strchr(s->options.address, ':');
	auto_free char *url = xasprintf("http://%s%s%s:%u/%s%s", v6 ? "[" : "", s->options.address,
					v6 ? "]" : "", s->port, s->options.token ? "?token=" : "",
					s->options.token ? s->options.token : "");

	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr, "memoir server: listening; Ctrl-C ends it\n");
	if (open_page)
		open_browser(url);
}

static int serve(const struct server_options *o, int argc, char **argv, const char *agent_token)
{
	struct server *s;
	struct err err = { .offset = ERR_NO_OFFSET };
	sigset_t ends;
	int which;

	/* Before any thread is made, so that none of them takes the signals. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	s = server_new(o, &err);
	if (!add_all(s, argc, argv, agent_token)) {
		server_free(s);
		return 1;
	}
	if (server_start(s, &err)) {
		fprintf(stderr, "memoir server: %s\n", err.text);
		server_free(s);
		return 1;
	}
	say_address(s);
	sigwait(&ends, &which);
	server_free(s);
	return 0;
}

static int run(int argc, char **argv)
{
	struct server_options o = { .address = interface ? interface : "127.0.0.1",
				    .port = any_port ? 0
					    : port   ? (uint16_t)port
						     : SERVER_PORT,
				    .next_port = !port,
				    .token = token,
				    .upload_limit = SERVER_UPLOAD_LIMIT };
	char password[PASSWORD_MAX], agent_token[PASSWORD_MAX];
	struct value size;

	if (port > UINT16_MAX)
		return wrong("--port is at most 65535");
	if (token && password_file)
		return wrong("--token or --password-file, not both");
	if (token && strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789-._~") != strlen(token))
		return wrong("--token has letters, digits and -._~ only");
	if (token && strlen(token) < 8)
		return wrong("--token has at least 8 characters");
	if (upload_limit) {
		if (value_parse(&size, ARG_SIZE, upload_limit, NULL))
			return wrong("--upload-limit is a size, such as 500M or 4GiB");
		o.upload_limit = size.number;
		value_release(&size);
	}
	if (!server_is_loopback(o.address) && !token && !password_file)
		return wrong("others can reach this address: give --token TEXT or --password-file "
			     "FILE");
	if (password_file) {
		if (!read_secret(password_file, password))
			return 1;
		o.password = password;
	}
	if (agent_token_file && !read_secret(agent_token_file, agent_token))
		return 1;
	o.names = naming_places();
	return serve(&o, argc, argv, agent_token_file ? agent_token : NULL);
}

const struct command command_server = {
	.name = "server",
	.args = "[FILE|AGENT…]",
	.help = "the page: recordings and running programs in a browser, and the HTTP API",
	.examples =
		"  memoir server app.dat\n"
		"  memoir server --open recordings/              new ones show up\n"
		"  memoir server stats.json                      jemalloc's statistics\n"
		"  memoir server unix:/run/app.sock              a running program's agent; those\n"
		"                                                of memoir jemalloc ps are there\n"
		"  memoir server -i 0.0.0.0 --token $(openssl rand -hex 16) app.dat\n"
		"  curl 'http://127.0.0.1:8080/data/last/flame?measure=leaked'\n",
	.options = options,
	.run = run,
};
