-- SPDX-License-Identifier: MIT OR Apache-2.0
-- Functions and methods of Rhai's own values: numbers, texts, arrays, object maps, ranges.
--
-- A method gets what it is called on and its arguments.  Strings never change: a method that
-- changes one returns what it returns and then what the string is to be.

local memoir = ...
local R, fail = memoir.rhai, memoir.fail
local kind_of, text_of, copy, equal = R.kind_of, R.text_of, R.copy, R.eq
local mtype = math.type

local any, number, text, array, map, range = {}, {}, {}, {}, {}, {}
local callable = {}

R.methods = { any = any, integer = number, float = number, string = text, char = text,
  array = array, map = map, range = range, ["function"] = callable }

local function want(value, kind, what)
  if kind_of(value) ~= kind then
    fail(("%s must be %s, not %s"):format(what, kind == "integer" and "a whole number" or kind,
      R.type_of(value)))
  end
  return value
end

local function want_text(value, what)
  local kind = kind_of(value)

  if kind ~= "string" and kind ~= "char" then
    fail(("%s must be a string, not %s"):format(what, R.type_of(value)))
  end
  return text_of(value)
end

local function want_function(value)
  if type(value) == "string" then
    return R.pointer(value)
  elseif type(value) ~= "function" then
    fail("a function is wanted here, not " .. R.type_of(value))
  end
  return value
end

local function want_number(value, what)
  if not mtype(value) then
    fail(("%s must be a number, not %s"):format(what, R.type_of(value)))
  end
  return value
end

-- Of anything.

any.to_string = text_of
any.to_debug = R.inner_text
any.type_of = R.type_of

-- Numbers.

local function whole(value)
  if mtype(value) == "integer" then
    return value
  elseif value ~= value or value >= 0x1p63 or value < -0x1p63 then
    fail("the number is too large for a whole one")
  end
  return math.tointeger(value >= 0 and math.floor(value) or math.ceil(value))
end

local function rounded(value)
  return value >= 0 and math.floor(value + 0.0) or math.ceil(value)
end

number.abs = math.abs
number.to_int = whole
number.to_degrees = math.deg
number.to_radians = math.rad

function number.sign(a)
  return a > 0 and 1 or a < 0 and -1 or 0
end

function number.to_float(a)
  return a + 0.0
end

function number.is_zero(a)
  return a == 0
end

function number.is_odd(a)
  return want(a, "integer", "the number") % 2 == 1
end

function number.is_even(a)
  return want(a, "integer", "the number") % 2 == 0
end

-- Stays a float: math.floor() would make an integer where there is one.
local function as_float(of)
  return function(a)
    return of(a) + 0.0
  end
end

number.floor = as_float(math.floor)
number.ceiling = as_float(math.ceil)
number.int = as_float(rounded)

-- Halves away from zero, to a number of decimals.
function number.round(a, decimals)
  local scale = 10.0 ^ want_number(decimals or 0, "the number of decimals")
  local scaled = math.abs(a) * scale
  local down = math.floor(scaled) + 0.0
  local result = (scaled - down >= 0.5 and down + 1 or down) / scale

  return a < 0 and -result or result
end

function number.fraction(a)
  return a - rounded(a)
end

function number.is_nan(a)
  return a ~= a
end

function number.is_finite(a)
  return a == a and a < math.huge and a > -math.huge
end

function number.is_infinite(a)
  return a == math.huge or a == -math.huge
end

-- Of numbers, and of texts.
local function larger(a, b)
  return R.order(a, b) == -1 and b or a
end

local function smaller(a, b)
  return R.order(a, b) == 1 and b or a
end

number.max = larger
number.min = smaller

for _, name in ipairs({ "sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp" }) do
  local of = math[name]

  number[name] = function(a)
    return of(a)
  end
end

function number.sinh(a)
  return (math.exp(a) - math.exp(-a)) / 2
end

function number.cosh(a)
  return (math.exp(a) + math.exp(-a)) / 2
end

function number.tanh(a)
  local b = math.exp(-2 * math.abs(a))
  local result = (1 - b) / (1 + b)

  return a < 0 and -result or result
end

function number.ln(a)
  return math.log(a)
end

function number.log(a, base)
  return base and math.log(a) / math.log(want_number(base, "the base")) or math.log(a, 10)
