# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir fleet in a database of a test's own, and recordings that are sent to it."""
import json
import os
import zlib

import harness

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


class Fleet:
    """fleet(*arguments) runs memoir fleet."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        self.url = server.url(database)
        self.env = {"MEMOIR_FLEET": self.url, "MEMOIR_FLEET_PASSWORD": server.password}

    def __call__(self, *arguments, status=0, env=None):
        run = harness.execute([harness.MEMOIR, "fleet", *arguments],
                              env=dict(self.env, **(env or {})))
        assert run.status == status, f"{arguments}: {run}"
        return run

    def ask(self, *arguments):
        return json.loads(self(*arguments).stdout)

    def sql(self, text):
        return self.server.ask(text, self.database).strip()


def fleet_of(server, request):
    """A fleet of a test's own."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)[:60]
    return Fleet(server, f"{name}_{zlib.crc32(request.node.name.encode()):08x}")


def with_id(source, path, number):
    """A copy of a recording that is another one: its id is in the head."""
    with open(source, "rb") as file:
        content = bytearray(file.read())
    at = content.index(bytes.fromhex(harness.ask("info", "--json", source)["id"]))
    content[at:at + 8] = number.to_bytes(8, "little")
    with open(path, "wb") as file:
        file.write(content)
    return path
