# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The panel after a bake."""

new_flock()
start_bake()


def show():
    bpy.context.scene.frame_set(48)
    bpy.context.preferences.view.ui_scale = 0.8  # the whole panel in one picture
    done()


when(lambda: tab_is_open() and baked(), show)
