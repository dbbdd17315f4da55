-- SPDX-License-Identifier: MIT OR Apache-2.0
-- What scripts in Rhai run on, once script/rhai.h has made Lua of them: values, operators, calls.
-- rhai_methods.lua has what can be called.
--
-- A value of Rhai is the value of Lua that is most like it: () is nil, an i64 an integer, an f64 a
-- float.  Arrays, object maps, characters and ranges are tables of ours.  Arrays and maps belong to
-- the one variable, or the one element, that holds them: whoever keeps one copies it.  All else,
-- allocations and lists and what comes of them, is the host's.

local memoir = ...
local fail = memoir.fail

-- V and F are the variables and functions of the scripts that this state has run so far.
local R = { methods = {}, functions = {}, V = {}, F = {} }
local Array, Map, Char, Range = { __name = "array" }, { __name = "map" }, { __name = "char" },
  { __name = "range" }
R.Array, R.Map, R.Char, R.Range = Array, Map, Char, Range

local floor, huge, mtype = math.floor, math.huge, math.type
local setmetatable, getmetatable, rawequal, select = setmetatable, getmetatable, rawequal, select
local type, tostring, tonumber, pairs, pcall = type, tostring, tonumber, pairs, pcall

-- Values.

-- `items` has n of them, of which some may be nil; it becomes the array.
function R.array(items, n)
  items.n = n
  return setmetatable(items, Array)
end

-- Keys and values in turn.
function R.map(pairs_of, n)
  local keys, values = {}, {}

  for i = 1, n, 2 do
    keys[pairs_of[i]] = true
    values[pairs_of[i]] = pairs_of[i + 1]
  end
  return setmetatable({ keys = keys, values = values }, Map)
end

local characters = {}

function R.char(text)
  local c = characters[text]

  if not c then
    c = setmetatable({ text = text }, Char)
    characters[text] = c
  end
  return c
end

function R.sorted_keys(map)
  local names = {}

  for name in pairs(map.keys) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function copy(value)
  local meta = type(value) == "table" and getmetatable(value)

  if meta == Array then
    local items = {}

    for i = 1, value.n do
      local item = value[i]

      items[i] = type(item) == "table" and copy(item) or item
    end
    return R.array(items, value.n)
  elseif meta == Map then
    local keys, values = {}, {}

    for name in pairs(value.keys) do
      keys[name] = true
      values[name] = copy(value.values[name])
    end
    return setmetatable({ keys = keys, values = values }, Map)
  end
  return value
end
R.copy = copy

-- What kind of thing it is for our own purposes: "array", "map", "char", "range", or Lua's type.
local function kind_of(value)
  local kind = type(value)
  local meta = kind == "table" and getmetatable(value)

  if meta == Array or meta == Map or meta == Char or meta == Range then
    return meta.__name
  end
  return kind == "number" and mtype(value) or kind
end
R.kind_of = kind_of

local type_names = { integer = "i64", float = "f64", boolean = "bool", ["nil"] = "()",
  ["function"] = "Fn" }

function R.type_of(value)
  local kind = kind_of(value)

  if kind == "range" and value.inclusive then
    return "range="
  elseif kind == "userdata" or kind == "table" then
    return memoir.type_name(value)
  end
  return type_names[kind] or kind
end
local type_of = R.type_of

-- Texts of values: as print() shows them, and as they are shown inside of others.

-- With the fewest digits, from `first` to `last`, that are read as this value again.
local function shortest(value, conversion, first, last)
  local text

  for digits = first, last do
    text = ("%." .. digits .. conversion):format(value)
    if tonumber(text) == value then
      break
    end
  end
  return text
end

