# SPDX-License-Identifier: MIT OR Apache-2.0
"""Everything that is tested on other processors, in full-system emulation: `make test-arch`."""
import os

import pytest

import arch_cases
import emulated

pytestmark = pytest.mark.arch
TOOLS = ("memoir", "libmemoir-jemalloc.so")
ARCH = os.environ.get("MEMOIR_ARCH", "aarch64")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return arch_cases.booted(ARCH, tmp_path_factory.mktemp("arch"), arch_cases.FULL,
                             targets=(*arch_cases.TARGETS, *TOOLS), packages=arch_cases.PACKAGES,
                             kills=20)


@pytest.fixture(scope="module")
def finished_16k(tmp_path_factory):
    if "16k" not in emulated.PROCESSORS[ARCH].kernels:
        pytest.skip(f"Debian has no kernel of such pages for {ARCH}")
    return arch_cases.booted(ARCH, tmp_path_factory.mktemp("pages"), arch_cases.QUICK, pages="16k")


@pytest.mark.parametrize("name", arch_cases.FULL)
def test_case(finished, name):
    finished[name]()


@pytest.mark.parametrize("name", arch_cases.QUICK)
def test_pages_of_16k(finished_16k, name):
    """The next Debian's kernel with pages of 16 KiB."""
    finished_16k[name]()