end

function number.log10(a)
  return math.log(a, 10)
end

function number.hypot(a, b)
  return math.sqrt(a * a + want_number(b, "the other side") ^ 2)
end

local function in_base(bits)
  return function(a)
    local digits = {}

    want(a, "integer", "the number")
    repeat
      table.insert(digits, 1, ("%x"):format(a & ((1 << bits) - 1)))
      a = a >> bits
    until a == 0
    return table.concat(digits)
  end
end

number.to_hex = in_base(4)
number.to_octal = in_base(3)
number.to_binary = in_base(1)

-- Texts.  A character is a text of one.

-- The characters of a text, as a table with n; bytes that are no UTF-8 count as one each.
function R.characters(of)
  local items, n, at = {}, 0, 1

  while at <= #of do
    local size = utf8.len(of, at, at) and (utf8.offset(of, 2, at) or #of + 1) - at or 1

    n = n + 1
    items[n] = R.char(of:sub(at, at + size - 1))
    at = at + size
  end
  items.n = n
  return items
end
local characters = R.characters

local function joined(items, first, last)
  local texts = {}

  for i = first, last do
    texts[#texts + 1] = items[i].text
  end
  return table.concat(texts)
end

-- Every occurrence: what is looked for is no pattern.
function R.replaced(of, what, by)
  local parts, at = {}, 1

  if what == "" then
    return of
  end
  while true do
    local from, to = of:find(what, at, true)

    if not from then
      break
    end
    parts[#parts + 1] = of:sub(at, from - 1) .. by
    at = to + 1
  end
  return table.concat(parts) .. of:sub(at)
end

-- Uppercase and lowercase of ASCII, Latin-1, Greek and Cyrillic letters.
local function change_case(of, upper)
  local from, to = upper and "lower" or "upper", upper and "upper" or "lower"

  of = of[to](of)
  return (of:gsub(utf8.charpattern, function(c)
    local code = #c > 1 and utf8.len(c) and utf8.codepoint(c)

    if not code then
      return nil
    end
    local shift = (code >= 0xe0 and code <= 0xfe and code ~= 0xf7 or
      code >= 0x3b1 and code <= 0x3c9 and code ~= 0x3c2 or
      code >= 0x430 and code <= 0x44f) and "lower" or
      (code >= 0xc0 and code <= 0xde and code ~= 0xd7 or
      code >= 0x391 and code <= 0x3a9 or code >= 0x410 and code <= 0x42f) and "upper"

    if shift ~= from then
      return nil
    end
    return utf8.char(code + (upper and -32 or 32))
  end))
end

-- What a method for strings is for a character as well.
local function of_text(name, f)
  text[name] = function(of, ...)
    return f(text_of(of), ...)
  end
end

of_text("len", function(of)
  return utf8.len(of) or characters(of).n
end)

of_text("bytes", function(of)
  return #of
end)

of_text("is_empty", function(of)
  return of == ""
end)

of_text("to_string", function(of)
  return of
end)

of_text("to_upper", function(of)
  return change_case(of, true)
end)

of_text("to_lower", function(of)
  return change_case(of, false)
end)

of_text("make_upper", function(of)
  return nil, change_case(of, true)
end)

of_text("make_lower", function(of)
  return nil, change_case(of, false)
end)

of_text("contains", function(of, what)
  return of:find(want_text(what, "what is looked for"), 1, true) ~= nil
end)

of_text("starts_with", function(of, what)
  what = want_text(what, "what is looked for")
  return of:sub(1, #what) == what
end)

of_text("ends_with", function(of, what)
  what = want_text(what, "what is looked for")
  return what == "" or of:sub(-#what) == what
end)

of_text("index_of", function(of, what, start)
  local items = characters(of)
  local first = start and R.portion(items.n, start) or 1
  local skipped = #joined(items, 1, first - 1)
  local at = of:find(want_text(what, "what is looked for"), skipped + 1, true)

  return at and characters(of:sub(1, at - 1)).n or -1
end)

of_text("sub_string", function(of, from, count)
  local items = characters(of)

  return joined(items, R.portion(items.n, from, count))
end)

of_text("crop", function(of, from, count)
  local items = characters(of)

  return nil, joined(items, R.portion(items.n, from, count))
end)

of_text("trim", function(of)
  return nil, (of:match("^%s*(.-)%s*$"))
end)

of_text("clear", function()
  return nil, ""
end)

of_text("append", function(of, more)
  return nil, of .. text_of(more)
end)

of_text("truncate", function(of, size)
  local items = characters(of)

  return nil, joined(items, 1, math.min(items.n, math.max(0, want(size, "integer", "a length"))))
end)

of_text("pad", function(of, size, with)
  local n, parts = characters(of).n, { of }

  with = want_text(with, "what is appended")
  local width = characters(with).n

  while width > 0 and n < want(size, "integer", "a length") do
    parts[#parts + 1] = with
    n = n + width
  end
  return nil, table.concat(parts)
end)

of_text("replace", function(of, what, by)
  return nil, R.replaced(of, want_text(what, "what is replaced"), want_text(by, "the new text"))
end)

of_text("remove", function(of, what)
  return nil, R.replaced(of, want_text(what, "what is removed"), "")
end)

of_text("pop", function(of, count)
  local items = characters(of)

  if not count then
    return items[items.n], joined(items, 1, items.n - 1)
  end
  local left = math.max(0, items.n - math.max(0, want(count, "integer", "a count")))

  return joined(items, left + 1, items.n), joined(items, 1, left)
end)

of_text("get", function(of, i)
  local items = characters(of)

  i = want(i, "integer", "a position")
  return items[(i < 0 and i + items.n or i) + 1]
end)

of_text("set", function(of, i, by)
  local items = characters(of)
  local at = want(i, "integer", "a position")

  at = (at < 0 and at + items.n or at) + 1
  if items[at] then
    items[at] = R.char(want_text(by, "the new character"))
  end
  return nil, joined(items, 1, items.n)
end)

of_text("split", function(of, by, most)
  local parts, n, at = {}, 0, 1

  if by == nil or mtype(by) then
    local items = characters(of)

    if by then -- in two, at a position
      local first = R.portion(items.n, by)

      return R.array({ joined(items, 1, math.min(first - 1, items.n)),
        joined(items, first, items.n) }, 2)
    end
    for word in of:gmatch("%S+") do
      n = n + 1
      parts[n] = word
    end
    return R.array(parts, n)
  end
  by = want_text(by, "what is between the parts")
  while true do
    local from, to = of:find(by, at, true)

    if not from or by == "" or (most and n + 1 >= most) then
      break
    end
    n = n + 1
    parts[n] = of:sub(at, from - 1)
    at = to + 1
  end
  parts[n + 1] = of:sub(at)
  return R.array(parts, n + 1)
end)

local function chars_of(of, ...)
  local items = characters(of)
  local first, last = 1, items.n

  if ... then
    first, last = R.portion(items.n, ...)
  end
  local part = table.move(items, first, last, 1, {})

  return R.array(part, math.max(0, last - first + 1))
end
of_text("chars", chars_of)
of_text("to_chars", chars_of)

of_text("to_int", function(of)
  return utf8.codepoint(of)
end)

of_text("max", larger)
of_text("min", smaller)

-- Arrays.

local function position(of, i)
  i = want(i, "integer", "a position")
  return (i < 0 and i + of.n or i) + 1
end

-- Takes `count` items out from `first` on, and puts others in their place.
local function exchange(of, first, count, items, n)
  local removed = table.move(of, first, first + count - 1, 1, {})
  local size = of.n - count + n

  table.move(of, first + count, of.n, first + n)
  for i = 1, n do
    of[first + i - 1] = items[i]
  end
  for i = size + 1, of.n do
    of[i] = nil
  end
  of.n = size
  return R.array(removed, count)
end

function array.len(of)
  return of.n
end

function array.is_empty(of)
  return of.n == 0
end

function array.get(of, i)
  return copy(of[position(of, i)])
end

function array.set(of, i, item)
  local at = position(of, i)

  if at >= 1 and at <= of.n then
    of[at] = item
  end
end

function array.push(of, item)
  of.n = of.n + 1
  of[of.n] = item
end

function array.append(of, more)
  want(more, "array", "what is appended")
  for i = 1, more.n do
    of[of.n + i] = copy(more[i])
  end
  of.n = of.n + more.n
end

function array.insert(of, i, item)
  local at = math.max(1, math.min(position(of, i), of.n + 1))

  exchange(of, at, 0, { item }, 1)
end

function array.pop(of)
  if of.n > 0 then
    return exchange(of, of.n, 1, {}, 0)[1]
  end
end

function array.shift(of)
  if of.n > 0 then
    return exchange(of, 1, 1, {}, 0)[1]
  end
end

function array.remove(of, i)
  local at = position(of, i)

  if at >= 1 and at <= of.n then
    return exchange(of, at, 1, {}, 0)[1]
  end
end

function array.clear(of)
  exchange(of, 1, of.n, {}, 0)
end

function array.truncate(of, size)
  size = math.max(0, math.min(want(size, "integer", "a length"), of.n))
  exchange(of, size + 1, of.n - size, {}, 0)
end

function array.chop(of, size)
  size = math.max(0, math.min(want(size, "integer", "a length"), of.n))
  exchange(of, 1, of.n - size, {}, 0)
end

function array.pad(of, size, item)
  while of.n < want(size, "integer", "a length") do
    of.n = of.n + 1
    of[of.n] = copy(item)
  end
end

function array.reverse(of)
  for i = 1, of.n // 2 do
    local other = of.n + 1 - i

    of[i], of[other] = of[other], of[i]
  end
end

function array.extract(of, from, count)
  local first, last = R.portion(of.n, from, count)

  return copy(R.array(table.move(of, first, last, 1, {}), math.max(0, last - first + 1)))
end

function array.split(of, i)
  local at = math.max(1, math.min(position(of, i), of.n + 1))

  return exchange(of, at, of.n - at + 1, {}, 0)
end

-- splice(start, count, items), splice(range, items)
function array.splice(of, from, count, items)
  if kind_of(from) == "range" then
    items, count = count, nil
  end
  want(items, "array", "what is put in")
  local first, last = R.portion(of.n, from, count)

  first = math.min(first, of.n + 1)
  exchange(of, first, math.max(0, last - first + 1), copy(items), items.n)
end

function array.contains(of, item)
  for i = 1, of.n do
    if equal(of[i], item) then
      return true
    end
  end
  return false
end

-- f(item, position) for each, until it returns something; the position from 0.
local function search(of, f, first)
  for i = first or 1, of.n do
    if R.bool(f(copy(of[i]), i - 1)) then
      return i
    end
  end
end

function array.index_of(of, what, start)
  local first = start and math.max(1, position(of, start)) or 1

  if type(what) == "function" then
    return (search(of, what, first) or 0) - 1
  end
  for i = first, of.n do
    if equal(of[i], what) then
      return i - 1
    end
  end
  return -1
end

function array.find(of, f, start)
  local at = search(of, want_function(f), start and math.max(1, position(of, start)))

  return at and copy(of[at])
end

function array.find_map(of, f)
  f = want_function(f)
  for i = 1, of.n do
    local result = f(copy(of[i]), i - 1)

    if result ~= nil then
      return result
    end
  end
end

function array.some(of, f)
  return search(of, want_function(f)) ~= nil
end

function array.all(of, f)
  f = want_function(f)
  return not search(of, function(item, i)
    return not R.bool(f(item, i))
  end)
end

function array.map(of, f)
  local items = {}

  f = want_function(f)
  for i = 1, of.n do
    items[i] = f(copy(of[i]), i - 1)
  end
  return R.array(items, of.n)
end

function array.for_each(of, f)
  f = want_function(f)
  for i = 1, of.n do
    f(copy(of[i]), i - 1)
  end
end

-- The items for which f is true, and those for which it is not.
local function divided(of, f)
  local yes, no = R.array({}, 0), R.array({}, 0)

  f = want_function(f)
  for i = 1, of.n do
    array.push(R.bool(f(copy(of[i]), i - 1)) and yes or no, of[i])
  end
  return yes, no
end

function array.filter(of, f)
  return copy((divided(of, f)))
end

-- A range, or a position and a count, or a function: what is inside, and what is not.
local function parted(of, from, count)
  if type(from) == "function" or type(from) == "string" then
    return divided(of, from)
  end
  local first, last = R.portion(of.n, from, count)

  return divided(of, function(_, i)
    return i + 1 >= first and i + 1 <= last
  end)
end

local function assign(of, items)
  exchange(of, 1, of.n, items, items.n)
end

function array.drain(of, from, count)
  local inside, outside = parted(of, from, count)

  assign(of, outside)
  return inside
end

function array.retain(of, from, count)
  local inside, outside = parted(of, from, count)

  assign(of, inside)
  return outside
end

local function reduced(of, f, initial, first, last, step)
  f = want_function(f)
  if type(initial) == "function" then
    initial = initial()
  end
  for i = first, last, step do
    initial = f(initial, copy(of[i]), i - 1)
  end
  return initial
end

function array.reduce(of, f, initial)
  return reduced(of, f, initial, 1, of.n, 1)
end

function array.reduce_rev(of, f, initial)
  return reduced(of, f, initial, of.n, 1, -1)
end

function array.zip(of, other, f)
  local items, n = {}, math.min(of.n, want(other, "array", "the other").n)

  f = want_function(f)
  for i = 1, n do
    items[i] = f(copy(of[i]), copy(other[i]), i - 1)
  end
  return R.array(items, n)
end

function array.dedup(of, f)
  local kept = R.array({}, 0)

  f = f and want_function(f) or equal
  for i = 1, of.n do
    if i == 1 or not R.bool(f(copy(kept[kept.n]), copy(of[i]))) then
      array.push(kept, of[i])
    end
  end
  assign(of, kept)
end

-- Keeps the order of what is equal; `order(a, b)` is below, at or above 0.
local function merge_sort(items, first, last, order, spare)
  if first >= last then
    return
  end
  local middle = (first + last) // 2

  merge_sort(items, first, middle, order, spare)
  merge_sort(items, middle + 1, last, order, spare)
  table.move(items, first, middle, first, spare)
  local left, right, at = first, middle + 1, first

  while left <= middle do
    if right <= last and order(spare[left], items[right]) > 0 then
      items[at] = items[right]
      right = right + 1
    else
      items[at] = spare[left]
      left = left + 1
    end
    at = at + 1
  end
end

local function natural_order(a, b)
  return R.order(a, b) or fail(("%s and %s have no order"):format(R.type_of(a), R.type_of(b)))
end

local function sorted(of, f)
  local compare = natural_order

  if f then
    f = want_function(f)
    compare = function(a, b)
      return want(f(copy(a), copy(b)), "integer", "what compares returns: it")
    end
  end
  merge_sort(of, 1, of.n, compare, {})
  return of
end

function array.sort(of, f)
  sorted(of, f)
end

-- Object maps.

function map.len(of)
  return #R.sorted_keys(of)
end

function map.is_empty(of)
  return next(of.keys) == nil
end

function map.contains(of, name)
  return of.keys[want_text(name, "the name of a property")] == true
end

function map.get(of, name)
  return copy(of.values[want_text(name, "the name of a property")])
end

function map.set(of, name, value)
  R.set_part(of, want_text(name, "the name of a property"), value)
end

function map.clear(of)
  of.keys, of.values = {}, {}
end

function map.remove(of, name)
  local value = of.values[want_text(name, "the name of a property")]

  of.keys[text_of(name)] = nil
  of.values[text_of(name)] = nil
  return value
end

function map.mixin(of, other)
  R.mix(of, want(other, "map", "the other"))
end

function map.fill_with(of, other)
  want(other, "map", "the other")
  for name in pairs(other.keys) do
    if not of.keys[name] then
      R.set_part(of, name, copy(other.values[name]))
    end
  end
end

function map.keys(of)
  local names = R.sorted_keys(of)

  return R.array(names, #names)
end

function map.values(of)
  local names = R.sorted_keys(of)
  local values = {}

  for i, name in ipairs(names) do
    values[i] = copy(of.values[name])
  end
  return R.array(values, #names)
end

local function divided_map(of, f)
  local yes, no = R.map({}, 0), R.map({}, 0)

  f = want_function(f)
  for _, name in ipairs(R.sorted_keys(of)) do
    R.set_part(R.bool(f(name, copy(of.values[name]))) and yes or no, name,
      copy(of.values[name]))
  end
  return yes, no
end

function map.filter(of, f)
  return (divided_map(of, f))
end

function map.drain(of, f)
  local yes, no = divided_map(of, f)

  of.keys, of.values = no.keys, no.values
  return yes
end

function map.retain(of, f)
  local yes, no = divided_map(of, f)

  of.keys, of.values = yes.keys, yes.values
  return no
end

-- Ranges.

function range.contains(of, item)
  return R.range_has(of, item)
end

range.start = function(of)
  return of.first
end
range["end"] = function(of)
  return of.last
end

function range.is_inclusive(of)
  return of.inclusive
end

function range.is_exclusive(of)
  return not of.inclusive
end

function range.is_empty(of)
  return R.each(of)() == nil
end

-- Functions that are values.

function callable.call(of, ...)
  return (of(...))
end

function callable.curry(of, ...)
  local first = table.pack(...)

  return function(...)
    local all, more = table.move(first, 1, first.n, 1, {}), table.pack(...)

    table.move(more, 1, more.n, first.n + 1, all)
    return of(table.unpack(all, 1, first.n + more.n))
  end
end

-- What is called without a value in front.

local functions = R.functions

functions.Fn = function(name)
  return R.pointer(want_text(name, "the name of a function"))
end

function functions.print(...)
  memoir.put_line(select("#", ...) > 0 and text_of((...)) or "", table.pack(...))
end

function functions.debug(...)
  memoir.put((select("#", ...) > 0 and R.inner_text((...)) or "") .. "\n")
end

local function printed(value)
  return mtype(value) == "float" and R.plain_float_text(value) or text_of(value)
end

-- What stands for {}, {0} …: a part of println's format.
local function insert(part, arguments, next_one)
  if part == "" then
    if next_one > arguments.n then
      fail("the format has more {} than there are arguments")
    end
    return printed(arguments[next_one])
  end
  local at = math.tointeger(tonumber(part))

  if not at or not part:find("^%d+$") then
    fail(("{%s} is neither {} nor the number of an argument"):format(part))
  elseif at >= arguments.n then
    fail(("{%s}: there is no such argument"):format(part))
  end
  return printed(arguments[at + 1])
end

local function formatted(format, arguments)
  local parts, at, next_one = {}, 1, 1

  while true do
    local open = format:find("{", at, true)

    parts[#parts + 1] = format:sub(at, open and open - 1)
    if not open then
      return table.concat(parts)
    end
    local close = format:find("}", open, true)

    if format:sub(open + 1, open + 1) == "{" then
      parts[#parts + 1] = "{"
      at = open + 2
    elseif not close then
      fail("a { of the format is never closed")
    else
      local part = format:sub(open + 1, close - 1)

      parts[#parts + 1] = insert(part, arguments, next_one)
      next_one = next_one + (part == "" and 1 or 0)
      at = close + 1
    end
  end
end

-- println(text), println(format, …)
function functions.println(...)
  local n = select("#", ...)

  if n < 2 then
    memoir.put_line(n > 0 and printed((...)) or "", table.pack(...))
    return
  end
  local values = table.pack(select(2, ...))

  memoir.put_line(formatted(text_of((...)), values), values)
end

-- What a line at a prompt is worth.
function R.show(value)
  local class = memoir.class(value)

  if class == "list" or class == "groups"
    or memoir.takes_tables and type(value) == "table" and getmetatable(value) == false then
    __show(value)
  elseif value ~= nil then
    functions.print(value)
  end
end

functions.type_of = R.type_of

function functions.range(first, last, step)
  if kind_of(first) == "range" then
    first, last, step = first.first, first.inclusive and first.last + 1 or first.last, last
  end
  if not step then
    return R.range(first, last, false)
  elseif not mtype(first) or not mtype(last) or not mtype(step) or step == 0 then
    fail("a range is between numbers, with a step that is not 0")
  end
  return setmetatable({ first = first, last = last, step = step }, R.Range)
end

function functions.PI()
  return math.pi
end

function functions.E()
  return math.exp(1)
end

function functions.parse_int(of, radix)
  local value = tonumber((want_text(of, "what is read"):gsub("^%s*%+", "")), radix or 10)

  value = value and math.tointeger(value)
  return value or fail(("'%s' is not a whole number"):format(text_of(of)))
end

function functions.parse_float(of)
  local value = not text_of(of):find("[xX]") and tonumber(want_text(of, "what is read"))

  return value and value + 0.0 or fail(("'%s' is not a number"):format(text_of(of)))
end
