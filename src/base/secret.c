/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tokens and passwords.  See secret.h. */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"

int secret_read(const char *path, char ret_secret[SECRET_SIZE], struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	size_t have = 0;
	ssize_t n = 0;

	err_set(err, 0, "%s", "");
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while (have < SECRET_SIZE - 1 && !memchr(ret_secret, '\n', have) &&
	       (n = read(fd, ret_secret + have, SECRET_SIZE - 1 - have)) > 0)
		have += (size_t)n;
	if (n < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	ret_secret[have] = 0;
	ret_secret[strcspn(ret_secret, "\r\n")] = 0;
	if (!*ret_secret)
		return err_set(err, -ENODATA, "%s: the first line is empty", path);
	if (S_ISREG(st.st_mode) && st.st_mode & 077)
		err_set(err, 0, "%s: others can read it; chmod 600 %s keeps them out", path, path);
	return 0;
}

int secret_make(char ret_secret[SECRET_SIZE])
{
	unsigned char bytes[SECRET_MADE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret_secret[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		ret_secret[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	ret_secret[2 * sizeof(bytes)] = 0;
	return 0;
}

bool secret_same(const char *given, size_t given_size, const char *secret)
{
	size_t size = strlen(secret);
	unsigned char difference = given_size != size || !size;

	for (size_t i = 0; i < given_size; i++)
		difference |= (unsigned char)(given[i] ^ secret[size ? i % size : 0]);
	return !difference;
}
