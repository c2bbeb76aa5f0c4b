# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The sentence about a setting that is wrong."""

flock = new_flock(count=100)
flock.flock.use_scene_range = False
flock.flock.frame_start, flock.flock.frame_end = 100, 1
later(3, lambda: bpy.ops.flock.bake('INVOKE_DEFAULT'))
