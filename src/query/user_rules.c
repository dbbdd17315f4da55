/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The user's rules on frames.  See user_rules.h. */
#include "query/user_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "query/known_pools.h"

#define RULES_MAX (1u << 20) /* bytes */

static void user_rules_path(struct buf *out)
{
	const char *named = getenv("MEMOIR_FRAMES");
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (named && *named)
		buf_text(out, named);
	else if (config && *config == '/')
		buf_printf(out, "%s/memoir/frames", config);
	else if (home && *home)
		buf_printf(out, "%s/.config/memoir/frames", home);
}

static int read_file(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int error;

	if (fd < 0)
		return -errno;
	error = read_to_end(fd, out, RULES_MAX);
	close(fd);
	return error;
}

char *user_rules_text(struct err *err)
{
	auto_buf struct buf path = { 0 }, text = { 0 };
	char *ret = NULL;
	int error;

	user_rules_path(&path);
	error = path.size ? read_file(path.data, &text) : -ENOENT;
	if (!error && text.size)
		ret = xmemdup0(text.data, text.size);
	else if (error && ((error != -ENOENT && error != -ENOTDIR) || getenv("MEMOIR_FRAMES")))
		err_set(err, error, "%s: %s", path.data, strerror(-error));
	return ret;
}

struct frame_rules *user_rules_read(struct err *err)
{
	auto_free char *text = user_rules_text(err);
	struct frame_rules *r;
	struct buf path = { 0 };
	struct err line = { 0 };

	if (!text)
		return NULL;
	r = frame_rules_read(text, &line);
	if (r && known_pools_check(text, &line))
		r = frame_rules_free(r);
	if (!r) {
		user_rules_path(&path);
		err_set(err, -EINVAL, "%s: %s", path.data, line.text);
		buf_release(&path);
	}
	return r;
}
