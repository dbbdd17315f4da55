# SPDX-License-Identifier: MIT OR Apache-2.0
"""Addresses of all views that speak of one recording, taken from the page's own table."""
import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../web/src/views/views.ts")
# What a view wants besides the recording; and views that show different things.
MORE = {"compare": "?against={id}&at=0.1"}
ALSO = {"blocks": "allocations/{id}?list=flat"}


def of_views(identifier):
    """By name, without the "#/" in front."""
    with open(TABLE, encoding="utf-8") as file:
        rows = re.findall(r"\{([^{}]*)\}", file.read().split("VIEWS:", 1)[1])
    names = [re.search(r'name: "(\w+)"', row).group(1) for row in rows if "recording: true" in row]
    found = {name: f"{name}/{{id}}{MORE.get(name, '')}" for name in names} | ALSO
    return {name: address.replace("{id}", identifier) for name, address in found.items()}


def asking(address, query):
    """An address with more parameters."""
    return address + ("&" if "?" in address else "?") + query if query else address
