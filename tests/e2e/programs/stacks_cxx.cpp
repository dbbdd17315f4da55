// SPDX-License-Identifier: MIT OR Apache-2.0
// Known C++ call chains: namespaces, templates, a virtual call, new and delete in all their forms.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace shop
{
struct Base {
	virtual ~Base() = default;
	virtual char *make(std::size_t size) = 0;
};

struct Derived : Base {
	NOINLINE char *make(std::size_t size) override
	{
		char *p = new char[size];
		__asm__ volatile("" : : "r"(p) : "memory");
		return p;
	}
};

template <typename T> NOINLINE T *one(T value)
{
	T *p = new T(value);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}
} // namespace shop

struct alignas(128) Wide {
	char bytes[256];
};

int main()
{
	shop::Derived derived;
	shop::Base *base = &derived;
	__asm__ volatile("" : "+r"(base));
	char *text = base->make(2001);
	delete[] text;
	long *number = shop::one<long>(7);
	delete number;
	Wide *wide = new Wide;
	if (reinterpret_cast<std::uintptr_t>(wide) % 128)
		return 1;
	delete wide;
	void *none = ::operator new(2002, std::nothrow);
	::operator delete(none, std::nothrow);
	void *sized = ::operator new(2003);
	::operator delete(sized, std::size_t(2003));
	std::vector<int> numbers;
	for (int i = 0; i < 1000; i++)
		numbers.push_back(i);
	std::string leaked(2004, 'x');
	new std::string(leaked);
	return 0;
}
