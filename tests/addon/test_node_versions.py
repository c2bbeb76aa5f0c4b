# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node groups that an older release left in a file: brought up to date when a flock is next made or baked, once, and never doubled."""

import importlib
from types import SimpleNamespace

import bpy
import pytest

LATER_SOCKET = "Flap Angle"
FORMER_KIND = "Flock Time"


@pytest.fixture
def own(fresh, flock_addon):
    """The add-on's modules."""
    names = ("bake", "nodes", "compat")
    return SimpleNamespace(**{name: importlib.import_module(f"{flock_addon.__name__}.{name}") for name in names})


def groups(own):
    """Kind and version of all of our node groups in this file."""
    found = [group[own.nodes.VERSION_PROPERTY] for group in bpy.data.node_groups if own.nodes.VERSION_PROPERTY in group]
    return sorted((known["kind"], known["version"]) for known in found)


def make_older(own):
    """Turns the file's groups into those of an older release, with one input less, and an input and a group more. It shows nothing."""
    playback = own.nodes.playback_group()
    tree = playback.interface
    tree.remove(tree.items_tree[LATER_SOCKET])
    tree.new_socket("Wobble", in_out='INPUT', socket_type='NodeSocketFloat')
    playback.links.remove(next(link for link in playback.links if link.to_node.type == 'GROUP_OUTPUT'))
    former = bpy.data.node_groups.new(FORMER_KIND, "GeometryNodeTree")
    former[own.nodes.VERSION_PROPERTY] = {"kind": FORMER_KIND}
    playback.nodes.new("GeometryNodeGroup").node_tree = former
    for group in bpy.data.node_groups:
        group[own.nodes.VERSION_PROPERTY] = {"kind": group[own.nodes.VERSION_PROPERTY]["kind"], "version": 0}


def new_flock(own, count=3, **inputs):
    bpy.ops.flock.new(count=count)
    flock = bpy.context.object
    for name, value in inputs.items():
        own.compat.set_input(own.nodes.find_modifier(flock), name, value)
    return flock


def get(own, flock, name):
    return own.compat.get_input(own.nodes.find_modifier(flock), name)


def matrices(flock):
    bpy.context.view_layer.update()
    found = bpy.context.evaluated_depsgraph_get().object_instances
    return [
        tuple(map(tuple, each.matrix_world)) for each in found if each.is_instance and each.parent.original == flock
    ]


def current(own):
    return [(kind, own.nodes.VERSION) for kind in ("Flock Boids", "Flock Playback", "Flock Wing")]


def test_an_older_group_is_brought_up_to_date_at_the_next_bake_and_plays_as_before(own, tmp_path):
    flock = new_flock(own, Scale=2.0, Show="Creatures")
    name, before = flock.name, matrices(flock)
    assert len(before) >= 3
    make_older(own)
    assert matrices(flock) == []
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "older.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "older.blend"))
    assert {version for _, version in groups(own)} == {0}  # opening a file changes nothing in it

    flock = bpy.data.objects[name]
    own.bake.free(flock, bpy.context.scene)
    assert groups(own) == current(own)
    assert get(own, flock, "Scale") == 2.0
    assert get(own, flock, LATER_SOCKET) == pytest.approx(0.75)
    assert "Wobble" not in own.nodes.find_modifier(flock).node_group.interface.items_tree
    assert matrices(flock) == before


def test_a_group_that_is_up_to_date_is_not_built_again(own):
    flock = new_flock(own)
    make_older(own)
    own.nodes.attach(flock)
    nodes = [node.as_pointer() for node in own.nodes.playback_group().nodes]
    assert nodes
    own.nodes.attach(flock)
    assert [node.as_pointer() for node in own.nodes.playback_group().nodes] == nodes


def test_of_an_appended_older_group_and_a_new_one_the_new_one_stays_and_every_user_keeps_its_inputs(own, tmp_path):
    first = new_flock(own, Scale=2.0, Flapping=False, **{"Time Offset": 7.0})
    name = first.name
    make_older(own)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "older.blend"))

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    second = new_flock(own, Scale=3.0)
    with bpy.data.libraries.load(str(tmp_path / "older.blend")) as (_, target):
        target.objects = [name]
    appended = target.objects[0]
    bpy.context.scene.collection.objects.link(appended)
    assert groups(own) == current(own)

    own.nodes.attach(appended)
    assert groups(own) == current(own)
    assert own.nodes.find_modifier(appended).node_group == own.nodes.find_modifier(second).node_group
    assert [get(own, appended, name) for name in ("Scale", "Flapping", "Time Offset")] == [2.0, False, 7.0]
    assert get(own, second, "Scale") == 3.0
    assert len(matrices(appended)) >= 3


def test_inputs_follow_their_names_where_an_upgraded_group_numbers_them_otherwise(own, tmp_path):
    older = new_flock(own, Scale=2.0, **{LATER_SOCKET: 0.5})
    name = older.name
    make_older(own)
    own.nodes.attach(older)  # its later input now has the highest number, in a new file it has not
    own.compat.set_input(own.nodes.find_modifier(older), LATER_SOCKET, 0.25)
    upgraded = own.compat.socket_identifier(own.nodes.find_modifier(older), LATER_SOCKET)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "upgraded.blend"))

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    fresh = new_flock(own)
    assert own.compat.socket_identifier(own.nodes.find_modifier(fresh), LATER_SOCKET) != upgraded
    with bpy.data.libraries.load(str(tmp_path / "upgraded.blend")) as (_, target):
        target.objects = [name]
    own.nodes.attach(fresh)
    own.nodes.tidy()
    assert groups(own) == current(own)
    assert get(own, target.objects[0], LATER_SOCKET) == 0.25
    assert get(own, target.objects[0], "Scale") == 2.0


def test_a_group_that_only_older_releases_were_made_of_stays_while_somebody_uses_it(own):
    new_flock(own)
    make_older(own)
    mine = bpy.data.node_groups.new("Mine", "GeometryNodeTree")
    mine.nodes.new("GeometryNodeGroup").node_tree = bpy.data.node_groups[FORMER_KIND]
    own.nodes.playback_group()
    assert FORMER_KIND in bpy.data.node_groups and own.nodes.tidy() == 0
    bpy.data.node_groups.remove(mine)
    assert own.nodes.tidy() == 1 and groups(own) == current(own)
