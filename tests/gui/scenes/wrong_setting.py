# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The sentence about a setting that is wrong."""

flock = new_flock(count=100)
flock.flock.use_scene_range = False
flock.flock.frame_start, flock.flock.frame_end = 100, 1


def refused():
    said = ""
    try:
        start_bake()
    except RuntimeError as error:  # so Blender hands an operator's report to a script
        said = str(error)
    assert "The last frame (1) lies before the first (100)" in said
    assert not bake.running
    done()


when(tab_is_open, refused)
