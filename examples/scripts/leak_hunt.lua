-- Leak hunt: the stacks that leave most behind, with a graph of each
-- Arguments: how many (5).
local most = tonumber(argv()[1]) or 5
local all = allocations()

-- What is freed as the program ends was held all the time, and counts as if it had stayed.
local kept = all:only_leaked_or_deallocated_after(runtime() * 0.98)
local groups = kept:group_by_backtrace():sort_by_size()

println("{} of {} were there at the end: {} bytes, from {} stacks", kept, all, kept.size, #groups)
for group in groups:take(most):iter() do
  local ever = all:only_matching_backtraces(group)
  println("\n{} bytes in {} of {} allocations, the last one after {}", group.size, #group, #ever,
    group.max_timestamp)
  println(group:backtrace():strip())
end

local first = groups:take(most)
graph():add("all other", all - first:ungroup()):add(first):save("memory.svg")
graph():add(first):save("left.svg")