local function float_text(value)
  if value ~= value then
    return "NaN"
  elseif value == huge or value == -huge then
    return value > 0 and "inf" or "-inf"
  end
  local size = value < 0 and -value or value
  if value ~= 0 and (size > 1e13 or size < 1e-7) then
    local mantissa, exponent = shortest(value, "e", 0, 16):match("^(.*)e(.*)$")

    return mantissa .. "e" .. tostring(floor(tonumber(exponent)))
  end
  local text = shortest(value, "g", 15, 17)
  if text:find("e", 1, true) then
    text = shortest(value, "f", 0, 30)
  end
  return text:find(".", 1, true) and text or text .. ".0"
end

-- Without an exponent, and without decimals where there are none, as println() has it.
function R.plain_float_text(value)
  local text = float_text(value)

  if text:find("e", 1, true) then
    text = shortest(value, "f", 0, 330)
  end
  return (text:gsub("%.0$", ""))
end

local inner_text

local function quoted(text, quote)
  local names = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\\"] = "\\\\" }

  names[quote] = "\\" .. quote
  return quote .. text:gsub('[%c\\"\']', names) .. quote
end

local function array_text(array)
  local texts = {}

  for i = 1, array.n do
    texts[i] = inner_text(array[i])
  end
  return "[" .. table.concat(texts, ", ") .. "]"
end

local function map_text(map)
  local texts = {}

  for i, name in ipairs(R.sorted_keys(map)) do
    texts[i] = quoted(name, '"') .. ": " .. inner_text(map.values[name])
  end
  return "#{" .. table.concat(texts, ", ") .. "}"
end

local function text_of(value)
  local kind = kind_of(value)

  if kind == "string" then
    return value
  elseif kind == "nil" then
    return ""
  elseif kind == "float" then
    return float_text(value)
  elseif kind == "char" then
    return value.text
  elseif kind == "array" then
    return array_text(value)
  elseif kind == "map" then
    return map_text(value)
  elseif kind == "range" then
    return value.first .. (value.inclusive and "..=" or "..") .. value.last ..
      (value.step and " by " .. value.step or "")
  elseif kind == "function" then
    return "Fn"
  end
  return tostring(value)
end
R.text_of = text_of

function inner_text(value)
  local kind = kind_of(value)

  if kind == "string" then
    return quoted(value, '"')
  elseif kind == "char" then
    return quoted(value.text, "'")
  elseif kind == "nil" then
    return "()"
  end
  return text_of(value)
end
R.inner_text = inner_text

-- `…${…}…`
function R.text(parts, n)
  local texts = {}

  for i = 1, n do
    texts[i] = text_of(parts[i])
  end
  return table.concat(texts)
end

-- Operators.

local function no_operator(operator, a, b)
  fail(("%s cannot be applied to %s and %s"):format(operator, type_of(a), type_of(b)))
end

local function is_host(value)
  local kind = kind_of(value)

  return kind == "userdata" or kind == "table"
end
R.is_host = is_host

-- The operators that the host's values may have.
local host_operators = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return a / b end,
  ["&"] = function(a, b) return a & b end,
  ["|"] = function(a, b) return a | b end,
}

local function host_operator(operator, a, b)
  local host = host_operators[operator]
  local done, result

  if not host or not (is_host(a) or is_host(b)) then
    no_operator(operator, a, b)
  end
  done, result = pcall(host, a, b)
  if not done and tostring(result):find("^memoir:") then -- Lua's own: there is no such operator
    no_operator(operator, a, b)
  end
  return done and result or error(result, 0)
end

function R.bool(value)
  if value ~= true and value ~= false then
    fail("a condition must be true or false, not " .. type_of(value))
  end
  return value
end

function R.no(value)
  return not R.bool(value)
end

local function is_text(kind)
  return kind == "string" or kind == "char"
end

local function joined(a, b)
  local items, n = {}, a.n

  for i = 1, n do
    items[i] = copy(a[i])
  end
  for i = 1, b.n do
    items[n + i] = copy(b[i])
  end
  return R.array(items, n + b.n)
end

