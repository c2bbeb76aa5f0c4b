# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clip knows what it was made from: every change that would give another flight is named, and no other is."""

import math
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

FIRST, LAST = 1, 6


@pytest.fixture
def flock(fresh):
    """A baked flock with a range of its own and all its limits on, at its first frame."""
    bpy.ops.flock.new(count=6)
    found = bpy.context.object
    own = found.flock
    own.pre_roll, own.use_scene_range, own.frame_start, own.frame_end = 0.1, False, FIRST, LAST
    own.limit_turn_rate = own.limit_height = True
    own.min_height, own.space_size, own.max_climb, own.max_dive = -50.0, (300.0, 300.0, 300.0), 1.0, 1.0
    fresh.frame_set(FIRST)
    bpy.context.view_layer.objects.active = found
    assert bpy.ops.flock.bake() == {"FINISHED"}
    return found


@pytest.fixture
def repulsor(flock):
    return flock.flock.repulsors.objects[0]


@pytest.fixture
def stale(flock_addon):
    return flock_addon.stale


@pytest.fixture(params=[False, True], ids=["cheap", "exact"])
def changes(request, stale):
    """What has changed, by one of the two ways to look."""

    def look(flock):
        bpy.context.view_layer.update()
        return stale.changes(flock, exact=request.param)

    return look


# -- settings --------------------------------------------------------------------------------------------------------

LOOKS = {"is_flock", "applied_length", "creature_type", "creature", "creature_collection", "active_repulsor", "storage"}
KNOWN = {"identity", "flight_check"}
"""What does not say how the flock flies: how it looks, and what Flock notes down."""
EFFECTORS = {"target", "repulsors"}
RULES = ("separation", "alignment", "cohesion")
NAMES = {
    "use_scene_range": "Frame range",
    "frame_start": "Frame range",
    "frame_end": "Frame range",
    "limit_turn_rate": "Max turn rate",
    "limit_height": "Min height",
}


def own_properties(group) -> list:
    return [entry for entry in group.bl_rna.properties if entry.identifier not in ("rna_type", "name")]


def listed() -> list[tuple[str, str]]:
    """Every property of a flock that says how it flies, as (rule or '', property), from the add-on's own classes."""
    from bl_ext.user_default.flock.flock_addon import properties

    group = properties.FLOCK_PG_flock
    found = []
    for entry in group.__annotations__:
        if entry in RULES:
            found += [(entry, part) for part in getattr(properties, f"FLOCK_PG_{entry}").__annotations__]
        elif entry not in LOOKS | KNOWN | EFFECTORS:
            found.append(("", entry))
    return found


def another(owner, name):
    """A value that differs from the present one, and is allowed."""
    entry, value = owner.bl_rna.properties[name], getattr(owner, name)
    if entry.type == "BOOLEAN":
        return not value
    if entry.type == "ENUM":
        return next(item.identifier for item in entry.enum_items if item.identifier != value)
    if entry.type == "INT":
        return value + 1 if value < entry.hard_max else value - 1
    if entry.is_array:
        return [part * 1.01 + 0.01 for part in value]
    step = max(abs(value), 0.1) * 0.01
    return value + step if value + step <= entry.hard_max else value - step


def test_changing_any_one_setting_makes_the_clip_stale_and_names_it(flock, changes):
    assert changes(flock) == []
    cases = listed()
    assert len(cases) > 80, "three rules of seven numbers, and all that core's settings have"
    for rule, name in cases:
        owner = getattr(flock.flock, rule) if rule else flock.flock
        words = name.replace("_", " ")
        expected = NAMES.get(name) or (f"{rule.capitalize()} {words}" if rule else words.capitalize())
        before = getattr(owner, name)
        before = before[:] if hasattr(before, "__len__") and not isinstance(before, str) else before
        setattr(owner, name, another(owner, name))
        assert changes(flock) == [expected], name
        setattr(owner, name, before)
    assert changes(flock) == []


