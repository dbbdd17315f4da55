/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir server: recordings in a browser, and for scripts over HTTP. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/fleet/fleet_options.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/naming.h"
#include "cli/secrets.h"
#include "client/http.h"
#include "query/value.h"
#include "server/agent_sessions.h"
#include "server/api.h"
#include "server/library.h"
#include "server/server.h"

#define NAME "memoir server"
#define PATIENCE_MS 1000 /* with threads, after SIGTERM */
#define LAST_MS 1800	 /* then it ends in any case */

static const char *interface, *token_file, *password_file, *upload_limit;
static const char *agent_token_file;
static const char **agents;
static size_t agent_count, agent_room;
static const char **source_roots;
static size_t source_root_count, source_root_room;
static const char **hosts; /* NULL at the end */
static size_t host_count;
static uint64_t port;
static bool open_page, any_port, open_to_all, only_api;

static const char *add_agent(const struct command_option *row, const char *value)
{
	*xpush(agents, agent_count, agent_room) = value;
	return NULL;
}

static const char *add_source_root(const struct command_option *row, const char *value)
{
	char *real = realpath(value, NULL);

	if (!real || access(real, R_OK | X_OK) < 0) {
		free(real);
		return "a folder that can be read";
	}
	*xpush(source_roots, source_root_count, source_root_room) = real;
	return NULL;
}

/* MEMOIR_SOURCE_ROOT: folders with colons between; those that are not there are passed over. */
static void add_source_roots_of_environment(void)
{
	const char *text = getenv("MEMOIR_SOURCE_ROOT");
	auto_free char *copy = text ? xstrdup(text) : NULL;
	char *rest = copy, *folder;

	while (copy && (folder = strsep(&rest, ":")))
		if (*folder)
			add_source_root(NULL, folder);
}

static const char *add_host(const struct command_option *row, const char *value)
{
	if (!*value || strchr(value, '/') || strchr(value, ':'))
		return "a name without a port";
	hosts = xreallocarray(hosts, host_count + 2, sizeof(*hosts));
	hosts[host_count++] = value;
	hosts[host_count] = NULL;
	return NULL;
}

static const struct command_option options[] = {
	VALUE("port", 'p', "N", "listen at this port (8080, or the next that is free)", &port),
	FLAG("any-port", 0, "listen at any port that is free", &any_port),
	VALUE("interface", 'i', "ADDRESS", "listen at this address (127.0.0.1)", &interface),
	CALL("debug-symbols", 'd', "PATH",
	     "look here for debug symbols: a file or a folder; again for more", naming_set_path),
	FLAG("debuginfod", 0, "ask the servers of DEBUGINFOD_URLS for debug symbols",
	     &naming_debuginfod),
	CALL("source-root", 0, "DIR",
	     "show sources below this folder, beside those where the program was built; again for "
	     "more",
	     add_source_root),
	FLAG("open", 'o', "open the page in a browser", &open_page),
	VALUE("token-file", 0, "FILE",
	      "answer only those who know its first line (or MEMOIR_TOKEN; otherwise one is made)",
	      &token_file),
	VALUE("password-file", 0, "FILE",
	      "the same with a password, which is the file's first line", &password_file),
	FLAG("open-to-all", 0, "everybody who reaches the address may read, without a token",
	     &open_to_all),
	CALL("allow-host", 0, "NAME",
	     "answer requests for this name of the machine, too; again for more", add_host),
	VALUE("upload-limit", 0, "SIZE", "how large a file may be that is sent (4GiB; 0: none)",
	      &upload_limit),
	CALL("agent", 'a', "ADDRESS",
	     "a running program's agent: http://HOST:PORT, unix:/SOCKET, a process; again for more",
	     add_agent),
	VALUE("agent-token-file", 0, "FILE", "the token of those agents: its first line",
	      &agent_token_file),
	FLEET_ROW,
	CA_FILE_ROW,
	FLAG("api", 0, "print what GET /api answers, and leave", &only_api),
	{ 0 },
};

static int wrong(const char *text)
{
	fprintf(stderr, "memoir server: %s (memoir server --help says more)\n", text);
	return 2;
}

/* The token must not be seen on the browser's command line: a file that nobody else can read leads
 * to the address.  NULL: it cannot be written. */
static char *make_leader(const char *url)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char *path = xasprintf("%s/memoir-XXXXXX.html", folder && *folder ? folder : "/tmp");
	auto_close int fd = mkostemps(path, 5, O_CLOEXEC);

	if (fd >= 0 &&
	    dprintf(fd, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
		    url) > 0)
		return path;
	free(path);
	return NULL;
}

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
		int error = i >= argc || http_is_address(text)
				    ? agent_sessions_add(s->agent_sessions, text, agent_token, &err)
				    : library_add(s->library, text, &err);

		if (error) {
			fprintf(stderr, "memoir server: %s: %s\n", text, err.text);
			return false;
		}
	}
	return true;
}

