-- Rates: allocations and bytes a second of each program and library, with a graph
-- Arguments: how many are drawn (6).
local most = tonumber(argv()[1]) or 6
local seconds = runtime().s
local by_name, rows = {}, {}

-- A stack belongs to the module of its innermost frame that is no allocator's.
for group in allocations():group_by_backtrace():iter() do
  local frames = group:backtrace():strip():frames()
  local name = #frames > 0 and frames[#frames].module or "?"
  local row = by_name[name]
  if not row then
    row = { module = name, allocations = 0, bytes = 0, stacks = {} }
    by_name[name], rows[#rows + 1] = row, row
  end
  row.allocations, row.bytes = row.allocations + #group, row.bytes + group.size
  table.insert(row.stacks, group.backtrace_id)
end
table.sort(rows, function(a, b)
  return a.allocations > b.allocations
end)

local picture = graph():show_new_allocations()
for i, row in ipairs(rows) do
  row.per_second = math.floor(row.allocations / seconds)
  row.bytes_per_second = math.floor(row.bytes / seconds)
  if i <= most then
    picture = picture:add(row.module, allocations():only_matching_backtraces(row.stacks))
  end
end
show(rows, { "module", "allocations", "per_second", "bytes_per_second" })
picture:save("rates.svg")