function R.mix(map, other)
  for name in pairs(other.keys) do
    map.keys[name] = true
    map.values[name] = copy(other.values[name])
  end
  return map
end

function R.add(a, b)
  if mtype(a) and mtype(b) then
    return a + b
  end
  local x, y = kind_of(a), kind_of(b)

  if is_text(x) or is_text(y) then
    return text_of(a) .. text_of(b)
  elseif x == "array" and y == "array" then
    return joined(a, b)
  elseif x == "map" and y == "map" then
    return R.mix(copy(a), b)
  end
  return host_operator("+", a, b)
end

function R.sub(a, b)
  if mtype(a) and mtype(b) then
    return a - b
  end
  return host_operator("-", a, b)
end

function R.mul(a, b)
  if mtype(a) and mtype(b) then
    return a * b
  end
  return host_operator("*", a, b)
end

-- Towards zero, as the remainder has the sign of what is divided.
function R.div(a, b)
  if mtype(a) == "integer" and mtype(b) == "integer" then
    if b == 0 then
      fail("division by zero")
    end
    local quotient = a // b

    return (quotient < 0 and quotient * b ~= a) and quotient + 1 or quotient
  elseif mtype(a) and mtype(b) then
    return a / b
  end
  return host_operator("/", a, b)
end

function R.rem(a, b)
  if not mtype(a) or not mtype(b) then
    no_operator("%", a, b)
  elseif mtype(a) == "integer" and mtype(b) == "integer" and b == 0 then
    fail("division by zero")
  end
  return math.fmod(a, b)
end

function R.pow(a, b)
  if not mtype(a) or not mtype(b) then
    no_operator("**", a, b)
  elseif mtype(a) == "float" or mtype(b) == "float" then
    return a ^ b
  elseif b < 0 then
    fail("a whole number cannot be raised to a negative power: make it a float")
  end
  local result = 1

  while b > 0 do
    if b & 1 == 1 then
      result = result * a
    end
    a, b = a * a, b >> 1
  end
  return result
end

local function integers(operator, a, b)
  if mtype(a) ~= "integer" or mtype(b) ~= "integer" then
    no_operator(operator, a, b)
  end
end

local function shifted(a, by)
  if by >= 0 then
    return a << by
  elseif by <= -63 then
    return a < 0 and -1 or 0
  end
  return a // (1 << -by) -- keeps the sign
end

function R.shl(a, b)
  integers("<<", a, b)
  return shifted(a, b)
end

function R.shr(a, b)
  integers(">>", a, b)
  return shifted(a, -b)
end

function R.band(a, b)
  if type(a) == "boolean" and type(b) == "boolean" then
    return a and b
  elseif mtype(a) == "integer" and mtype(b) == "integer" then
    return a & b
  end
  return host_operator("&", a, b)
end

function R.bor(a, b)
  if type(a) == "boolean" and type(b) == "boolean" then
    return a or b
  elseif mtype(a) == "integer" and mtype(b) == "integer" then
    return a | b
  end
  return host_operator("|", a, b)
end

function R.bxor(a, b)
  if type(a) == "boolean" and type(b) == "boolean" then
    return a ~= b
  end
  integers("^", a, b)
  return a ~ b
end

function R.negative(a)
  if is_host(a) then
    return host_operator("*", a, -1)
  elseif not mtype(a) then
    fail("- cannot be applied to " .. type_of(a))
  end
  return -a
end

function R.positive(a)
  if not mtype(a) then
    fail("+ cannot be applied to " .. type_of(a))
  end
  return a
end

local equal

local function equal_arrays(a, b)
  if a.n ~= b.n then
    return false
  end
  for i = 1, a.n do
    if not equal(a[i], b[i]) then
      return false
    end
  end
  return true
end

local function equal_maps(a, b)
  for name in pairs(a.keys) do
    if not b.keys[name] or not equal(a.values[name], b.values[name]) then
      return false
    end
  end
  for name in pairs(b.keys) do
    if not a.keys[name] then
      return false
    end
  end
  return true
