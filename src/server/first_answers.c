/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* First answers in a file.  See first_answers.h.
 *
 * The file's name holds the recording's state and this build (model/cache.h), and the head has a
 * hash of what answers depend on besides: names and rules, and what the file is called. */
#include "server/first_answers.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "answer/snapshot.h"
#include "base/buf.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/cache.h"
#include "query/names_hash.h"
#include "server/answer_cache.h"

#define KIND ".answers"

struct head {
	uint64_t names;
};

struct row {
	uint32_t address_size, gzip;
	uint64_t size;
};

struct first_answers {
	struct snapshot *recording;
	uint64_t names;
	struct scratch file;
	const void *bytes; /* NULL: there is no file */
	size_t size;
	struct wanted {
		char *address, *key;
		const char *type;
	} * wanted;
	size_t count, lacking;
};

/* The file's bytes: a head, then each answer behind its address. */
static void first_answers_pack(struct buf *out, uint64_t names, const char *address,
			       const void *body, size_t size, bool gzip)
{
	const struct head head = { names };
	const struct row row = { (uint32_t)strlen(address), gzip, size };

	if (!out->size)
		buf_add(out, &head, sizeof(head));
	buf_add(out, &row, sizeof(row));
	buf_add(out, address, row.address_size);
	buf_add(out, body, size);
}

const void *first_answers_find(const void *bytes, size_t size, uint64_t names, const char *address,
			       size_t *ret_size, bool *ret_gzip)
{
	const char *at = bytes, *end = at + size;
	const size_t wanted = strlen(address);
	struct head head;
	struct row row;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, at, sizeof(head));
	if (head.names != names)
		return NULL;
	for (at += sizeof(head); (size_t)(end - at) >= sizeof(row); at += row.size) {
		memcpy(&row, at, sizeof(row));
		at += sizeof(row);
		if (row.address_size > (size_t)(end - at) || row.gzip > 1 ||
		    row.size > (size_t)(end - at) - row.address_size)
			return NULL;
		at += row.address_size;
		if (row.address_size == wanted && !memcmp(at - wanted, address, wanted)) {
			*ret_size = row.size;
			*ret_gzip = row.gzip;
			return at;
		}
	}
	return NULL;
}

struct first_answers *first_answers_open(struct snapshot *recording)
{
	struct held_view *all;
	struct first_answers *f;
	struct err err;

	if (!cache_beside_may(recording->model))
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->recording = snapshot_hold(recording);
	all = views_take(&recording->views, recording->model, recording->locations, NULL, &err);
	f->names = names_hash(all->view) ^ XXH3_64bits(recording->name, strlen(recording->name));
	views_give(&recording->views, all);
	f->bytes = cache_beside_map(recording->model, KIND, &f->file, &f->size);
	return f;
}

bool first_answers_take(struct first_answers *f, struct answer_cache *cache, const char *address,
			const char *key, const char *type)
{
	size_t size;
	bool gzip;
	const void *body =
		f->bytes ? first_answers_find(f->bytes, f->size, f->names, address, &size, &gzip)
			 : NULL;

	if (body)
		answer_cache_put(cache, key, body, size, gzip, type);
	f->wanted = xreallocarray(f->wanted, f->count + 1, sizeof(*f->wanted));
	f->wanted[f->count++] = (struct wanted){ xstrdup(address), xstrdup(key), type };
	f->lacking += !body;
	return body;
}

bool first_answers_lack(const struct first_answers *f)
{
	return f->lacking;
}

void first_answers_store(struct first_answers *f, struct answer_cache *cache)
{
	auto_buf struct buf bytes = { 0 };

	for (size_t i = 0; i < f->count; i++) {
		const struct wanted *w = &f->wanted[i];
		struct cached_answer *a = answer_cache_find_done(cache, w->key);

		/* What a row of the table does not say of an answer is not kept. */
		if (a && a->type == w->type && !a->foreign && !a->file_name)
			first_answers_pack(&bytes, f->names, w->address, a->body.data, a->body.size,
					   a->gzip);
		if (a)
			answer_cache_release(cache, a, &(struct waiter){ 0 });
	}
	if (bytes.size)
		cache_beside_put(f->recording->model, KIND, bytes.data, bytes.size);
}

struct first_answers *first_answers_free(struct first_answers *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < f->count; i++) {
		free(f->wanted[i].address);
		free(f->wanted[i].key);
	}
	free(f->wanted);
	scratch_release(&f->file);
	snapshot_drop(f->recording);
	free(f);
	return NULL;
}
