-- Fragmentation: how full pages are at the peak, what rounding up costs, and who pins pages
-- Arguments: the moment (the peak).
local answer = data():fragmentation { at = argv()[1], count = 10 }

println("at {}: {} bytes in {} blocks; rounding up takes {} more", ns(answer.at_ns), answer.bytes,
  answer.count, answer.slack_bytes)
local rows = {}
for _, level in ipairs(answer.regions) do
  local whole = level.live_bytes + level.empty_bytes
  rows[#rows + 1] = { region = level.size, regions = level.regions, empty_bytes = level.empty_bytes,
    full = string.format("%.1f %%", whole > 0 and 100 * level.live_bytes / whole or 0),
    nearly_empty = level.nearly_empty }
end
show(rows, { "region", "regions", "full", "empty_bytes", "nearly_empty" })

println("\nstacks whose blocks keep pages that are otherwise empty:")
for _, holder in ipairs(answer.holders) do
  local pinned = 0
  for _, held in ipairs(holder.held) do
    pinned = math.max(pinned, held.size == 4096 and held.pinned_bytes or 0)
  end
  local frame = holder.backtrace[#holder.backtrace - 1] or holder.backtrace[#holder.backtrace] or {}
  println("{} bytes pinned by {} bytes in {} blocks of {}", pinned, holder.bytes, holder.count,
    frame["function"] or frame.address_s or "?")
end
