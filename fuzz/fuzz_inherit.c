/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a forked child's collector reads from its parent's recording, on any bytes: as they came,
 * and with their sums put right; what it writes goes nowhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/inherit.h"
#include "collector/naming.h"
#include "collector/python.h"
#include "fuzz.h"
#include "mend.h"

static void inherit(const uint8_t *data, size_t size)
{
	static struct collector c;
	static struct shm_position *positions;
	static int fd = -1;

	if (fd < 0) {
		c.shm_fd = memfd_create("positions", MFD_CLOEXEC);
		if (c.shm_fd < 0 || ftruncate(c.shm_fd, SHM_START_SIZE) < 0)
			abort();
		c.control =
			mmap(NULL, SHM_START_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c.shm_fd, 0);
		positions = (void *)((char *)c.control + SHM_CONTROL_SIZE);
		c.control->family.inherited_offset = SHM_CONTROL_SIZE;
		c.control->family.inherited_rings = 8;
		c.control->options.gather_maps = true;
		c.control->family.forked_at = 1ull << 40;
		c.payload.room = codec_payload_bound();
		c.payload.data = malloc(c.payload.room);
		c.scratch = malloc(codec_scratch_size());
		fd = memfd_create("recording", MFD_CLOEXEC);
		snprintf(c.control->family.parent_output, sizeof(c.control->family.parent_output),
			 "/proc/self/fd/%d", fd);
		for (int i = 0; i < 8; i++)
			positions[i] = (struct shm_position){ 50, 1ull << 40 };
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	memset(&c.recording, 0, sizeof(c.recording));
	if (recording_open(&c.recording, "/dev/null", 1, "x", c.payload.room))
		abort();
	codec_start(&c.encoder, c.scratch);
	c.next_node = c.next_module = 1;
	memset(c.control->family.parent_id, 0, sizeof(c.control->family.parent_id));
	if (size >= sizeof(struct format_header))
		memcpy(c.control->family.parent_id, data + offsetof(struct format_header, id), 16);
	c.control->family.first_node = size % 2 ? 100 : UINT32_MAX - 1;
	c.naming = naming_new(&c);
	c.python = python_codes_new();
	inherit_blocks(&c);
	c.naming = naming_free(c.naming);
	c.python = python_codes_free(c.python);
	recording_release(&c.recording);
}

FUZZ(inherit, data, size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	inherit(copy, size);
	mend_recording(copy, size);
	inherit(copy, size);
	free(copy);
	return 0;
}