end

-- Values of different types are different, but for numbers, and for characters and texts.
function equal(a, b)
  local x, y = kind_of(a), kind_of(b)

  if x == "array" and y == "array" then
    return equal_arrays(a, b)
  elseif x == "map" and y == "map" then
    return equal_maps(a, b)
  elseif x == "range" and y == "range" then
    return a.first == b.first and a.last == b.last and a.inclusive == b.inclusive
  elseif is_text(x) and is_text(y) then
    return text_of(a) == text_of(b)
  end
  return a == b
end
R.eq = equal

function R.ne(a, b)
  return not equal(a, b)
end

local function order_of_host(a, b)
  return a < b and -1 or (a == b and 0 or 1)
end

-- Nearly everything of the host's has no order.
local function order_if_any(done, result)
  return done and result or nil
end

-- -1, 0 or 1; nil where there is no order.
local function order(a, b)
  local x, y = kind_of(a), kind_of(b)

  if is_text(x) and is_text(y) then
    a, b = text_of(a), text_of(b)
  elseif x == "boolean" and y == "boolean" then
    a, b = a and 1 or 0, b and 1 or 0
  elseif x == "userdata" and y == "userdata" then
    return order_if_any(pcall(order_of_host, a, b))
  elseif not (mtype(a) and mtype(b)) then
    return nil
  end
  if a < b then
    return -1
  end
  return a == b and 0 or (a > b and 1 or nil)
end
R.order = order

function R.lt(a, b)
  return order(a, b) == -1
end

function R.gt(a, b)
  return order(a, b) == 1
end

function R.le(a, b)
  local o = order(a, b)

  return o == -1 or o == 0
end

function R.ge(a, b)
  local o = order(a, b)

  return o == 1 or o == 0
end

function R.is_in(item, container)
  return R.bool(R.method(container, "contains", item))
end

local operators = { ["+"] = R.add, ["-"] = R.sub, ["*"] = R.mul, ["/"] = R.div, ["%"] = R.rem,
  ["**"] = R.pow, ["<<"] = R.shl, [">>"] = R.shr, ["&"] = R.band, ["|"] = R.bor,
  ["^"] = R.bxor }

-- a += b and the like: what a is then.
function R.update(a, operator, b)
  if operator == "+" and kind_of(a) == "array" then
    if kind_of(b) == "array" then
      return joined(a, b)
    end
    a.n = a.n + 1
    a[a.n] = b
    return a
  end
  return operators[operator](a, b)
end

-- Ranges.

function R.range(first, last, inclusive)
  if mtype(first) ~= "integer" or mtype(last) ~= "integer" then
    fail("a range is between two whole numbers")
  end
  return setmetatable({ first = first, last = last, inclusive = inclusive }, Range)
end

-- The last number that a range has.
local function range_end(range)
  return range.inclusive and range.last or range.last - 1
end

function R.range_has(range, number)
  return mtype(number) == "integer" and number >= range.first and number <= range.last and
    (range.inclusive or number < range.last)
end

-- Where a range, or a position and an optional count, begins and ends in something of `size`
-- parts: the first from 1, and the last.  Positions below 0 count from the end.
function R.portion(size, from, count)
  local first, last

  if kind_of(from) == "range" then
    first, last = from.first, range_end(from)
    if last < 0 and from.last < 0 then
      last = last + size
    end
  elseif mtype(from) == "integer" and (count == nil or mtype(count) == "integer") then
    first = from
  else
    fail("a position is a whole number")
  end
  if first < 0 then
    first = first + size < 0 and 0 or first + size
  elseif first > size then
    first = size
  end
  if not last then
    last = (not count or count > size) and size - 1 or first + count - 1
  end
  return first + 1, last < size and last + 1 or size
end

-- Loops.

