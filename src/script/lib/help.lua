-- SPDX-License-Identifier: MIT OR Apache-2.0
-- help(): what there is, from the tables that the methods are made from; and what a line at a
-- prompt is worth.
local memoir = ...

-- What is written in Lua has its words here: class, name, arguments, help, and the class of what it
-- gives.
local WORDS = {
  { "", "data", "[number]", "the first recording, or another that was given", gives = "data" },
  { "", "load", "path", "one more recording, heap profile, file of statistics or folder",
    gives = "data" },
  { "", "allocations", "", "all allocations of the first recording", gives = "list" },
  { "", "maps", "", "all memory maps of the first recording", gives = "map_list" },
  { "", "runtime", "", "how long it ran: a duration", gives = "duration" },
  { "", "diff", "a, b [, {…}]", "what changed from recording or list a to recording b" },
  { "", "graph", "", "a graph with nothing in it", gives = "graph" },
  { "", "argv", "", "the script's arguments" },
  { "", "exit", "[code]", "ends the script" },
  { "", "print", "…", "texts with tabs between" },
  { "", "println", "[format,] …", "a line; {} and {0} are replaced by values" },
  { "", "format", "format, …", "the same as a text" },
  { "", "info", "text", "a line on standard error" },
  { "", "show", "rows", "an array of tables, or groups, as a table; a list in a line" },
  { "", "h m s ms us ns", "number", "durations: s(1.5), ms(10)", gives = "duration" },
  { "", "kb mb gb", "number", "sizes in thousands: mb(2) is 2000000" },
  { "", "kib mib gib", "number", "sizes in 1024s" },
  { "", "bytes", "text", "a size as filters take it: bytes(\"1.5M\")" },
  { "", "save", "path, text", "writes a file; where there are none it goes to who shows it" },
  { "", "json.encode", "value [, true]", "as JSON, in one line or in several" },
  { "", "json.decode", "text", "JSON as a value" },
  { "", "csv.encode", "rows [, columns]", "an array of tables as CSV" },
  { "", "csv.decode", "text", "CSV as an array of tables" },
  { "", "loadstring", "text", "a chunk of Lua as a function" },
  { "", "dirname", "path", "the folder of a path" },
  { "", "mkdir_p", "path", "makes a folder and those that it is in" },
  { "", "chdir", "path", "changes to a folder" },
  { "", "help", "[it]", "this; of a value what it has, of a text what it is" },
  { "rules", "limit", "measure, amount", "no more than that: limit(\"peak\", \"200M\")" },
  { "rules", "growth", "text", "no more above the baseline: growth(\"+5% peak\")" },
  { "rules", "baseline", "path", "what growth is compared with" },
  { "rules", "ignore", "expression", "leaves allocations out of every measure" },
  { "rules", "suppressions", "path", "leaks that are known, in LeakSanitizer's format" },
  { "rules", "expect", "text, holds [, list]", "must hold; if not, the list's stacks are named" },
  { "data", "allocations", "", "its allocations", gives = "list" },
  { "data", "maps", "", "its memory maps", gives = "map_list" },
  { "data", "runtime", "", "how long it ran", gives = "duration" },
  { "data", "started", "", "when: seconds since 1970" },
  { "data", "info", "key", "a text of the recording's head" },
  { "data", "ask", "question, {…}", "any question of the HTTP API, as a table" },
  { "data", "ask_json", "question, {…}", "the same as JSON, the bytes that a server sends" },
  { "data", "export", "format, {…}", "its allocations in another tool's format" },
  { "list", "len", "", "how many; #list is the same" },
  { "list", "iter", "", "for allocation in list:iter() do", each = "allocation" },
  { "list", "where", "expression", "those that a filter's expression chooses", gives = "list" },
  { "list", "filter", "", "what chooses them, as an expression" },
  { "list", "group_by_backtrace", "", "groups by stack", gives = "groups" },
  { "list", "group_by", "key", "groups by function, module, thread, size …", gives = "groups" },
  { "list", "backtrace", "", "of a group by stack: the stack", gives = "backtrace" },
  { "list", "ask", "question, {…}", "a question about these allocations, as a table" },
  { "list", "ask_json", "question, {…}", "the same as JSON" },
  { "list", "export", "format, {…}", "the bytes of another tool's file" },
  { "list", "save", "path, format, {…}", "writes them to a file" },
  { "list", "save_as_flamegraph", "[path]", "a flame graph as SVG" },
  { "list", "save_as_graph", "[path]", "a curve over time as SVG" },
  { "list", "graph", "", "a graph of it", gives = "graph" },
  { "list", "to_table", "", "all of them as tables" },
  { "list", "data", "", "its recording", gives = "data" },
  { "groups", "len", "", "how many; #groups is the same" },
  { "groups", "iter", "", "for group in groups:iter() do; a group is a list", each = "list" },
  { "groups", "sort_by_size", "", "the largest first; also _ascending, _descending",
    gives = "groups" },
  { "groups", "sort_by_count", "", "the most allocations first; also _ascending, _descending",
    gives = "groups" },
  { "groups", "sort_by", "number [, order]", "by size, leaked_size, all.allocated_count …",
    gives = "groups" },
  { "groups", "take", "count", "the first ones", gives = "groups" },
  { "groups", "only_all_leaked", "", "those of which nothing was freed", gives = "groups" },
  { "groups", "only_count_at_least", "count", "those with so many allocations or more",
    gives = "groups" },
  { "groups", "only_size_at_least", "size", "those with so many bytes or more", gives = "groups" },
  { "groups", "ungroup", "", "one list of what is in them", gives = "list" },
  { "groups", "graph", "", "a graph with a series for each", gives = "graph" },
  { "groups", "save_as_graph", "[path]", "the same as SVG" },
  { "allocation", "backtrace", "", "its stack", gives = "backtrace" },
  { "allocation", "deallocation_backtrace", "", "the stack that freed it, or nil",
    gives = "backtrace" },
  { "allocation", "allocated_at", "", "when, since the start", gives = "duration" },
  { "allocation", "deallocated_at", "", "when it was freed, or nil", gives = "duration" },
  { "allocation", "chain", "", "the blocks of its realloc chain, as an array" },
  { "allocation", "to_table", "", "all that is known of it" },
  { "allocation", "data", "", "its recording", gives = "data" },
  { "map_list", "len", "", "how many; #maps is the same" },
  { "map_list", "iter", "", "for map in maps:iter() do", each = "map" },
  { "map_list", "where", "expression", "those that a filter's expression chooses",
    gives = "map_list" },
  { "map_list", "save_as_graph", "[path]", "what was resident over time, as SVG" },
  { "map_list", "graph", "", "a graph of them", gives = "graph" },
  { "map_list", "data", "", "their recording", gives = "data" },
  { "map", "backtrace", "", "the stack that made it, or nil", gives = "backtrace" },
  { "map", "deallocation_backtrace", "", "the stack that ended it, or nil", gives = "backtrace" },
  { "map", "allocated_at", "", "when it began", gives = "duration" },
  { "map", "deallocated_at", "", "when it ended, or nil", gives = "duration" },
  { "map", "to_table", "", "all that is known of it" },
  { "map", "data", "", "its recording", gives = "data" },
  { "backtrace", "len", "", "how many frames; stack[1] is the outermost" },
  { "backtrace", "frames", "", "all frames, as tables" },
  { "backtrace", "strip", "", "without frames of allocators and runtimes, if there are others", gives = "backtrace" },
  { "graph", "add", "[label,] list", "one more series; groups are one each", gives = "graph" },
  { "graph", "only_non_empty_series", "", "without series that have nothing", gives = "graph" },
  { "graph", "trim", "", "from the first moment with something to the last", gives = "graph" },
  { "graph", "trim_left", "", "from the first moment with something", gives = "graph" },
  { "graph", "trim_right", "", "to the last moment with something", gives = "graph" },
  { "graph", "start_at", "duration", "from this moment", gives = "graph" },
  { "graph", "end_at", "duration", "to this moment", gives = "graph" },
  { "graph", "without_legend", "", "", gives = "graph" },
  { "graph", "without_axes", "", "", gives = "graph" },
  { "graph", "without_grid", "", "", gives = "graph" },
  { "graph", "show_memory_usage", "", "bytes that were alive (the default)", gives = "graph" },
  { "graph", "show_live_allocations", "", "blocks that were alive", gives = "graph" },
  { "graph", "show_new_allocations", "", "allocations per second", gives = "graph" },
  { "graph", "show_deallocations", "", "deallocations per second", gives = "graph" },
  { "graph", "show_rss", "", "of maps: what was resident (the default)", gives = "graph" },
  { "graph", "show_address_space", "", "of maps: address space", gives = "graph" },
  { "graph", "with_gradient_color_scheme", "from, to", "colours between two: \"red\", \"#224488\"",
    gives = "graph" },
  { "graph", "with_size", "width, height", "in pixels; else 1024 and 768", gives = "graph" },
  { "graph", "svg", "", "the picture as text" },
  { "graph", "png", "", "the picture in pixels, as bytes" },
  { "graph", "save", "[path]", "writes it to a file: PNG if its name ends in .png, else SVG" },
  { "graph", "save_each_series_as_graph", "[folder]", "a file for each series" },
  { "graph", "save_each_series_as_flamegraph", "[folder]", "a flame graph for each series" },
}

