/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes with an agent.  See agents.h. */
#include "client/agents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "client/http.h"

#define FOLDERS 3
#define FILE_MAX_SIZE 1000

static char chosen_token[sizeof(((struct agents_entry *)0)->token)];

void agents_use_token(const char *token)
{
	snprintf(chosen_token, sizeof(chosen_token), "%s", token);
}

static void choose_token(struct agents_entry *e)
{
	const char *given = *chosen_token ? chosen_token : getenv("MEMOIR_AGENT_TOKEN");

	if (given && *given)
		snprintf(e->token, sizeof(e->token), "%s", given);
}

/* Where the files of a user may be; how many places that are. */
static unsigned folders_of(uid_t user, char folders[FOLDERS][300])
{
	const char *only = getenv("MEMOIR_AGENT_FOLDER"), *runtime = getenv("XDG_RUNTIME_DIR");
	unsigned n = 0;

	if (only && *only == '/') {
		snprintf(folders[0], 300, "%s", only);
		return 1;
	}
	if (runtime && *runtime == '/')
		snprintf(folders[n++], 300, "%s/memoir", runtime);
	snprintf(folders[n], 300, "/run/user/%u/memoir", (unsigned)user);
	if (!n || strcmp(folders[n], folders[0]) != 0)
		n++;
	snprintf(folders[n++], 300, "/tmp/memoir-%u", (unsigned)user);
	return n;
}

static void take_line(const char **text, char *out, size_t room)
{
	size_t n = strcspn(*text, "\r\n"), copied = n < room ? n : room - 1;

	memcpy(out, *text, copied);
	out[copied] = 0;
	*text += n;
	*text += strspn(*text, "\r\n");
}

static int read_file(const char *folder, pid_t pid, uid_t user, struct agents_entry *ret)
{
	auto_free char *path = xasprintf("%s/jemalloc.%d", folder, (int)pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char bytes[FILE_MAX_SIZE];
	const char *text = bytes;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* A file that somebody else put there would send us anywhere. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid != user && st.st_uid))
		return -EPERM;
	n = read(fd, bytes, sizeof(bytes) - 1);
	if (n <= 0)
		return -ENODATA;
	bytes[n] = 0;
	ret->pid = pid;
	take_line(&text, ret->address, sizeof(ret->address));
	take_line(&text, ret->token, sizeof(ret->token));
	take_line(&text, ret->program, sizeof(ret->program));
	return 0;
}

int agents_of(pid_t pid, struct agents_entry *ret, struct err *err)
{
	char folders[FOLDERS][300], process[32];
	unsigned count;
	struct stat st;
	int e = -ENOENT;

	snprintf(process, sizeof(process), "/proc/%d", (int)pid);
	if (stat(process, &st))
		return err_set(err, -ESRCH, "there is no process %d", (int)pid);
	count = folders_of(st.st_uid, folders);
	for (unsigned i = 0; i < count && e; i++)
		e = read_file(folders[i], pid, st.st_uid, ret);
	if (e)
		return err_set(err, e,
			       "process %d has no agent that can be found: there is no "
			       "%s/jemalloc.%d that is its user's",
			       (int)pid, folders[count - 1], (int)pid);
	choose_token(ret);
	return 0;
}

/* Is it still that process?  Its number may have been given to another. */
static bool alive(pid_t pid)
{
	auto_free char *path = xasprintf("/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false, any = false;

	if (!maps)
		return errno != ENOENT && errno != ESRCH;
	while (!found && getline(&line, &room, maps) > 0) {
		any = true;
		found = strstr(line, "memoir-jemalloc") != NULL;
	}
	/* What cannot be looked into is left alone; a process that has ended has no maps at all. */
	if (!any)
		found = ferror(maps);
	free(line);
	fclose(maps);
	return found;
}

ORDER(by_pid, struct agents_entry, RISING(pid))

static void list_folder(const char *folder, struct agents_entry **list, size_t *count)
{
	DIR *dir = opendir(folder);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		struct agents_entry entry = { 0 };
		char *end;
		long pid;

		if (strncmp(d->d_name, "jemalloc.", 9) != 0)
			continue;
		pid = strtol(d->d_name + 9, &end, 10);
		if (*end || pid <= 0 || read_file(folder, (pid_t)pid, geteuid(), &entry))
			continue;
		if (!alive((pid_t)pid)) {
			unlinkat(dirfd(dir), d->d_name, 0);
			continue;
		}
		*list = xrealloc(*list, (*count + 1) * sizeof(**list));
		(*list)[(*count)++] = entry;
	}
	if (dir)
		closedir(dir);
}

size_t agents_list(struct agents_entry **ret)
{
	char folders[FOLDERS][300];
	unsigned n = folders_of(geteuid(), folders);
	size_t count = 0;

	*ret = NULL;
	for (unsigned i = 0; i < n; i++)
		list_folder(folders[i], ret, &count);
	SORT(*ret, count, by_pid);
	return count;
}

int agents_find(const char *text, struct agents_entry *ret, struct err *err)
{
	struct agents_entry *all;
	size_t count;
	char *end;
	long pid = strtol(text, &end, 10);

	memset(ret, 0, sizeof(*ret));
	if (*text && !*end && pid > 0)
		return agents_of((pid_t)pid, ret, err);
	if (strlen(text) >= sizeof(ret->address))
		return err_set(err, -EINVAL, "the address is too long");
	strcpy(ret->address, text);
	count = agents_list(&all);
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(all[i].address);

		if (!strncmp(all[i].address, text, n) && (!text[n] || !strcmp(text + n, "/"))) {
			*ret = all[i];
			break;
		}
	}
	free(all);
	choose_token(ret);
	return 0;
}

int agents_ask(const struct agents_entry *agent, const char *method, const char *target,
	       int timeout_ms, struct buf *body, struct err *err)
{
	struct http_address address;
	int e = http_parse_address(&address, agent->address, err);

	if (e)
		return e;
	if (strlen(target) >= sizeof(address.target))
		return err_set(err, -EINVAL, "the request is too long");
	strcpy(address.target, target);
	return http_ask(&(struct http_call){ .address = &address,
					     .method = method,
					     .token = agent->token,
					     .direct = agent->pid > 0,
					     .timeout_ms = timeout_ms,
					     .body = body },
			err);
}
