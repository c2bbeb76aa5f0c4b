# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can do with a clip once it is baked: move it, tidy up after it, take it out of Blender, get it back."""

from __future__ import annotations

from typing import Any

import bpy

from ..core.settings import FlockError
from . import bake, clip, nodes, operators, plan, properties
from .compat import Result
from .flock_operator import FlockOperator


def can_reclaim(flock: bpy.types.Object) -> bool:
    """Whether the flock's clip is damaged or gone, and is still to be had."""
    return bool(clip.way_back(flock.data) or _lost_clip(flock))


def _lost_clip(flock: bpy.types.Object) -> bpy.types.Mesh | None:
    """The clip that this flock no longer shows: the one named after it, or the only one there is."""
    if clip.is_clip(flock.data) or flock.data.is_missing:
        return None
    lost = [mesh for mesh in clip.clips_without_users() if clip.record(mesh).get("kind") == bake.BAKE]
    own = [mesh for mesh in lost if mesh.name.startswith(flock.name)]
    return next(iter(own or lost), None)


class FLOCK_OT_clip_to_sidecar(FlockOperator):
    """Move the clip into a file of its own beside this one, for all who show it"""

    bl_idname = "flock.clip_to_sidecar"
    bl_label = "Move to Side-Car"

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        if clip.is_sidecar(flock.data):
            raise FlockError("The clip lies in a file of its own already")
        if not bake.is_baked(flock):
            raise FlockError("There is no clip to move: bake the flock")
        plan.check_editable(flock)

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        clip.move_to_sidecar(flock.data)


class FLOCK_OT_clip_to_file(FlockOperator):
    """Take the clip into this file, for all who show it; the clip's own file stays on the disk"""

    bl_idname = "flock.clip_to_file"
    bl_label = "Move to File"

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        if not clip.is_sidecar(flock.data):
            raise FlockError("The clip lies in this file already")
        if flock.data.is_missing:
            raise FlockError(clip.missing(flock.data))
        plan.check_editable(flock)

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        clip.move_to_file(flock.data)


class FLOCK_OT_clip_reclaim(FlockOperator):
    """Give the flock its clip back, which Edit Mode, Convert or another mesh took away"""

    bl_idname = "flock.clip_reclaim"
    bl_label = "Get Clip Back"

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        if not can_reclaim(flock):
            raise FlockError("The flock has its clip, or there is no other copy of it")
        plan.check_editable(flock)

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        name, found = flock.name, _lost_clip(flock) or clip.recover(flock.data)
        same: Any = bpy.data.objects.get((name, None))  # a linked file that is read again has its overrides made anew
        bake.replace_clip(same, found)
        properties.show_creature(same)


class FLOCK_OT_export_points(FlockOperator):
    """Add a mesh with a vertex for each boid, which Blender's exporters write to USD and Alembic"""

    bl_idname = "flock.export_points"
    bl_label = "Add Points for Export"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.mode == "OBJECT" and super().poll(context)

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        home = operators.that_takes_more(context, *flock.users_collection)
        twin = nodes.new_export_object(flock)
        home.objects.link(twin)
        operators.activate(context, twin)
        operators.warn_unseen(self, twin)


class FLOCK_OT_clips_remove_unused(bpy.types.Operator):
    """Delete the clips' files beside this file that no .blend or backup in this folder uses; files elsewhere may still.
    Also what unfinished bakes left of flocks that this file has no more"""

    bl_idname = "flock.clips_remove_unused"
    bl_label = "Remove Unused Clips"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(bpy.data.filepath) and not bake.running

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        try:
            self.found = [*clip.unused_files(), *plan.orphans()]
        except FlockError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if not self.found:
            self.report(
                {"INFO"},
                "There is nothing to delete: files and backups in this folder use all clips beside this file, or may",
            )
            return {"CANCELLED"}
        return context.window_manager.invoke_props_dialog(self, width=420, confirm_text="Delete for Good")

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.label(text="Nothing in this folder uses these, but files elsewhere may:")
        for path in self.found:
            self.layout.label(text=path.name, icon="FILE_BLEND")

    def execute(self, context: bpy.types.Context) -> Result:
        orphans = plan.orphans()
        left = sum(path.stat().st_size for path in orphans)
        try:
            gone = clip.remove_unused_files()
            plan.discard(orphans)
        except FlockError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        size = bake.megabytes(sum(gone.values()) + left)
        self.report({"INFO"}, f"Deleted {len(gone)} clips and {len(orphans)} unfinished bakes, {size}")
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory(
    (
        FLOCK_OT_clip_to_sidecar,
        FLOCK_OT_clip_to_file,
        FLOCK_OT_clip_reclaim,
        FLOCK_OT_export_points,
        FLOCK_OT_clips_remove_unused,
    )
)
