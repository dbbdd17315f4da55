/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /debug/pprof/heap/flamegraph, /debug/pprof/allocs/flamegraph: a still picture, whose boxes say
 * what they are when they are pointed at.  See pictures.h.
 *
 * It has no script, and what it is made of is mapped: nodes for what is different in the stacks, a
 * table to find them, and a list to sort them.  src/draw has the one that zooms and searches; it
 * needs the host side's libraries. */
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/pictures.h"

/* Pixels. */
#define WIDTH 1200u
#define MARGIN 10u
#define TOP 62u
#define ROW 17u
#define BOX 16u
#define BOTTOM 44u
#define PARTS 1000u	/* positions are counted in these of a pixel */
#define NARROWEST 100u	/* parts: boxes that are drawn */
#define CHARACTER 6650u /* parts: of 11 px monospace */
#define DEEPEST 512u
#define INSIDE ((WIDTH - 2 * MARGIN) * (uint64_t)PARTS)

struct node {
	uint64_t weight;
	uint32_t parent, depth;
	uint32_t function;
	uint32_t location;	    /* one of the function's, for its name */
	uint64_t left, width, next; /* parts; `next`: where the next child begins */
};

struct flame {
	const struct profile *profile;
	struct locations locations;
	struct text nodes; /* struct node, parents first; the first is the whole */
	uint32_t count;
	struct text table; /* uint32_t: numbers of nodes, by parent and function; 0: free */
	size_t slots;
	struct text order; /* struct object_name: nodes by parent, then the widest first */
	uint32_t rows;
	uint64_t narrow, deep; /* nodes that are not drawn */
	bool failed;
};

static struct node *node_at(const struct flame *f, size_t i)
{
	return (struct node *)f->nodes.data + i;
}