local function each_item(items, n)
  local i = -1

  return function()
    i = i + 1
    if i < n then
      return i, copy(items[i + 1])
    end
  end
end

local function each_number(range)
  local i, last = -1, range_end(range)
  local number = range.first

  if not range.inclusive and range.last == math.mininteger then
    return function() end
  end
  return function()
    if number and number <= last then
      local now = number

      i = i + 1
      number = now < last and now + 1 or nil
      return i, now
    end
  end
end

local function each_of_host(list)
  local next_item = list.iter(list)
  local i = -1

  return function()
    local item = next_item()

    if item ~= nil then
      i = i + 1
      return i, item
    end
  end
end

-- range(first, last, step)
local function each_step(steps)
  local i, at = -1, steps.first

  return function()
    local now = at

    if (steps.step > 0 and now < steps.last) or (steps.step < 0 and now > steps.last) then
      at = now + steps.step
      i = i + 1
      return i, now
    end
  end
end

-- What a for loop goes through: a counter from 0 and the item.  What the loop changes meanwhile
-- does not matter to it.
function R.each(list)
  local kind = kind_of(list)

  if kind == "array" then
    return each_item(table.move(list, 1, list.n, 1, {}), list.n)
  elseif kind == "range" then
    return list.step and each_step(list) or each_number(list)
  elseif kind == "string" then
    local items = R.characters(list)

    return each_item(items, items.n)
  elseif is_host(list) then
    return each_of_host(list)
  end
  fail("for cannot go through " .. type_of(list))
end

-- Is it what a case of a switch says?
function R.case(value, case)
  if kind_of(case) == "range" and kind_of(value) ~= "range" then
    return R.range_has(case, value)
  end
  return kind_of(value) == kind_of(case) and equal(value, case)
end

-- Parts of values.

-- A position, counted from the end below 0, from 1 then.
local function place(i, size, of)
  if mtype(i) ~= "integer" then
    fail(("%s is indexed with a whole number, not %s"):format(of, type_of(i)))
  end
  local at = i < 0 and i + size or i

  if at < 0 or at >= size then
    fail(("index %d is out of bounds: %s has %d %s"):format(i, of, size,
      size == 1 and "element" or "elements"))
  end
  return at + 1
end

local function size_of_host(list)
  return #list
end

local function index_host(list, i)
  if mtype(i) == "integer" then
    local done, size = pcall(size_of_host, list)

    if not done and tostring(size):find("^memoir:") then
      fail(type_of(list) .. " cannot be indexed")
    end
    return list[place(i, done and size or error(size, 0), "the list")]
  end
  return R.imported(list[R.exported(i)])
end

local function property_name(i)
  if type(i) ~= "string" then
    fail("an object map is indexed with a string, not " .. type_of(i))
  end
  return i
end

function R.index(value, i)
  local kind = kind_of(value)

  if kind == "array" then
    return value[place(i, value.n, "the array")]
  elseif kind == "map" then
    return value.values[property_name(i)]
  elseif kind == "string" then
    if kind_of(i) == "range" then
      return R.method(value, "sub_string", i)
    end
    local items = R.characters(value)

    return items[place(i, items.n, "the string")]
  elseif kind == "integer" and mtype(i) == "integer" then
    return (value >> (place(i, 64, "the number") - 1)) & 1 == 1
  elseif is_host(value) then
    return index_host(value, i)
  end
  fail(type_of(value) .. " cannot be indexed")
end

-- value[i] = part, value.i = part: what value is then.
function R.set_part(value, i, part)
  local kind = kind_of(value)

  if kind == "array" then
    value[place(i, value.n, "the array")] = part
  elseif kind == "map" then
    value.keys[property_name(i)] = true
    value.values[i] = part
  elseif kind == "string" then
    local items = R.characters(value)

    if kind_of(part) ~= "char" then
      fail("a part of a string is a character, not " .. type_of(part))
    end
    items[place(i, items.n, "the string")] = part
    return R.text(items, items.n)
  else
    fail("a part of " .. type_of(value) .. " cannot be assigned")
  end
  return value
