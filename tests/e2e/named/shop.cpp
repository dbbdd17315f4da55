// SPDX-License-Identifier: MIT OR Apache-2.0
// The same in C++: containers, strings, smart pointers, an allocator of its own, templates and
// lambdas.  Who works is in the namespace shop; what is in the namespace ground is there to get
// memory for it.
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#define WORKS __attribute__((noinline))

namespace ground
{
// Counts what it hands out: an allocator as many programs have.
template <typename T> struct counting {
	using value_type = T;
	counting() = default;
	template <typename U> counting(const counting<U> &)
	{
	}
	T *allocate(std::size_t n)
	{
		void *p = std::malloc(n * sizeof(T));

		if (!p)
			std::abort();
		handed_out += n * sizeof(T);
		return static_cast<T *>(p);
	}
	void deallocate(T *p, std::size_t)
	{
		std::free(p);
	}
	bool operator==(const counting &) const
	{
		return true;
	}
	bool operator!=(const counting &) const
	{
		return false;
	}
	static std::size_t handed_out;
};
template <typename T> std::size_t counting<T>::handed_out;
} // namespace ground

namespace shop
{
struct item {
	std::string name;
	std::vector<double> prices;
};

class store
{
      public:
	WORKS void read_items(unsigned n);
	WORKS void index_items();
	template <typename F> WORKS void for_items(F f);
	std::vector<std::unique_ptr<item>> items;
	std::map<std::string, item *> by_name;
	std::unordered_map<unsigned, std::string> by_number;
	std::vector<char, ground::counting<char>> raw;
};

void store::read_items(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		auto made = std::make_unique<item>();

		made->name = "a name that is too long to be inside " + std::to_string(i);
		made->prices.assign(10 + i % 20, i);
		items.push_back(std::move(made));
	}
}

void store::index_items()
{
	unsigned number = 0;

	for (auto &i : items) {
		by_name[i->name] = i.get();
		by_number.emplace(number++, i->name);
	}
}

template <typename F> void store::for_items(F f)
{
	for (auto &i : items)
		f(*i);
}

WORKS void read_raw(store &s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		s.raw.push_back(static_cast<char>(i));
}

WORKS std::shared_ptr<std::vector<std::string>> sort_names(const store &s)
{
	auto sorted = std::make_shared<std::vector<std::string>>();

	for (auto &i : s.by_name)
		sorted->push_back(i.first + " sorted");
	return sorted;
}

WORKS std::string join(const std::vector<std::string> &all)
{
	std::string text;

	for (auto &s : all)
		text += s;
	return text;
}
} // namespace shop

static shop::store *held;
static std::vector<std::function<double(double)>> *rules;
static std::string *text;

namespace shop
{
WORKS void make_rules(double from)
{
	rules = new std::vector<std::function<double(double)>>;
	for (unsigned i = 0; i < 200; i++) {
		double a = from + i, b = from * i, c = from / (i + 1);

		rules->push_back([a, b, c](double x) { return a * x * x + b * x + c; });
	}
}
} // namespace shop

int main()
{
	std::shared_ptr<std::vector<std::string>> sorted;

	held = new shop::store;
	held->read_items(1500);
	held->index_items();
	held->for_items([](shop::item &i) { i.prices.resize(i.prices.size() + 40); });
	shop::read_raw(*held, 100000);
	sorted = shop::sort_names(*held);
	text = new std::string(shop::join(*sorted));
	shop::make_rules(3);
	std::_Exit(0);
}
