# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a flock in production: it is appended, linked, overridden, renamed, duplicated, saved elsewhere, and undone."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

FRAMES = (1, 3.25, 5)


@pytest.fixture
def modules(fresh, flock_addon):
    names = ("bake", "checking", "clip", "nodes", "properties", "stale", "handlers")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


def new_flock(count=6):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 5
    bpy.ops.flock.new(count=count)
    item = bpy.context.object
    item.flock.pre_roll = 0.0
    assert bpy.ops.flock.bake() == {"FINISHED"}
    return item


@pytest.fixture
def flock(modules):
    return new_flock()


def looks(item, frames=FRAMES):
    """The matrices of all instances of a flock at some frames."""
    seen = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
        graph = bpy.context.evaluated_depsgraph_get()
        seen += [
            np.array(entry.matrix_world)
            for entry in graph.object_instances
            if entry.is_instance and entry.parent.original == item
        ]
    return np.array(seen)


def activate(item):
    for other in bpy.context.view_layer.objects:
        other.select_set(other == item)
    bpy.context.view_layer.objects.active = item


def new_empty(name, place):
    item = bpy.data.objects.new(name, None)
    item.location = place
    bpy.context.scene.collection.objects.link(item)
    return item


# -- append ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def asset(modules, tmp_path):
    """The path of a file with a baked flock, and what it looks like; a new file is open."""
    item = new_flock()
    expected = looks(item)
    path = tmp_path / "assets" / "birds.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return path, expected


def append(path, kind="Collection", name="Flock"):
    folder = f"{path}/{kind}/"
    assert bpy.ops.wm.append(filepath=folder + name, directory=folder, filename=name) == {"FINISHED"}


def group_names(modules):
    return sorted(group.name for group in bpy.data.node_groups if modules.nodes.is_ours(group))


def test_appending_twice_leaves_one_node_group_of_each_kind(modules, asset):
    path, expected = asset
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 5
    append(path)
    once = group_names(modules)
    assert once == sorted({"Flock Playback", "Flock Boids", "Flock Wing"})
    append(path)
    assert group_names(modules) == once
    flocks = modules.properties.flocks(bpy.context.scene)
    assert len(flocks) == 2
    for item in flocks:
        np.testing.assert_array_equal(looks(item), expected)
        assert modules.stale.changes(item, exact=True) == []
    activate(flocks[1])
    flocks[1].flock.seed = 3
    bpy.ops.flock.bake()
    np.testing.assert_array_equal(looks(flocks[0]), expected)


def test_appending_into_a_file_with_flocks_of_its_own_leaves_one_too(modules, asset):
    path, expected = asset
    own = new_flock(count=4)
    before, mine = group_names(modules), looks(own)
    append(path)
    assert group_names(modules) == before
    np.testing.assert_array_equal(looks(own), mine)
    other = next(item for item in modules.properties.flocks(bpy.context.scene) if item != own)
    np.testing.assert_array_equal(looks(other), expected)


def test_a_node_group_that_is_asked_for_is_not_taken_away(modules, asset):
    path, _ = asset
    append(path)
    with bpy.data.libraries.load(str(path)) as (_, target):
        target.node_groups = ["Flock Playback"]
    assert target.node_groups[0].name.startswith("Flock Playback")
    assert bpy.data.node_groups.get(target.node_groups[0].name) == target.node_groups[0]


def test_after_the_add_on_is_gone_nothing_acts_on_an_append(modules, asset, flock_addon):
    path, expected = asset
    flock_addon.unregister()
    try:
        append(path)
        append(path)
        assert len(group_names(modules)) == 6
    finally:
        flock_addon.register()
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)


def test_an_appended_flock_has_its_clip_from_beside_the_other_file(modules, tmp_path):
    item = new_flock()
    expected = looks(item)
    path = tmp_path / "birds.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.flock.clip_to_sidecar()
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    append(path)
    item = bpy.data.objects["Flock"]
    np.testing.assert_array_equal(looks(item), expected)
    shot = tmp_path / "shots" / "shot.blend"
    shot.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)


# -- library overrides -----------------------------------------------------------------------------------------------


