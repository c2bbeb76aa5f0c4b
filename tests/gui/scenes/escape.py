# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""Esc during a bake: the flock is as it was."""

flock = new_flock(count=20000, frames=250)
before = flock.data.name_full
bpy.ops.flock.bake('INVOKE_DEFAULT')


def check():
    assert flock.data.name_full == before
    assert not is_baked(flock)
    print("ESCAPE: the old clip is there", flush=True)


later(20, check)
