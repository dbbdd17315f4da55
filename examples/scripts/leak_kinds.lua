-- Leak or cache: what each function that keeps memory does with it over the run
-- A leak grows to the end; a cache or a table grows and stops.  What is freed only as the program
-- ends is held all the time, too.
local all = allocations()
-- When the program stops to work: behind it, it only cleans up.
local finish = ns(data():leaks { count = 0 }.work_end_ns)
local held = all:only_alive_at(finish)

-- How much of a list was alive at a part of the work.
local function alive(list, part)
  return list:only_alive_at(finish * part).size
end

local function kind_of(group, ever)
  local early, middle, late = alive(group, 0.45), alive(group, 0.7), alive(group, 0.95)
  if late - middle < late / 10 or middle - early < late / 10 then
    return "bounded"
  elseif #group:only_leaked() < #group / 2 then
    return "freed at exit"
  elseif #ever:only_deallocated_until_at_most(finish) > #ever / 10 then
    return "mixed: some is freed, the rest leaks"
  end
  return "linear leak"
end

local rows = {}
for group in held:group_by("responsible"):sort_by_size():iter() do
  -- Below 1 % of what is there at the end nobody needs to look.
  if group.size * 100 < held.size then
    break
  end
  local ever = all:only_matching_backtraces(group)
  rows[#rows + 1] = { ["function"] = group.name, kind = kind_of(group, ever), bytes = group.size,
    blocks = #group, freed_before = #ever:only_deallocated_until_at_most(finish) }
end
show(rows, { "function", "kind", "bytes", "blocks", "freed_before" })
