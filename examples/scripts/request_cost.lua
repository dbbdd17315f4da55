-- What a request costs: allocations between the markers that a program sets, one set for each
-- The program calls memoir_set_marker(number) where a request begins (include/memoir.h).
local figures, order = {}, {}

-- One pass over all of them; a marker is a number that the program chose.
for a in allocations():where("marker > 0"):iter() do
  local one = figures[a.marker]
  if not one then
    one = { request = a.marker, allocations = 0, bytes = 0, left = 0, largest = 0 }
    figures[a.marker], order[#order + 1] = one, one
  end
  one.allocations, one.bytes = one.allocations + 1, one.bytes + a.size
  one.left = one.left + (a.leaked and a.size or 0)
  one.largest = math.max(one.largest, a.size)
end
if #order == 0 then
  println("nothing was allocated behind a marker: the program sets none")
  return
end
table.sort(order, function(a, b)
  return a.bytes > b.bytes
end)
local bytes, left = 0, 0
for _, one in ipairs(order) do
  bytes, left = bytes + one.bytes, left + one.left
end
println("{} requests: {} bytes each on average, the median {}; {} bytes were left behind", #order,
  bytes // #order, order[#order // 2 + 1].bytes, left)
println("the costliest:")
show(table.move(order, 1, math.min(#order, 10), 1, {}),
  { "request", "allocations", "bytes", "largest", "left" })
println("which allocated most in:")
local costliest = allocations():only_with_marker(order[1].request)
println(costliest:group_by_backtrace():sort_by_size()[1]:backtrace():strip())
