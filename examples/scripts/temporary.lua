-- Temporary hot spots: who allocates over and over what is freed a moment later
-- Arguments: how short a life is (1ms).  What a buffer that is kept would save is in `calls`.
local short = argv()[1] or "1ms"
local all = allocations()
local brief = all:only_temporary():only_alive_for_at_most(short)
local rows = {}

println("{} of {} lived for {} or less", brief, all, short)
for group in brief:group_by("responsible"):sort_by_count():take(10):iter() do
  rows[#rows + 1] = { ["function"] = group.name, calls = group.allocated_count, bytes = group.size,
    largest = group.max_size, at_once = #group:only_freed_at_once() }
end
show(rows, { "function", "calls", "bytes", "largest", "at_once" })

graph():add("lived for " .. short .. " or less", brief):add("longer", all - brief)
  :show_new_allocations():save("temporary.svg")
