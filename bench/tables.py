# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the parts of bench.py print their figures."""


def as_share(value):
    return "" if value is None else f"1/{1 / value:.1f}" if value > 0 else "0"


def mib(value):
    return f"{value / (1 << 20):.1f}"


def table(rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths))).rstrip())
