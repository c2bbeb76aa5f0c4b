# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is chosen once for all files, and where our own files lie."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

PACKAGE = __package__.rpartition(".")[0]
"""The extension's module name, under which Blender keeps its preferences."""


class FLOCK_AP_preferences(bpy.types.AddonPreferences):
    """Of the add-on."""

    bl_idname = PACKAGE

    threads: IntProperty(
        name="Threads",
        description="Threads of a bake, which do not change its result; 0 for all cores",
        min=0,
        max=1024,
    )
    sidecar_limit: IntProperty(
        name="Largest Clip in the File",
        description="Megabytes; larger clips are stored in a file beside the .blend, where a flock's storage is automatic",
        default=64,
        min=0,
        soft_max=4096,
    )

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "threads")
        layout.prop(self, "sidecar_limit")


def _own() -> FLOCK_AP_preferences | None:
    addon = bpy.context.preferences.addons.get(PACKAGE)
    return addon.preferences if addon else None


def threads() -> int | None:
    """How many threads to use; None for all cores."""
    own = _own()
    return own.threads or None if own else None


def sidecar_limit() -> int:
    """Bytes above which a clip is stored beside the file."""
    own = _own()
    return (own.sidecar_limit if own else 64) * 1_000_000


def cache_folder() -> str:
    """Where compiled code goes: the extension's user folder; empty where that cannot be written."""
    try:
        return bpy.utils.extension_path_user(PACKAGE, path="numba", create=True)
    except (OSError, ValueError):
        return ""


register, unregister = bpy.utils.register_classes_factory((FLOCK_AP_preferences,))
