# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""New Flock, its settings, and its repulsors."""

import importlib
import math
import random
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
    for name in core.LENGTHS:
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


# -- where a new repulsor goes -----------------------------------------------------------------------------------------


def add_repulsor(flock):
    bpy.context.view_layer.objects.active = flock
    assert bpy.ops.flock.repulsor_add() == {"FINISHED"}
    return bpy.context.object


def test_repulsors_that_are_added_at_one_place_lie_beside_one_another(flock):
    """They are spheres of five lengths, and the cursor stays where it is."""
    bpy.context.scene.cursor.location = (1.0, 2.0, 3.0)
    places = [tuple(add_repulsor(flock).location) for _ in range(4)]
    assert places == [(1.0, 2.0, 3.0), (11.0, 2.0, 3.0), (21.0, 2.0, 3.0), (31.0, 2.0, 3.0)]


def test_a_new_repulsor_touches_none_that_is_there_however_large_or_moved(flock, properties, flock_addon):
    """Against the distances between all pairs, measured in the evaluated scene."""
    rng = random.Random(1)
    arm = bpy.data.objects.new("Arm", None)
    bpy.context.scene.collection.objects.link(arm)
    arm.location, arm.scale = (4.0, -3.0, 2.0), (2.0, 2.0, 2.0)
    for number in range(12):
        other = bpy.data.objects.new(f"Other {number}", None)
        flock.flock.repulsors.objects.link(other)
        other.empty_display_size = rng.uniform(0.5, 8.0)
        other.location = [rng.uniform(-20.0, 20.0) for _ in range(3)]
        other.scale = (1.0, rng.uniform(0.5, 1.5), 1.0)
        other.parent = arm if number % 2 else None
    old = properties.repulsors(flock)
    new = [add_repulsor(flock) for _ in range(3)]
    graph = bpy.context.evaluated_depsgraph_get()
    spheres = {
        item: (seen.translation, item.empty_display_size * max(seen.to_scale()))
        for item in (*old, *new)
        for seen in [item.evaluated_get(graph).matrix_world]
    }
    for item in new:
        centre, radius = spheres[item]
        assert tuple(centre.yz) == (0.0, 0.0)
        for other in (*old, *new):
            distance = (spheres[other][0] - centre).length
            assert other == item or distance >= (radius + spheres[other][1]) * (1 - 1e-6), (item, other)


def test_a_place_is_taken_also_by_repulsors_that_the_view_layer_does_not_show(flock):
    exclude(flock.flock.repulsors)
    bpy.context.scene.cursor.location = (0.0, 31.0, 0.0)  # inside the one that came with the flock
    bpy.ops.flock.repulsor_add()
    assert [tuple(item.location) for item in flock.flock.repulsors.objects] == [(0.0, 30.0, 0.0), (10.0, 31.0, 0.0)]


def test_an_added_repulsor_is_undone(flock):
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.flock.repulsor_add()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert [item.name for item in bpy.data.objects["Flock"].flock.repulsors.objects] == ["Flock Repulsor"]


# -- what is linked, overridden or not shown ---------------------------------------------------------------------------


def datablocks():
    """Kind and name of all that an operator could leave behind."""
    kinds = ("objects", "collections", "meshes", "node_groups")
    return {(kind, item.name, item.library) for kind in kinds for item in getattr(bpy.data, kind)}