def test_what_does_not_say_how_it_flies_makes_nothing_stale(flock, changes, fresh):
    own = flock.flock
    own.storage, own.active_repulsor, own.creature_type = "FILE", 1, "COLLECTION"
    own.creature = None
    flock.name = own.target.name = "Other"
    own.repulsors.name = own.repulsors.objects[0].name = "Others"
    flock.data.name = "Clip of mine"
    flock.data.materials.append(bpy.data.materials.new("Skin"))
    flock.flock.target.empty_display_size = 7.0
    own.repulsors.objects[0].empty_display_type = "CUBE"
    own.repulsors.objects[0].rotation_euler = (0.3, 0.2, 0.1)  # a sphere, whichever way it is turned
    fresh.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    assert changes(flock) == []


def test_no_render_setting_but_the_frame_rate_makes_it_stale(flock, changes, fresh):
    changed = 0
    for owner in (fresh.render, fresh.render.image_settings, fresh.unit_settings, fresh.view_settings):
        for entry in own_properties(owner):
            if entry.is_readonly or entry.type not in ("BOOLEAN", "INT", "FLOAT"):
                continue
            if entry.identifier in ("fps", "fps_base"):
                continue
            setattr(owner, entry.identifier, another(owner, entry.identifier))
            changed += 1
    assert changed > 50
    assert changes(flock) == []
    fresh.render.fps += 1
    assert changes(flock) == ["Frame rate"]


def test_the_scene_may_render_fewer_frames_but_not_more(flock, changes, fresh):
    fresh.frame_start, fresh.frame_end = 2, 4
    flock.flock.use_scene_range = True
    assert changes(flock) == []
    fresh.frame_end = 7
    assert changes(flock) == ["Frame range"]
    fresh.frame_start, fresh.frame_end = 0, 4
    assert changes(flock) == ["Frame range"]


def test_another_body_length_is_named_alone(flock, changes):
    flock.flock.body_length = 2.5
    assert changes(flock) == ["Body length"]
    flock.flock.wander += 1.0
    assert changes(flock) == ["Body length", "Wander"]
    flock.flock.body_length = 1.0
    assert changes(flock) == ["Wander"]


# -- effectors -------------------------------------------------------------------------------------------------------


def new_empty(name, place=(0.0, 0.0, 0.0)):
    item = bpy.data.objects.new(name, None)
    item.location = place
    bpy.context.scene.collection.objects.link(item)
    return item


def by_place(item):
    item.location.x += 0.01


def by_parent(item):
    item.parent = new_empty("Parent", (0.0, 0.0, 2.0))


def by_constraint(item):
    item.constraints.new("COPY_LOCATION").target = new_empty("Leader", (1.0, 2.0, 3.0))


def by_driver(item):
    item.driver_add("location", 2).driver.expression = "3 + frame"


def by_keyframes(item):
    item.keyframe_insert("location", frame=FIRST)
    item.location.y += 1.0
    item.keyframe_insert("location", frame=FIRST + 1)
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)


WAYS = [by_place, by_parent, by_constraint, by_driver, by_keyframes]


@pytest.mark.parametrize("move", WAYS)
def test_moving_an_effector_in_any_way_is_named(flock, repulsor, changes, move, fresh):
    fresh.frame_set(3)
    assert changes(flock) == []
    move(flock.flock.target)
    assert changes(flock) == ["Target motion"]
    move(repulsor)
    assert changes(flock) == ["Target motion", "Flock Repulsor motion"]


def test_radius_strength_and_mute_are_named(flock, repulsor, changes):
    own = repulsor.flock_repulsor
    group = type(own)
    assert set(group.__annotations__) == {"radius", "mute", "strength"}, "each has its case below"
    own.radius *= 1.01
    assert changes(flock) == ["Flock Repulsor radius"]
    own.radius /= 1.01
    own.strength += 0.1
    assert changes(flock) == ["Flock Repulsor strength"]
    own.strength -= 0.1
    own.mute = True
    assert changes(flock) == ["Flock Repulsor mute"]
    own.mute = False
    repulsor.scale = (1.0, 1.0, 1.5)
    assert changes(flock) == ["Flock Repulsor radius"]
    repulsor.scale = (1.0, 1.0, 1.0)
    repulsor.driver_add("empty_display_size").driver.expression = "frame"
    assert changes(flock) == ["Flock Repulsor radius"]


