-- SPDX-License-Identifier: MIT OR Apache-2.0
local rows, by = {}, {}
for line in io.lines(arg[1]) do
	local row = {}
	for word in line:gmatch("%S+") do
		row[#row + 1] = word
	end
	rows[#rows + 1] = row
end
for _, row in ipairs(rows) do
	by[row[1]] = table.concat(row, "-")
end
print(#rows, #string.rep("abc", 100000):upper())
os.exit(true, false)
