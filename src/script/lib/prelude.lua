-- SPDX-License-Identifier: MIT OR Apache-2.0
-- What every script has besides Lua's own: output, durations in text, the recording's lists, and
-- functions of Lua's made so that they can be stopped.
local memoir = ...
local fail, rethrow = memoir.fail, memoir.rethrow
local io, os = io, os

-- A script that was ended stays ended, whatever catches its error.
local pcall_, xpcall_ = pcall, xpcall

function pcall(...)
  return rethrow(pcall_(...))
end

function xpcall(f, handler, ...)
  return rethrow(xpcall_(f, function(message)
    if memoir.ended() then
      return message
    end
    return handler(message)
  end, ...))
end

for _, name in ipairs { "resume", "close" } do
  local own = coroutine[name]
  coroutine[name] = function(...)
    return rethrow(own(...))
  end
end

-- C functions that run long are called for pieces, between which the script can be stopped.
local PIECE = 65536
local concat, insert, move = table.concat, table.insert, table.move
local remove, sort = table.remove, table.sort
local rep = string.rep

function table.sort(t, less)
  return sort(t, less or function(a, b)
    return a < b
  end)
end

function table.concat(t, between, first, last)
  first, last = first or 1, last or #t
  memoir.steps(math.max(last - first, 0))
  if last - first <= PIECE then
    return concat(t, between, first, last)
  end
  local pieces = {}
  for at = first, last, PIECE do
    pieces[#pieces + 1] = concat(t, between, at, math.min(at + PIECE - 1, last))
  end
  return table.concat(pieces, between)
end

function table.move(from, first, last, at, to)
  to = to or from
  if last - first <= PIECE then
    return move(from, first, last, at, to)
  end
  if at > last or at <= first or to ~= from then
    for i = first, last do
      to[at + i - first] = from[i]
    end
  else
    for i = last, first, -1 do
      to[at + i - first] = from[i]
    end
  end
  return to
end

function table.insert(t, ...)
  local place, value = ...
  if select("#", ...) ~= 2 or #t - place <= PIECE then
    return insert(t, ...)
  end
  table.move(t, place, #t, place + 1)
  t[place] = value
end

function table.remove(t, ...)
  local place = ...
  if not place or #t - place <= PIECE then
    return remove(t, ...)
  end
  local value, last = t[place], #t
  table.move(t, place + 1, last, place)
  t[last] = nil
  return value
end

function string.rep(text, count, between)
  text, count = tostring(text), math.tointeger(count) or fail("rep: how often is a whole number")
  if text == "" and (between == nil or between == "") then
    return ""
  end
  if between and between ~= "" and count > 1 then
    return string.rep(text .. between, count - 1) .. text
  end
  local block = PIECE // math.max(#text, 1)
  memoir.steps(math.max(math.min(count, 1 << 40) * #text // 64, 0))
  if block < 2 or count < 2 * block then
    return rep(text, count)
  end
  local whole = rep(rep(text, block), count // block)
  return count % block == 0 and whole or whole .. rep(text, count % block)
end

string.dump = nil

local collect = collectgarbage

function collectgarbage(what)
  if what == nil or what == "count" or what == "collect" and not memoir.sandbox then
    return collect(what or "count")
  end
  fail("collectgarbage() only counts")
end

-- Chunks of text are loadstring(): load() is for recordings.
loadstring = load

function load(path)
  return memoir.load(path)
end

if memoir.sandbox then
  dofile, loadfile, warn = nil, nil, nil
else
  local read = io.open

  function loadfile(path, mode, env)
    local file, why = read(path, "rb")
    if not file then
      return nil, why
    end
    local text = file:read("a")
    file:close()
    if env then
      return loadstring(text, "@" .. path, "t", env)
    end
    return loadstring(text, "@" .. path)
  end

  function dofile(path)
    local chunk, why = loadfile(path)
    if not chunk then
      fail(why)
    end
    return chunk()
  end

  -- Lua's modules are searched for, never code of the machine's.
  package.cpath, package.loadlib = "", nil
  package.searchers[4], package.searchers[3] = nil, nil
  package.searchers[2] = function(name)
    local path, why = package.searchpath(name, package.path)
    if not path then
      return why
    end
    local chunk, wrong = loadfile(path)
    if not chunk then
      fail(wrong)
    end
    return chunk, path
  end
  os.exit = exit
end

-- Output.

local put = memoir.put

-- What a page makes of a list: a link to what is in it, if that can be told in few words.
local LINK_MAX = 4000

local function link_of(list)
  local ok, expression = rethrow(pcall_(list.filter, list))
  return { text = tostring(list), recording = list:data().id,
    filter = ok and #expression <= LINK_MAX and expression or nil }
end

-- A line, in which some lists may be.
function memoir.put_line(text, values)
  local links = {}
  for i = 1, memoir.takes_tables and values.n or 0 do
    if memoir.class(values[i]) == "list" then
      links[#links + 1] = link_of(values[i])
    end
  end
  if #links > 0 then
    memoir.put_links(memoir.encode(links))
  end
  put(text .. "\n")
end

function print(...)
  local values, texts = table.pack(...), {}
  for i = 1, values.n do
    texts[i] = tostring(values[i])
  end
  memoir.put_line(concat(texts, "\t", 1, values.n), values)
end

-- format("{} of {1}", a, b): values in the order in which they come, or by their number from 0;
-- {{ and }} are braces.
function format(text, ...)
  local values, next_one = table.pack(...), 0
  local function value(number)
    if number == "" then
      number, next_one = next_one, next_one + 1
    end
    number = tonumber(number)
    if number >= values.n then
      fail(string.format("format: there is no value {%d}", number))
    end
    return tostring(values[number + 1])
  end
  local out, at = {}, 1
  while true do
    local brace = text:find("[{}]", at)
    if not brace then
      break
    end
    out[#out + 1] = text:sub(at, brace - 1)
    local sign, number, stop = text:sub(brace, brace), text:match("^{(%d*)}()", brace)
    if text:sub(brace + 1, brace + 1) == sign then
      out[#out + 1], at = sign, brace + 2
    elseif number then
      out[#out + 1], at = value(number), stop
    else
      out[#out + 1], at = sign, brace + 1
    end
  end
  out[#out + 1] = text:sub(at)
  return concat(out)
end

-- println(): an empty line; println(x): its text; println(format, …).
function println(text, ...)
  local values = table.pack(...)
  if values.n > 0 then
    text = format(tostring(text), ...)
  else
    values = { text, n = 1 }
  end
  memoir.put_line(text == nil and "" or tostring(text), values)
end

function info(text)
  if memoir.sandbox then
    put(tostring(text) .. "\n")
  else
    io.stderr:write(tostring(text), "\n")
  end
end

local function columns_of(rows)
  local columns, found = {}, {}
  for _, row in ipairs(rows) do
    for name in pairs(row) do
      if not found[name] then
        found[name] = true
        columns[#columns + 1] = tostring(name)
      end
    end
  end
  table.sort(columns)
  return columns
end

local function text_table(rows, columns)
  local widths, lines = {}, {}
  for i, name in ipairs(columns) do
    widths[i] = utf8.len(name) or #name
    for _, row in ipairs(rows) do
      local text = tostring(row[name] == nil and "" or row[name])
      widths[i] = math.max(widths[i], utf8.len(text) or #text)
    end
  end
  for number = 0, #rows do
    local cells = {}
    for i, name in ipairs(columns) do
      local value = name
      if number > 0 then
        value = rows[number][name]
      end
      local text = tostring(value == nil and "" or value)
      local blanks = rep(" ", widths[i] - (utf8.len(text) or #text))
      cells[i] = type(value) == "number" and blanks .. text or text .. blanks
    end
    lines[#lines + 1] = (concat(cells, "  "):gsub(" +$", "")) .. "\n"
  end
  return table.concat(lines)
end

local function rows_of_groups(all)
  local rows = {}
  for group in all:iter() do
    rows[#rows + 1] = { group = memoir.label_of(group), allocations = group, size = group.size,
      leaked_size = group.leaked_size }
  end
  return rows, { "group", "allocations", "size", "leaked_size" }
end

-- Rows whose lists are links.
local function linked(rows)
  local copies = {}
  for i, row in ipairs(rows) do
    local copy
    for name, value in pairs(row) do
      if memoir.class(value) == "list" then
        copy = copy or memoir.copy(row)
        copy[name] = link_of(value)
      end
    end
    copies[i] = copy or row
  end
  return copies
end

function memoir.copy(row)
  local copy = {}
  for name, value in pairs(row) do
    copy[name] = value
  end
  return copy
end

-- show(rows [, columns]): an array of tables, or groups, as a table; a list in one line.
function show(rows, columns)
  local class = memoir.class(rows)
  if class == "list" then
    println("{}, {} bytes", rows, rows.size)
    return
  elseif class == "groups" then
    local own
    rows, own = rows_of_groups(rows)
    columns = columns or own
  elseif type(rows) ~= "table" then
    fail("show() takes an array of tables, groups, or a list")
  end
  columns = columns or columns_of(rows)
  if memoir.takes_tables then
    memoir.put_table(memoir.encode { columns = columns, rows = linked(rows) })
  else
    put(text_table(rows, columns))
  end
end

-- The first recording's lists.

function allocations()
  return data():allocations()
end

function maps()
  return data():maps()
end

function runtime()
  return data():runtime()
end

-- diff(a, b [, parameters]): what changed from recording or list a to recording b.
function diff(a, b, parameters)
  local all = { b = b }
  for name, value in pairs(parameters or {}) do
    all[name] = value
  end
  return a:ask("diff", all)
end

-- Methods that are made of others.

local list, groups, map = memoir.list, memoir.groups, memoir.map

for _, by in ipairs { "size", "count" } do
  local number = by == "size" and "size" or "allocated_count"
  groups["sort_by_" .. by] = function(self)
    return self:sort_by(number)
  end
  groups["sort_by_" .. by .. "_descending"] = groups["sort_by_" .. by]
  groups["sort_by_" .. by .. "_ascending"] = function(self)
    return self:sort_by(number, "asc")
  end
end

function list.to_table(self)
  local rows = {}
  for allocation in self:iter() do
    rows[#rows + 1] = allocation:to_table()
  end
  return rows
end

-- All that is known of a map: regions, sources, use over time.
function map.to_table(self)
  local wanted = { id = self.id, with_regions = true, with_usage_history = true }

  return self:data():ask("maps", wanted).maps[1]
end

memoir.data.export = function(self, ...)
  return self:allocations():export(...)
end

-- Files.

function dirname(path)
  local folder = path:match("^(.*)/[^/]*$")
  return folder == "" and "/" or folder or "."
end

-- save(path, text): writes a file, in the sandbox to whoever shows it.
function save(path, bytes)
  if memoir.sandbox then
    memoir.put_picture(path, bytes)
    return
  end
  local file, why = io.open(path, "wb")
  if not file then
    fail(why)
  end
  local ok, wrong = file:write(bytes)
  local closed, late = file:close()
  if not (ok and closed) then
    fail(wrong or late)
  end
end

local numbers = {}

-- "Flamegraph #1.svg", "Flamegraph #2.svg" …
function memoir.next_name(kind)
  numbers[kind] = (numbers[kind] or 0) + 1
  return string.format("%s #%d.svg", kind, numbers[kind])
end

function list.save(self, path, format_name, options)
  save(path, self:export(format_name or path:match("%.([%w]+)$") or "json", options))
  return path
end

function list.save_as_flamegraph(self, path)
  path = path or memoir.next_name("Flamegraph")
  save(path, self:export("flamegraph"))
  return path
end
