# SPDX-License-Identifier: MIT OR Apache-2.0
"""AArch64 in full-system emulation, one boot: Debian's kernel and libraries for it, this tree built
for it, and recordings that are read here.  `make test-arch` has the rest."""
import pytest

import arch_cases

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("emulation")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return arch_cases.booted("aarch64", tmp_path_factory.mktemp("aarch64"), arch_cases.QUICK)


@pytest.mark.parametrize("name", arch_cases.QUICK)
def test_case(finished, name):
    finished[name]()
