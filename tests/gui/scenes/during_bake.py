# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A bake under way: progress in the panel and in the status bar."""

new_flock(count=20000, frames=250)
bpy.ops.flock.bake('INVOKE_DEFAULT')
