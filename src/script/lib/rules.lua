-- SPDX-License-Identifier: MIT OR Apache-2.0
-- What a file of rules says to memoir check.
local memoir = ...
if not memoir.rule then
  return
end

local function text_of(value, what)
  if value == nil then
    memoir.fail(what .. " is missing")
  end
  return tostring(value)
end

function limit(measure, amount)
  memoir.rule("limit", text_of(measure, "limit: the measure"), text_of(amount, "limit: the amount"))
end

for _, name in ipairs { "growth", "baseline", "ignore", "suppressions" } do
  _G[name] = function(text)
    memoir.rule(name, text_of(text, name .. ": what it is"))
  end
end

-- expect(text, holds [, list]): the stacks of the list are named if it does not hold.
function expect(text, holds, list)
  if memoir.class(list) == "groups" then
    list = list:ungroup()
  end
  memoir.rule("expect", text_of(text, "expect: what is expected"), holds and true or false, list)
end