def override_in_shot(asset, tmp_path):
    """A shot file with a linked flock that is overridden; returns the override's flock object."""
    path, _ = asset
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 5
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    with bpy.data.libraries.load(str(path), link=True, relative=True) as (_, target):
        target.collections = ["Flock"]
    birds = target.collections[0]
    bpy.context.scene.collection.children.link(birds)
    own = birds.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    return next(item for item in own.all_objects if item.flock.is_flock)


def reopened(tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    return next(item for item in bpy.data.objects if item.flock.is_flock and item.override_library)


@pytest.mark.parametrize("storage", ["FILE", "SIDECAR"])
def test_an_override_has_a_target_settings_and_a_clip_of_its_own(modules, asset, tmp_path, storage):
    item = override_in_shot(asset, tmp_path)
    np.testing.assert_array_equal(looks(item), asset[1])
    assert modules.stale.changes(item, exact=True) == []

    item.flock.target = new_empty("Shot Target", (40.0, -10.0, 5.0))
    item.flock.separation.weight, item.flock.storage = 2.5, storage
    assert modules.stale.changes(item, exact=True) == ["Separation weight", "Target motion"]
    activate(item)
    assert bpy.ops.flock.bake() == {"FINISHED"}
    expected = looks(item)
    assert not np.array_equal(expected, asset[1])

    def check(item):
        assert item.flock.target.name == "Shot Target" and item.flock.separation.weight == 2.5
        assert modules.clip.is_sidecar(item.data) == (storage == "SIDECAR")
        np.testing.assert_array_equal(looks(item), expected)
        assert modules.stale.changes(item, exact=True) == []

    check(item)
    item = reopened(tmp_path)
    check(item)
    root = item.override_library.hierarchy_root
    assert root.override_library.resync(bpy.context.scene, view_layer=bpy.context.view_layer)
    item = next(other for other in bpy.data.objects if other.flock.is_flock and other.override_library)
    check(item)
    check(reopened(tmp_path))


def test_the_target_and_the_repulsors_of_an_override_are_its_own_too(modules, asset, tmp_path):
    item = override_in_shot(asset, tmp_path)
    target, repulsor = item.flock.target, item.flock.repulsors.objects[0]
    assert target.override_library and repulsor.override_library and item.flock.creature
    target.location.x += 5.0
    repulsor.flock_repulsor.radius, repulsor.flock_repulsor.strength = 2.0, 0.5
    expected = ["Target motion", "Flock Repulsor radius", "Flock Repulsor strength"]
    assert modules.stale.changes(item, exact=True) == expected
    item = reopened(tmp_path)
    assert modules.stale.changes(item, exact=True) == expected
    activate(item)
    bpy.ops.flock.bake()
    item = reopened(tmp_path)
    assert modules.stale.changes(item, exact=True) == []
    assert item.flock.repulsors.objects[0].flock_repulsor.radius == 2.0


def test_an_override_keeps_its_own_when_the_asset_changes(modules, asset, tmp_path):
    item = override_in_shot(asset, tmp_path)
    item.flock.target = new_empty("Shot Target", (40.0, -10.0, 5.0))
    activate(item)
    bpy.ops.flock.bake()
    expected = looks(item)
    bpy.ops.wm.save_mainfile()

    bpy.ops.wm.open_mainfile(filepath=str(asset[0]))
    other = bpy.data.objects["Flock"]
    extra = new_empty("Perch", (0.0, 0.0, -30.0))
    bpy.context.scene.collection.objects.unlink(extra)
    other.users_collection[0].objects.link(extra)  # the hierarchy is another now, so that opening the shot resyncs
    other.flock.seed = 8
    activate(other)
    bpy.ops.flock.bake()
    bpy.ops.wm.save_mainfile()

    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    item = next(entry for entry in bpy.data.objects if entry.flock.is_flock and entry.override_library)
    assert item.flock.target.name == "Shot Target"
    np.testing.assert_array_equal(looks(item), expected)
    assert modules.stale.changes(item, exact=True) == ["Seed"], "the asset's new seed came through, and is named"


def test_a_linked_flock_says_what_to_do_and_is_not_touched(modules, asset, tmp_path):
    path, expected = asset
    with bpy.data.libraries.load(str(path), link=True) as (_, target):
        target.collections = ["Flock"]
    bpy.context.scene.collection.children.link(target.collections[0])
    item = bpy.data.objects["Flock"]
    activate(item)
    with pytest.raises(RuntimeError, match="make a library override"):
        bpy.ops.flock.bake()
    np.testing.assert_array_equal(looks(item), expected)
    assert modules.stale.changes(item, exact=True) in ([], ["Frame range"])


def link(path, kind):
    """Links what is called so, or the scene."""
    with bpy.data.libraries.load(str(path), link=True) as (_, target):
        setattr(target, kind, ["Scene" if kind == "scenes" else "Flock"])
    return getattr(target, kind)[0]


def linked_object(asset, tmp_path):
    bpy.context.scene.collection.objects.link(link(asset[0], "objects"))


def linked_collection(asset, tmp_path):
    bpy.context.scene.collection.children.link(link(asset[0], "collections"))


def linked_scene(asset, tmp_path):
    bpy.context.window.scene = link(asset[0], "scenes")


def appended_and_excluded(asset, tmp_path):
    append(asset[0])
    bpy.context.view_layer.layer_collection.children["Flock"].exclude = True


def appended_and_hidden(asset, tmp_path):
    append(asset[0])
    bpy.data.objects["Flock"].hide_set(True)


PLACES = (linked_object, linked_collection, linked_scene, override_in_shot, appended_and_excluded, appended_and_hidden)
OPERATORS = (
    "check",
    "check_flight",
    "jump",
    "export_points",
    "clip_to_file",
    "clip_to_sidecar",
    "clip_reclaim",
    "clips_remove_unused",
)


@pytest.mark.parametrize("place", PLACES)
def test_what_can_be_asked_of_a_clip_works_or_is_a_sentence_wherever_the_flock_is(modules, asset, tmp_path, place):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    place(asset, tmp_path)
    flock = max(modules.properties.flocks(bpy.context.scene), key=lambda item: item.override_library is not None)
    bpy.context.view_layer.update()
    if flock in bpy.context.view_layer.objects.values():
        activate(flock)
    done, said = 0, []
    for name in OPERATORS:
        operator = getattr(bpy.ops.flock, name)
        if operator.poll():
            try:
                done += operator() == {"FINISHED"}
            except RuntimeError as error:
                said.append(str(error))
    assert done >= 3 and not any("Traceback" in sentence for sentence in said)
    modules.checking.lines(flock)
    assert all(isinstance(sentence, str) for sentence in modules.bake.problems(flock, bpy.context.scene))


def test_an_override_takes_the_assets_clip_into_the_shot(modules, asset, tmp_path):
    item = override_in_shot(asset, tmp_path)
    activate(item)
    assert bpy.ops.flock.clip_to_file() == {"FINISHED"}
    original = item.override_library.reference
    assert item.data.library is None and original.data.library == original.library
    item = reopened(tmp_path)
    assert item.data.library is None
    np.testing.assert_array_equal(looks(item), asset[1])


def test_an_override_that_was_converted_gets_its_clip_back(modules, asset, tmp_path):
    path, expected = asset
    birds = link(path, "collections")
    bpy.context.scene.collection.children.link(birds)
    own = birds.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    activate(next(item for item in own.all_objects if item.flock.is_flock))
    bpy.ops.object.convert(target="MESH")
    assert not bpy.context.object.data.vertices
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    item = next(item for item in bpy.data.objects if item.flock.is_flock and item.override_library)
    np.testing.assert_array_equal(looks(item), expected)


# -- names, scenes, files --------------------------------------------------------------------------------------------


def test_everything_can_be_renamed(modules, flock):
    expected = looks(flock)
    own = flock.flock
    named = [
        flock,
        flock.data,
        own.target,
        own.creature,
        own.repulsors,
        own.repulsors.objects[0],
        *flock.users_collection,
    ]
    named += [flock.modifiers[0], *bpy.data.node_groups, *bpy.data.collections, bpy.context.scene]
    for number, item in enumerate(named):
        item.name = f"Thing {number}"
    np.testing.assert_array_equal(looks(flock), expected)
    assert modules.stale.changes(flock, exact=True) == []
    groups, objects = len(bpy.data.node_groups), len(bpy.data.objects)
    bpy.ops.flock.bake()
    np.testing.assert_array_equal(looks(flock), expected)
    assert (len(bpy.data.node_groups), len(bpy.data.objects), len(flock.modifiers)) == (groups, objects, 1)


def test_in_a_scene_of_another_frame_rate_a_clip_is_frame_locked(modules, flock):
    expected = looks(flock)
    other = bpy.data.scenes.new("Slow")
    other.render.fps = 48
    other.frame_start, other.frame_end = 1, 5
    for item in flock.users_collection[0].all_objects:
        other.collection.objects.link(item)
    assert any("at 24 fps" in line for line in modules.bake.state_lines(flock, other))
    assert modules.stale.changes(flock, scene=other) == ["Frame rate"]
    bpy.context.window.scene = other
    np.testing.assert_array_equal(looks(flock), expected)


def test_saving_elsewhere_and_reverting_keep_the_clip(modules, flock, tmp_path):
    expected = looks(flock)
    path = tmp_path / "shot" / "shot.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.flock.clip_to_sidecar()
    bpy.ops.wm.save_mainfile()

    flock.flock.seed = 4
    bpy.ops.flock.bake()
    assert not np.array_equal(looks(flock), expected)
    bpy.ops.wm.revert_mainfile()
    flock = bpy.data.objects["Flock"]
    np.testing.assert_array_equal(looks(flock), expected)

    other = tmp_path / "other" / "copy.blend"
    other.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    activate(flock)
    flock.flock.seed, flock.flock.storage = 5, "SIDECAR"
    bpy.ops.flock.bake()
    mine = looks(flock)
    bpy.ops.wm.save_mainfile()
    for file, look in ((path, expected), (other, mine)):
        bpy.ops.wm.open_mainfile(filepath=str(file))
        np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), look)