end

function R.update_part(value, i, operator, part)
  return R.set_part(value, i, R.update(R.index(value, i), operator, part))
end

-- The same with a part of a part: value[at][i] = part.  A string is put back.
local function put_back(container, at, value, changed)
  if not rawequal(value, changed) then
    R.set_part(container, at, changed)
  end
end

function R.set_within(container, at, i, part)
  local value = R.index_or_property(container, at)

  put_back(container, at, value, R.set_part(value, i, part))
end

function R.update_within(container, at, i, operator, part)
  local value = R.index_or_property(container, at)

  put_back(container, at, value, R.update_part(value, i, operator, part))
end

-- What can be asked without parentheses.
local getters = {
  array = { len = true, is_empty = true },
  string = { len = true, is_empty = true, bytes = true, chars = true },
  float = { floor = true, ceiling = true, round = true, int = true, fraction = true,
    is_nan = true, is_finite = true, is_infinite = true, is_zero = true },
  integer = { is_odd = true, is_even = true, is_zero = true, bits = true },
  range = { start = true, ["end"] = true, is_inclusive = true, is_exclusive = true,
    is_empty = true },
}

function R.property(value, name)
  local kind = kind_of(value)

  if kind == "map" then
    return value.values[name]
  elseif getters[kind] and getters[kind][name] then
    return R.method(value, name)
  elseif is_host(value) then
    local found = value[name]

    if type(found) == "function" then
      fail(("%s is a method: write %s()"):format(name, name))
    end
    return R.imported(found)
  end
  fail(("%s has no property '%s'"):format(type_of(value), name))
end

-- Calls.

-- What the host is given: plain tables and texts.
function R.exported(value)
  local kind = kind_of(value)

  if kind == "char" then
    return value.text
  elseif kind == "array" then
    local items = {}

    for i = 1, value.n do
      items[i] = R.exported(value[i])
    end
    return items
  elseif kind == "map" then
    local values = {}

    for name in pairs(value.keys) do
      values[name] = R.exported(value.values[name])
    end
    return values
  end
  return value
end

-- What the host gives: plain tables become arrays or maps.
function R.imported(value)
  if type(value) ~= "table" or getmetatable(value) ~= nil then
    return value
  end
  local n = #value

  if n > 0 or next(value) == nil then
    local items = {}

    for i = 1, n do
      items[i] = R.imported(value[i])
    end
    return R.array(items, n)
  end
  local keys, values = {}, {}

  for name, part in pairs(value) do
    keys[tostring(name)] = true
    values[tostring(name)] = R.imported(part)
  end
  return setmetatable({ keys = keys, values = values }, Map)
end

local function export_all(...)
  local n = select("#", ...)

  if n == 0 then
    return
  elseif n == 1 then
    return R.exported((...))
  end
  local values = table.pack(...)

  for i = 1, n do
    values[i] = R.exported(values[i])
  end
  return table.unpack(values, 1, n)
end

local function call_host(value, name, ...)
  local found = value[name]

  if type(found) == "function" then
    return R.imported((found(value, export_all(...))))
  elseif select("#", ...) == 0 and found ~= nil then
    return R.imported(found)
  end
  fail(("%s has no method '%s'"):format(type_of(value), name))
end

local function no_method(value, name, ...)
  local kinds = {}

  for i = 1, select("#", ...) do
    kinds[i] = type_of((select(i, ...)))
  end
  fail(("%s has no method '%s(%s)'"):format(type_of(value), name, table.concat(kinds, ", ")))
end

-- A method changes what it is called on by a second result.
local function method(value, name, ...)
  local kind = kind_of(value)
  local found = R.methods[kind] and R.methods[kind][name]

  if kind == "map" and type(value.values[name]) == "function" then
    return (value.values[name](...))
  elseif found then
    return found(value, ...)
  end
  found = R.methods.any[name]
  if found then
    return found(value, ...)
  elseif is_host(value) then
    return call_host(value, name, ...)
  end
  no_method(value, name, ...)
