-- Budget of threads: what each thread had alive at most, and which had more than they may
-- Arguments: the bytes that each may hold (64M).  Ends with status 1 where one had more.
local budget = bytes(argv()[1] or "64M")
local rows, over = {}, 0

for group in allocations():group_by("thread"):sort_by_size():iter() do
  local most = group:timeline { points = 1 }.peak
  local exceeds = most.bytes > budget
  rows[#rows + 1] = { thread = group.name, most = most.bytes, blocks = most.count,
    at = ns(most.at_ns), allocated = group.size, verdict = exceeds and "over" or "within" }
  over = over + (exceeds and 1 or 0)
end
show(rows, { "thread", "most", "blocks", "at", "allocated", "verdict" })
println("{} of {} threads had more than {} bytes", over, #rows, budget)
if over > 0 then
  exit(1)
end
