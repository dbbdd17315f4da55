/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which file is a process recorded into?  See top_find.h.
 *
 * Its collector (memoir run, or memoir-collector beside it) has the file open, and the file's head
 * says whose recording it is.  So whoever may look at the collector's descriptors finds it, however
 * the file is called, and nothing has to be left anywhere for that. */
#include "cli/top_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lives.h"
#include "base/xalloc.h"
#include "model/head.h"

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == 0;
}

/* Of a live program with this number? */
static bool is_recording_of(const char *path, uint64_t pid)
{
	struct model head;
	bool is;

	if (!head_read(&head, path))
		return false;
	is = lives_look(head.reader.fd) && model_info_number(&head, "pid", 0) == pid;
	head_release(&head);
	return is;
}

/* What a process has open at a descriptor, if it is a file with contents; by its name where that
 * still leads there. */
static char *open_file(const char *descriptor)
{
	char name[PATH_MAX];
	struct stat here, there;
	ssize_t n;

	if (stat(descriptor, &there) || !S_ISREG(there.st_mode) || !there.st_size)
		return NULL;
	n = readlink(descriptor, name, sizeof(name) - 1);
	if (n <= 0)
		return NULL;
	name[n] = 0;
	if (!stat(name, &here) && here.st_ino == there.st_ino && here.st_dev == there.st_dev)
		return xstrdup(name);
	return xstrdup(descriptor);
}

static char *search_descriptors(const char *process, uint64_t pid)
{
	auto_free char *folder = xasprintf("/proc/%s/fd", process);
	DIR *dir = opendir(folder);
	char *found = NULL;
	struct dirent *d;

	while (dir && !found && (d = readdir(dir))) {
		auto_free char *descriptor = xasprintf("%s/%s", folder, d->d_name);
		auto_free char *path = is_number(d->d_name) ? open_file(descriptor) : NULL;

		if (path && is_recording_of(path, pid))
			found = xstrdup(path);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* "memoir" or "memoir-collector", whatever started it. */
static bool writes_recordings(const char *process)
{
	auto_free char *path = xasprintf("/proc/%s/comm", process);
	char name[32] = "";
	FILE *f = fopen(path, "re");

	if (f && !fgets(name, sizeof(name), f))
		name[0] = 0;
	if (f)
		fclose(f);
	return !strncmp(name, "memoir", 6);
}

static bool maps_recorder(uint64_t pid)
{
	auto_free char *path = xasprintf("/proc/%llu/maps", (unsigned long long)pid);
	char line[PATH_MAX + 128];
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libmemoir.so") != NULL;
	if (f)
		fclose(f);
	return found;
}

static char *no_recording(uint64_t pid, struct err *err)
{
	auto_free char *path = xasprintf("/proc/%llu", (unsigned long long)pid);

	if (access(path, F_OK))
		err_set(err, -ESRCH, "there is no process %llu", (unsigned long long)pid);
	else if (maps_recorder(pid))
		err_set(err, -ENOENT,
			"process %llu is recorded, but the collector that writes it cannot be "
			"looked at; name the recording's file",
			(unsigned long long)pid);
	else
		err_set(err, -ENOENT,
			"process %llu is not recorded: start it with memoir run -o FILE PROGRAM",
			(unsigned long long)pid);
	return NULL;
}

char *top_find(const char *word, struct err *err)
{
	char *found = NULL;
	struct dirent *d;
	uint64_t pid;
	DIR *dir;

	if (!is_number(word) || !access(word, F_OK))
		return xstrdup(word);
	errno = 0;
	pid = strtoull(word, NULL, 10);
	if (errno || !pid || pid > INT_MAX) {
		err_set(err, -EINVAL, "%s is neither a file nor the number of a process", word);
		return NULL;
	}
	dir = opendir("/proc");
	while (dir && !found && (d = readdir(dir)))
		if (is_number(d->d_name) && writes_recordings(d->d_name))
			found = search_descriptors(d->d_name, pid);
	if (dir)
		closedir(dir);
	return found ? found : no_recording(pid, err);
}
