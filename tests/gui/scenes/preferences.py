# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The add-on's preferences, in the preferences editor."""

area = bpy.context.area
area.type = 'PREFERENCES'
bpy.context.preferences.active_section = 'ADDONS'
bpy.context.window_manager.addon_search = "Flock"
bpy.ops.preferences.addon_expand(module="bl_ext.user_default.flock")
done()
