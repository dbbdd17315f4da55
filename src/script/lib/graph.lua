-- SPDX-License-Identifier: MIT OR Apache-2.0
-- graph(): curves of lists over time.  Every method gives a new graph, so that one can be the
-- beginning of several.
local memoir = ...
local fail = memoir.fail

local Graph = {}
local meta = { __name = "graph", __metatable = false }

local function copy(graph)
  local new = { series = table.move(graph.series, 1, #graph.series, 1, {}) }
  for name, value in pairs(graph) do
    if name ~= "series" and name ~= "saved" then
      new[name] = value
    end
  end
  return setmetatable(new, meta)
end

local function with(name, value)
  return function(self)
    local new = copy(self)
    new[name] = value
    return new
  end
end

meta.__index = function(self, name)
  local method = Graph[name]
  if not method then
    fail(memoir.suggest("no method " .. tostring(name) .. " in a graph", name, Graph))
  end
  return function(first, ...)
    if rawequal(first, self) then
      return method(self, ...)
    end
    return method(self, first, ...)
  end
end

meta.__tostring = function(self)
  return string.format("graph of %d series", #self.series)
end

function graph()
  return setmetatable({ series = {}, legend = true, axes = true, grid = true }, meta)
end

-- A number of a stack says nothing to people.
local function label_of(group)
  local first = group.backtrace_id and group[1]
  return first and first.responsible or group.name
end

memoir.label_of = label_of

-- add(list), add(label, list), add(groups): groups are a series each.
function Graph.add(self, label, list)
  if list == nil then
    label, list = nil, label
  end
  local kind = memoir.class(list)
  if kind == "groups" then
    local new = self
    for group in list:iter() do
      new = new:add(label and label .. " " .. label_of(group) or label_of(group), group)
    end
    return new
  elseif kind ~= "list" and kind ~= "map_list" then
    fail("graph: add() takes a list of allocations or of maps, or groups")
  end
  local first = self.series[1]
  if first and first.kind ~= kind then
    fail("graph: allocations and maps are not drawn together")
  elseif first and first.list:data() ~= list:data() then
    fail("graph: lists of two recordings are not drawn together")
  end
  local new = copy(self)
  table.insert(new.series, {
    label = label or "Series #" .. #self.series + 1, list = list, kind = kind, given = label,
  })
  return new
end

function Graph.only_non_empty_series(self)
  local new = copy(self)
  new.series = {}
  for _, series in ipairs(self.series) do
    if #series.list > 0 then
      table.insert(new.series, series)
    end
  end
  return new
end

Graph.trim_left = with("trim_left", true)
Graph.trim_right = with("trim_right", true)

function Graph.trim(self)
  return self:trim_left():trim_right()
end

function Graph.start_at(self, moment)
  return with("from", moment)(self)
end

function Graph.end_at(self, moment)
  return with("to", moment)(self)
end

Graph.without_legend = with("legend", false)
Graph.without_axes = with("axes", false)
Graph.without_grid = with("grid", false)

for _, measure in ipairs { "memory_usage", "live_allocations", "new_allocations", "deallocations",
  "rss", "address_space" } do
  Graph["show_" .. measure] = with("measure", measure)
end

function Graph.with_size(self, width, height)
  return with("height", height)(with("width", width)(self))
end

local NAMES = { black = 0x000000, white = 0xffffff, red = 0xff0000, lime = 0x00ff00,
  green = 0x008000, blue = 0x0000ff, yellow = 0xffff00, orange = 0xffa500, purple = 0x800080,
  cyan = 0x00ffff, aqua = 0x00ffff, magenta = 0xff00ff, fuchsia = 0xff00ff, gray = 0x808080,
  grey = 0x808080, silver = 0xc0c0c0, maroon = 0x800000, olive = 0x808000, navy = 0x000080,
  teal = 0x008080, brown = 0xa52a2a, pink = 0xffc0cb, gold = 0xffd700, violet = 0xee82ee }

local function colour(text)
  local digits = text:match("^#?(%x%x%x%x%x%x)$")
  local short = text:match("^#?(%x%x%x)$")
  if not digits and short then
    digits = short:gsub("%x", "%0%0")
  end
  return digits and tonumber(digits, 16) or NAMES[text:lower()]
    or fail(string.format("'%s' is no colour such as #c0504d or red", text))
end

function Graph.with_gradient_color_scheme(self, from, to)
  return with("gradient", { colour(from), colour(to) })(self)
end

local function between(gradient, part)
  local result = 0
  for shift = 16, 0, -8 do
    local a, b = gradient[1] >> shift & 0xff, gradient[2] >> shift & 0xff
    result = result << 8 | math.floor(a + (b - a) * part + 0.5)
  end
  return result
end

-- What a series before has drawn is not in the ones after it.
local function picture(self, png)
  local lists, labels, colours, seen = {}, {}, nil, nil
  for i, series in ipairs(self.series) do
    lists[i] = seen and series.list - seen or series.list
    labels[i] = series.label
    seen = seen and seen + series.list or series.list
  end
  local gradient = rawget(self, "gradient")
  if gradient then
    colours = {}
    for i = 1, #lists do
      colours[i] = between(gradient, #lists > 1 and (i - 1) / (#lists - 1) or 0)
    end
  end
  local maps = lists[1] and self.series[1].kind == "map_list"
  local measure = rawget(self, "measure") or maps and "rss" or "memory_usage"
  if lists[1] and maps ~= (measure == "rss" or measure == "address_space") then
    fail("graph: show_" .. measure .. "() is " .. (maps and "for allocations" or "for maps"))
  end
  return memoir.draw {
    lists = lists, labels = labels, colours = colours, measure = measure,
    from = rawget(self, "from"), to = rawget(self, "to"),
    trim_left = rawget(self, "trim_left"), trim_right = rawget(self, "trim_right"),
    width = rawget(self, "width"), height = rawget(self, "height"),
    legend = self.legend and (#lists > 1 or self.series[1] and self.series[1].given),
    axes = self.axes, grid = self.grid, png = png,
  }
end

-- svg(): the picture as text; png(): as bytes.
function Graph.svg(self)
  return picture(self, false)
end

function Graph.png(self)
  return picture(self, true)
end

-- A name that ends in .png is a picture of pixels.
function Graph.save(self, path)
  path = path or memoir.next_name("Graph")
  save(path, picture(self, path:lower():find("%.png$") ~= nil))
  self.saved = true
  return self
end

local function each_name(folder, series, i)
  local name = series.given or "Series #" .. i
  return (folder and folder .. "/" or "") .. name:gsub("[/%c]", "_") .. ".svg"
end

function Graph.save_each_series_as_graph(self, folder)
  for i, series in ipairs(self.series) do
    local one = copy(self)
    one.series = { series }
    one:save(each_name(folder, series, i))
  end
  self.saved = true
  return self
end

function Graph.save_each_series_as_flamegraph(self, folder)
  for i, series in ipairs(self.series) do
    if series.kind ~= "list" then
      fail("graph: maps have no flame graph")
    end
    save(each_name(folder, series, i), series.list:export("flamegraph"))
  end
  self.saved = true
  return self
end

memoir.graph_methods = Graph

for _, class in ipairs { memoir.list, memoir.map_list, memoir.groups } do
  function class.save_as_graph(self, path)
    graph():add(self):save(path)
    return self
  end

  function class.graph(self)
    return graph():add(self)
  end
end
