# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can ask of a clip: whether it is up to date, what is wrong with its flight, and where."""

from __future__ import annotations

import math

import bpy
from bpy.props import FloatProperty

from ..core.settings import FlockError
from . import bake, checking, stale
from .flock_operator import FlockOperator, JobOperator, Said


class _OfClip:
    """For operators that look at a baked clip."""

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        if not bake.is_baked(flock):
            raise FlockError("There is no clip to look at: bake the flock")


class FLOCK_OT_check(_OfClip, FlockOperator):
    """Look through all frames of the clip whether settings, target or repulsors have changed since the bake"""

    bl_idname = "flock.check"
    bl_label = "Check"
    bl_options = {"REGISTER"}

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> Said:
        names = stale.check(flock, context.scene)
        if not names:
            return {"INFO"}, f"The clip of '{flock.name}' is up to date at every frame"
        return {"WARNING"}, f"The clip of '{flock.name}' is stale: {', '.join(names)}"


class FLOCK_OT_check_flight(_OfClip, JobOperator):
    """Look for collisions, boids inside obstacles, flips, turns that are too fast, and boids that left"""

    bl_idname = "flock.check_flight"
    bl_label = "Check Flight"
    cancelled = "The flight check was cancelled"

    def begin(self, context: bpy.types.Context, flock: bpy.types.Object) -> checking.Check:
        return checking.Check(flock, context.scene)

    def done(self, job: checking.Check) -> Said:
        faults = [line.text for line in job.lines if line.is_fault]
        if not faults:
            return {"INFO"}, f"Nothing is wrong with the flight of '{job.name}'"
        return {"WARNING"}, f"The flight of '{job.name}': {'; '.join(faults)}"


class FLOCK_OT_jump(_OfClip, FlockOperator):
    """Go to the frame where this is worst"""

    bl_idname = "flock.jump"
    bl_label = "Jump There"
    bl_options = {"REGISTER"}

    frame: FloatProperty(name="Frame", description="Frame of the clip, where it was baked")

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> Said:
        frame = checking.scene_frame(flock, self.frame)
        whole = math.floor(frame)
        context.scene.frame_set(whole, subframe=frame - whole)
        return {"INFO"}, f"Frame {frame:g}"


register, unregister = bpy.utils.register_classes_factory((FLOCK_OT_check, FLOCK_OT_check_flight, FLOCK_OT_jump))
