# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's tab 'Flock'. It draws and computes nothing."""

from __future__ import annotations

from typing import Any

import bpy

from . import (
    bake,
    check_operators,
    checking,
    clip_operators,
    compat,
    flock_operator,
    nodes,
    operators,
    plan,
    properties,
    stale,
)

_BLENDER_LIST_ROWS = 3


class _FlockPanel:
    """A subpanel of the tab; the parent shows it for a flock only."""

    bl_space_type: Any = "VIEW_3D"
    bl_region_type: Any = "UI"
    bl_category = "Flock"
    bl_parent_id = "FLOCK_PT_flock"
    bl_options: Any = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return properties.find_flock(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        flock = properties.find_flock(context)
        if flock is not None:
            self.draw_flock(layout, flock, context.scene)

    def draw_flock(self, layout: bpy.types.UILayout, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
        """What is between the panel's lines."""


class FLOCK_PT_flock(bpy.types.Panel):
    """The tab: which flock this is, the bake, and what stands in its way."""

    bl_label = "Flock"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Flock"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        flock = properties.find_flock(context)
        if flock is None:
            layout.label(text="Select a flock, or make one")
            layout.operator(operators.FLOCK_OT_new.bl_idname, icon="ADD")
            return
        row = layout.row(align=True)
        row.prop(flock, "name", text="", icon="OUTLINER_OB_POINTCLOUD")
        row.operator(operators.FLOCK_OT_new.bl_idname, text="", icon="ADD")
        _draw_engine(layout)
        _draw_problems(layout, flock, context.scene)


class FLOCK_PT_bake(_FlockPanel, bpy.types.Panel):
    bl_label = "Bake"
    bl_options = set()

    def draw_flock(self, layout, flock, scene) -> None:
        job = bake.running.get(flock.session_uid)
        if job:
            layout.progress(factor=job.progress, text=f"{job.progress:.0%}")
            _draw_lines(layout, job.message)
            layout.label(text=flock_operator.way_to_cancel(bpy.context))
            return
        _draw_range(layout, flock.flock, scene)
        baked, unfinished = bake.has_clip(flock), operators.unfinished(flock)
        if unfinished:
            _draw_unfinished(layout, flock)
        row = layout.row(align=True)
        row.scale_y = 1.4
        word = "Start Over" if unfinished else "Bake Again" if baked else "Bake"
        row.operator(operators.FLOCK_OT_bake.bl_idname, text=word, icon="REC")
        if baked:
            row.operator(operators.FLOCK_OT_free.bl_idname, text="Free", icon="X")
            _draw_go_on(layout.row(align=True), flock, scene)
            _draw_shared(layout, flock)
        _draw_state(layout.column(align=True), flock, scene)


class FLOCK_PT_bake_more(_FlockPanel, bpy.types.Panel):
    bl_label = "Options"
    bl_parent_id = "FLOCK_PT_bake"

    def draw_flock(self, layout, flock, scene) -> None:
        for name in ("pre_roll", "substeps", "storage"):
            layout.prop(flock.flock, name)


class FLOCK_PT_flight_check(_FlockPanel, bpy.types.Panel):
    bl_label = "Flight Check"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        flock = properties.find_flock(context)
        return flock is not None and bake.is_baked(flock)

    def draw_header(self, context: bpy.types.Context) -> None:
        flock = properties.find_flock(context)
        faults = flock is not None and any(line.is_fault for line in checking.lines(flock))
        if faults:
            self.layout.label(text="", icon="ERROR")

    def draw_flock(self, layout, flock, scene) -> None:
        column = layout.column(align=True)
        for line in checking.lines(flock):
            row = column.split(factor=0.78, align=True)
            row.label(text=line.text, icon="ERROR" if line.is_fault else "CHECKMARK")
            if line.frame is not None:
                row.operator(check_operators.FLOCK_OT_jump.bl_idname, text=f"{line.frame:g}").frame = line.frame
        layout.operator(check_operators.FLOCK_OT_check_flight.bl_idname, icon="VIEWZOOM")


class FLOCK_PT_clip(_FlockPanel, bpy.types.Panel):
    bl_label = "Clip"

    def draw_flock(self, layout, flock, scene) -> None:
        modifier = nodes.find_modifier(flock)
        if modifier is not None:
            column = layout.column(align=True)
            for name in ("Speed", "Time Offset", "Move First Frame", "First Frame"):
                owner, key = compat.input_path(modifier, name)
                column.prop(owner, key, text=name)
        column = layout.column(align=True)
        if clip_operators.can_reclaim(flock):
            column.operator(clip_operators.FLOCK_OT_clip_reclaim.bl_idname, icon="LOOP_BACK")
        column.operator(clip_operators.FLOCK_OT_clip_to_sidecar.bl_idname, icon="EXPORT")
        column.operator(clip_operators.FLOCK_OT_clip_to_file.bl_idname, icon="IMPORT")
        column.operator(clip_operators.FLOCK_OT_clips_remove_unused.bl_idname, icon="TRASH")
        layout.operator(clip_operators.FLOCK_OT_export_points.bl_idname, icon="POINTCLOUD_DATA")


def _draw_range(layout: bpy.types.UILayout, own: properties.FLOCK_PG_flock, scene: bpy.types.Scene) -> None:
    layout.prop(own, "use_scene_range")
    column = layout.column(align=True)
    if own.use_scene_range:
        column.enabled = False
        column.prop(scene, "frame_start", text="Frame Start")
        column.prop(scene, "frame_end", text="End")
    else:
        column.prop(own, "frame_start", text="Frame Start")
        column.prop(own, "frame_end", text="End")


def _draw_go_on(layout, flock, scene) -> None:
    extend, rebake = layout.row(align=True), layout.row(align=True)
    extend.enabled = plan.is_possible(plan.extension, flock, scene)
    text = f"Extend to {properties.frame_range(flock, scene)[1]}"
    extend.operator(operators.FLOCK_OT_extend.bl_idname, text=text, icon="TRACKING_FORWARDS")
    rebake.enabled = plan.is_possible(plan.continuation, flock, scene, scene.frame_current)
    text = f"Rebake from {scene.frame_current}"
    rebake.operator(operators.FLOCK_OT_rebake.bl_idname, text=text, icon="TRACKING_REFINE_FORWARDS")


def _draw_unfinished(layout: bpy.types.UILayout, flock: bpy.types.Object) -> None:
    """A bake that a crash left."""
    box = layout.box()
    _draw_lines(box, bake.unfinished_line(operators.unfinished(flock)), "INFO")
    row = box.row(align=True)
    row.operator(operators.FLOCK_OT_resume.bl_idname, icon="PLAY")
    row.operator(operators.FLOCK_OT_discard.bl_idname, text="Discard", icon="TRASH")


def _draw_state(layout: bpy.types.UILayout, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    for line in bake.state_lines(flock, scene):
        _draw_lines(layout, line)
    if bake.is_baked(flock):
        _draw_stale(layout, flock, scene)


def _draw_shared(layout: bpy.types.UILayout, flock: bpy.types.Object) -> None:
    """A bake changes only the flock that it is asked for, and can take the others along."""
    others = bake.sharers(flock)
    if others:
        row = layout.row()
        row.label(text=f"Shared by {len(others) + 1}", icon="LINKED")
        row.operator(operators.FLOCK_OT_bake.bl_idname, text="Bake for All", icon="REC").others = True


def _draw_stale(layout: bpy.types.UILayout, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    sentence = stale.sentence(flock, scene)
    row = layout.row()
    _draw_lines(row, sentence, "ERROR" if sentence.startswith("Stale") else "CHECKMARK", 30)
    row.operator(check_operators.FLOCK_OT_check.bl_idname, text="", icon="FILE_REFRESH")


def _draw_engine(layout: bpy.types.UILayout) -> None:
    if bake.engine.problem:
        _draw_lines(layout, bake.engine.problem, "INFO")
    elif bake.engine.is_compiling:
        _draw_lines(layout, "Compiling in the background, once on a machine: a bake waits for it", "INFO")


def _draw_problems(layout: bpy.types.UILayout, flock: bpy.types.Object, scene: bpy.types.Scene) -> None:
    for sentence in bake.problems(flock, scene):
        _draw_lines(layout, sentence, "ERROR")


def _draw_lines(layout: bpy.types.UILayout, sentence: str, icon: str = "NONE", width: int = 38) -> None:
    """A sentence over several labels, as wide as a sidebar usually is."""
    column = layout.column(align=True)
    column.scale_y = 0.85
    for number, line in enumerate(bake.wrapped(sentence, width if icon == "NONE" else width - 4)):
        column.label(text=line, icon=icon if number == 0 else ("BLANK1" if icon != "NONE" else "NONE"))


class FLOCK_PT_creature(_FlockPanel, bpy.types.Panel):
    bl_label = "Creature"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        layout.prop(own, "creature_type", expand=True)
        layout.prop(own, "creature" if own.creature_type == "OBJECT" else "creature_collection", text="Creature")
        modifier = nodes.find_modifier(flock)
        if modifier is None:
            layout.label(text="The Flock modifier was removed", icon="ERROR")
            return
        for name in ("Forward Axis", "Scale", "Scale Variation", "Flapping", "Flap Angle", "Show"):
            owner, key = compat.input_path(modifier, name)
            layout.prop(owner, key, text=name)


class FLOCK_PT_spawn(_FlockPanel, bpy.types.Panel):
    bl_label = "Boids"
    bl_options = set()

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        for name in ("count", "seed", "body_length"):
            layout.prop(own, name)


class FLOCK_PT_spawn_more(_FlockPanel, bpy.types.Panel):
    bl_label = "Spawn"
    bl_parent_id = "FLOCK_PT_spawn"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        layout.prop(own, "spacing")
        layout.prop(own, "spawn_shape")
        if own.spawn_shape == "BOX":
            layout.prop(own, "spawn_proportions")
        for name in ("start", "initial_speed", "initial_speed_variation", "release_duration"):
            layout.prop(own, name)
        column = layout.column(align=True)
        column.prop(own, "speed_variation", text="Variation Speed", slider=True)
        column.prop(own, "size_variation", text="Size", slider=True)
        column.prop(own, "weight_variation", text="Character", slider=True)


class FLOCK_PT_target(_FlockPanel, bpy.types.Panel):
    bl_label = "Target"
    bl_options = set()

    def draw_flock(self, layout, flock, scene) -> None:
        layout.prop(flock.flock, "target")
        layout.prop(flock.flock, "attraction")


class FLOCK_UL_repulsors(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0) -> None:
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, icon="SPHERE")
        own = item.flock_repulsor
        row.prop(own, "mute", text="", emboss=False, icon="HIDE_ON" if own.mute else "HIDE_OFF")

    def filter_items(self, context, data, name) -> Any:
        return listed(getattr(data, name), self.filter_name, self.bitflag_filter_item), []


def listed(items: bpy.types.bpy_prop_collection, name: str, flag: int) -> list[int]:
    """The flag for each repulsor whose name fits what is searched for, and 0 for what else the collection holds."""
    fits = bpy.types.UI_UL_list.filter_items_by_name(name, flag, items, "name") or [flag] * len(items)
    return [bit if properties.is_repulsor(item) else 0 for bit, item in zip(fits, items, strict=True)]


class FLOCK_PT_repulsors(_FlockPanel, bpy.types.Panel):
    bl_label = "Repulsors"
    bl_options = set()

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        row = layout.row()
        if own.repulsors:
            row.template_list(
                "FLOCK_UL_repulsors", "", own.repulsors, "all_objects", own, "active_repulsor", rows=_BLENDER_LIST_ROWS
            )
        else:
            row.label(text="None yet")
        column = row.column(align=True)
        column.operator(operators.FLOCK_OT_repulsor_add.bl_idname, text="", icon="ADD")
        column.operator(operators.FLOCK_OT_repulsor_remove.bl_idname, text="", icon="REMOVE")
        layout.prop(own, "repulsors", text="")
        active = operators.active_repulsor(flock)
        if active:
            column = layout.column(align=True)
            column.prop(active.flock_repulsor, "radius")
            column.prop(active.flock_repulsor, "strength")


class FLOCK_PT_avoidance(_FlockPanel, bpy.types.Panel):
    bl_label = "Avoidance"
    bl_parent_id = "FLOCK_PT_repulsors"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        for name in ("avoidance", "look_ahead", "clearance", "collision_decay", "feelers"):
            layout.prop(own, name)
        if own.feelers:
            layout.prop(own, "feeler_length")


class FLOCK_PT_rules(_FlockPanel, bpy.types.Panel):
    bl_label = "Rules"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        for name in ("separation", "alignment", "cohesion"):
            rule = getattr(own, name)
            column = layout.column(align=True)
            column.prop(rule, "weight", text=f"{name.capitalize()} Weight")
            column.prop(rule, "radius")
            column.prop(rule, "field_of_view")
        layout.prop(own, "neighbours")
        column = layout.column(align=True)
        column.prop(own, "wander")
        column.prop(own, "wander_rate", text="Rate")
        layout.prop(own, "level_flight")


class FLOCK_PT_rules_more(_FlockPanel, bpy.types.Panel):
    bl_label = "Fine Print"
    bl_parent_id = "FLOCK_PT_rules"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        for name in ("separation", "alignment", "cohesion"):
            rule = getattr(own, name)
            column = layout.column(align=True)
            column.prop(rule, "steer", text=name.capitalize())
            column.prop(rule, "total")
            column.prop(rule, "inner_radius")
        layout.prop(own.alignment, "count_self")
        for name in ("edge", "falloff", "zones", "alignment_of", "cohesion_of", "attraction_steer"):
            layout.prop(own, name)
        for name in ("acceleration", "blending", "integration"):
            layout.prop(own, name)


class FLOCK_PT_motion(_FlockPanel, bpy.types.Panel):
    bl_label = "Motion"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        column = layout.column(align=True)
        column.prop(own, "cruise_speed")
        column.prop(own, "min_speed", text="Min")
        column.prop(own, "max_speed", text="Max")
        column.prop(own, "speed_control", text="Control")
        layout.prop(own, "max_acceleration")
        layout.prop(own, "response_time")
        _draw_switched(layout, own, "limit_turn_rate", "max_turn_rate")
        column = layout.column(align=True)
        column.prop(own, "max_climb")
        column.prop(own, "max_dive", text="Dive")
        layout.prop(own, "drag")
        column = layout.column(align=True)
        column.prop(own, "noise")
        column.prop(own, "noise_shape", text="Shape")
        layout.prop(own, "plane")


class FLOCK_PT_banking(_FlockPanel, bpy.types.Panel):
    bl_label = "Banking"

    def draw_flock(self, layout, flock, scene) -> None:
        for name in ("banking", "gravity", "roll_rate", "smoothing", "beat_rate"):
            layout.prop(flock.flock, name)


class FLOCK_PT_space(_FlockPanel, bpy.types.Panel):
    bl_label = "Space"

    def draw_flock(self, layout, flock, scene) -> None:
        own = flock.flock
        layout.prop(own, "space")
        if own.space != "OPEN":
            layout.prop(own, "boundary")
            layout.prop(own, "space_centre")
            layout.prop(own, "space_size")
        _draw_switched(layout, own, "limit_height", "min_height")
        column = layout.column(align=True)
        column.prop(own, "sources")
        if own.sources:
            column.prop(own, "source_interval")
            column.prop(own, "source_size")


def _draw_switched(layout: bpy.types.UILayout, own: properties.FLOCK_PG_flock, switch: str, name: str) -> None:
    layout.prop(own, switch)
    if getattr(own, switch):
        layout.prop(own, name)


_classes = (
    FLOCK_UL_repulsors,
    FLOCK_PT_flock,  # from here on in the order of the work
    FLOCK_PT_spawn,
    FLOCK_PT_spawn_more,
    FLOCK_PT_target,
    FLOCK_PT_repulsors,
    FLOCK_PT_avoidance,
    FLOCK_PT_bake,
    FLOCK_PT_bake_more,
    FLOCK_PT_flight_check,
    FLOCK_PT_clip,
    FLOCK_PT_creature,
    FLOCK_PT_rules,
    FLOCK_PT_rules_more,
    FLOCK_PT_motion,
    FLOCK_PT_banking,
    FLOCK_PT_space,
)
register, unregister = bpy.utils.register_classes_factory(_classes)
