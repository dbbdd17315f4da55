// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs whose memory behaves in a known way: `scenarios NAME` runs one for about a second,
// `scenarios --list` says what each is: name, class, the function that allocates, what it imitates.
//
// Every scenario allocates for other things too, all the time, as programs do.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define SITE extern "C" __attribute__((noinline, noclone))

static double seconds = 1.0;
static unsigned random_state = 12345;

static unsigned below(unsigned n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

// What is kept stays reachable from here; nothing frees it.
static void *volatile kept;

static void *keep(void *p)
{
	kept = p;
	memset(p, 1, 1);
	return p;
}

// The run: tick() is false when it is over; done is 0 … 1.
struct run {
	timespec start;
	double done = 0;
	unsigned ticks = 0;
	bool quiet = false; // allocates nothing by itself

	run()
	{
		clock_gettime(CLOCK_MONOTONIC, &start);
	}
	bool tick()
	{
		timespec now;

		usleep(1000);
		if (!quiet)
			free(keep(malloc(100 + below(50))));
		clock_gettime(CLOCK_MONOTONIC, &now);
		done = ((now.tv_sec - start.tv_sec) + (now.tv_nsec - start.tv_nsec) / 1e9) /
		       seconds;
		ticks++;
		return done < 1;
	}
};

// Leaks.

SITE void site_linear()
{
	keep(malloc(256));
}

static void linear()
{
	for (run r; r.tick();)
		site_linear();
}

SITE void *site_beside_large(size_t size)
{
	return malloc(size);
}

// The same function also makes a large block now and then, which is freed.
static void beside_large()
{
	for (run r; r.tick();) {
		bool large = r.ticks % 73 == 0;
		void *p = keep(site_beside_large(large ? 3 << 20 : 64));

		if (large)
			free(p);
	}
}

// Large at the start, and a little more with every request since.
static void after_large()
{
	for (run r; r.tick();)
		keep(site_beside_large(r.ticks == 1 ? 1 << 20 : 64));
}

// It may come again: nobody can tell.
static void two_steps()
{
	bool first = false, second = false;

	for (run r; r.tick();) {
		if (!first && r.done > 0.5)
			first = keep(site_beside_large(100000));
		if (!second && r.done > 0.97)
			second = keep(site_beside_large(100000));
	}
}

SITE void site_slow()
{
	keep(malloc(64));
}

static void slow()
{
	double next = 0.02;

	for (run r; r.tick();)
		if (r.done > next) {
			site_slow();
			next += 0.06;
		}
}

SITE void *site_per_thread(void *)
{
	return keep(malloc(4096));
}

static void per_thread()
{
	for (run r; r.tick();) {
		pthread_t t;

		if (r.ticks % 20)
			continue;
		pthread_create(&t, nullptr, site_per_thread, nullptr);
		pthread_join(t, nullptr);
	}
}

SITE void *site_realloc_growing(void *p, size_t size)
{
	return keep(realloc(p, size));
}

static void realloc_growing()
{
	void *p = nullptr;

	for (run r; r.tick();)
		p = site_realloc_growing(p, r.ticks * 1024);
}

SITE void site_bursts()
{
	for (int i = 0; i < 200; i++)
		keep(malloc(100));
}

static void bursts()
{
	double next = 0.1;

	for (run r; r.tick();)
		if (r.done > next) {
			site_bursts();
			next += 0.19;
		}
}

SITE void *site_mixed(unsigned size)
{
	return malloc(size);
}

static void mixed()
{
	for (run r; r.tick();)
		for (int i = 0; i < 10; i++) {
			void *p = site_mixed(50 + below(200));

			if (i)
				free(p);
			else
				keep(p);
		}
}

SITE void site_late()
{
	keep(malloc(300));
}

static void late()
{
	for (run r; r.tick();)
		if (r.done > 0.5)
			site_late();
}

SITE void site_vector_growth(std::vector<long> *v, long value)
{
	v->push_back(value);
}

static void vector_growth()
{
	auto *v = new std::vector<long>;

	for (run r; r.tick();)
		for (int i = 0; i < 40; i++)
			site_vector_growth(v, i);
}

SITE void site_map_growth(std::map<int, std::string> *m, int key)
{
	(*m)[key] = "a value that is too long to be kept inside of the string itself";
}

static void map_growth()
{
	auto *m = new std::map<int, std::string>;

	for (run r; r.tick();)
		site_map_growth(m, (int)r.ticks);
}

SITE void site_idle_tail()
{
	keep(malloc(500));
}

// Works for two thirds of the time, then waits.
static void idle_tail()
{
	run r;

	while (r.tick()) {
		if (r.done > 0.6)
			r.quiet = true;
		else
			site_idle_tail();
	}
}

SITE void *site_freed_at_exit()
{
	return keep(malloc(700));
}

static void freed_at_exit()
{
	std::vector<void *> all;

	for (run r; r.tick();)
		all.push_back(site_freed_at_exit());
	for (void *p : all)
		free(p);
}

SITE void site_random_sizes()
{
	keep(malloc(below(50) ? 16 + below(400) : 10000));
}

static void random_sizes()
{
	for (run r; r.tick();)
		if (!below(3))
			site_random_sizes();
}

SITE char *site_sessions()
{
	return (char *)keep(calloc(1, 2000));
}

// Most sessions are closed in time; one of ten never is.
static void sessions()
{
	std::deque<char *> open;

	for (run r; r.tick();) {
		char *s = site_sessions();

		if (below(10))
			open.push_back(s);
		if (open.size() > 30) {
			free(open.front());
			open.pop_front();
		}
	}
	for (char *s : open)
		free(s);
}

// Caches, pools, tables.

SITE void *site_lru()
{
	return keep(malloc(200 + below(400)));
}

static void lru()
{
	auto *entries = new std::deque<void *>;

	for (run r; r.tick();) {
		for (int i = 0; i < 2; i++)
			entries->push_back(site_lru());
		while (entries->size() > 500) {
			free(entries->front());
			entries->pop_front();
		}
	}
}

struct entry {
	entry *next;
	unsigned key;
	char payload[80];
};
static entry *table[1024];

SITE entry *site_hash_table()
{
	return (entry *)malloc(sizeof(entry));
}

static void hash_table()
{
	for (run r; r.tick();) {
		unsigned key = below(1 << 30);
		entry *e = table[key % 1024];

		while (e && e->key != key)
			e = e->next;
		if (e || r.done > 0.4)
			continue;
		e = site_hash_table();
		e->key = key;
		e->next = table[key % 1024];
		table[key % 1024] = e;
	}
}

SITE void *site_pool(size_t size)
{
	return malloc(size);
}

// Objects are handed out and taken back; the pool grows to what was in use at most.
static void pool()
{
	static std::vector<void *> free_objects, used;

	for (run r; r.tick();) {
		size_t wanted = r.done < 0.4 ? (size_t)(r.done * 2000) : 400 + below(400);

		while (used.size() > wanted) {
			free_objects.push_back(used.back());
			used.pop_back();
		}
		while (used.size() < wanted) {
			if (free_objects.empty())
				for (int i = 0; i < 16; i++)
					free_objects.push_back(site_pool(512));
			used.push_back(free_objects.back());
			free_objects.pop_back();
		}
	}
}

SITE void site_limited_keys(std::unordered_map<unsigned, std::string> *m, unsigned key)
{
	(*m)[key] = "a value that is too long to be kept inside of the string itself";
}

static void limited_keys()
{
	auto *m = new std::unordered_map<unsigned, std::string>;

	for (run r; r.tick();)
		for (int i = 0; i < 10; i++)
			site_limited_keys(m, below(1500));
}

SITE void *site_ring(unsigned size)
{
	return malloc(size);
}

static void ring()
{
	static void *slots[256];

	for (run r; r.tick();) {
		unsigned i = r.ticks % 256;

		free(slots[i]);
		slots[i] = site_ring(100 + below(30));
	}
}

SITE void *site_arena_freed_at_exit()
{
	return keep(malloc(65536));
}

static void arena_freed_at_exit()
{
	std::vector<void *> chunks;

	for (run r; r.tick();)
		if (r.done < 0.35 && r.ticks % 20 == 0)
			chunks.push_back(site_arena_freed_at_exit());
	for (void *p : chunks)
		free(p);
}

SITE char *site_memo()
{
	return (char *)malloc(120);
}

// Results are remembered, up to a limit.
static void memo()
{
	static char *known[900];

	for (run r; r.tick();)
		for (int i = 0; i < 40; i++) {
			unsigned k = below(900) * below(900) / 900;

			if (!known[k])
				known[k] = site_memo();
		}
}

SITE void *site_growing_table(void *old, size_t size)
{
	return realloc(old, size);
}

// A table that doubles while it is filled, and then has its size.
static void growing_table()
{
	static void *p;
	size_t size = 1024, used = 0;

	p = site_growing_table(nullptr, size);
	for (run r; r.tick();) {
		if (r.done > 0.3)
			continue;
		used += 512;
		if (used > size)
			p = site_growing_table(p, size *= 2);
	}
}

// Saws.

SITE void *site_batch()
{
	return malloc(400);
}

static void batch()
{
	static std::vector<void *> items;

	for (run r; r.tick();) {
		for (int i = 0; i < 5; i++)
			items.push_back(site_batch());
		if (items.size() < 450)
			continue;
		for (void *p : items)
			free(p);
		items.clear();
	}
}

SITE void site_strings(std::vector<std::string> *v)
{
	v->emplace_back(200, 'x');
}

static void strings()
{
	static std::vector<std::string> lines;

	lines.reserve(400);
	for (run r; r.tick();) {
		site_strings(&lines);
		site_strings(&lines);
		if (lines.size() >= 200)
			lines.clear();
	}
	_exit(0);
}

SITE char *site_log_buffer(char *p, size_t size)
{
	return (char *)realloc(p, size);
}

static void log_buffer()
{
	static char *buffer;
	size_t size = 0;

	for (run r; r.tick();) {
		buffer = site_log_buffer(buffer, size += 8192);
		if (size < 1 << 20)
			continue;
		free(buffer);
		buffer = nullptr;
		size = 0;
	}
}

SITE char *site_frames(unsigned size)
{
	return (char *)malloc(size);
}

// A frame's objects are freed together, with every frame; two stay for the next.
static void frames()
{
	static std::vector<char *> objects;

	for (run r; r.tick();) {
		objects.push_back(site_frames(100 + below(1000)));
		objects.push_back(site_frames(100 + below(1000)));
		if (r.ticks % 40)
			continue;
		while (objects.size() > 2) {
			free(objects.back());
			objects.pop_back();
		}
	}
}

// The start.

SITE char *site_config()
{
	return (char *)keep(strdup("a line of a configuration file, kept as it is"));
}

static void config()
{
	for (int i = 0; i < 300; i++)
		site_config();
	for (run r; r.tick();)
		;
}

SITE std::map<std::string, int> *site_registry()
{
	auto *m = new std::map<std::string, int>;

	for (int i = 0; i < 200; i++)
		(*m)["a name that is registered by some module " + std::to_string(i)] = i;
	return m;
}

static std::map<std::string, int> *registry_of_all = site_registry();

static void registry()
{
	for (run r; r.tick();)
		if (registry_of_all->count("nothing"))
			abort();
}

SITE void *site_warm_up()
{
	return keep(malloc(3000));
}

// Loads for some time before it begins.
static void warm_up()
{
	for (run r; r.tick();)
		if (r.done < 0.08)
			site_warm_up();
}

SITE void *site_workers(size_t size)
{
	return keep(malloc(size));
}

static void *worker(void *)
{
	for (run r; r.tick();)
		free(keep(malloc(500)));
	return nullptr;
}

// Buffers for a fixed number of threads.
static void workers()
{
	pthread_t t[4];

	for (pthread_t &one : t) {
		site_workers(100000);
		pthread_create(&one, nullptr, worker, nullptr);
	}
	for (pthread_t one : t)
		pthread_join(one, nullptr);
}

static const struct scenario {
	const char *name, *expected, *site;
	void (*run)();
	const char *what;
} scenarios[] = {
	{ "linear", "growing", "site_linear", linear, "a block with every request" },
	{ "slow", "growing", "site_slow", slow, "a small block now and then" },
	{ "per_thread", "growing", "site_per_thread", per_thread, "a block with every thread" },
	{ "realloc_growing", "growing", "site_realloc_growing", realloc_growing,
	  "one block that is always made longer" },
	{ "bursts", "growing", "site_bursts", bursts, "many blocks at once, five times" },
	{ "mixed", "growing", "site_mixed", mixed, "one of ten blocks of a site is forgotten" },
	{ "late", "growing", "site_late", late, "begins half-way" },
	{ "vector_growth", "growing", "site_vector_growth", vector_growth,
	  "a std::vector that is only added to" },
	{ "map_growth", "growing", "site_map_growth", map_growth,
	  "a std::map that is only added to" },
	{ "idle_tail", "growing", "site_idle_tail", idle_tail,
	  "leaks while it works, then the program waits" },
	{ "freed_at_exit", "growing", "site_freed_at_exit", freed_at_exit,
	  "grows all the time, freed at the very end" },
	{ "random_sizes", "growing", "site_random_sizes", random_sizes,
	  "sizes of all kinds, at random" },
	{ "sessions", "growing", "site_sessions", sessions, "one of ten sessions is never closed" },
	{ "beside_large", "growing", "site_beside_large", beside_large,
	  "beside large blocks that are freed" },
	{ "after_large", "growing", "site_beside_large", after_large,
	  "a little, after much at the start" },
	{ "two_steps", "unclear", "site_beside_large", two_steps,
	  "a block in the middle and one at the end" },
	{ "lru", "bounded", "site_lru", lru, "a cache that evicts" },
	{ "hash_table", "bounded", "site_hash_table", hash_table, "a table that is complete" },
	{ "pool", "bounded", "site_pool", pool, "objects that are used again" },
	{ "limited_keys", "bounded", "site_limited_keys", limited_keys,
	  "a std::unordered_map with so many keys" },
	{ "ring", "bounded", "site_ring", ring, "the last 256 messages" },
	{ "arena_freed_at_exit", "bounded", "site_arena_freed_at_exit", arena_freed_at_exit,
	  "chunks that are freed at exit" },
	{ "memo", "bounded", "site_memo", memo, "remembered results, up to a limit" },
	{ "growing_table", "bounded", "site_growing_table", growing_table,
	  "doubles until it holds everything" },
	{ "batch", "sawtooth", "site_batch", batch, "filled and flushed" },
	{ "strings", "sawtooth", "site_strings", strings, "a std::vector filled and cleared" },
	{ "log_buffer", "sawtooth", "site_log_buffer", log_buffer,
	  "a buffer that grows until it is written" },
	{ "frames", "sawtooth", "site_frames", frames, "objects that end with their frame" },
	{ "config", "start-up", "site_config", config, "a configuration that is read once" },
	{ "registry", "start-up", "site_registry", registry, "a std::map made before main" },
	{ "warm_up", "start-up", "site_warm_up", warm_up, "loads for a while, then serves" },
	{ "workers", "start-up", "site_workers", workers, "buffers of a fixed set of threads" },
};

int main(int argc, char **argv)
{
	for (const scenario &s : scenarios) {
		if (argc > 1 && !strcmp(argv[1], "--list"))
			printf("%s\t%s\t%s\t%s\n", s.name, s.expected, s.site, s.what);
		if (argc < 2 || strcmp(argv[1], s.name) != 0)
			continue;
		if (argc > 2)
			seconds = atof(argv[2]);
		s.run();
		return 0;
	}
	return argc > 1 && !strcmp(argv[1], "--list") ? 0 : 2;
}
