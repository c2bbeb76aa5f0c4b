# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can do: new flock, bake, go on with a bake, free, add and remove repulsors. Thin: the work is done elsewhere."""

from __future__ import annotations

from typing import Any, Literal

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty
from mathutils import Vector

from ..core.settings import FlockError, Settings
from . import bake, creature, nodes, plan, preferences, properties, sampling, scratch
from .compat import Result
from .flock_operator import FlockOperator, JobOperator, Said

LINKED_SCENE = "The scene is linked from another file: do this there, or in a scene of this file"
REPULSOR_RADIUS = 5.0
"""Of a new repulsor, body lengths."""


class FLOCK_OT_new(bpy.types.Operator):
    """Make a flock with a bird, a target and a repulsor"""

    bl_idname = "flock.new"
    bl_label = "New Flock"
    bl_options = {"REGISTER", "UNDO"}

    count: IntProperty(name="Count", description="Number of boids", default=Settings().count, min=0, soft_max=20000)
    body_length: FloatProperty(
        name="Body Length",
        description="Size of one boid; everything scales with it",
        default=1.0,
        min=0.001,
        soft_max=10.0,
        unit="LENGTH",
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.mode == "OBJECT" and _allowed(cls, LINKED_SCENE if context.scene.library else None)

    def execute(self, context: bpy.types.Context) -> Result:
        new_flock(context, self.count, self.body_length)
        if not bpy.app.background:  # whoever makes a flock will bake it
            bake.engine.prepare(preferences.options().cache_folder)
        return {"FINISHED"}


def new_flock(context: bpy.types.Context, count: int, body_length: float) -> bpy.types.Object:
    """A flock at the 3D cursor, with all that belongs to it; it becomes the active object."""
    scene = context.scene
    place = scene.cursor.location.copy()
    flock = bpy.data.objects.new("Flock", bpy.data.meshes.new("Flock Clip"))
    name = flock.name
    home = _collection(name, that_takes_more(context, context.collection))
    home.objects.link(flock)
    flock.location = place
    own = flock.flock
    own.is_flock, own.identity = True, properties.new_identity()
    nodes.attach(flock)
    properties.from_settings(own, Settings(count=count))
    own.creature = _new_bird(home, name, scene)
    own.target = _new_empty(f"{name} Target", home, "PLAIN_AXES", 2.0 * body_length)
    own.target.location = place + body_length * Vector((0.0, 60.0, 0.0))
    own.repulsors = _collection(f"{name} Repulsors", home)
    repulsor = _new_repulsor(f"{name} Repulsor", own.repulsors, REPULSOR_RADIUS * body_length)
    repulsor.location = place + body_length * Vector((0.0, 30.0, 0.0))
    own.body_length = body_length
    bake.refresh_spawn(flock, scene)
    activate(context, flock)
    return flock


def that_takes_more(context: bpy.types.Context, *wanted: bpy.types.Collection) -> bpy.types.Collection:
    """The first of these collections to which something can be added, or else that of the scene.

    Raises:
        FlockError: the scene is linked too.
    """
    found = next(filter(_takes_more, (*wanted, context.scene.collection)), None)
    if found is None:
        raise FlockError(LINKED_SCENE)
    return found


def _takes_more(group: bpy.types.Collection) -> bool:
    """Whether Blender lets this file add something to a collection: not where it is linked, nor where it is overridden."""
    return group.library is None and group.override_library is None


def _collection(name: str, parent: bpy.types.Collection) -> bpy.types.Collection:
    made = bpy.data.collections.new(name)
    parent.children.link(made)
    return made


def _new_bird(home: bpy.types.Collection, name: str, scene: bpy.types.Scene) -> bpy.types.Object:
    """The bird, in a collection of its own that is excluded: it is there to be instanced, not to be seen."""
    bird = creature.new_bird(f"{name} Bird")
    hidden = _collection(f"{name} Creature", home)
    for part in creature.parts(bird):
        hidden.objects.link(part)
    for view_layer in scene.view_layers:
        for layer in _layer_collections(view_layer.layer_collection):
            if layer.collection == hidden:
                layer.exclude = True
    return bird


def _layer_collections(layer: bpy.types.LayerCollection):
    yield layer
    for child in layer.children:
        yield from _layer_collections(child)


def _new_empty(
    name: str, home: bpy.types.Collection, look: Literal["PLAIN_AXES", "SPHERE"], size: float
) -> bpy.types.Object:
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type, empty.empty_display_size = look, size
    home.objects.link(empty)
    return empty


def _new_repulsor(name: str, home: bpy.types.Collection, radius: float) -> bpy.types.Object:
    empty = _new_empty(name, home, "SPHERE", radius)
    empty.flock_repulsor.strength = (
        1.0  # in Blender 5.2 an override of what a library never wrote is lost with the session
    )
    return empty


def activate(context: bpy.types.Context, item: bpy.types.Object) -> None:
    """Selects this object alone and makes it the active one, unless the view layer does not have it."""
    layer = context.view_layer
    try:
        item.select_set(True)
    except RuntimeError:
        return
    for other in layer.objects.selected:
        other.select_set(other == item)
    layer.objects.active = item


def warn_unseen(operator: bpy.types.Operator, item: bpy.types.Object) -> None:
    """Says why an object that was just made is not to be seen."""
    if not item.visible_get():
        group = item.users_collection[0].name
        operator.report(
            {"WARNING"}, f"'{item.name}' is there, but not seen: show its collection '{group}' in this view layer"
        )


def _allowed(operator: type[bpy.types.Operator], problem: str | None) -> bool:
    """Whether there is no problem: for a poll, which says it."""
    if problem:
        operator.poll_message_set(problem)
    return not problem


class _BakeOperator(JobOperator):
    """Bakes the flock at hand."""

    cancelled = "The bake was cancelled: the flock is as it was"

    others: BoolProperty(
        name="For All",
        description="Give the new clip also to the other flocks that share the old one; else they keep that",
        options={"SKIP_SAVE"},
    )

    def new_job(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> bake.Job:
        """What is to be baked. Raises a `FlockError` where that cannot be."""
        raise NotImplementedError

    def begin(self, context: bpy.types.Context, flock: bpy.types.Object) -> bake.Job:
        job = self.new_job(flock, context.scene)
        if self.others:
            job.take_along(bake.sharers(flock))
        return job

    def done(self, job: bake.Job) -> Said:
        if job.warning:
            return {"WARNING"}, job.warning
        return {"INFO"}, f"Baked {job.plan.new_frames} frames of '{job.name}'"


class FLOCK_OT_bake(_BakeOperator):
    """Fly the flock through the frames and keep the flight as a clip"""

    bl_idname = "flock.bake"
    bl_label = "Bake"

    def new_job(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> bake.Job:
        return bake.Job(flock, scene, options=preferences.options())


class FLOCK_OT_resume(_BakeOperator):
    """Go on with the bake that a crash or an error ended, from its last complete frame, with the same result"""

    bl_idname = "flock.resume"
    bl_label = "Resume"
    cancelled = "The bake was cancelled: the flock is as it was, and the bake can still be resumed"

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        if not unfinished(flock):
            raise FlockError("There is no unfinished bake")

    def new_job(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> bake.Job:
        return bake.Job(flock, scene, options=preferences.options(), unfinished=unfinished(flock))


class _ContinueOperator(_BakeOperator):
    """Goes on from the clip that there is."""

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        problem = "Resume or discard the unfinished bake first" if unfinished(flock) else plan.why_not_go_on(flock)
        if problem:
            raise FlockError(problem)


class FLOCK_OT_extend(_ContinueOperator):
    """Fly more frames behind the clip's last, up to the end of the range; the frames before keep their bits"""

    bl_idname = "flock.extend"
    bl_label = "Extend"

    frames: IntProperty(
        name="Frames",
        description="How many; up to the range's end where it is not given",
        min=1,
        options={"SKIP_SAVE"},
    )

    def new_job(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> bake.Job:
        more = self.frames if self.properties.is_property_set("frames") else None
        return bake.Job(flock, scene, plan.extension(flock, scene, more), preferences.options())


class FLOCK_OT_rebake(_ContinueOperator):
    """Fly the clip again from this frame on, to its last frame or the end of the range, whichever is later; the frames before
    keep their bits"""

    bl_idname = "flock.rebake"
    bl_label = "Rebake from Here"

    start: IntProperty(
        name="Start",
        description="The first frame to fly again; the current one where it is not given",
        options={"SKIP_SAVE"},
    )

    def new_job(self, flock: bpy.types.Object, scene: bpy.types.Scene) -> bake.Job:
        start = self.start if self.properties.is_property_set("start") else scene.frame_current
        return bake.Job(flock, scene, plan.continuation(flock, scene, start), preferences.options())


def unfinished(flock: bpy.types.Object) -> scratch.Head | None:
    """What an unfinished bake of the flock left. Cheap."""
    return plan.unfinished(flock, preferences.options())


class FLOCK_OT_discard(FlockOperator):
    """Delete what an unfinished bake left; the clip stays as it is"""

    bl_idname = "flock.discard"
    bl_label = "Discard Unfinished Bake"
    bl_options: Any = set()

    @classmethod
    def require(cls, flock: bpy.types.Object) -> None:
        FLOCK_OT_resume.require(flock)

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        scratch.discard(unfinished(flock).path)


class FLOCK_OT_free(FlockOperator):
    """Remove the clip and show the flock as it starts; a clip's own file stays on the disk"""

    bl_idname = "flock.free"
    bl_label = "Free"

    def work(self, context: bpy.types.Context, flock: bpy.types.Object) -> None:
        bake.free(flock, context.scene, preferences.options())


class _RepulsorOperator(bpy.types.Operator):
    """Changes which repulsors the flock at hand has."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        flock = properties.find_flock(context)
        if flock is None or context.mode != "OBJECT":
            return _allowed(cls, "Select a flock, its target or one of its repulsors, in Object Mode")
        if flock.library:
            return _allowed(cls, f"The flock '{flock.name}' is linked from another file: make a library override of it")
        return _allowed(cls, cls.why_not(flock))

    @classmethod
    def why_not(cls, flock: bpy.types.Object) -> str | None:
        """A sentence where it cannot be done, else None."""
        return None


class FLOCK_OT_repulsor_add(_RepulsorOperator):
    """Add an Empty, whose sphere no boid enters, at the 3D cursor or beside what repulsor is there"""

    bl_idname = "flock.repulsor_add"
    bl_label = "Add Repulsor"

    def execute(self, context: bpy.types.Context) -> Result:
        flock = properties.find_flock(context)
        radius = REPULSOR_RADIUS * flock.flock.body_length * max(tuple(flock.matrix_world.to_scale()))
        place = _free_place(flock, context.scene, radius)
        group = _repulsors_that_take_more(context, flock)
        empty = _new_repulsor(f"{flock.name} Repulsor", group, radius)
        empty.location = place
        _choose(flock, empty)
        activate(context, empty)
        warn_unseen(self, empty)
        return {"FINISHED"}


def _free_place(flock: bpy.types.Object, scene: bpy.types.Scene, radius: float) -> Vector:
    """The 3D cursor, or the first place beside it, along X, where a sphere of that radius touches no other repulsor."""
    samples = sampling.sample(flock, scene, scene.frame_current, 1, 1)
    others = [
        (Vector(matrix[:3, 3]), radius + float(size))
        for matrix, size in zip(samples.matrices[0], sampling.world_radii(samples)[0], strict=True)
    ]
    place = scene.cursor.location.copy()
    for centre, apart in sorted(
        others, key=lambda other: other[0].x + other[1]
    ):  # each moves it behind itself for good
        if (place - centre).length < apart:
            place.x = centre.x + apart
    return place


def _repulsors_that_take_more(context: bpy.types.Context, flock: bpy.types.Object) -> bpy.types.Collection:
    """The flock's collection of repulsors: a new one around the old, where Blender lets nothing be added to that."""
    own, old = flock.flock, flock.flock.repulsors
    if old is None or not _takes_more(old):
        own.repulsors = _collection(f"{flock.name} Repulsors", that_takes_more(context, *flock.users_collection))
        if old:
            own.repulsors.children.link(old)
    return own.repulsors


class FLOCK_OT_repulsor_remove(_RepulsorOperator):
    """Delete the repulsor chosen in the list"""

    bl_idname = "flock.repulsor_remove"
    bl_label = "Remove Repulsor"

    @classmethod
    def why_not(cls, flock: bpy.types.Object) -> str | None:
        chosen = active_repulsor(flock)
        if chosen is None:
            return "Choose a repulsor in the list"
        if chosen.library or chosen.override_library:
            return f"The repulsor '{chosen.name}' belongs to another file: delete it there, or mute an override of it"
        return None

    def execute(self, context: bpy.types.Context) -> Result:
        flock = properties.find_flock(context)
        chosen, others = active_repulsor(flock), properties.repulsors(flock)
        index = others.index(chosen)
        others.remove(chosen)
        bpy.data.objects.remove(chosen)
        if others:
            _choose(flock, others[max(0, index - 1)])
        if context.view_layer.objects.active is None:
            activate(context, flock)
        return {"FINISHED"}


def active_repulsor(flock: bpy.types.Object) -> bpy.types.Object | None:
    """The one chosen in the list."""
    group, index = flock.flock.repulsors, flock.flock.active_repulsor
    chosen = group.all_objects[index] if group and index < len(group.all_objects) else None
    return chosen if chosen and properties.is_repulsor(chosen) else None


def _choose(flock: bpy.types.Object, repulsor: bpy.types.Object) -> None:
    own = flock.flock
    own.active_repulsor = own.repulsors.all_objects.values().index(repulsor)


def _draw_add_menu(self: Any, context: bpy.types.Context) -> None:
    self.layout.operator(FLOCK_OT_new.bl_idname, text="Flock", icon="OUTLINER_OB_POINTCLOUD")


_register, _unregister = bpy.utils.register_classes_factory(
    (
        FLOCK_OT_new,
        FLOCK_OT_bake,
        FLOCK_OT_resume,
        FLOCK_OT_extend,
        FLOCK_OT_rebake,
        FLOCK_OT_discard,
        FLOCK_OT_free,
        FLOCK_OT_repulsor_add,
        FLOCK_OT_repulsor_remove,
    )
)


def register() -> None:
    _register()
    bpy.types.VIEW3D_MT_add.append(_draw_add_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_add.remove(_draw_add_menu)
    for job in list(bake.running.values()):  # an update of the extension is no wish to lose what is done
        job.stop()
    bake.engine.stop()
    _unregister()
