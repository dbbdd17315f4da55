-- A report as a page: figures, curve, leaks and a flame graph in one HTML file
-- Arguments: the file's name (report.html).
local path = argv()[1] or "report.html"
local all, leaked = allocations(), allocations():only_leaked()

local function escape(text)
  return (tostring(text):gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

local function rows_of(groups)
  local out = {}
  for group in groups:iter() do
    out[#out + 1] = format("<tr><td>{}<td class=n>{}<td class=n>{}", escape(group.name), group.size,
      group.allocated_count)
  end
  return table.concat(out, "\n")
end

local function part(title, groups)
  return format("<h2>{}</h2>\n<table><tr><th>function<th>bytes<th>blocks\n{}</table>\n", title,
    rows_of(groups:sort_by_size():take(10)))
end

-- A picture is a document of its own, so that the names in two of them do not meet.
local function picture(svg)
  local inside = svg:gsub('[&"]', { ["&"] = "&amp;", ['"'] = "&quot;" })
  return format('<iframe srcdoc="{}"></iframe>\n', inside)
end

save(path, format([[<!doctype html>
<meta charset=utf-8><title>{0}</title>
<style>body {{ font: 15px sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }}
td, th {{ padding: 0.2em 1em 0.2em 0; text-align: left }} .n {{ text-align: right }}
iframe {{ border: 0; width: 100%; height: 50em }}</style>
<h1>{0}</h1>
<p>{1} in {2}, {3} bytes in all; {4} bytes in {5} blocks were never freed.</p>
]], escape(data().name), escape(all), escape(runtime()), all.size, leaked.size, #leaked)
  .. picture(graph():add("never freed", leaked):add("freed", all - leaked):svg())
  .. part("Never freed", leaked:group_by("responsible"))
  .. part("Allocated", all:group_by("responsible"))
  .. picture(all:export("flamegraph", { measure = "peak" })))
println("{} is written", path)
