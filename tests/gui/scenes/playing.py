# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A clip that plays."""

shown = set()
bpy.app.handlers.frame_change_post.append(lambda scene, depsgraph=None: shown.add(scene.frame_current))
new_flock()
start_bake()
when(
    lambda: tab_is_open() and baked(),
    lambda: (shown.clear(), bpy.ops.screen.animation_play(), when(lambda: len(shown) > 10, done)),
)
