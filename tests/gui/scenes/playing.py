# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A clip that plays."""

flock = new_flock(frames=100)
bpy.ops.flock.bake('INVOKE_DEFAULT')


def play():
    if is_baked(flock):
        bpy.ops.screen.animation_play()
    else:
        later(1, play)


later(5, play)
