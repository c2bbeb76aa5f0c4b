# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The panel while nothing is selected."""

bpy.ops.object.select_all(action='DESELECT')
bpy.context.view_layer.objects.active = None
when(tab_is_open, done)
