# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can ask of a clip: whether it is up to date, what is wrong with its flight, and where."""

from __future__ import annotations

import math

import bpy
from bpy.props import FloatProperty

from ..core.settings import FlockError
from . import bake, checking, operators, properties, stale
from .compat import Result


def _baked_flock(context: bpy.types.Context) -> bpy.types.Object | None:
    """The flock at hand, where it has a clip and is not being baked."""
    flock = properties.find_flock(context)
    idle = flock is not None and flock.session_uid not in bake.running
    return flock if idle and bake.is_baked(flock) else None


class _CheckOperator(bpy.types.Operator):
    """Looks at the clip of the flock at hand; a `FlockError` is shown."""

    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return _baked_flock(context) is not None

    def execute(self, context: bpy.types.Context) -> Result:
        try:
            self.report(*self.work(context, _baked_flock(context)))
        except FlockError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


class FLOCK_OT_check(_CheckOperator):
    """Look through all frames of the clip whether settings, target or repulsors have changed since the bake"""

    bl_idname = "flock.check"
    bl_label = "Check"

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> tuple[set[str], str]:
        names = stale.check(flock, context.scene)
        if not names:
            return {"INFO"}, f"The clip of '{flock.name}' is up to date at every frame"
        return {"WARNING"}, f"The clip of '{flock.name}' is stale: {', '.join(names)}"


class FLOCK_OT_check_flight(operators.JobOperator):
    """Look for collisions, boids inside obstacles, flips, turns that are too fast, and boids that left"""

    bl_idname = "flock.check_flight"
    bl_label = "Check Flight"
    cancelled = "The flight check was cancelled"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return _baked_flock(context) is not None

    def begin(self, context: bpy.types.Context) -> checking.Check:
        return checking.Check(_baked_flock(context), context.scene)

    def done(self, job: checking.Check) -> tuple[set[str], str]:
        faults = [line.text for line in job.lines if line.is_fault]
        if not faults:
            return {"INFO"}, f"Nothing is wrong with the flight of '{job.name}'"
        return {"WARNING"}, f"The flight of '{job.name}': {'; '.join(faults)}"


class FLOCK_OT_jump(_CheckOperator):
    """Go to the frame where this is worst"""

    bl_idname = "flock.jump"
    bl_label = "Jump There"

    frame: FloatProperty(name="Frame", description="Frame of the clip, where it was baked")

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> tuple[set[str], str]:
        frame = checking.scene_frame(flock, self.frame)
        whole = math.floor(frame)
        context.scene.frame_set(whole, subframe=frame - whole)
        return {"INFO"}, f"Frame {frame:g}"


register, unregister = bpy.utils.register_classes_factory((FLOCK_OT_check, FLOCK_OT_check_flight, FLOCK_OT_jump))
