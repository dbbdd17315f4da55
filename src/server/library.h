/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files that the server has open: found, loaded in the background, followed while they are
 * written, uploaded, forgotten.
 *
 * Files are loaded one after the other, but the next one does not wait for one that is slow; a
 * thread looks into the folders that were named and at files that grow.  Requests take snapshots.
 * Nothing here waits for a load but the loaders. */
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "answer/snapshot.h"
#include "base/err.h"
#include "base/json.h"

struct library;

struct library *library_new(const struct locations_options *names);
/* Ends its threads first; all snapshots that were taken must be given back. */
struct library *library_free(struct library *l);

/* A file, a folder (whose recordings are opened, also those that come later), or a pattern: 0, or
 * -errno with err. */
int library_add(struct library *l, const char *path, struct err *err);
/* A fleet, which is no file: takes it. */
void library_add_fleet(struct library *l, struct snapshot *fleet);
/* 0 or -errno. */
int library_start(struct library *l);
/* To be called, before it is started, with each recording that can be asked: on a loader's thread,
 * when no other file waits to be loaded. */
void library_on_ready(struct library *l, void (*ready)(void *context, struct snapshot *s),
		      void *context);
/* No file is begun to be loaded any more.  Waits for its threads, see ending.h: true if they have
 * ended. */
bool library_stop(struct library *l, const struct timespec *deadline);
/* For those that have not: what was uploaded is removed all the same. */
void library_unlink_uploads(struct library *l);

enum library_found { LIBRARY_READY, LIBRARY_NONE, LIBRARY_LOADING, LIBRARY_FAILED };

/* A snapshot of an id or of `last`, which the caller drops.  LIBRARY_LOADING: ret_progress;
 * LIBRARY_FAILED: err. */
enum library_found library_take(struct library *l, const char *id, struct snapshot **ret_snapshot,
				double *ret_progress, struct err *err);
/* All of them as an array. */
void library_list(struct library *l, struct json *j);

/* Opens an uploaded file, which becomes the library's and is removed in the end: 0 and its id, or
 * -errno with err. */
int library_upload(struct library *l, const char *path, const char *name, const char *uploader,
		   char ret_id[ID_SIZE], struct err *err);
/* Loads a recording again and asks the debuginfod servers for names; the old snapshot is answered
 * from until then.  0, -ENOENT, or -EACCES if it was uploaded, and not `by` this one; NULL: whoever
 * it was. */
int library_find_names(struct library *l, const char *id, const char *by);
/* Forgets an uploaded one: 0, -ENOENT, -EPERM if it was not uploaded, or -EACCES if not `by` this
 * one; NULL: whoever it was. */
int library_remove(struct library *l, const char *id, const char *by);
