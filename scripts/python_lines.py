# SPDX-License-Identifier: MIT OR Apache-2.0
"""Breaks lines of Python that are too long; scripts/reflow calls it.

A line is broken where brackets are open: behind a comma, before a word such as `for` or `and`,
between the words of a text.  Outer places are better than inner ones, late ones better than early
ones.  What follows is aligned with what stands behind the bracket, and lines that were aligned with
something that moved move with it.  An expression without brackets gets a pair.
"""
import io
import re
import tokenize

COLUMNS = 100
WORDS = {"for", "if", "else", "and", "or"}
OPERATORS = {"+", "|", "==", "!=", "<=", ">=", "<", ">", "in", "-", "&"}
LEFT_OUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT,
            tokenize.ENDMARKER}
HEADERS = ("def ", "if ", "elif ", "while ", "for ", "with ", "class ", "async ")


def tokens_of(text):
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def inside_texts(text):
    """The lines (from 0) that belong to a text of several lines which is no docstring's."""
    found, docstring = set(), True
    for token in tokens_of(text):
        if token.type == tokenize.STRING and not docstring:
            if token.start[0] != token.end[0]:
                found.update(range(token.start[0] - 1, token.end[0]))
        docstring = token.type in LEFT_OUT
    return found


def logical_lines(text):
    """Lists of tokens, one for each statement's line."""
    line = []
    for token in tokens_of(text):
        if token.type == tokenize.NEWLINE:
            if line:
                yield line
            line = []
        elif token.type not in LEFT_OUT:
            line.append(token)


def brackets_before(line):
    """For each token the brackets that are open before it: lists of indexes."""
    found, stack = [], []
    for i, token in enumerate(line):
        if token.string in ")]}" and token.type == tokenize.OP:
            found.append(list(stack))
            stack.pop()
            continue
        found.append(list(stack))
        if token.string in "([{" and token.type == tokenize.OP:
            stack.append(i)
    return found


def is_subscript(line, bracket):
    before = line[bracket - 1] if bracket else None
    return line[bracket].string == "[" and before is not None and (
        before.type == tokenize.NAME and before.string not in WORDS | {"in", "return", "not", "is"}
        or
        before.string in (")", "]"))


def between_for_and_in(line, i, opened):
    """`for a, b in`: is this the b?"""
    for k in range(i - 1, -1, -1):
        if len(opened[k]) == len(opened[i]) and line[k].string in ("for", "in"):
            return line[k].string == "for"
        if len(opened[k]) < len(opened[i]):
            return False
    return False


def text_places(token, room):
    """Where a text can be divided so that the first part, closed, ends before a column."""
    begin = re.match(r"([A-Za-z]*)('''|\"\"\"|'|\")", token.string)
    if not begin or len(begin[2]) == 3 or token.start[0] != token.end[0]:
        return
    depth, i, body = 0, begin.end(), token.string
    formatted = "f" in begin[1].lower()
    while i < len(body) - 1:
        if body[i] == "\\" and "r" not in begin[1].lower():
            i += 2
            continue
        if formatted and body[i:i + 2] in ("{{", "}}"):
            i += 2
            continue
        depth += formatted and (body[i] == "{") - (body[i] == "}")
        i += 1
        if body[i - 1] == " " and not depth and 12 < i < len(
                body) - 8 and token.start[1] + i < room:
            yield i, begin[1], begin[2]


def part_of_text(prefix, quote, body):
    if "f" in prefix.lower() and "{" not in body and "}" not in body:
        prefix = prefix.lower().replace("f", "")
    return f"{prefix}{quote}{body}{quote}"


def candidates(line, row, text_of_row, indent):
    """(cost, column, new column, what ends the line, what begins the next) for each place."""
    opened = brackets_before(line)
    header = text_of_row.lstrip().startswith(HEADERS)

    def aligned(bracket):
        after = line[bracket + 1]
        if after.start[0] == line[bracket].start[0]:
            return line[bracket].start[1] + 1
        return after.start[1]

    def cost_of(depth, end, column, begin):
        rest = column + len(text_of_row) - begin
        over = max(0, rest - COLUMNS)
        return (16 * depth + 0.25 * (COLUMNS - end) + 0.6 * max(0, column - 52) + over * 0.15 +
                (12 if over else 0))

    for i, token in enumerate(line):
        if token.start[0] != row or token.end[0] != row or not opened[i]:
            continue
        inner = opened[i][-1]
        before, depth = line[i - 1], len(opened[i])
        same_row = before.end[0] == row and before.start[0] == row
        if same_row and before.end[1] <= COLUMNS and token.string not in ")]}":
            kind = None
            if before.string == "," and not between_for_and_in(line, i, opened):
                kind = 0
            elif token.type == tokenize.NAME and token.string in WORDS and before.string != "else":
                kind = 1
            elif before.string in OPERATORS and before.type in (tokenize.OP, tokenize.NAME):
                kind = 14
            elif before.type == token.type == tokenize.STRING:
                kind = 2
            elif inner == i - 1 and not is_subscript(line, inner):
                column = indent + (8 if header else 4)
                if column + 12 < token.start[1]:
                    yield (cost_of(depth - 1, before.end[1], column, token.start[1]) + 15,
                           token.start[1], column, "", "")
            if kind is not None and not is_subscript(line, inner):
                column = aligned(inner)
                yield (cost_of(depth, before.end[1], column, token.start[1]) + kind, token.start[1],
                       column, "", "")
        if token.type == tokenize.STRING and not is_subscript(line, inner):
            places = list(text_places(token, COLUMNS - 1))
            if places and token.end[1] > COLUMNS - 4:
                at, prefix, quote = places[-1]
                left = part_of_text(prefix, quote, token.string[len(prefix) + 1:at])
                right = part_of_text(prefix, quote, token.string[at:-1])
                column = aligned(inner)
                yield (cost_of(depth, COLUMNS, column, token.start[1] + at) + 14,
                       (token.start[1], token.end[1]), column, left, right)


