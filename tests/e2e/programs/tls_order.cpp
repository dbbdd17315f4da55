// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ objects with thread and static storage: constructed and destroyed in order, allocating all
// the while, in main and in threads; also a static that outlives everything by atexit order.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

static void log_line(const char *what, const std::string &who)
{
	std::string line = std::string(what) + " " + who + " with a tail that needs the heap";
	std::puts(line.c_str());
}

struct Object {
	std::string name;
	std::vector<int> numbers;
	explicit Object(const char *n) : name(n), numbers(100, 7)
	{
		log_line("construct", name);
	}
	~Object()
	{
		std::vector<int> more(1000, 1);
		log_line("destroy", name);
	}
};

static Object first("first static");
static Object second("second static");
static thread_local Object local("thread local");

static Object &lazy()
{
	static Object object("lazy static");
	return object;
}

int main()
{
	local.numbers.push_back(1);
	for (int i = 0; i < 3; i++)
		std::thread([] {
			local.numbers.push_back(2);
			lazy();
		}).join();
	std::atexit([] { log_line("atexit", "handler"); });
	log_line("end of", "main");
	return 0;
}
