-- SPDX-License-Identifier: MIT OR Apache-2.0
-- help(): what there is, from the tables that the methods are made from; and what a line at a
-- prompt is worth.
local memoir = ...

-- What is written in Lua has its words here: class, name, arguments, help.
local WORDS = {
  { "", "data", "[number]", "the first recording, or another that was given" },
  { "", "load", "path", "one more recording, heap profile, file of statistics or folder" },
  { "", "allocations", "", "all allocations of the first recording" },
  { "", "maps", "", "all memory maps of the first recording" },
  { "", "runtime", "", "how long it ran: a duration" },
  { "", "diff", "a, b [, {…}]", "what changed from recording or list a to recording b" },
  { "", "graph", "", "a graph with nothing in it" },
  { "", "argv", "", "the script's arguments" },
  { "", "exit", "[code]", "ends the script" },
  { "", "print", "…", "texts with tabs between" },
  { "", "println", "[format,] …", "a line; {} and {0} are replaced by values" },
  { "", "format", "format, …", "the same as a text" },
  { "", "info", "text", "a line on standard error" },
  { "", "show", "rows", "an array of tables, as a table" },
  { "", "h m s ms us ns", "number", "durations: s(1.5), ms(10)" },
  { "", "kb mb gb", "number", "sizes in thousands: mb(2) is 2000000" },
  { "", "kib mib gib", "number", "sizes in 1024s" },
  { "", "json.encode", "value [, true]", "as JSON, in one line or in several" },
  { "", "json.decode", "text", "JSON as a value" },
  { "", "csv.encode", "rows [, columns]", "an array of tables as CSV" },
  { "", "csv.decode", "text", "CSV as an array of tables" },
  { "", "loadstring", "text", "a chunk of Lua as a function" },
  { "", "dirname", "path", "the folder of a path" },
  { "", "mkdir_p", "path", "makes a folder and those that it is in" },
  { "", "chdir", "path", "changes to a folder" },
  { "", "help", "[it]", "this; of a value what it has, of a text what it is" },
  { "data", "allocations", "", "its allocations" },
  { "data", "maps", "", "its memory maps" },
  { "data", "runtime", "", "how long it ran" },
  { "data", "started", "", "when: seconds since 1970" },
  { "data", "info", "key", "a text of the recording's head" },
  { "data", "ask", "question, {…}", "any question of the HTTP API, as a table" },
  { "data", "ask_json", "question, {…}", "the same as JSON, the bytes that a server sends" },
  { "data", "export", "format, {…}", "its allocations in another tool's format" },
  { "list", "len", "", "how many; #list is the same" },
  { "list", "iter", "", "for allocation in list:iter() do" },
  { "list", "where", "expression", "those that a filter's expression chooses" },
  { "list", "filter", "", "what chooses them, as an expression" },
  { "list", "group_by_backtrace", "", "groups by stack" },
  { "list", "group_by", "key", "groups by function, module, thread, size …" },
  { "list", "backtrace", "", "of a group by stack: the stack" },
  { "list", "ask", "question, {…}", "a question about these allocations, as a table" },
  { "list", "ask_json", "question, {…}", "the same as JSON" },
  { "list", "export", "format, {…}", "the bytes of another tool's file" },
  { "list", "save", "path, format, {…}", "writes them to a file" },
  { "list", "save_as_flamegraph", "[path]", "a flame graph as SVG" },
  { "list", "save_as_graph", "[path]", "a curve over time as SVG" },
  { "list", "graph", "", "a graph of it" },
  { "list", "to_table", "", "all of them as tables" },
  { "list", "data", "", "its recording" },
  { "groups", "len", "", "how many; #groups is the same" },
  { "groups", "iter", "", "for group in groups:iter() do; a group is a list" },
  { "groups", "sort_by_size", "", "the largest first; also _ascending, _descending" },
  { "groups", "sort_by_count", "", "the most allocations first; also _ascending, _descending" },
  { "groups", "sort_by", "number [, order]", "by size, leaked_size, all.allocated_count …" },
  { "groups", "take", "count", "the first ones" },
  { "groups", "only_all_leaked", "", "those of which nothing was freed" },
  { "groups", "only_count_at_least", "count", "those with so many allocations or more" },
  { "groups", "only_size_at_least", "size", "those with so many bytes or more" },
  { "groups", "ungroup", "", "one list of what is in them" },
  { "groups", "graph", "", "a graph with a series for each" },
  { "groups", "save_as_graph", "[path]", "the same as SVG" },
  { "allocation", "backtrace", "", "its stack" },
  { "allocation", "deallocation_backtrace", "", "the stack that freed it, or nil" },
  { "allocation", "allocated_at", "", "when, since the start" },
  { "allocation", "deallocated_at", "", "when it was freed, or nil" },
  { "allocation", "chain", "", "the blocks of its realloc chain, as an array" },
  { "allocation", "to_table", "", "all that is known of it" },
  { "allocation", "data", "", "its recording" },
  { "map_list", "len", "", "how many; #maps is the same" },
  { "map_list", "iter", "", "for map in maps:iter() do" },
  { "map_list", "where", "expression", "those that a filter's expression chooses" },
  { "map_list", "save_as_graph", "[path]", "what was resident over time, as SVG" },
  { "map_list", "graph", "", "a graph of them" },
  { "map_list", "data", "", "their recording" },
  { "map", "backtrace", "", "the stack that made it, or nil" },
  { "map", "deallocation_backtrace", "", "the stack that ended it, or nil" },
  { "map", "allocated_at", "", "when it began" },
  { "map", "deallocated_at", "", "when it ended, or nil" },
  { "map", "to_table", "", "all that is known of it" },
  { "map", "data", "", "its recording" },
  { "backtrace", "len", "", "how many frames; stack[1] is the outermost" },
  { "backtrace", "frames", "", "all frames, as tables" },
  { "backtrace", "strip", "", "without frames of allocators and runtimes" },
  { "graph", "add", "[label,] list", "one more series; groups are one each" },
  { "graph", "only_non_empty_series", "", "without series that have nothing" },
  { "graph", "trim", "", "from the first moment with something to the last" },
  { "graph", "trim_left", "", "from the first moment with something" },
  { "graph", "trim_right", "", "to the last moment with something" },
  { "graph", "start_at", "duration", "from this moment" },
  { "graph", "end_at", "duration", "to this moment" },
  { "graph", "without_legend", "", "" },
  { "graph", "without_axes", "", "" },
  { "graph", "without_grid", "", "" },
  { "graph", "show_memory_usage", "", "bytes that were alive (the default)" },
  { "graph", "show_live_allocations", "", "blocks that were alive" },
  { "graph", "show_new_allocations", "", "allocations per second" },
  { "graph", "show_deallocations", "", "deallocations per second" },
  { "graph", "show_rss", "", "of maps: what was resident (the default)" },
  { "graph", "show_address_space", "", "of maps: address space" },
  { "graph", "with_gradient_color_scheme", "from, to", "colours between two: \"red\", \"#224488\"" },
  { "graph", "with_size", "width, height", "in pixels; else 1024 and 768" },
  { "graph", "svg", "", "the picture as text" },
  { "graph", "save", "[path]", "writes it to a file" },
  { "graph", "save_each_series_as_graph", "[folder]", "a file for each series" },
  { "graph", "save_each_series_as_flamegraph", "[folder]", "a flame graph for each series" },
}