@pytest.fixture
def linked(flock, tmp_path):
    """A baked flock that is linked from another file, with its collection."""
    flock.flock.count, flock.flock.pre_roll, bpy.context.scene.frame_end = 20, 0.0, 5
    bpy.ops.flock.bake()
    path = str(tmp_path / "asset.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.collections = ["Flock"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    found = next(item for item in bpy.data.objects if item.flock.is_flock)
    bpy.context.view_layer.objects.active = found
    return found


def override(flock):
    """Of a linked flock and all that belongs to it, as the outliner makes it."""
    bpy.context.scene.collection.children.unlink(flock.users_collection[0])
    group = next(item for item in bpy.data.collections if item.library and item.name == "Flock")
    group.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    found = next(item for item in bpy.data.objects if item.flock.is_flock and not item.library)
    bpy.context.view_layer.objects.active = found
    return found


def layer_of(group):
    def search(layer):
        return layer if layer.collection == group else next(filter(None, map(search, layer.children)), None)

    return search(bpy.context.view_layer.layer_collection)


def exclude(group):
    layer_of(group).exclude = True


@pytest.mark.parametrize("overridden", [False, True])
def test_a_new_flock_beside_a_linked_one_goes_into_the_scenes_collection(linked, properties, overridden):
    there = override(linked) if overridden else linked
    bpy.context.view_layer.active_layer_collection = layer_of(there.users_collection[0])
    assert bpy.context.collection == there.users_collection[0]
    assert bpy.ops.flock.new() == {"FINISHED"}
    made = bpy.context.object
    assert made != there and properties.is_flock(made) and made.library is None
    (home,) = made.users_collection
    assert home in list(bpy.context.scene.collection.children)
    assert {item.library for item in properties.members(made)} == {None}


@pytest.mark.parametrize("where", ["eye", "monitor", "excluded"])
def test_a_new_flock_is_seen_also_where_the_active_collection_is_not(fresh, where):
    group = bpy.data.collections.new("Not Seen")
    fresh.collection.children.link(group)
    layer = layer_of(group)
    bpy.context.view_layer.active_layer_collection = layer
    owner, name = {
        "eye": (layer, "hide_viewport"), "monitor": (group, "hide_viewport"), "excluded": (layer, "exclude"),
    }[where]  # fmt: skip
    setattr(owner, name, True)
    assert bpy.ops.flock.new() == {"FINISHED"}
    assert bpy.context.object.name == "Flock" and bpy.context.object.visible_get()


@pytest.mark.parametrize("operator", ["new", "export_points"])
def test_nothing_is_added_to_a_linked_scene(flock, tmp_path, operator):
    path = str(tmp_path / "asset.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (source, wanted):
        wanted.scenes = source.scenes
    (scene,) = wanted.scenes
    before = datablocks()
    with (
        bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]),
        pytest.raises(RuntimeError, match="The scene is linked from another file: do this there"),
    ):
        getattr(bpy.ops.flock, operator)()
    assert datablocks() == before


@pytest.mark.parametrize("overridden", [False, True])
def test_points_for_export_go_beside_a_linked_flock(linked, overridden):
    flock = override(linked) if overridden else linked
    assert bpy.ops.flock.export_points() == {"FINISHED"}
    twin = bpy.context.object
    assert twin.name == "Flock Points" and twin.parent == flock and twin.library is None
    assert list(twin.users_collection) == [bpy.context.scene.collection]
    mesh = twin.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert len(mesh.vertices) == flock.flock.count


def test_points_for_export_of_a_flock_that_is_not_seen(flock, capfd):
    exclude(flock.users_collection[0])
    assert bpy.ops.flock.export_points() == {"FINISHED"}
    assert "'Flock Points' is there, but not seen: show its collection 'Flock'" in capfd.readouterr().out


@pytest.mark.parametrize("operator", ["repulsor_add", "repulsor_remove"])
def test_a_linked_flock_keeps_its_repulsors(linked, properties, operator):
    before = datablocks()
    with pytest.raises(RuntimeError, match="'Flock' is linked from another file: make a library override of it"):
        getattr(bpy.ops.flock, operator)()
    assert datablocks() == before and len(properties.repulsors(linked)) == 1


def test_an_override_of_a_linked_flock_gets_repulsors_of_its_own(linked, properties, tmp_path):
    flock = override(linked)
    before = datablocks()
    bpy.context.scene.cursor.location = (0.0, 30.0, 0.0)  # where the linked one is
    bpy.ops.flock.repulsor_add()
    added = bpy.context.object
    assert datablocks() - before == {
        ("objects", "Flock Repulsor.001", None), ("collections", "Flock Repulsors.001", None),
    }  # fmt: skip
    assert added.library is None and added.select_get() and tuple(added.location) == (10.0, 30.0, 0.0)
    bpy.ops.flock.repulsor_add()  # at hand by way of the one that was added, and into the same collection
    assert [item.name for item in properties.repulsors(flock)] == [
        "Flock Repulsor.001", "Flock Repulsor.002", "Flock Repulsor",
    ]  # fmt: skip

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    flock = next(item for item in bpy.data.objects if item.flock.is_flock and not item.library)
    assert [item.library for item in properties.repulsors(flock)] == [None, None, None]
    bpy.context.view_layer.objects.active = flock
    flock.flock.active_repulsor = 1
    assert bpy.ops.flock.repulsor_remove() == {"FINISHED"}
    assert [item.name for item in properties.repulsors(flock)] == ["Flock Repulsor.001", "Flock Repulsor"]


