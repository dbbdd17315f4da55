/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The result of a check for build servers: JUnit, Markdown, annotations.  See checking.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "cli/checking.h"

/* XML 1.0 has no control characters but these three, whatever the escape. */
static void xml_text(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '<')
			buf_text(out, "&lt;");
		else if (c == '>')
			buf_text(out, "&gt;");
		else if (c == '&')
			buf_text(out, "&amp;");
		else if (c == '"')
			buf_text(out, "&quot;");
		else if (c == '\n' || c == '\t')
			buf_printf(out, "&#%u;", c);
		else
			buf_char(out, c < ' ' || c == 127 ? '?' : (char)c);
	}
}

static size_t failures(const struct checking *c)
{
	size_t ret = 0;

	for (size_t i = 0; i < c->answer.check.count; i++)
		ret += !c->answer.check.results[i].holds;
	return ret;
}

static void list_stacks(const struct checking *c, const struct check_result *r, struct buf *out)
{
	for (uint32_t i = 0; i < requirements_told(&c->answer, r); i++) {
		const struct check_stack *s = &r->stacks[i];

		check_stack_sentence(out, r, s);
		buf_printf(out, ": %s", s->key);
		if (*s->file)
			buf_printf(out, " (%s:%" PRIu32 ")", s->file, s->line);
		buf_char(out, '\n');
	}
	if (requirements_told(&c->answer, r) < r->stack_count)
		buf_printf(out, "%s more\n",
			   count_text(r->stack_count - requirements_told(&c->answer, r)));
}

void check_junit(const struct checking *c, struct buf *out)
{
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<testsuites>\n<testsuite name=\"memoir check\" tests=\"%zu\" failures=\"%zu\" "
		   "errors=\"0\" skipped=\"0\">\n",
		   c->answer.check.count, failures(c));
	for (size_t i = 0; i < c->answer.check.count; i++) {
		const struct check_result *r = &c->answer.check.results[i];
		auto_buf struct buf sentence = { 0 }, stacks = { 0 };

		buf_text(out, "<testcase classname=\"");
		xml_text(out, c->subject);
		buf_text(out, "\" name=\"");
		xml_text(out, r->wanted->text);
		if (r->holds) {
			buf_text(out, "\" time=\"0\"/>\n");
			continue;
		}
		check_sentence(&sentence, r);
		list_stacks(c, r, &stacks);
		buf_text(out, "\" time=\"0\">\n<failure message=\"");
		xml_text(out, sentence.data);
		buf_text(out, "\">");
		xml_text(out, stacks.data ? stacks.data : "");
		buf_text(out, "</failure>\n</testcase>\n");
	}
	buf_text(out, "</testsuite>\n</testsuites>\n");
}

/* A name within a table, as code: nothing in it begins a tag, a link or another cell. */
static void markdown_code(struct buf *out, const char *text)
{
	buf_text(out, "<code>");
	for (const char *p = text; *p; p++)
		if (*p == '<')
			buf_text(out, "&lt;");
		else if (*p == '&')
			buf_text(out, "&amp;");
		else if (strchr("|*_`[]\\~@#", *p))
			buf_printf(out, "&#%u;", (unsigned)*p);
		else
			buf_char(out, (unsigned char)*p < ' ' ? ' ' : *p);
	buf_text(out, "</code>");
}

void check_markdown(const struct checking *c, struct buf *out)
{
	buf_printf(out, "### Memory: %s\n\n", c->answer.check.holds ? "holds" : "does not hold");
	markdown_code(out, c->subject);
	buf_text(out, "\n\n| | required | found |\n|---|---|---|\n");
	for (size_t i = 0; i < c->answer.check.count; i++) {
		const struct check_result *r = &c->answer.check.results[i];

		buf_printf(out, "| %s | ", r->holds ? "✅" : "❌");
		markdown_code(out, r->wanted->text);
		buf_text(out, " | ");
		check_sentence(out, r);
		buf_text(out, " |\n");
	}
	for (size_t i = 0; i < c->answer.check.count; i++) {
		const struct check_result *r = &c->answer.check.results[i];

		if (r->holds || !requirements_told(&c->answer, r))
			continue;
		buf_text(out, "\n");
		markdown_code(out, r->wanted->text);
		buf_text(out, "\n\n| | function, and what called it | where |\n|---|---|---|\n");
		for (uint32_t k = 0; k < requirements_told(&c->answer, r); k++) {
			const struct check_stack *s = &r->stacks[k];

			buf_text(out, "| ");
			check_stack_sentence(out, r, s);
			buf_text(out, " | ");
			markdown_code(out, s->key);
			buf_text(out, " | ");
			if (*s->file) {
				auto_buf struct buf place = { 0 };

				buf_printf(&place, "%s:%" PRIu32, s->file, s->line);
				markdown_code(out, place.data);
			}
			buf_text(out, " |\n");
		}
	}
}

/* What GitHub takes off again; commas and colons in properties only. */
static void github_text(struct buf *out, const char *text, bool property)
{
	for (const char *p = text; *p; p++)
		if (*p == '%' || *p == '\n' || *p == '\r' || (property && (*p == ':' || *p == ',')))
			buf_printf(out, "%%%02X", (unsigned char)*p);
		else
			buf_char(out, *p);
}

/* A file's path in the repository, or NULL: GitHub shows a place within it only. */
static const char *path_inside(const char *file)
{
	const char *root = getenv("GITHUB_WORKSPACE");
	char here[PATH_MAX];
	size_t n;

	if (*file != '/')
		return *file ? file : NULL;
	if (!root || !*root)
		root = getcwd(here, sizeof(here));
	n = root ? strlen(root) : 0;
	while (n && root[n - 1] == '/')
		n--;
	return n && !strncmp(file, root, n) && file[n] == '/' ? file + n + 1 : NULL;
}

static void annotate(struct buf *out, const struct check_result *r, const struct check_stack *s)
{
	const char *file = s ? path_inside(s->file) : NULL;
	auto_buf struct buf text = { 0 };

	buf_text(out, "::error ");
	if (file) {
		buf_text(out, "file=");
		github_text(out, file, true);
		if (s->line)
			buf_printf(out, ",line=%" PRIu32, s->line);
		buf_char(out, ',');
	}
	buf_text(out, "title=");
	buf_printf(&text, "memory: %s", r->wanted->text);
	github_text(out, text.data, true);
	buf_clear(&text);
	if (s) {
		check_stack_sentence(&text, r, s);
		buf_printf(&text, ": %s", s->key);
	} else {
		check_sentence(&text, r);
	}
	buf_text(out, "::");
	github_text(out, text.data, false);
	buf_char(out, '\n');
}

void check_annotations(const struct checking *c, struct buf *out)
{
	for (size_t i = 0; i < c->answer.check.count; i++) {
		const struct check_result *r = &c->answer.check.results[i];

		if (r->holds)
			continue;
		if (!r->wanted->per_function)
			annotate(out, r, NULL);
		for (uint32_t k = 0; k < requirements_told(&c->answer, r); k++)
			annotate(out, r, &r->stacks[k]);
	}
}
