-- SPDX-License-Identifier: MIT OR Apache-2.0
-- JSON and CSV, out and in.
local memoir = ...
local fail = memoir.fail
local concat = table.concat

local SIGNS = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n",
  ["\r"] = "\\r", ["\t"] = "\\t" }

local function quote(text)
  return '"' .. text:gsub('[%c"\\\127]', function(sign)
    return SIGNS[sign] or string.format("\\u%04x", sign:byte())
  end) .. '"'
end

-- The numbers of a duration are nanoseconds; a value of ours that is no number is its text.
local function scalar(value)
  local kind = type(value)
  if value == nil or value == json.null then
    return "null"
  elseif kind == "boolean" then
    return tostring(value)
  elseif kind == "number" then
    if value ~= value or value == math.huge or value == -math.huge then
      fail("JSON has no " .. tostring(value))
    end
    return math.type(value) == "integer" and tostring(value) or string.format("%.17g", value)
  elseif kind == "string" then
    return quote(value)
  elseif memoir.is_duration(value) then
    return tostring(value.ns)
  elseif kind == "userdata" then
    return quote(tostring(value))
  end
  fail("JSON has no " .. kind)
end

local function is_array(value)
  return #value > 0 or next(value) == nil
end

local encode

-- Deeper than any reader goes: every level copies what is in it.
local DEPTH_MAX = 200

local function encode_table(value, within, pretty, indent)
  if within[value] then
    fail("the table contains itself")
  end
  if within.depth >= DEPTH_MAX then
    fail("the tables are nested too deeply for JSON")
  end
  within[value], within.depth = true, within.depth + 1
  local parts, inner = {}, pretty and indent .. "  " or ""
  if is_array(value) then
    for i = 1, #value do
      parts[i] = inner .. encode(value[i], within, pretty, inner)
    end
  else
    local names = {}
    for name in pairs(value) do
      if type(name) ~= "string" then
        fail("names of a JSON object are texts, not a " .. type(name))
      end
      names[#names + 1] = name
    end
    table.sort(names)
    for i, name in ipairs(names) do
      parts[i] = inner .. quote(name) .. (pretty and ": " or ":")
        .. encode(value[name], within, pretty, inner)
    end
  end
  within[value], within.depth = nil, within.depth - 1
  local open, close = "{", "}"
  if is_array(value) then
    open, close = "[", "]"
  end
  if not pretty or #parts == 0 then
    return open .. concat(parts, ",") .. close
  end
  return open .. "\n" .. concat(parts, ",\n") .. "\n" .. indent .. close
end

function encode(value, within, pretty, indent)
  if type(value) == "table" then
    return encode_table(value, within, pretty, indent)
  end
  return scalar(value)
end

-- json.encode(value [, true]): in one line, or in several.  An empty table is an array.
function json.encode(value, pretty)
  return encode(value, { depth = 0 }, pretty, "")
end

memoir.encode = json.encode -- whatever a script makes of that name

csv = {}

local function cell(value)
  local text = value == nil and "" or memoir.is_duration(value) and tostring(value.ns)
    or tostring(value)
  if text:find('[",\r\n]') then
    return '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

-- csv.encode(rows [, columns]): a line of names, then one for each table.
function csv.encode(rows, columns)
  if not columns then
    local found = {}
    columns = {}
    for _, row in ipairs(rows) do
      for name in pairs(row) do
        if not found[name] then
          found[name] = true
          columns[#columns + 1] = name
        end
      end
    end
    table.sort(columns)
  end
  local lines = {}
  for i = 0, #rows do
    local cells = {}
    for k, name in ipairs(columns) do
      if i == 0 then
        cells[k] = cell(name)
      else
        cells[k] = cell(rows[i][name])
      end
    end
    lines[#lines + 1] = concat(cells, ",")
  end
  return concat(lines, "\n") .. "\n"
end

-- The cells of one line, and where the next one begins.
local function read_line(text, at)
  local cells = {}
  while true do
    local value, stop
    if text:sub(at, at) == '"' then
      local parts = {}
      at = at + 1
      while true do
        local quoted = text:find('"', at, true)
        if not quoted then
          fail("csv.decode: a quote is never closed")
        end
        parts[#parts + 1] = text:sub(at, quoted - 1)
        at = quoted + 1
        if text:sub(at, at) ~= '"' then
          break
        end
        parts[#parts + 1], at = '"', at + 1
      end
      value = concat(parts)
    else
      value, stop = text:match("^([^,\r\n]*)()", at)
      at = stop
    end
    cells[#cells + 1] = value
    local sign = text:sub(at, at)
    if sign ~= "," then
      return cells, text:match("^\r?\n?()", at)
    end
    at = at + 1
  end
end

-- csv.decode(text): an array of tables, whose members are named by the first line; all are texts.
function csv.decode(text)
  local rows, at, names = {}, 1, nil
  while at <= #text do
    local cells
    cells, at = read_line(text, at)
    if not names then
      names = cells
    else
      local row = {}
      for i, value in ipairs(cells) do
        row[names[i] or tostring(i)] = value
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end