/* The node of a function below another; there is a slot for each frame that there can be. */
static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t function, uint32_t location)
{
	uint32_t *table = (uint32_t *)f->table.data;
	uint64_t h = ((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15ull;
	size_t at = (size_t)(h >> 20);
	struct node made = { .parent = parent, .function = function, .location = location };
	uint32_t n;

	for (; (n = table[at & (f->slots - 1)]); at++)
		if (node_at(f, n)->parent == parent && node_at(f, n)->function == function)
			return n;
	made.depth = node_at(f, parent)->depth + 1;
	text_add(&f->nodes, &made, sizeof(made));
	if (f->nodes.failed)
		return parent;
	table[at & (f->slots - 1)] = f->count;
	return f->count++;
}

static void add_stack(struct flame *f, const struct profile_sample *s, bool allocs)
{
	const uint64_t *pcs = (const uint64_t *)f->profile->pcs.data + s->pc;
	uint64_t weight = folded_weight(f->profile, s, allocs);
	size_t first = folded_first(&f->locations, f->profile, s);
	uint32_t at = 0;

	if (!weight)
		return;
	for (size_t k = s->pc_count; k-- > first;) {
		size_t location = locations_find(&f->locations, pcs[k]);

		at = child_of(f, at, locations_function(&f->locations, location),
			      (uint32_t)location);
	}
	node_at(f, at)->weight += weight;
}

static void build_nodes(struct flame *f, bool allocs)
{
	const struct profile_sample *samples =
		(const struct profile_sample *)f->profile->samples.data;
	size_t frames = f->profile->pcs.size / sizeof(uint64_t);
	struct node whole = { 0 };

	for (f->slots = 16; f->slots < 2 * (frames + 1);)
		f->slots *= 2;
	text_add(&f->nodes, &whole, sizeof(whole));
	f->count = 1;
	if (f->locations.failed || f->nodes.failed || frames >= UINT32_MAX / 4 ||
	    !text_reserve(&f->table, f->slots * sizeof(uint32_t))) {
		f->failed = true;
		return;
	}
	/* Another text may have been there. */
	memset(f->table.data, 0, f->slots * sizeof(uint32_t));
	for (size_t i = 0; i < f->profile->sample_count && !f->nodes.failed; i++)
		add_stack(f, &samples[i], allocs);
	for (uint32_t i = f->count; --i > 0;)
		node_at(f, node_at(f, i)->parent)->weight += node_at(f, i)->weight;
	f->failed = f->nodes.failed;
}

/* weight * INSIDE / total, which may be more than 64 bits hold on the way. */
static uint64_t parts_of(uint64_t weight, uint64_t total)
{
	return total ? (uint64_t)((double)weight / (double)total * (double)INSIDE) : 0;
}

/* Children from their parent's left edge on, the widest first. */
static void place_boxes(struct flame *f)
{
	uint64_t total = node_at(f, 0)->weight;
	struct object_name *order;

	for (uint32_t i = 0; i < f->count; i++) {
		struct node *n = node_at(f, i);
		struct object_name entry = { .name = i };

		n->width = i ? parts_of(n->weight, total) : INSIDE;
		entry.address = (uint64_t)n->parent << 32 | (UINT32_MAX - (uint32_t)n->width);
		text_add(&f->order, &entry, sizeof(entry));
	}
	if (f->order.failed) {
		f->failed = true;
		return;
	}
	order = (struct object_name *)f->order.data;
	/* The whole is its own parent, and stays the first. */
	objects_sort(order + 1, f->count - 1);
	for (uint32_t i = 0; i < f->count; i++) {
		struct node *n = node_at(f, order[i].name), *up = node_at(f, n->parent);

		if (order[i].name) {
			n->left = up->next;
			up->next += n->width;
		}
		n->next = n->left;
		if (n->width < NARROWEST)
			f->narrow++;
		else if (n->depth >= DEEPEST)
			f->deep++;
		else if (n->depth >= f->rows)
			f->rows = n->depth + 1;
	}
}

/* At most `columns` characters of a text, escaped; what is not ASCII is not shown. */
void picture_text(struct text *out, const char *text, size_t columns)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size && i < columns; i++) {
		unsigned char c = (unsigned char)text[i];

		if (size > columns && i + 2 >= columns)
			c = '.';
		if (c == '<')
			text_str(out, "&lt;");
		else if (c == '>')
			text_str(out, "&gt;");
		else if (c == '&')
			text_str(out, "&amp;");
		else if (c == '"')
			text_str(out, "&quot;");
		else
			text_char(out, c < 32 || c > 126 ? '?' : (char)c);
	}
}

/* "38.4 MiB (40342092 bytes)" */
void picture_size(struct text *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024;
	unsigned unit = 0;

	for (; tenths >= 10240 && unit < 5; unit++)
		tenths /= 1024;
	if (bytes >= 1024)
		text_printf(out, "%llu.%llu %s (%llu bytes)", (unsigned long long)(tenths / 10),
			    (unsigned long long)(tenths % 10), units[unit],
			    (unsigned long long)bytes);
	else
		text_printf(out, "%llu bytes", (unsigned long long)bytes);
}

/* Warm, by the name alone: as in Memoir's other pictures. */
static void put_colour(struct text *out, const char *name, bool whole)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	hash ^= hash >> 15;
	if (whole)
		text_str(out, "#c4c7ca");
	else
		text_printf(out, "hsl(%u,84%%,%u%%)", 16 + hash % 120 / 5, 62 + 4 * (hash % 5));
}

static void put_parts(struct text *out, const char *key, uint64_t parts)
{
	text_printf(out, " %s=\"%llu.%02llu\"", key, (unsigned long long)(parts / PARTS),
		    (unsigned long long)(parts % PARTS / 10));
}

