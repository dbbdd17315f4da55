// SPDX-License-Identifier: MIT OR Apache-2.0
// For compilers to work on.
#include <map>
#include <string>
#include <vector>

template <typename T> struct sum {
	T operator()(const std::vector<T> &all) const
	{
		T s{};

		for (auto &x : all)
			s += x;
		return s;
	}
};

std::map<std::string, std::vector<int>> table;

int main(int argc, char **)
{
	table["first"].push_back(argc);
	return sum<int>()(table["first"]) + static_cast<int>(sum<double>()({ 1, 2.5 }));
}