def parenthesize(line, rows):
    """Puts the expression of a statement into parentheses; False where that does not help."""
    first = line[0]
    if first.string == "return" and len(line) > 1:
        begin, end = 1, len(line)
    elif first.string == "assert":
        begin, depth = 1, 0
        end = len(line)
        for i, token in enumerate(line):
            depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
            if token.string == "," and not depth:
                end = i
                break
    else:
        equals = [i for i, t in enumerate(line) if t.string == "=" and not brackets_before(line)[i]]
        if not equals:
            return False
        begin, end = equals[-1] + 1, len(line)
    if line[begin].start[0] != line[end - 1].end[0] or begin == end:
        return False
    expression = line[begin:end]
    if expression[0].string == "(" and expression[-1].string == ")":
        return False
    if not any(t.string in WORDS | OPERATORS or t.type == tokenize.STRING for t in expression):
        return False
    row = rows[line[begin].start[0] - 1]
    a, b = line[begin].start[1], line[end - 1].end[1]
    rows[line[begin].start[0] - 1] = f"{row[:a]}({row[a:b]}){row[b:]}"
    return True


def shift(rows, line, row, column, delta):
    """Lines below that were aligned with a bracket which moved move, too."""
    opened = brackets_before(line)
    moved = {i for i, t in enumerate(line) if t.start[0] == row and t.start[1] >= column}
    for number in sorted({t.start[0] for t in line if t.start[0] > row}):
        index = next(i for i, t in enumerate(line) if t.start[0] == number)
        inner = opened[index][-1] if opened[index] else None
        spans = any(t.start[0] < number <= t.end[0] for t in line)
        if inner not in moved or spans or line[inner + 1].start[0] != line[inner].start[0]:
            continue
        text = rows[number - 1]
        have = len(text) - len(text.lstrip())
        rows[number - 1] = " " * max(0, have + delta) + text.lstrip()
        moved |= {i for i, t in enumerate(line) if t.start[0] == number}


def joins_at_top(line, row):
    """Does an `and` or `or` that no bracket holds stand in the row?"""
    opened = brackets_before(line)
    return any(t.string in ("and", "or") and not opened[i] and t.start[0] == row and
               t.start[1] < COLUMNS for i, t in enumerate(line))


def break_line(rows, line, given_up):
    """Breaks the first row of a statement that is too long; True when something changed."""
    for row in sorted({t.start[0] for t in line}):
        content = rows[row - 1]
        if len(content) <= COLUMNS or content in given_up:
            continue
        if any(t.start[0] < row <= t.end[0] for t in line):
            continue
        if joins_at_top(line, row) and parenthesize(line, rows):
            return True
        indent = len(content) - len(content.lstrip())
        found = sorted(candidates(line, row, content, indent), key=lambda c: c[0])
        # A pair of parentheses is better than a place deep inside.
        if (not found or found[0][0] > 44) and parenthesize(line, rows):
            return True
        if not found:
            given_up.add(content)
            continue
        _, place, column, left, right = found[0]
        if isinstance(place, tuple):
            begin, end = place
            rows[row - 1] = content[:begin] + left
            rest = right + content[end:]
            shift(rows, line, row, end, column + len(right) - end)
        else:
            rows[row - 1] = content[:place].rstrip()
            rest = content[place:]
            shift(rows, line, row, place, column - place)
        if column + len(rest) >= len(content):
            given_up.add(" " * column + rest)
        rows.insert(row, " " * column + rest)
        return True
    return False


def broken(text):
    given_up = set()
    while True:
        rows = text.split("\n")
        # From the end, so that the numbers of the rows before stay.
        changed = [break_line(rows, line, given_up) for line in reversed(list(logical_lines(text)))
                   if any(len(rows[t.start[0] - 1]) > COLUMNS for t in line)]
        if not any(changed):
            return text
        text = "\n".join(rows)