static void put_box(struct flame *f, uint32_t number, struct text *out)
{
	const struct node *n = node_at(f, number);
	uint64_t total = node_at(f, 0)->weight, left = n->left + MARGIN * PARTS;
	unsigned y = TOP + n->depth * ROW;
	size_t columns = n->width > 6 * PARTS ? (n->width - 6 * PARTS) / CHARACTER : 0;
	unsigned share = total ? (unsigned)((double)n->weight / (double)total * 1000 + 0.5) : 0;
	char small[160];
	const char *name =
		number ? locations_name(&f->locations, n->location, small, sizeof(small)) : "all";

	text_str(out, "<g><rect");
	put_parts(out, "x", left);
	text_printf(out, " y=\"%u\" height=\"%u\"", y, BOX);
	/* A gap between two boxes that are wide enough to be told apart. */
	put_parts(out, "width", n->width > 1500 ? n->width - 500 : n->width);
	text_str(out, " fill=\"");
	put_colour(out, name, !number);
	text_str(out, "\"/>");
	if (columns >= 3) {
		text_str(out, "<text");
		put_parts(out, "x", left + 3 * PARTS);
		text_printf(out, " y=\"%u\">", y + 12);
		picture_text(out, name, columns);
		text_str(out, "</text>");
	}
	text_str(out, "<title>");
	picture_text(out, name, 300);
	text_char(out, '\n');
	picture_size(out, n->weight);
	text_printf(out, ", %u.%u %%</title></g>\n", share / 10, share % 10);
}

void picture_heading(struct exchange *x, const struct profile *p, bool allocs)
{
	struct text *out = &x->out;
	char path[300];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash;

	path[size > 0 ? size : 0] = 0;
	slash = strrchr(path, '/');
	picture_text(out, slash ? slash + 1 : path, 60);
	text_printf(out, " (%d): %s%s, by bytes", (int)getpid(),
		    allocs && p->accum ? "allocated" : "alive",
		    x->earlier.size ? ": what was added" : "");
}

static void draw_flame(struct flame *f, struct exchange *x, bool allocs)
{
	const struct object_name *order = (const struct object_name *)f->order.data;
	unsigned height = TOP + f->rows * ROW + BOTTOM;
	struct text *out = &x->out;

	text_printf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		    "viewBox=\"0 0 %u %u\" font-family=\"monospace\" font-size=\"11\" "
		    "fill=\"#1c2430\">\n"
		    "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		    "<g font-family=\"sans-serif\" font-size=\"12\">"
		    "<text id=\"heading\" x=\"%u\" y=\"24\" font-size=\"15\" font-weight=\"bold\">",
		    WIDTH, height, WIDTH, height, MARGIN);
	picture_heading(x, f->profile, allocs);
	text_printf(out, "</text>\n<text id=\"total\" x=\"%u\" y=\"44\">", MARGIN);
	picture_size(out, node_at(f, 0)->weight);
	text_printf(out, ", estimated from samples</text>\n<text id=\"note\" x=\"%u\" y=\"%u\">",
		    MARGIN, height - BOTTOM + 24);
	if (f->narrow || f->deep)
		text_printf(out,
			    "Not drawn: %llu boxes that are narrower than 0.1 pixels, %llu "
			    "that are more than %u calls deep.",
			    (unsigned long long)f->narrow, (unsigned long long)f->deep, DEEPEST);
	else
		text_str(out, "Every call path is drawn.");
	text_str(out, "</text></g>\n<g id=\"boxes\">\n");
	for (uint32_t i = 0; i < f->count && !out->failed; i++) {
		const struct node *n = node_at(f, order[i].name);

		if (n->width >= NARROWEST && n->depth < DEEPEST)
			put_box(f, order[i].name, out);
	}
	text_str(out, "</g>\n</svg>\n");
}

void flame_draw(struct exchange *x, const struct profile *p, bool allocs)
{
	struct flame f = { .profile = p };

	locations_init(&f.locations, p);
	build_nodes(&f, allocs);
	if (!f.failed)
		place_boxes(&f);
	if (f.failed)
		x->out.failed = true;
	else
		draw_flame(&f, x, allocs);
	locations_release(&f.locations);
	text_release(&f.nodes);
	text_release(&f.table);
	text_release(&f.order);
}

void flame_answer(struct exchange *x, const struct profile *p, bool allocs)
{
	x->type = "image/svg+xml";
	x->header = PICTURE_POLICY;
	text_str(&x->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	flame_draw(x, p, allocs);
}
