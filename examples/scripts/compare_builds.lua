-- Two builds: what the second recording holds more and less of than the first, by function
-- memoir script compare_builds.lua -d before.dat -d after.dat [MEASURE (peak)]
-- With one recording only what it held half-way is compared with what it held at the end.
local measure = argv()[1] or "peak"
local before, two = data(1), pcall(data, 2)
local answer

if two then
  answer = diff(before, data(2), { measure = measure, by = "function", count = 20 })
else
  answer = diff(before, before, { measure = "alive", at_a = "50%", at_b = "99%", by = "function",
    count = 20 })
end
local total = answer.total
println("{} bytes before, {} after: {} more", total.before_bytes, total.after_bytes,
  total.bytes_delta)
local rows = {}
for _, row in ipairs(answer.functions) do
  local before_own, after_own = row.before_own_bytes, row.after_own_bytes
  if after_own ~= before_own then
    rows[#rows + 1] = { ["function"] = row["function"], before = before_own, after = after_own,
      difference = after_own - before_own }
  end
end
show(rows, { "function", "before", "after", "difference" })
