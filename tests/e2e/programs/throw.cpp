// SPDX-License-Identifier: MIT OR Apache-2.0
// Exceptions thrown through frames that were just recorded, at every depth, rethrown, caught in
// another thread, and out of constructors.  The counts of destructors must not change.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local long constructed, destroyed, caught;
static long uncaught_seen;

struct Guard {
	void *block;
	explicit Guard(std::size_t size) : block(std::malloc(size))
	{
		constructed++;
	}
	Guard(const Guard &) = delete;
	~Guard()
	{
		std::free(block);
		destroyed++;
		if (std::uncaught_exceptions())
			uncaught_seen++;
	}
};

__attribute__((noinline)) static void dive(int depth, int stop)
{
	Guard guard(static_cast<std::size_t>(depth) * 3 + 1);
	if (depth == stop)
		throw std::runtime_error("depth " + std::to_string(depth));
	dive(depth + 1, stop);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void middle(int stop)
{
	try {
		dive(0, stop);
	} catch (const std::runtime_error &error) {
		caught++;
		void *block = std::malloc(64);
		std::free(block);
		if (stop % 3 == 0)
			throw;
		if (stop % 3 == 1)
			std::throw_with_nested(std::logic_error(error.what()));
	}
}

struct Half {
	std::string name = "a name that is too long for the small buffer";
	Guard guard{ 10 };
	std::unique_ptr<Guard> other{ new Guard(20) };
	Half()
	{
		throw 42;
	}
};

static void run(long *result)
{
	for (int round = 0; round < 200; round++) {
		try {
			middle(round % 60);
		} catch (const std::logic_error &error) {
			caught++;
			try {
				std::rethrow_if_nested(error);
			} catch (const std::exception &) {
				caught++;
			}
		} catch (const std::exception &) {
			caught++;
		}
		try {
			Half half;
		} catch (int) {
			caught++;
		}
	}
	result[0] = constructed;
	result[1] = destroyed;
	result[2] = caught;
}

int main()
{
	long results[5][3];
	std::vector<std::thread> threads;
	std::exception_ptr carried;

	run(results[4]);
	std::printf("main %ld %ld %ld\n", results[4][0], results[4][1], results[4][2]);
	for (int i = 0; i < 4; i++)
		threads.emplace_back(run, results[i]);
	for (auto &thread : threads)
		thread.join();
	for (int i = 0; i < 4; i++)
		std::printf("thread %d %ld %ld %ld\n", i, results[i][0], results[i][1],
			    results[i][2]);
	std::thread([&] {
		try {
			dive(0, 20);
		} catch (...) {
			carried = std::current_exception();
		}
	}).join();
	try {
		std::rethrow_exception(carried);
	} catch (const std::exception &error) {
		std::printf("carried: %s\n", error.what());
	}
	return 0;
}