def test_a_copied_scene_has_the_same_clip(modules, flock):
    expected = looks(flock)
    bpy.ops.scene.new(type="LINK_COPY")
    np.testing.assert_array_equal(looks(flock), expected)
    bpy.ops.scene.new(type="FULL_COPY")
    copied = next(item for item in bpy.context.scene.objects if item.flock.is_flock)
    assert copied != flock
    np.testing.assert_array_equal(looks(copied), expected)
    assert modules.stale.changes(copied, exact=True) == []


# -- the side-car is away --------------------------------------------------------------------------------------------


@pytest.fixture
def away(modules, flock, tmp_path):
    """A flock whose side-car was not there when its file was opened, what it looked like, and how its folder comes back."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.clip_to_sidecar()
    expected = looks(flock)
    bpy.ops.wm.save_mainfile()
    folder, elsewhere = modules.clip.sidecar_folder(), tmp_path / "away"
    folder.rename(elsewhere)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    return bpy.data.objects["Flock"], expected, lambda: elsewhere.rename(folder)


def change_everything(own):
    """Gives each number, choice and switch of a flock another value."""
    changed = 0
    for prop in own.bl_rna.properties:
        name, kind = prop.identifier, prop.type
        if kind not in ("INT", "FLOAT", "ENUM", "BOOLEAN") or name in ("is_flock", "applied_length", "storage"):
            continue
        value = getattr(own, name)
        if kind == "ENUM":
            value = next((item.identifier for item in prop.enum_items if item.identifier != value), value)
        elif kind == "BOOLEAN":
            value = not value
        else:
            value = [part + 1 for part in value] if prop.is_array else value + 1
        setattr(own, name, value)
        changed += 1
    return changed


def test_a_missing_clip_keeps_its_link_whatever_is_changed(modules, away):
    item, _, come_back = away
    mesh, path = item.data, item.data.library.filepath
    assert change_everything(item.flock) > 50
    assert item.data == mesh and mesh.library.filepath == path
    bpy.ops.wm.save_mainfile()
    come_back()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    item = bpy.data.objects["Flock"]
    assert modules.bake.is_baked(item) and item.data.library.filepath == path
    assert modules.clip.read(item.data).frames == 5


def test_a_missing_clip_heals_on_reopening(modules, away):
    _, expected, come_back = away
    come_back()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)


def test_a_missing_clip_comes_back_without_reopening(modules, away):
    item, expected, come_back = away
    assert not bpy.ops.flock.clip_reclaim.poll()
    come_back()
    assert any("is back: get the clip back" in sentence for sentence in modules.bake.problems(item, bpy.context.scene))
    assert bpy.ops.flock.clip_reclaim() == {"FINISHED"}
    np.testing.assert_array_equal(looks(item), expected)
    assert not modules.clip.missing(item.data)


def test_a_missing_clip_is_said_with_its_path_and_what_to_do(modules, away):
    item, _, _ = away
    path = item.data.library.filepath
    sentences = [sentence for sentence in modules.bake.problems(item, bpy.context.scene) if "clip" in sentence]
    assert sentences == [f"The clip's file {path} is missing: put it back and reopen this file, or bake again"]
    lines = list(modules.bake.state_lines(item, bpy.context.scene))
    assert len(lines) == 1 and lines[0].startswith("Next bake")
    for operator in ("clip_to_file", "clip_to_sidecar", "extend", "rebake", "check", "check_flight"):
        assert not getattr(bpy.ops.flock, operator).poll(), operator
    with pytest.raises(RuntimeError, match=r"clip_to_file.*is missing: put it back"):
        bpy.ops.flock.clip_to_file()
    with pytest.raises(RuntimeError, match=r"extend.*is missing: put it back"):
        bpy.ops.flock.extend()


@pytest.mark.parametrize("others", [False, True])
def test_bake_again_over_a_missing_clip_works(modules, away, others):
    item, expected, come_back = away
    twin = duplicate(item, linked=True)
    activate(item)
    assert bpy.ops.flock.bake(others=others) == {"FINISHED"}
    np.testing.assert_array_equal(looks(item), expected)
    assert (twin.data == item.data) == others and len(bpy.data.libraries) == (not others)
    come_back()
    assert len(list(modules.clip.sidecar_folder().iterdir())) == 1, "nobody has deleted the old one"


def test_an_override_whose_clip_is_missing_keeps_its_link_too(modules, asset, tmp_path):
    item = override_in_shot(asset, tmp_path)
    item.flock.storage = "SIDECAR"
    activate(item)
    bpy.ops.flock.bake()
    expected = looks(item)
    bpy.ops.wm.save_mainfile()
    modules.clip.sidecar_folder().rename(tmp_path / "away")
    item = reopened(tmp_path)
    assert any("is missing" in sentence for sentence in modules.bake.problems(item, bpy.context.scene))
    item.flock.seed = 9
    bpy.ops.wm.save_mainfile()
    (tmp_path / "away").rename(modules.clip.sidecar_folder())
    np.testing.assert_array_equal(looks(reopened(tmp_path)), expected)


def test_a_clip_whose_file_is_deleted_while_it_is_shown_can_be_taken_into_the_file(modules, flock, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.flock.clip_to_sidecar()
    expected = looks(flock)
    for path in modules.clip.sidecar_folder().iterdir():
        path.unlink()
    assert any("take the clip into this file" in text for text in modules.bake.problems(flock, bpy.context.scene))
    assert bpy.ops.flock.clip_to_file() == {"FINISHED"}
    np.testing.assert_array_equal(looks(flock), expected)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    np.testing.assert_array_equal(looks(bpy.data.objects["Flock"]), expected)


def test_a_mesh_of_somebody_else_is_not_taken_for_a_spawn(modules, flock):
    mesh = bpy.data.meshes.new("Cube")
    mesh.vertices.add(8)
    flock.data = mesh
    flock.flock.seed = 9
    assert flock.data == mesh


# -- duplicates ------------------------------------------------------------------------------------------------------


def duplicate(item, linked):
    """What Shift+D does, or Alt+D."""
    activate(item)
    assert bpy.ops.object.duplicate(linked=linked) == {"FINISHED"}
    return bpy.context.object


def test_shift_d_copies_a_clip_in_the_file_and_alt_d_shares_it(modules, flock):
    expected = looks(flock)
    copied = duplicate(flock, linked=False)
    assert copied.data != flock.data and modules.bake.sharers(flock) == []
    shared = duplicate(flock, linked=True)
    assert shared.data == flock.data and modules.bake.sharers(flock) == [shared]
    for item in (copied, shared):
        np.testing.assert_array_equal(looks(item), expected)
        assert modules.stale.changes(item, exact=True) == []


@pytest.mark.parametrize("linked", [False, True])
def test_a_clip_beside_the_file_is_shared_by_both_duplicates(modules, flock, tmp_path, linked):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    activate(flock)
    bpy.ops.flock.clip_to_sidecar()
    twin = duplicate(flock, linked)
    assert twin.data == flock.data and modules.bake.sharers(twin) == [flock]


@pytest.mark.parametrize("storage", ["FILE", "SIDECAR"])
def test_a_bake_leaves_the_others_their_clip_or_takes_them_along(modules, flock, tmp_path, storage):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    flock.flock.storage = storage
    activate(flock)
    bpy.ops.flock.bake()
    expected = looks(flock)
    twin = duplicate(flock, linked=True)
    activate(flock)
    flock.flock.seed = 5
    bpy.ops.flock.bake()
    changed = looks(flock)
    assert not np.array_equal(changed, expected)
    np.testing.assert_array_equal(looks(twin), expected)
    assert modules.bake.sharers(flock) == []

    third = duplicate(flock, linked=True)
    activate(flock)
    flock.flock.separation.weight += 1.0
    bpy.ops.flock.bake(others=True)
    assert modules.bake.sharers(flock) == [third]
    np.testing.assert_array_equal(looks(third), looks(flock))
    assert not np.array_equal(looks(flock), changed)
    np.testing.assert_array_equal(looks(twin), expected)
    assert modules.stale.changes(third) == ["Separation weight"], "its own settings are the old ones"


def test_undo_goes_back_to_what_was_shared(modules, flock):
    twin = duplicate(flock, linked=True)
    expected, names = looks(flock), (flock.name, twin.name)
    bpy.ops.ed.undo_push(message="Shared")
    activate(flock)
    flock.flock.seed = 5
    bpy.ops.flock.bake(others=True)
    changed = looks(flock)
    bpy.ops.ed.undo_push(message="Baked")
    bpy.ops.ed.undo()
    flock, twin = (bpy.data.objects[name] for name in names)
    assert modules.bake.sharers(flock) == [twin]
    np.testing.assert_array_equal(looks(flock), expected)
    np.testing.assert_array_equal(looks(twin), expected)
    bpy.ops.ed.redo()
    flock, twin = (bpy.data.objects[name] for name in names)
    assert modules.bake.sharers(flock) == [twin]
    np.testing.assert_array_equal(looks(twin), changed)


def test_undo_of_a_flight_check_takes_its_findings_away(modules, flock):
    lines, before = modules.checking.lines, modules.checking.lines(flock)
    block(flock)
    bpy.ops.ed.undo_push(message="Blocked")
    activate(flock)
    bpy.ops.flock.check_flight()
    bpy.ops.ed.undo_push(message="Checked")
    found = lines(flock)
    assert found != before
    bpy.ops.ed.undo()
    assert lines(bpy.data.objects["Flock"]) == before
    bpy.ops.ed.redo()
    assert lines(bpy.data.objects["Flock"]) == found


# -- what the flight check found -------------------------------------------------------------------------------------


def block(item):
    """A repulsor around the whole flight."""
    repulsor = item.flock.repulsors.objects[0]
    repulsor.location, repulsor.empty_display_size = item.matrix_world.translation, 500.0


def inside(modules, item):
    """How many boids were found inside an obstacle; None where nobody has looked."""
    found = modules.checking.findings(item)
    return None if found is None else found.inside.count


EVERYBODY = 6 * 5  # boids and frames


@pytest.mark.parametrize("storage", ["FILE", "SIDECAR"])
def test_what_a_check_found_is_known_after_reopening(modules, flock, tmp_path, storage):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    flock.flock.storage = storage
    bpy.ops.flock.bake()
    assert inside(modules, flock) == 0
    block(flock)
    bpy.ops.flock.check_flight()
    assert inside(modules, flock) == EVERYBODY
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    flock = bpy.data.objects["Flock"]
    assert modules.clip.is_sidecar(flock.data) == (storage == "SIDECAR") and inside(modules, flock) == EVERYBODY
    move = bpy.ops.flock.clip_to_file if storage == "SIDECAR" else bpy.ops.flock.clip_to_sidecar
    assert move() == {"FINISHED"} and inside(modules, flock) == EVERYBODY


@pytest.mark.parametrize("shot_bakes", [False, True])
def test_what_a_check_of_an_override_found_is_known_after_reopening(modules, asset, tmp_path, shot_bakes):
    """Of a clip that is linked with the asset, and of one that lies beside the shot."""
    item = override_in_shot(asset, tmp_path)
    activate(item)
    if shot_bakes:
        item.flock.storage = "SIDECAR"
        bpy.ops.flock.bake()
    assert inside(modules, item) == 0
    block(item)
    bpy.ops.flock.check_flight()
    assert inside(modules, item) == EVERYBODY
    item = reopened(tmp_path)
    assert inside(modules, item) == EVERYBODY
    item.override_library.hierarchy_root.override_library.resync(bpy.context.scene, view_layer=bpy.context.view_layer)
    item = next(other for other in bpy.data.objects if other.flock.is_flock and other.override_library)
    assert inside(modules, item) == EVERYBODY


def test_flocks_that_share_a_clip_are_checked_one_by_one(modules, flock, tmp_path):
    twin = duplicate(flock, linked=True)
    block(flock)
    twin.flock.repulsors = None
    activate(flock)
    bpy.ops.flock.check_flight()
    assert (inside(modules, flock), inside(modules, twin)) == (EVERYBODY, 0)
    activate(twin)
    bpy.ops.flock.check_flight()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    assert [inside(modules, bpy.data.objects[name]) for name in ("Flock", "Flock.001")] == [EVERYBODY, 0]


@pytest.fixture
def unblock(flock):
    """Puts the repulsor back to where it was."""
    repulsor = flock.flock.repulsors.objects[0]
    before = tuple(repulsor.location), repulsor.empty_display_size

    def put_back():
        repulsor.location, repulsor.empty_display_size = before

    return put_back


def test_a_bake_is_checked_anew_even_where_its_bits_are_the_old_ones(modules, flock, unblock):
    made = modules.clip.record(flock.data)["hash"]
    block(flock)
    bpy.ops.flock.check_flight()
    assert inside(modules, flock) == EVERYBODY
    unblock()
    bpy.ops.flock.bake()
    assert modules.clip.record(flock.data)["hash"] == made and inside(modules, flock) == 0


def test_what_a_check_found_is_not_forgotten_by_extending(modules, flock, unblock):
    block(flock)
    bpy.ops.flock.check_flight()
    unblock()
    bpy.ops.flock.extend(frames=3)
    assert modules.clip.header(flock.data).frames == 8 and inside(modules, flock) == EVERYBODY


def test_what_was_found_out_about_another_clip_says_nothing(modules, flock):
    block(flock)
    bpy.ops.flock.check_flight()
    flock.data = modules.bake.spawn_clip(flock, bpy.context.scene)
    assert modules.checking.lines(flock) == []


def test_a_linked_flock_is_checked_where_it_is_its_own(modules, asset):
    path, _ = asset
    with bpy.data.libraries.load(str(path), link=True) as (_, target):
        target.collections = ["Flock"]
    bpy.context.scene.collection.children.link(target.collections[0])
    activate(bpy.data.objects["Flock"])
    with pytest.raises(RuntimeError, match="make a library override, or check it there"):
        bpy.ops.flock.check_flight()