def test_effectors_that_come_and_go_are_named(flock, repulsor, changes):
    target = flock.flock.target
    flock.flock.target = None
    assert changes(flock) == ["Target"]
    flock.flock.target = new_empty("Twin", target.location)
    assert changes(flock) == [], "another Empty in the same place gives the same flight"
    flock.flock.repulsors.objects.link(new_empty("Stone", (5.0, 0.0, 0.0)))
    assert changes(flock) == ["Stone added"]
    bpy.data.objects["Stone"].flock_repulsor.mute = True
    assert changes(flock) == [], "it is not heeded"
    flock.flock.repulsors.objects.unlink(repulsor)
    assert changes(flock) == ["Flock Repulsor removed"]


def test_two_repulsors_that_swap_their_names_are_the_same_two(flock, repulsor, changes):
    other = new_empty("Stone", (5.0, 0.0, 0.0))
    flock.flock.repulsors.objects.link(other)
    bpy.context.view_layer.objects.active = flock
    bpy.ops.flock.bake()
    assert changes(flock) == []
    repulsor.name = "Rock"
    other.name = "Flock Repulsor"
    assert changes(flock) == []


def test_moving_the_flock_object_is_moving_it_against_its_effectors(flock, repulsor, changes):
    flock.location.x += 1.0
    assert changes(flock) == ["Flock object"]
    flock.flock.target.location.x += 1.0
    repulsor.location.x += 1.0
    assert changes(flock) == [], "the whole set was moved"
    repulsor.location.z += 1.0
    assert changes(flock) == ["Flock Repulsor motion"]


def test_tilting_the_whole_set_is_named_and_turning_it_is_not(flock, changes):
    root = new_empty("Root")
    for item in (flock, flock.flock.target, flock.flock.repulsors.objects[0]):
        item.parent = root
    root.rotation_euler.z = 1.0
    assert changes(flock) == []
    root.rotation_euler.x = 1.0
    assert "Flock object" in changes(flock), "up is another direction for the flock"


def test_animating_the_finished_flock_leaves_it_up_to_date(flock, changes, fresh):
    flock.keyframe_insert("location", frame=FIRST)
    flock.location.z += 5.0
    flock.keyframe_insert("location", frame=LAST)
    for frame in (FIRST, 4):
        fresh.frame_set(frame)
        assert changes(flock) == []


def test_the_exact_look_finds_what_moves_at_other_frames(flock, repulsor, stale, fresh):
    fresh.frame_set(4)
    for frame, x in ((4, 0.0), (5, 1.0), (6, 0.0)):
        repulsor.location.x = x
        repulsor.keyframe_insert("location", frame=frame)
    fresh.frame_set(4)
    assert stale.changes(flock) == []
    assert stale.changes(flock, exact=True) == ["Flock Repulsor motion"]
    assert fresh.frame_current == 4


def test_the_cheap_look_knows_that_it_does_not_know_a_hidden_one(flock, repulsor, stale):
    by_parent(repulsor)
    repulsor.hide_viewport = True
    bpy.context.view_layer.update()
    assert stale.changes(flock) == []
    assert stale.changes(flock, exact=True) == ["Flock Repulsor motion"]


def test_a_new_bake_is_up_to_date(flock, repulsor, changes, fresh):
    fresh.frame_set(3)
    by_keyframes(repulsor)
    by_driver(flock.flock.target)
    flock.flock.separation.weight += 1.0
    assert len(changes(flock)) == 3
    bpy.ops.flock.bake()
    for frame in range(FIRST - 1, LAST + 2):
        fresh.frame_set(frame)
        assert changes(flock) == []


