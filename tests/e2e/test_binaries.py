# SPDX-License-Identifier: MIT OR Apache-2.0
"""What of the program's files is in the recording, and whether names come from there."""
import os
import shutil

import pytest

from harness import ask


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("how", ["", "quick", "leave quick", "close quick"])
def test_library_of_a_relative_path_just_before_the_end(compile_program, record, tmp_path, how, mode):
    """Only the program knows what a relative path means, and it is gone when the collector looks."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(compile_program("plug.so"), folder / "libplug.so")
    recording = record([compile_program("relative_plugin"), folder, how], mode=mode)
    assert recording.status == 0
    listed = [file["path"] for file in ask("extract", "--list", "--json", recording.path)]
    assert str(folder / "libplug.so") in listed
    os.rename(folder / "libplug.so", folder / "moved")
    assert recording.total("plugin_allocates")["allocated_bytes"] == 4321
