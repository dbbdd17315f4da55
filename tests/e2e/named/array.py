# SPDX-License-Identifier: MIT OR Apache-2.0
"""numpy: its arrays belong to the functions that asked for them."""
import os

import numpy


def load_matrix(n):
    return numpy.ones((n, n))


def multiply(a):
    return a @ a


def smooth(a):
    return (a[1:] + a[:-1]) / 2


def sort_rows(a):
    return numpy.sort(a, axis=1)


def pick(a):
    return a[a > 0].copy()


def main():
    a = load_matrix(200)
    kept = [a, multiply(a), smooth(a), sort_rows(a), pick(a)]
    print(len(kept))
    os._exit(0)


main()
