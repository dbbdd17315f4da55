# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles of pprof's, decoded here and nowhere else, and held to the rules of Parca's
validator."""
import gzip


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at += 1
            shift += 7
            if data[at - 1] < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            assert at + size <= len(data)
            at += size
        else:
            assert key & 7 == 0
            yield key >> 3, varint()


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value - (1 << 64) if value >> 63 else value)
            value = shift = 0
    return values


def counted(messages):
    """Each by its id: they count from 1, without a gap, in order."""
    found = [dict(fields(m)) for m in messages]
    assert [m[1] for m in found] == list(range(1, len(found) + 1))
    return found


class Profile:
    """samples: ([function, …] with the innermost first, [value, …], {label: value})."""

    def __init__(self, body):
        top = list(fields(gzip.decompress(body)))
        self.strings = [v.decode() for n, v in top if n == 6]
        assert self.strings[0] == ""
        self.types = [tuple(self.text(i) for _, i in fields(v)) for n, v in top if n == 1]
        self.mappings = counted(v for n, v in top if n == 3)
        functions = counted(v for n, v in top if n == 5)
        assert all(self.text(f[2]) for f in functions)
        locations = [list(fields(v)) for n, v in top if n == 4]
        counted(v for n, v in top if n == 4)
        self.functions = {f[1]: self.text(f[2]) for f in functions}
        self.locations = {}
        for place in locations:
            one = dict(place)
            assert one.get(2, 0) <= len(self.mappings) and one[3]
            lines = [dict(fields(v)) for n, v in place if n == 4]
            self.locations[one[1]] = [self.functions[line[1]] for line in lines] or [hex(one[3])]
        self.samples = [self.sample(list(fields(v))) for n, v in top if n == 2]
        one = dict((n, v) for n, v in top if n in (9, 10, 12, 14))
        self.period, self.default, self.duration = one[12], self.text(one[14]), one.get(10, 0)
        assert self.default in [name for name, _ in self.types]

    def text(self, number):
        assert 0 < number < len(self.strings)
        return self.strings[number]

    def sample(self, message):
        ids, values = (packed(next(v for k, v in message if k == want)) for want in (1, 2))
        assert ids and 0 not in ids and len(values) == len(self.types)
        labels = {}
        for number, value in message:
            if number == 3:
                label = dict(fields(value))
                labels[self.text(label[1])] = self.text(label[2]) if 2 in label else label.get(3, 0)
        return [name for i in ids for name in self.locations[i]], values, labels

    def column(self, name):
        return [t[0] for t in self.types].index(name)

    def total(self, column=-1, function=None):
        return sum(v[column] for names, v, _ in self.samples if not function or function in names)