def test_a_clip_far_from_the_origin_is_up_to_date_after_reopening(flock, changes, tmp_path):
    for item in (flock, flock.flock.target, flock.flock.repulsors.objects[0]):
        item.location += item.location.__class__((1e5, -1e5, 0.3))
    bpy.context.view_layer.update()
    bpy.ops.flock.bake()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "far.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "far.blend"))
    assert changes(bpy.data.objects["Flock"]) == []


def test_what_was_never_baked_is_not_stale(fresh, flock_addon, changes):
    bpy.ops.flock.new(count=3)
    assert changes(bpy.context.object) == []
    bpy.context.object.data = bpy.data.meshes.new("Cube")
    assert changes(bpy.context.object) == []


# -- what it costs ---------------------------------------------------------------------------------------------------


def test_the_record_stays_small_where_effectors_stand_still(flock, flock_addon):
    flock.flock.frame_end = 500
    bpy.ops.flock.bake()
    record = flock_addon.clip.record(flock.data)
    assert len(str(record["effectors"])) < 4_000 and len(str(record)) < 40_000  # with the flight check of 500 frames


def test_motion_survives_the_record_to_the_bit(flock, repulsor, stale, flock_addon):
    by_keyframes(repulsor)
    samples = flock_addon.sampling.sample(flock, bpy.context.scene, FIRST, 6, 3)
    made = stale.Making.of(samples)
    again = stale.Making.from_dict(made.to_dict())
    for one, two in zip(made.tracks, again.tracks, strict=True):
        np.testing.assert_array_equal(np.float32(one.place), two.place)
        np.testing.assert_array_equal(np.float32(one.radius), two.radius)
    np.testing.assert_array_equal(made.flock, again.flock)
    assert math.isclose(again.tracks[1].radius[0], 5.0)


LOOK = """
import importlib, sys
from pathlib import Path
import bpy, addon_utils
addon_utils.extensions_refresh()
addon_utils.enable("bl_ext.user_default.flock", default_set=True)
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
scene, flock = bpy.context.scene, bpy.data.objects["Flock"]
bpy.context.view_layer.update()
names = ("bake", "checking", "clip_operators", "operators", "stale")
bake, checking, clip_operators, operators, stale = (
    importlib.import_module("bl_ext.user_default.flock.flock_addon." + name) for name in names
)

def look_as_the_panel_does():
    assert bake.is_baked(flock) and not bake.sharers(flock) and not operators.unfinished(flock)
    assert len(list(bake.state_lines(flock, scene))) > 2 and not list(bake.problems(flock, scene))
    assert stale.sentence(flock, scene) == "Up to date"
    assert not clip_operators.can_reclaim(flock)
    assert len(checking.lines(flock)) == 6

def anonymous_bytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

before = anonymous_bytes()
for _ in range(20):
    look_as_the_panel_does()
assert stale.changes(flock, exact=True) == []
looked = anonymous_bytes()
flock.data.copy().attributes["rotation"].data[0]  # shares its arrays, until one is read
print("GREW", looked - before, anonymous_bytes() - looked)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_neither_the_panel_nor_the_check_reads_an_attribute_of_the_clip(flock, stale, flock_addon, tmp_path):
    clip = flock_addon.clip
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    arrays = clip.ClipArrays.zeros(6, 500_000)  # 12 to 48 MB for each attribute that would be read
    big = clip.write("Big", arrays, clip.Header(500_000, 6), clip.record(flock.data))
    flock.data = clip.move_to_sidecar(big)
    bpy.ops.wm.save_mainfile()
    command = [sys.executable, "-c", LOOK, str(tmp_path / "shot.blend")]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert "GREW" in done.stdout, done.stdout + done.stderr
    by_looking, by_reading = (int(word) for word in done.stdout.partition("GREW")[2].split()[:2])
    assert by_looking < 8e6
    assert by_reading > 40e6, "this is what the test would notice"