local TITLES = { { "", "Functions" }, { "rules", "Rules of memoir check" },
  { "data", "A recording" }, { "list", "A list of allocations" }, { "groups", "Groups" },
  { "allocation", "An allocation" }, { "map_list", "A list of maps" }, { "map", "A map" },
  { "backtrace", "A stack" }, { "graph", "A graph" }, { "duration", "A duration" } }

local words

-- All there is: {class, name, arguments, help}; fields have no arguments.
local function all_words()
  if words then
    return words
  end
  local all = memoir.vocabulary()
  words = table.move(WORDS, 1, #WORDS, 1, {})
  for _, title in ipairs(TITLES) do
    for _, field in ipairs(all.fields[title[1]] or {}) do
      table.insert(words, { title[1], field.name, nil, field.help })
    end
  end
  for _, filter in ipairs(all.filters) do
    for _, class in ipairs { "list", "map_list" } do
      table.insert(words, { class, filter.name, filter.argument, filter.help, filter = true,
        gives = class })
    end
  end
  for _, filter in ipairs(all.map_filters) do
    table.insert(words, { "map_list", filter.name, filter.argument, filter.help, own = true,
      gives = "map_list" })
  end
  for _, question in ipairs(all.questions) do
    table.insert(words, { "data", question.name, "{…}", question.help, question = true })
    if question.argument == "filters" then
      table.insert(words, { "list", question.name, "{…}", question.help, question = true })
    end
  end
  return words
end

-- A name and what it is, in two columns; "…" is one sign.
local function put_row(name, width, text)
  local blanks = math.max(width - utf8.len(name), 0)
  memoir.put("  " .. name .. (" "):rep(blanks) .. " " .. text .. "\n")
end

local function line(word)
  put_row(word[2] .. (word[3] and "(" .. word[3] .. ")" or ""), 40, word[4])
end

local function topic(name)
  local all = memoir.vocabulary()
  local rows = ({ export = all.exporters, group_by = all.group_keys, ask = all.questions })[name]
  for _, row in ipairs(rows or {}) do
    put_row(row.name, 24, row.help)
  end
end

-- help(), help(list), help("only_leaked"), help("list"); help("markdown") is all of it, for
-- docs/scripting.md.
function help(it)
  if it == "markdown" then
    memoir.put(memoir.markdown())
    return
  end
  local class = memoir.class(it) or getmetatable(it) == false and type(it) == "table" and "graph"
  if it == nil then
    class = ""
  end
  local found = false
  for _, title in ipairs(TITLES) do
    local first = true
    for _, word in ipairs(all_words()) do
      local name = word[2]
      local meant = class == title[1] or class == nil and (it == title[1] or it == name)
      if class == false then
        meant = it == title[1] or it == name
      end
      if word[1] == title[1] and meant then
        if first then
          memoir.put(title[2] .. "\n")
        end
        first, found = false, true
        line(word)
      end
    end
  end
  if it == nil then
    memoir.put('help("data"), "list", "groups", "allocation", "map_list", "map", "backtrace", '
      .. '"graph" and "duration" list\nwhat these have; help("only_leaked") explains one name.\n')
  end
  if type(it) == "string" then
    topic(it)
  end
  if not found then
    local known = {}
    for _, word in ipairs(all_words()) do
      known[word[2]] = true
    end
    memoir.put(memoir.suggest("there is nothing called " .. tostring(it), it, known) .. "\n")
  end
end

-- All that an editor completes and explains, as JSON.
function memoir.description()
  local all, words_ = memoir.vocabulary(), {}
  for i, word in ipairs(all_words()) do
    words_[i] = { of = word[1], name = word[2], arguments = word[3], help = word[4],
      gives = word.gives, each = word.each }
  end
  return memoir.encode { words = words_, group_by = all.group_keys, export = all.exporters,
    ask = all.questions }
end

-- The vocabulary as the tables of docs/scripting.md.
function memoir.markdown()
  local out = {}
  local function add(title, class, which)
    local rows = {}
    for _, word in ipairs(all_words()) do
      if word[1] == class and which(word) then
        local name = word[2] .. (word[3] and "(" .. word[3] .. ")" or "")
        table.insert(rows, string.format("| `%s` | %s |", name:gsub("|", "\\|"), word[4]))
      end
    end
    if #rows > 0 then
      table.insert(out, "### " .. title .. "\n\n| | |\n|---|---|\n" .. table.concat(rows, "\n"))
    end
  end
  local function methods(word)
    return word[3] and not word.filter and not word.question and not word.own
  end
  local function fields(word)
    return not word[3]
  end
  for _, title in ipairs(TITLES) do
    add(title[2], title[1], methods)
    add(title[2] .. ": fields", title[1], fields)
    add(title[2] .. ": questions", title[1] == "data" and "data" or "none", function(word)
      return word.question
    end)
    add(title[2] .. ": what chooses of it", title[1], function(word)
      return title[1] == "list" and word.filter or word.own
    end)
  end
  return table.concat(out, "\n\n") .. "\n"
end

function memoir.show_text(value)
  if type(value) == "table" and getmetatable(value) == nil then
    memoir.put(memoir.encode(value, true) .. "\n")
  elseif value ~= nil then
    memoir.put(tostring(value) .. "\n")
  end
end

-- What a line at a prompt, or a script that is one expression, is worth.
function __show(...)
  for i = 1, select("#", ...) do
    local value = (select(i, ...))
    local class = memoir.class(value)
    local is_table = type(value) == "table"
    if memoir.takes_tables and is_table and getmetatable(value) == false then
      if not rawget(value, "saved") then -- a graph
        value:save()
      end
    elseif memoir.takes_tables and (class == "list" or class == "groups" or is_table
      and type(rawget(value, 1)) == "table") then
      show(value)
    else
      memoir.show_text(value)
    end
  end
end

-- What may be called to learn what the end of a line is about: it only looks.
local HARMLESS = { allocations = true, maps = true, data = true, runtime = true, graph = true,
  where = true, take = true, ungroup = true, backtrace = true, deallocation_backtrace = true,
  strip = true, chain = true, add = true, allocated_at = true, deallocated_at = true, trim = true,
  start_at = true, end_at = true, len = true, h = true, m = true, s = true, ms = true, us = true,
  ns = true, kb = true, mb = true, gb = true, kib = true, mib = true, gib = true, bytes = true }

local function is_harmless(text)
  for name in text:gmatch("([%a_][%w_]*)%s*[%({\"']") do
    if not (HARMLESS[name] or name:find("^only_") or name:find("^group_by") or name:find("^sort_by")
      or name:find("^show_") or name:find("^with")) then
      return false
    end
  end
  return true
end

local OPEN = { [")"] = "(", ["]"] = "[" }

-- Where the expression begins that ends at `at`: names, calls and indices in a chain.
local function beginning(text, at)
  while at > 0 do
    local sign = text:sub(at, at)
    if OPEN[sign] then
      local depth, i = 0, at
      repeat
        local c = text:sub(i, i)
        depth = depth + (c == sign and 1 or c == OPEN[sign] and -1 or 0)
        i = i - 1
      until depth == 0 or i == 0
      if depth > 0 then
        return at + 1
      end
      at = i
    elseif sign:find("[%w_%.:]") then
      at = at - 1
    else
      break
    end
  end
  return at + 1
end

-- The value of an expression, nil where it is not known.
local function value_of(path, rhai)
  local env = setmetatable({}, { __index = function(_, name)
    local value
    if rhai then
      value = memoir.rhai.variable(name)
    end
    return value ~= nil and value or _G[name]
  end })
  if not is_harmless(path) then
    return nil
  end
  if rhai then
    path = path:gsub("%[(%d+)%]", function(index)
      return "[" .. index + 1 .. "]"
    end)
  end
  local chunk = loadstring("return " .. path, "=line", "t", env)
  local ok, value
  if chunk then
    ok, value = pcall(chunk)
  end
  return ok and value or nil
end

local function names_of(value)
  local names = {}
  if type(value) == "table" then
    for name in pairs(getmetatable(value) == false and memoir.graph_methods or value) do
      table.insert(names, tostring(name))
    end
    return names
  end
  return memoir.names(value) or names
end

-- Every name that some value of ours has.
local function all_names()
  local names, found = {}, {}
  for _, word in ipairs(all_words()) do
    if word[1] ~= "" and not found[word[2]] then
      found[word[2]] = true
      table.insert(names, word[2])
    end
  end
  return names
end

-- complete(text): the names that the last word of a text may become.
function memoir.complete(text, rhai)
  local before, sign, start = text:match("^(.-)([%.:]?)([%a_]?[%w_]*)$")
  local found, seen, names = {}, {}, {}
  if sign ~= "" then
    local path = before:sub(beginning(before, #before))
    local value = value_of(path, rhai)
    -- What a loop's variable is cannot be told.
    names = value ~= nil and names_of(value) or start ~= "" and path ~= "" and all_names() or {}
  elseif start ~= "" then
    names = rhai and memoir.rhai.variable_names() or {}
    for name in pairs(_G) do
      table.insert(names, name)
    end
  end
  for _, name in ipairs(names) do
    if name:sub(1, #start) == start and name:sub(1, 2) ~= "__" and not seen[name] then
      seen[name] = true
      table.insert(found, name)
    end
  end
  table.sort(found)
  return table.concat(found, "\n")
end

-- explain(text): help about the last word of a text: a name, or what a variable has.
function memoir.explain(text, rhai)
  text = text:gsub("[%s%(%)]*$", "")
  local name = text:match("([%a_][%w_]*)$")
  for _, word in ipairs(all_words()) do
    if word[2] == name then
      help(name)
      return
    end
  end
  local value = value_of(text:sub(beginning(text, #text)), rhai)
  if value ~= nil and (memoir.class(value) or getmetatable(value) == false) then
    help(value)
  else
    help(name or text)
  end
end
