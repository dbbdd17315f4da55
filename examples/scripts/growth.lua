-- Growth: which functions had more alive at one time than at another
-- Arguments: the two times (25% 75%).
local from, to = argv()[1] or "25%", argv()[2] or "75%"
local before, after = {}, {}

for side, moment in pairs { [before] = from, [after] = to } do
  for group in allocations():only_alive_at(moment):group_by("responsible"):iter() do
    side[group.name] = group.size
  end
end

local rows = {}
for name, bytes in pairs(after) do
  rows[#rows + 1] = { ["function"] = name, before = before[name] or 0, after = bytes,
    growth = bytes - (before[name] or 0) }
end
for name, bytes in pairs(before) do
  if not after[name] then
    rows[#rows + 1] = { ["function"] = name, before = bytes, after = 0, growth = -bytes }
  end
end
table.sort(rows, function(a, b)
  if a.growth ~= b.growth then
    return a.growth > b.growth
  end
  return a["function"] < b["function"]
end)

println("from {} to {}: {} bytes, then {}", from, to, allocations():only_alive_at(from).size,
  allocations():only_alive_at(to).size)
show(table.move(rows, 1, math.min(#rows, 20), 1, {}), { "function", "before", "after", "growth" })
