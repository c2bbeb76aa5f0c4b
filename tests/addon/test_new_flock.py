# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""New Flock, its settings, and its repulsors."""

import math
from dataclasses import fields

import bpy
import pytest


@pytest.fixture
def flock(fresh):
    bpy.ops.flock.new()
    return bpy.context.object


@pytest.fixture
def properties(flock_addon):
    return flock_addon.properties


@pytest.fixture
def core(flock_addon):
    from bl_ext.user_default.flock.core import settings

    return settings


def instances() -> list:
    graph = bpy.context.evaluated_depsgraph_get()
    return [item.matrix_world.copy() for item in graph.object_instances if item.is_instance]


def test_a_new_flock_has_a_bird_a_target_and_a_repulsor_with_names(flock):
    own = flock.flock
    assert own.is_flock and flock.name == "Flock"
    assert own.creature.name == "Flock Bird"
    assert own.target.name == "Flock Target" and own.target.type == "EMPTY"
    assert [item.name for item in own.repulsors.objects] == ["Flock Repulsor"]
    assert own.repulsors.objects[0].empty_display_type == "SPHERE"
    assert flock.select_get() and bpy.context.selected_objects == [flock]


def test_before_the_first_bake_the_spawned_flock_is_shown(flock):
    boids = {tuple(round(part, 3) for part in matrix.translation) for matrix in instances()}
    assert len(boids) >= flock.flock.count  # bodies and wings
    flock.flock.count = 17
    assert len(flock.data.vertices) == 17 + 2


def test_the_bird_itself_is_not_seen(flock):
    assert flock.flock.creature not in list(bpy.context.view_layer.objects)


def test_two_flocks_have_their_own_targets_and_repulsors(flock):
    bpy.ops.flock.new()
    other = bpy.context.object
    assert other != flock
    assert other.flock.target != flock.flock.target
    assert other.flock.repulsors != flock.flock.repulsors
    playback = [group for group in bpy.data.node_groups if group.name.startswith("Flock Playback")]
    assert len(playback) == 1


def test_the_panel_shows_the_flock_of_whatever_is_selected(flock, properties):
    bpy.ops.flock.new()
    for own in (flock, bpy.context.object):
        for item in (own, own.flock.target, own.flock.repulsors.objects[0], own.flock.creature):
            bpy.context.view_layer.objects.active = item if item.name in bpy.context.view_layer.objects else own
            assert properties.find_flock(bpy.context) == own


def test_the_properties_start_as_the_settings_defaults(flock, properties, core):
    assert properties.to_settings(flock.flock) == core.Settings()


def test_a_new_flock_is_flown_by_the_compiled_step(flock, properties):
    from bl_ext.user_default.flock.core import steering

    assert steering.covers_settings(properties.to_settings(flock.flock))


def test_settings_survive_the_way_through_the_properties(flock, properties, core):
    wanted = core.Settings(
        count=12, seed=5, max_turn_rate=2.0, min_height=-3.0, max_acceleration=math.inf, space="BOX", avoidance="SLIDE",
        separation=core.Rule(2.5, 1.25, 0.25, 3.0, "RAW", "SUM", True), source_size=(1.0, 2.0, 3.0),
    )  # fmt: skip
    properties.from_settings(flock.flock, wanted)
    found = properties.to_settings(flock.flock).to_dict()
    assert {name: value for name, value in found.items() if value != wanted.to_dict()[name]}.keys() <= {
        "alignment", "cohesion", "max_climb", "max_dive", "roll_rate",
    }  # fmt: skip  # angles are float32


def test_the_body_length_scales_every_length_and_speed(flock, properties, core):
    flock.flock.body_length = 0.25
    found, wanted = properties.to_settings(flock.flock), core.Settings().scaled(0.25)
    for name in core._LENGTHS:
        assert getattr(found, name) == pytest.approx(getattr(wanted, name)), name
    for name in core.RULES:
        assert getattr(found, name).radius == pytest.approx(getattr(wanted, name).radius)


def test_the_body_length_scales_the_weights_that_go_with_it(flock, properties, core):
    own = core.Settings(separation=core.Rule(2.0, steer="RAW"), alignment=core.Rule(3.0), attraction_steer="UNIT")
    properties.from_settings(flock.flock, own)
    flock.flock.body_length = 4.0
    found, wanted = properties.to_settings(flock.flock), own.scaled(4.0)
    # 1 / d is an acceleration only if its weight is a length times an acceleration: it grows with the square
    assert wanted.separation.weight == 32.0 and wanted.alignment.weight == 12.0
    for name in core.RULES:
        assert getattr(found, name).weight == pytest.approx(getattr(wanted, name).weight)
    assert found.attraction == pytest.approx(wanted.attraction)


def test_the_creatures_are_drawn_as_different_in_size_as_the_settings_say(flock, flock_addon):
    flock.flock.size_variation = 0.3
    modifier = flock_addon.nodes.find_modifier(flock)
    assert flock_addon.compat.get_input(modifier, "Scale Variation") == pytest.approx(0.3)


def test_every_setting_has_a_property_with_a_name_a_description_and_an_override(flock, core):
    for owner, kind in [
        (flock.flock, core.Settings),
        *((getattr(flock.flock, name), core.Rule) for name in core.RULES),
    ]:
        for entry in fields(kind):
            described = owner.bl_rna.properties[entry.name]
            assert described.name and described.description, entry.name
            assert not described.description.endswith("."), entry.name
            assert described.is_overridable, entry.name


def test_a_repulsors_radius_is_the_size_of_the_sphere_that_is_drawn(flock):
    repulsor = flock.flock.repulsors.objects[0]
    repulsor.flock_repulsor.radius = 7.0
    assert repulsor.empty_display_size == 7.0
    repulsor.empty_display_size = 2.0
    assert repulsor.flock_repulsor.radius == 2.0


def test_a_duplicated_repulsor_is_another_repulsor(flock, properties):
    repulsor = flock.flock.repulsors.objects[0]
    repulsor.flock_repulsor.strength = 0.5
    bpy.context.view_layer.objects.active = repulsor
    flock.select_set(False)
    repulsor.select_set(True)
    bpy.ops.object.duplicate()
    assert len(properties.repulsors(flock)) == 2
    assert bpy.context.object.flock_repulsor.strength == 0.5


def test_repulsors_are_added_and_removed(flock, properties):
    bpy.context.scene.cursor.location = (1.0, 2.0, 3.0)
    bpy.ops.flock.repulsor_add()
    added = bpy.context.object
    assert tuple(added.location) == (1.0, 2.0, 3.0)
    assert len(properties.repulsors(flock)) == 2
    bpy.ops.flock.repulsor_remove()
    assert len(properties.repulsors(flock)) == 1
    bpy.ops.flock.repulsor_remove()
    assert properties.repulsors(flock) == []
    assert not bpy.ops.flock.repulsor_remove.poll()


def test_a_flock_whose_repulsors_are_gone_gets_a_new_collection(flock, properties):
    bpy.data.collections.remove(flock.flock.repulsors)
    bpy.ops.flock.repulsor_add()
    assert len(properties.repulsors(flock)) == 1
