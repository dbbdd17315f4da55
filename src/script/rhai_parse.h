/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the parser's two files share: rhai_parse.c has expressions, rhai_parse_flow.c has
 * statements, and what is both. */
#include "script/rhai_tree.h"

/* Is this keyword or sign the token?  Take it if it is; complain if it is not. */
bool rhai_at(const struct rhai *r, const char *word);
bool rhai_take(struct rhai *r, const char *word);
void rhai_want(struct rhai *r, const char *word);
struct rhai_text rhai_take_name(struct rhai *r, const char *of_what);

/* A node that begins at the token; it gets its kids, and is finished. */
struct rhai_node *rhai_node(struct rhai *r, enum rhai_kind kind);
void rhai_add(struct rhai *r, struct rhai_node *n, struct rhai_node *kid);
struct rhai_node *rhai_finish(struct rhai *r, struct rhai_node *n);

/* One level deeper, until the caller lowers r->depth: false, with a complaint, if that is too
 * deep. */
bool rhai_enter(struct rhai *r);

struct rhai_node *rhai_parse_expression(struct rhai *r);
struct rhai_node *rhai_parse_case_value(struct rhai *r);
void rhai_parse_parameters(struct rhai *r, struct rhai_node *n, const char *close);
/* Statements until `close`, which is left, or until the end. */
struct rhai_node *rhai_parse_statements(struct rhai *r, const char *close, struct rhai_node *block);
struct rhai_node *rhai_parse_statement(struct rhai *r);
/* if, switch, loops and blocks: statements that have a value. */
bool rhai_flow_begins(const struct rhai *r);
struct rhai_node *rhai_parse_flow(struct rhai *r);