end

function R.method(value, name, ...)
  return (method(value, name, ...))
end

-- variable.name(…): what the variable is then, and what the method returns.
function R.change(value, name, ...)
  local result, changed = method(value, name, ...)

  if changed ~= nil then
    return changed, result
  end
  return value, result
end

-- The same with a part of an array or a map.
function R.change_in(container, i, name, ...)
  local value = R.index_or_property(container, i)
  local result, changed = method(value, name, ...)

  if changed ~= nil then
    R.set_part(container, i, changed)
  end
  return result
end

function R.index_or_property(container, i)
  if type(i) == "string" and kind_of(container) ~= "map" then
    return R.property(container, i)
  end
  return R.index(container, i)
end

function R.method_of_constant(value, name, ...)
  local kind = kind_of(value)

  if kind == "array" or kind == "map" or kind == "string" then
    fail(("%s() would change a constant"):format(name))
  end
  return R.method(value, name, ...)
end

-- Lua's own functions are none of Rhai's.
local hidden = {}
for name in ([[assert collectgarbage dofile error getmetatable ipairs loadfile loadstring next pairs
  pcall print rawequal rawget rawlen rawset require select setmetatable tonumber tostring type warn
  xpcall]]):gmatch("%S+") do
  hidden[name] = true
end

local script_functions = {}

-- name(…), where the script has no function of that name and number of parameters.
function R.call(name, ...)
  local found = R.functions[name]

  if found then
    return (found(...))
  end
  found = not hidden[name] and name:sub(1, 2) ~= "__" and _G[name]
  if type(found) == "function" then
    return R.imported((found(export_all(...))))
  elseif select("#", ...) > 0 and R.has_method((...), name) then
    return R.method(...,  name, select(2, ...))
  end
  R.no_function(name, select("#", ...))
end

function R.has_method(value, name)
  local kind = kind_of(value)

  if is_host(value) then
    return type(value[name]) == "function"
  end
  return (R.methods[kind] and R.methods[kind][name]) or R.methods.any[name]
end

function R.no_function(name, count)
  for n = 0, 64 do
    if script_functions[name .. "_" .. n] then
      fail(("the function '%s' takes %d %s, not %d"):format(name, n,
        n == 1 and "argument" or "arguments", count))
    end
  end
  fail(("there is no function '%s'"):format(name))
end

-- A function of the script by its name, for Fn("name") and array.map("name"): with as many
-- parameters as there are arguments, or fewer.
function R.pointer(name)
  return function(...)
    for n = select("#", ...), 0, -1 do
      local found = script_functions[name .. "_" .. n]

      if found then
        return found(...)
      end
    end
    return R.call(name, ...)
  end
end

-- A value that nobody uses: Lua has no such statement.
function R.ignore()
end

function R.throw(value)
  fail(value == nil and "the script gave up" or text_of(value))
end

-- The parts of a script in their order, until one of them returns.
function R.run(parts, functions)
  script_functions = functions
  for i = 1, #parts do
    if parts[i]() then
      return
    end
  end
end

-- A variable of the scripts so far, by its name: for a prompt.
function R.variable(name)
  local value, last = R.V["c_" .. name], 0

  for key, of in pairs(R.V) do
    local id = key:match("^v(%d+)_(.*)$")
    if id and key:sub(#id + 3) == name and tonumber(id) > last then
      value, last = of, tonumber(id)
    end
  end
  return value
end

function R.variable_names()
  local names = {}

  for key in pairs(R.V) do
    names[#names + 1] = key:match("^v%d+_(.*)$") or key:match("^c_(.*)$")
  end
  return names
end

memoir.rhai = R
__rhai = R -- what a script that was translated begins with