/* What the browser opens, and what is to be removed in the end (NULL: nothing). */
static char *say_address(const struct server *s)
{
	const struct server_options *o = &s->options;
	bool v6 = strchr(o->address, ':');
	auto_free char *plain =
		xasprintf("http://%s%s%s:%u/", v6 ? "[" : "", o->address, v6 ? "]" : "", s->port);
	auto_free char *whole =
		xasprintf("%s%s%s", plain, o->token ? "?token=" : "", o->token ? o->token : "");
	bool with_token = o->token && !o->same_user && !o->open_to_all;
	char *leader = NULL;

	printf("%s\n", with_token ? whole : plain);
	fflush(stdout);
	fprintf(stderr, NAME ": listening; Ctrl-C ends it\n");
	if (o->same_user && !o->open_to_all)
		fprintf(stderr, NAME ": this user's processes may ask; another user opens %s\n",
			whole);
	else if (o->open_to_all && !s->loopback)
		fprintf(stderr, NAME ": everybody who reaches this address may read\n");
	if (open_page && with_token)
		leader = make_leader(whole);
	if (open_page)
		open_browser(leader ? leader : plain);
	return leader;
}

static void *end_after_a_while(void *context)
{
	usleep(LAST_MS * 1000);
	_exit(0);
}

/* Whatever else keeps it from ending: a thread that is stuck, much to be freed. */
static void end_soon(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, end_after_a_while, NULL))
		pthread_detach(thread);
}

/* Takes the fleet, which may be NULL. */
static int serve(const struct server_options *o, int argc, char **argv, const char *agent_token,
		 struct snapshot *fleet)
{
	struct server *s;
	struct err err = { .offset = ERR_NO_OFFSET };
	char *leader;
	sigset_t signals;
	int which;

	/* Before any thread is made, so that none of them takes the signals. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	s = server_new(o, &err);
	if (fleet)
		library_add_fleet(s->library, fleet);
	if (!add_all(s, argc, argv, agent_token)) {
		server_free(s);
		return 1;
	}
	if (server_start(s, &err)) {
		fprintf(stderr, "memoir server: %s\n", err.text);
		server_free(s);
		return 1;
	}
	leader = say_address(s);
	sigwait(&signals, &which);
	end_soon();
	if (leader)
		unlink(leader);
	free(leader);
	if (!server_stop(s, PATIENCE_MS))
		_exit(0);
	server_free(s);
	return 0;
}

/* A token is in an address. */
static int check_token(const char *text)
{
	if (strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789-._~") != strlen(text))
		return wrong("a token has letters, digits and -._~ only");
	if (strlen(text) < 8)
		return wrong("a token has at least 8 characters");
	return 0;
}

/* Who has to show what: a token that was given is asked of everybody; otherwise this user's own
 * processes need none on this machine, and one is made for all others. */
static int choose_secret(struct server_options *o, char room[SECRET_SIZE])
{
	const struct secret_sources from = { token_file, "MEMOIR_TOKEN" };
	struct err err;
	int status;

	if (password_file && token_file)
		return wrong("--token-file or --password-file, not both");
	if (password_file) {
		int error = secret_read(password_file, room, &err);

		if (*err.text)
			fprintf(stderr, NAME ": %s\n", err.text);
		o->password = room;
		return error ? 1 : 0;
	}
	status = secret_choose(NAME, &from, room, &o->token);
	if (!status && o->token)
		status = check_token(o->token);
	if (status)
		return status;
	if (o->token)
		return 0;
	if (secret_make(room)) {
		fprintf(stderr, NAME ": there are no random numbers for a token\n");
		return 1;
	}
	o->token = room;
	o->same_user = server_is_loopback(o->address);
	return 0;
}

static int run_server(int argc, char **argv)
{
	struct server_options o = { .address = interface ? interface : "127.0.0.1",
				    .port = any_port ? 0
					    : port   ? (uint16_t)port
						     : SERVER_PORT,
				    .next_port = !port,
				    .open_to_all = open_to_all,
				    .allowed_hosts = hosts,
				    .upload_limit = SERVER_UPLOAD_LIMIT };
	char secret[SECRET_SIZE], room[SECRET_SIZE];
	const char *agent_token = NULL;
	const struct secret_sources agents_from = { .file = agent_token_file,
						    .variable = "MEMOIR_AGENT_TOKEN" };
	struct snapshot *fleet = NULL;
	struct value size;
	int status;

	if (port > UINT16_MAX)
		return wrong("--port is at most 65535");
	if (upload_limit) {
		if (value_parse(&size, ARG_SIZE, upload_limit, NULL))
			return wrong("--upload-limit is a size, such as 500M or 4GiB");
		o.upload_limit = size.number;
		value_release(&size);
	}
	if (only_api) {
		struct buf out = { 0 };

		api_write(&out, o.upload_limit);
		status = buf_flush(&out, 1) ? STATUS_FAILED : STATUS_DONE;
		buf_release(&out);
		return status;
	}
	status = choose_secret(&o, secret);
	if (!status)
		status = secret_choose(NAME, &agents_from, room, &agent_token);
	if (status)
		return status;
	add_source_roots_of_environment();
	o.source_roots = source_roots;
	o.source_root_count = source_root_count;
	o.names = naming_locations();
	if (fleet_options_given()) {
		fleet = fleet_options_snapshot("server", &status);
		if (!fleet && fleet_options_named())
			return status;
	}
	return serve(&o, argc, argv, agent_token, fleet);
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
		"  memoir server -i 0.0.0.0 app.dat              others open the address with the\n"
		"                                                token that is printed\n"
		"  curl 'http://127.0.0.1:8080/data/last/flame?measure=leaked'\n",
	.options = options,
	.run = run_server,
};
