# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one moment at which the add-on acts by itself: after an append, which may have brought in node groups that are here already,
and flocks that other files have too.

Nothing here runs when a frame changes, or when a clip is drawn or rendered.
"""

from __future__ import annotations

from typing import Any

import bpy

from . import nodes, properties

_COPIED = ("MAKE_LOCAL", "COPY_LOCAL")


@bpy.app.handlers.persistent
def _after_import(imported: Any) -> None:
    """Leaves one node group of each kind, unless somebody asked for one of them, and will use it. A flock becomes one of its own."""
    for item in (entry.id for entry in imported.import_items if entry.append_action in _COPIED):
        if isinstance(item, bpy.types.Object) and properties.is_flock(item) and item.flock.identity:
            item.flock.identity = properties.new_identity()
    asked_for = (item.id for item in imported.import_items if "INDIRECT_USAGE" not in item.import_info)
    if not any(nodes.is_ours(item) for item in asked_for):
        nodes.tidy()


def register() -> None:
    bpy.app.handlers.blend_import_post.append(_after_import)


def unregister() -> None:
    bpy.app.handlers.blend_import_post.remove(_after_import)
