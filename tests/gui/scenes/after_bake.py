# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The panel after a bake."""

flock = new_flock()
bpy.ops.flock.bake('INVOKE_DEFAULT')
