/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the reader of Rhai makes of a script, and what its files share: rhai_lex.c reads tokens,
 * rhai_parse.c makes nodes of them, rhai_write.c writes nodes as Lua.
 *
 * All of it lives as long as struct rhai.  What is wrong is said once, in err; from then on the
 * token is the end of the script, so that loops end, and nodes are still nodes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Blocks, parentheses and arguments inside each other. */
#define RHAI_DEPTH_MAX 128
/* The same and operators and calls that follow one another: a + b + c …, a.b().c() … */
#define RHAI_CHAIN_MAX 400
/* Parameters or arguments. */
#define RHAI_ARGUMENTS_MAX 64

enum rhai_token_kind {
	RHAI_TOKEN_END,
	RHAI_TOKEN_NAME,
	RHAI_TOKEN_KEYWORD,
	RHAI_TOKEN_SIGN,
	RHAI_TOKEN_INT,
	RHAI_TOKEN_FLOAT,
	RHAI_TOKEN_STRING,
	RHAI_TOKEN_CHAR,
	RHAI_TOKEN_LITERAL, /* a part of `…`: until ${ or the end */
};

struct rhai_text {
	const char *data;
	size_t size;
};

struct rhai_token {
	enum rhai_token_kind kind;
	size_t at, end; /* in the script */
	unsigned line;
	const char *word;      /* of a keyword or sign */
	struct rhai_text text; /* of a name, or what a string means */
	int64_t number;	       /* of an integer */
	double real;
	bool more; /* RHAI_TOKEN_LITERAL: ${ follows */
};

enum rhai_kind {
	/* No kids. */
	RHAI_UNIT,
	RHAI_BOOL, /* number */
	RHAI_INT,
	RHAI_FLOAT,
	RHAI_STRING,
	RHAI_CHAR,
	RHAI_VARIABLE,
	RHAI_GLOBAL, /* global::name */
	/* All kids are evaluated, in their order. */
	RHAI_INTERPOLATION,
	RHAI_ARRAY,
	RHAI_MAP,    /* keys and values in turn */
	RHAI_UNARY,  /* word: the operator */
	RHAI_BINARY, /* word: the operator */
	RHAI_RANGE,  /* number: inclusive */
	RHAI_INDEX,
	RHAI_PROPERTY, /* name */
	RHAI_METHOD,   /* name; first the receiver */
	RHAI_CALL,     /* name */
	/* Kids are evaluated when it is their turn, or not. */
	RHAI_LOGIC,    /* word: && or || */
	RHAI_COALESCE, /* a ?? b */
	RHAI_OPTIONAL, /* a, and what is done with it unless it is (): kids[1] refers to it */
	RHAI_PASSED,   /* inside RHAI_OPTIONAL: its first kid */
	RHAI_CLOSURE,  /* parameters; the body */
	RHAI_BLOCK,
	RHAI_IF,     /* condition, block, [else] */
	RHAI_SWITCH, /* value, RHAI_CASE… */
	RHAI_CASE,   /* number: of values; the values, [condition], body; no values: default */
	RHAI_WHILE,  /* condition, body */
	RHAI_DO,     /* body, condition; number: until */
	RHAI_LOOP,
	RHAI_FOR, /* parameters: item and [counter]; what is iterated, body */
	/* Statements. */
	RHAI_LET,    /* name, [value]; number: const */
	RHAI_ASSIGN, /* word: operator without =, or ""; target, value */
	RHAI_RETURN, /* [value] */
	RHAI_BREAK,  /* [value] */
	RHAI_CONTINUE,
	RHAI_THROW, /* [value] */
	RHAI_FN,    /* name, parameters; body */
};

struct rhai_node {
	enum rhai_kind kind;
	size_t at;     /* in the script, of what an error would be about */
	unsigned line; /* of that */
	unsigned first_line;
	const char *word;
	struct rhai_text text; /* a name, or what a string means */
	int64_t number;
	double real;
	struct rhai_node **kids;
	size_t count;
	struct rhai_text *parameters;
	size_t parameter_count;
	/* Statements must be written before the expression: a kid is one, or kids[0] must be. */
	bool hoisted;
	bool first_apart; /* kids[0] is evaluated in a statement of its own */
	unsigned height;  /* how deep its expression nests when it is written */
	unsigned depth;	  /* how deep its kids nest */
	/* While it is written: the temporary that has its value, or 0. */
	unsigned temporary;
};

struct rhai_memory;

struct rhai {
	const char *text;
	size_t size;
	struct err *err;
	bool failed;
	/* The lexer. */
	size_t at;
	unsigned line;
	struct rhai_token token;
	struct rhai_memory *memory;
	/* The parser. */
	unsigned depth, loops, functions;
};

/* Zeroed memory that lives as long as r. */
void *rhai_alloc(struct rhai *r, size_t size);
void rhai_release(struct rhai *r);
/* Says what is wrong at a byte, if nothing was before. */
void rhai_fail(struct rhai *r, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads the next token. */
void rhai_next(struct rhai *r);
/* The next part of `…`, behind the } that is the token now. */
void rhai_next_literal(struct rhai *r);

/* The whole script: a block. */
struct rhai_node *rhai_parse(struct rhai *r);
/* Is it something that can be assigned to: a variable, or a part of one? */
bool rhai_is_place(const struct rhai_node *n);
/* Does a method of this name change the string, array or map that it is called on? */
bool rhai_changes(struct rhai_text name);
bool rhai_text_is(struct rhai_text text, const char *word);
