# SPDX-License-Identifier: MIT OR Apache-2.0
"""Other people's test suites come to the same outcomes under the recorder as plainly, test by
test."""
import os
import shutil

import pytest

import foreign

PLAIN = {}


def cases():
    for name, suite in foreign.SUITES.items():
        for mode in suite.modes:
            marks = [pytest.mark.long] if suite.long else []
            # One worker has all ways of a suite, and the plain run once.
            yield pytest.param(name, mode, id=f"{name}-{mode}",
                               marks=[*marks, pytest.mark.xdist_group(f"foreign-{name}")])


@pytest.mark.slow
@pytest.mark.parametrize("name,mode", cases())
def test_outcomes_are_those_of_a_plain_run(name, mode, tmp_path, program_cache):
    suite = foreign.SUITES[name]
    try:
        if name not in PLAIN:
            folder = tmp_path / "plain"
            folder.mkdir()
            PLAIN[name] = suite.run(foreign.How(None, folder, program_cache))
            assert PLAIN[name], "the suite has no outcomes"
        folder = tmp_path / mode
        folder.mkdir()
        how = foreign.How(mode, folder, program_cache)
        recorded = suite.run(how)
    except foreign.Missing as missing:
        pytest.skip(str(missing))
    recordings = how.recordings()
    foreign.note(name, mode, PLAIN[name], recorded, recordings)
    shutil.rmtree(os.path.join(folder, "recordings"), ignore_errors=True)
    assert not foreign.differences(PLAIN[name], recorded)
    if name != "musl":
        assert recordings, "nothing was recorded"
