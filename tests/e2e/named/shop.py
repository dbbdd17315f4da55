# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python whose functions hold memory, in itself and through its standard library."""
import collections
import json
import os
import re


class Shop:
    def read_items(self, n):
        self.items = [bytearray(600 + i) for i in range(n)]

    def index_items(self):
        self.index = {}
        for i in range(20000):
            self.index[i] = i

    def describe(self):
        self.text = "x" * 300000
        self.lines = self.text.encode() + b"y" * 1000


def parse_rows(n):
    return json.loads("[" + ",".join('"%s"' % ("r" * (600 + i)) for i in range(n)) + "]")


def fill_pages(n):
    return [os.urandom(4096 + i) for i in range(n)]


def find_words(text):
    return re.findall("x{700}", text)


def queue_work(n):
    queue = collections.deque()
    for i in range(n):
        queue.append(b"w" * (1000 + i))
    return queue


def main():
    shop = Shop()
    shop.read_items(500)
    shop.index_items()
    shop.describe()
    kept = parse_rows(400), fill_pages(60), find_words(shop.text), queue_work(200)
    print(len(kept))
    os._exit(0)


main()