@pytest.mark.parametrize("overridden", [False, True])
def test_no_button_of_a_linked_flock_ends_in_a_traceback(linked, tmp_path, overridden):
    flock = override(linked) if overridden else linked
    bpy.context.scene.frame_current = 3
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    refused = {}
    for name in dir(bpy.ops.flock):
        bpy.context.view_layer.objects.active = flock
        try:
            getattr(bpy.ops.flock, name)()
        except RuntimeError as error:
            refused[name] = str(error)
    assert len(dir(bpy.ops.flock)) > 15
    assert not [name for name, error in refused.items() if "Traceback" in error], refused
    assert ("bake" in refused) is not overridden


def test_what_an_override_says_of_a_repulsor_is_kept(linked, properties, tmp_path):
    (repulsor,) = properties.repulsors(override(linked))
    repulsor.flock_repulsor.mute, repulsor.flock_repulsor.strength, repulsor.flock_repulsor.radius = True, 3.0, 2.0
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    flock = next(item for item in bpy.data.objects if item.flock.is_flock and not item.library)
    (own,) = [item.flock_repulsor for item in properties.repulsors(flock)]
    assert (own.mute, own.strength, own.radius) == (True, 3.0, 2.0)


def test_an_overridden_repulsor_is_not_deleted(linked, properties):
    flock = override(linked)
    with pytest.raises(RuntimeError, match="'Flock Repulsor' belongs to another file: delete it there, or mute"):
        bpy.ops.flock.repulsor_remove()
    assert len(properties.repulsors(flock)) == 1


def test_a_linked_repulsor_is_not_deleted(linked, properties):
    theirs = linked.flock.repulsors
    bpy.ops.flock.new()
    flock = bpy.context.object
    flock.flock.repulsors = theirs
    with pytest.raises(RuntimeError, match="'Flock Repulsor' belongs to another file"):
        bpy.ops.flock.repulsor_remove()
    added = add_repulsor(flock)
    assert added.library is None and properties.repulsors(flock) == [added, theirs.objects[0]]


@pytest.mark.parametrize(
    "hide",
    [
        lambda own: exclude(own.repulsors),
        lambda own: setattr(own.repulsors, "hide_viewport", True),
        lambda own: setattr(own, "repulsors", bpy.data.collections.new("In no Scene")),
    ],
    ids=["excluded", "hidden", "in no scene"],
)
def test_a_repulsor_that_is_not_seen_is_added_and_that_is_said(flock, properties, capfd, hide):
    hide(flock.flock)
    group, before = flock.flock.repulsors, len(properties.repulsors(flock))
    assert bpy.ops.flock.repulsor_add() == {"FINISHED"}
    assert f"is there, but not seen: show its collection '{group.name}' in this view layer" in capfd.readouterr().out
    assert len(group.objects) == len(properties.repulsors(flock)) == before + 1
    assert properties.find_flock(bpy.context) == flock


# -- what is no repulsor -----------------------------------------------------------------------------------------------


@pytest.fixture
def wall(flock):
    """A mesh in the collection of repulsors, which the flock does not heed."""
    made = bpy.data.objects.new("A Wall", bpy.data.meshes.new("A Wall"))
    flock.flock.repulsors.objects.link(made)
    return made


def choose(flock, item):
    flock.flock.active_repulsor = flock.flock.repulsors.all_objects.values().index(item)


def test_what_is_no_empty_is_not_removed(flock, wall):
    choose(flock, wall)
    with pytest.raises(RuntimeError, match="Choose a repulsor in the list"):
        bpy.ops.flock.repulsor_remove()
    assert "A Wall" in bpy.data.objects


def test_what_is_no_empty_is_not_listed(flock, wall, flock_addon):
    listed = importlib.import_module(f"{flock_addon.__name__}.panels").listed
    inner = bpy.data.collections.new("Inner")
    flock.flock.repulsors.children.link(inner)
    inner.objects.link(bpy.data.objects.new("Ball", None))
    objects = flock.flock.repulsors.all_objects

    def shown(name):
        return {item.name for item, flag in zip(objects, listed(objects, name, 1 << 30), strict=True) if flag}

    assert shown("") == {"Flock Repulsor", "Ball"}
    assert shown("ball") == {"Ball"}
    assert shown("wall") == set()


def test_after_one_is_removed_a_repulsor_is_chosen(flock, wall, flock_addon, properties):
    """So that the button can be pressed again, whatever else lies in the collection."""
    inner = bpy.data.collections.new("Inner")
    flock.flock.repulsors.children.link(inner)
    inner.objects.link(bpy.data.objects.new("Ball", None))
    bpy.context.view_layer.objects.active = flock
    choose(flock, bpy.data.objects["Ball"])
    while properties.repulsors(flock):
        assert bpy.ops.flock.repulsor_remove() == {"FINISHED"}
    assert [item.name for item in flock.flock.repulsors.all_objects] == ["A Wall"]