local TITLES = { { "", "Functions" }, { "data", "A recording" },
  { "list", "A list of allocations" }, { "groups", "Groups" }, { "allocation", "An allocation" },
  { "map_list", "A list of maps" }, { "map", "A map" }, { "backtrace", "A stack" },
  { "graph", "A graph" }, { "duration", "A duration" } }

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
    table.insert(words, { "list", filter.name, filter.argument, filter.help, filter = true })
    table.insert(words, { "map_list", filter.name, filter.argument, filter.help, filter = true })
  end
  for _, filter in ipairs(all.map_filters) do
    table.insert(words, { "map_list", filter.name, filter.argument, filter.help, own = true })
  end
  for _, question in ipairs(all.questions) do
    table.insert(words, { "data", question.name, "{…}", question.help, question = true })
    if question.argument == "filters" then
      table.insert(words, { "list", question.name, "{…}", question.help, question = true })
    end
  end
  return words
end

local function line(word)
  local name = word[2] .. (word[3] and "(" .. word[3] .. ")" or "")
  memoir.put(string.format("  %-40s %s\n", name, word[4]))
end

local function topic(name)
  local all = memoir.vocabulary()
  local rows = ({ export = all.exporters, group_by = all.group_keys, ask = all.questions })[name]
  for _, row in ipairs(rows or {}) do
    memoir.put(string.format("  %-24s %s\n", row.name, row.help))
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

-- What a line at a prompt is worth.
function __show(...)
  for i = 1, select("#", ...) do
    local value = (select(i, ...))
    if type(value) == "table" and getmetatable(value) == nil then
      memoir.put(json.encode(value, true) .. "\n")
    elseif value ~= nil then
      memoir.put(tostring(value) .. "\n")
    end
  end
end

-- complete(text): the names that the last word of a text may become.
function memoir.complete(text)
  local path, sign, start = text:match("([%a_][%w_%.:%(%)\"' ,%d]*)([%.:])([%w_]*)$")
  local found, names = {}, nil
  if path then
    local chunk = path:find("[%(%)]") == nil and loadstring("return " .. path:gsub(":", "."))
      or path:match("%(%)$") and loadstring("return " .. path)
    local ok, value
    if chunk then
      ok, value = pcall(chunk)
    end
    if ok and type(value) == "table" then
      names = {}
      for name in pairs(getmetatable(value) == false and memoir.graph_methods or value) do
        table.insert(names, tostring(name))
      end
    elseif ok then
      names = memoir.names(value)
    end
  else
    start, sign = text:match("([%a_][%w_]*)$"), ""
    names = {}
    for name in pairs(_G) do
      table.insert(names, name)
    end
  end
  for _, name in ipairs(names or {}) do
    if start and name:sub(1, #start) == start and name:sub(1, 2) ~= "__" then
      table.insert(found, name)
    end
  end
  table.sort(found)
  return table.concat(found, "\n")
end
