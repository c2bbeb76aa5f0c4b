# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is chosen once for all files, and where our own files lie."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty

from .plan import Options

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
        name="Largest Clip in the File (MB)",
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
    addon: Any = bpy.context.preferences.addons.get(PACKAGE)
    return addon.preferences if addon else None


def options() -> Options:
    """What a bake has to know of them."""
    own = _own()
    return Options(
        threads=own.threads or None if own else None,
        cache_folder=user_folder("numba", create=True),
        scratch_folder=user_folder("scratch", create=False),
        **({"sidecar_limit": own.sidecar_limit * 1_000_000} if own else {}),
    )


def user_folder(name: str, create: bool) -> str:
    """A folder of the extension's own; empty where there cannot be one."""
    try:
        return bpy.utils.extension_path_user(PACKAGE, path=name, create=create)
    except (OSError, ValueError):
        return ""


register, unregister = bpy.utils.register_classes_factory((FLOCK_AP_preferences,))
