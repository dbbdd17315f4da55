-- Sizes: which requests the allocator rounds up most, and who makes them
-- Arguments: the least that is worth a line, in bytes (1k).
local least = bytes(argv()[1] or "1k")
local all = allocations()
local answer = all:histogram { of = "size", top = 1000 }
local rows, lost = {}, 0

for _, bin in ipairs(answer.bins) do
  lost = lost + bin.slack_bytes
end
for _, one in ipairs(answer.sizes) do
  if one.slack_bytes >= least then
    local first = all:where("size = " .. one.size)[1]
    rows[#rows + 1] = { size = one.size, given = first.usable_size, blocks = one.count,
      lost = one.slack_bytes, ["function"] = first.responsible or "?" }
  end
end
table.sort(rows, function(a, b)
  return a.lost > b.lost
end)
println("{} bytes were asked for; {} were given besides, {} % of them", all.size, lost,
  string.format("%.1f", all.size > 0 and 100 * lost / all.size or 0))
show(table.move(rows, 1, math.min(#rows, 15), 1, {}),
  { "size", "given", "blocks", "lost", "function" })
