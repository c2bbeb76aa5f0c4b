# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake puts the simulation's own bits into the clip, and leaves the old one alone until it is done."""

import threading

import bpy
import numpy as np
import pytest


@pytest.fixture
def flock(fresh):
    fresh.frame_start, fresh.frame_end = 1, 6
    bpy.ops.flock.new(count=30)
    found = bpy.context.object
    found.flock.pre_roll = 0.25
    return found


@pytest.fixture
def clip(flock_addon):
    return flock_addon.bake.clip


@pytest.fixture
def bake(flock_addon):
    return flock_addon.bake


def positions(clip, flock) -> np.ndarray:
    return clip.read(flock.data).position


def shown(flock) -> np.ndarray:
    """Places of the bodies that the scene shows, in order."""
    graph = bpy.context.evaluated_depsgraph_get()
    body = flock.flock.creature
    return np.array(
        [
            np.array(item.matrix_world)[:3, 3]
            for item in graph.object_instances
            if item.is_instance and item.object.original == body
        ]
    )


def test_the_clip_holds_what_the_simulation_flew(flock, bake, clip, flock_addon):
    bpy.ops.flock.bake()
    from bl_ext.user_default.flock.core.simulation import Simulation

    properties, sampling = flock_addon.properties, flock_addon.bake.sampling
    samples = sampling.sample(flock, bpy.context.scene, 1, 6, flock.flock.substeps)
    settings = properties.to_settings(flock.flock)
    flown = Simulation(settings, sampling.effectors(samples, settings.flock_width), fps=24.0, first=1, frames=6)
    arrays = clip.read(flock.data)
    assert clip.record(flock.data)["hash"] == clip.content_hash(arrays)
    for index, frame in enumerate(flown):
        np.testing.assert_array_equal(arrays.position[index], frame.state.position)
        np.testing.assert_array_equal(arrays.velocity[index], frame.state.velocity)
        np.testing.assert_array_equal(arrays.rotation[index], frame.state.rotation)


def test_the_scene_shows_each_frame_of_the_clip(flock, clip):
    bpy.ops.flock.bake()
    for frame in (1, 4, 6):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(shown(flock), positions(clip, flock)[frame - 1], atol=1e-4)


@pytest.mark.parametrize(("first", "last"), [(1001, 1004), (-2, 2), (7, 7)])
def test_frames_of_the_clip_are_frames_of_the_scene(flock, clip, fresh, first, last):
    fresh.frame_start, fresh.frame_end = max(0, first), last
    flock.flock.use_scene_range = False
    flock.flock.frame_start, flock.flock.frame_end = first, last
    bpy.ops.flock.bake()
    header = clip.header(flock.data)
    assert (header.first, header.last, header.frames) == (first, last, last - first + 1)
    fresh.frame_set(last)
    np.testing.assert_allclose(shown(flock), positions(clip, flock)[-1], atol=1e-4)


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (25, 1.0), (30, 1.0), (24, 1.001)])
def test_speeds_are_by_the_second_whatever_the_frame_rate(flock, clip, fresh, fps, base):
    fresh.render.fps, fresh.render.fps_base = fps, base
    own = flock.flock
    own.speed_variation = own.weight_variation = 0.0
    own.min_speed = own.max_speed = own.cruise_speed = own.initial_speed = 6.0
    own.repulsors.objects[0].flock_repulsor.mute = True
    bpy.ops.flock.bake()
    assert clip.header(flock.data).fps == pytest.approx(fps / base)
    moved = np.linalg.norm(np.diff(positions(clip, flock), axis=0), axis=-1)
    np.testing.assert_allclose(
        moved * fps / base, 6.0, rtol=0.02
    )  # a turn between two frames is a little longer than its chord


def test_the_same_bake_twice_has_the_same_bits_and_one_mesh(flock, clip):
    bpy.ops.flock.bake()
    before, meshes = clip.record(flock.data)["hash"], len(bpy.data.meshes)
    bpy.ops.flock.bake()
    assert clip.record(flock.data)["hash"] == before
    assert len(bpy.data.meshes) == meshes
    assert flock.data.name == "Flock Clip"


def test_the_record_says_what_made_the_clip(flock, clip, flock_addon):
    bpy.ops.flock.bake()
    record = clip.record(flock.data)
    assert record["engine"] in ("NUMBA", "REFERENCE") and record["engine_version"]
    settings = flock_addon.properties.to_settings(flock.flock)
    assert type(settings).from_dict(record["settings"]) == settings
    assert [track["name"] for track in record["effectors"]["tracks"]] == ["Target", "Flock Repulsor"]


def test_free_shows_the_start_again(flock, bake, clip):
    bpy.ops.flock.bake()
    bpy.ops.flock.free()
    assert not bake.is_baked(flock)
    assert clip.header(flock.data).frames == 1


def test_changing_the_count_leaves_a_baked_clip_alone(flock, clip):
    bpy.ops.flock.bake()
    flock.flock.count = 3
    assert clip.header(flock.data).count == 30


def test_two_flocks_are_baked_apart(flock, clip):
    bpy.ops.flock.new(count=4)
    other = bpy.context.object
    bpy.ops.flock.bake()
    assert clip.header(other.data).frames == 6 and clip.header(other.data).count == 4
    assert clip.header(flock.data).frames == 1


def test_a_bake_changes_only_the_flock_that_it_is_asked_for(flock, clip):
    bpy.ops.flock.bake()
    twin = flock.copy()
    bpy.context.collection.objects.link(twin)
    old = flock.data
    bpy.ops.flock.bake()
    assert twin.data == old and flock.data != old


def test_moving_the_flock_object_moves_its_clip(flock, fresh):
    bpy.ops.flock.bake()
    fresh.frame_set(3)
    before = shown(flock)
    flock.location.x += 100.0
    np.testing.assert_allclose(shown(flock), before + np.array((100.0, 0.0, 0.0)), atol=1e-4)


def test_a_flock_elsewhere_flies_as_one_at_the_origin(flock, clip):
    bpy.ops.flock.bake()
    before = positions(clip, flock)
    for item in (flock, flock.flock.target, flock.flock.repulsors.objects[0]):
        item.location += flock.location.__class__((64.0, -32.0, 16.0))  # exact in float32
    bpy.ops.flock.bake()
    np.testing.assert_allclose(positions(clip, flock), before, atol=1e-4)


def test_a_cancelled_bake_leaves_the_old_clip(flock, bake, clip):
    bpy.ops.flock.bake()
    before = (flock.data, clip.record(flock.data)["hash"])
    flock.flock.seed = 9
    job = bake.Job(flock, bpy.context.scene)
    while job.message.startswith("Sampling"):
        job.tick(0.0)
    job.cancel()
    assert (flock.data, clip.record(flock.data)["hash"]) == before
    assert not bake.running
    bpy.ops.flock.bake()
    assert clip.record(flock.data)["hash"] != before[1]


def test_a_job_tells_how_far_it_is_and_flies_beside_blender(flock, bake, monkeypatch):
    seen, flown_by, append = [], set(), bake.scratch.Writer.append

    def watched(writer, state):
        flown_by.add(threading.current_thread().name)
        append(writer, state)

    monkeypatch.setattr(bake.scratch.Writer, "append", watched)
    job = bake.Job(flock, bpy.context.scene)
    assert bake.running == {flock.session_uid: job}
    while not job.tick(0.001):
        seen.append(job.progress)
    assert seen == sorted(seen) and seen[0] >= 0.0 and seen[-1] <= 1.0
    assert job.message == "Writing the clip", "said before it, since the window is not drawn meanwhile"
    assert flown_by == {"Flock bake"}
    assert not bake.running


def test_a_flock_deleted_during_its_bake_ends_it_with_a_sentence(flock, bake):
    from bl_ext.user_default.flock.core.settings import FlockError

    job = bake.Job(flock, bpy.context.scene)
    while job.message.startswith("Sampling"):
        job.tick(0.0)
    bpy.data.objects.remove(flock)
    with pytest.raises(FlockError, match="deleted"):
        job.run()


def test_nothing_of_a_running_bake_is_in_the_file(flock, bake, tmp_path):
    job = bake.Job(flock, bpy.context.scene)
    job.tick(0.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    job.cancel()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "scene.blend"))
    assert len(bpy.data.scenes) == 1
    bpy.context.view_layer.objects.active = bpy.data.objects["Flock"]
    assert bpy.ops.flock.bake() == {"FINISHED"}


ON_A_FLOCK = (
    "bake", "resume", "extend", "rebake", "discard", "free", "check", "check_flight", "jump",
    "clip_to_sidecar", "clip_to_file", "clip_reclaim", "export_points",
)  # fmt: skip


@pytest.mark.parametrize("name", ON_A_FLOCK)
def test_each_button_says_why_it_is_grey(fresh, bake, name):
    operator = getattr(bpy.ops.flock, name)
    with pytest.raises(RuntimeError, match="Select a flock, its target or one of its repulsors"):
        operator()
    bpy.ops.flock.new(count=3)
    job = bake.Job(bpy.context.object, fresh)
    with pytest.raises(RuntimeError, match="The flock is being baked: Esc cancels that"):
        operator()
    job.cancel()


@pytest.mark.parametrize("name", ["check", "check_flight", "jump"])
def test_what_looks_at_a_clip_says_that_there_is_none(flock, name):
    with pytest.raises(RuntimeError, match="There is no clip to look at: bake the flock"):
        getattr(bpy.ops.flock, name)()


def test_a_clip_beside_the_file(flock, clip, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    flock.flock.storage = "SIDECAR"
    bpy.ops.flock.bake()
    assert clip.is_sidecar(flock.data)
    assert len(list((tmp_path / "flock").glob("*.blend"))) == 1
    assert flock.data.library.filepath.startswith("//")
    bpy.ops.flock.bake()
    assert clip.is_sidecar(flock.data) and len(bpy.data.libraries) == 1


def test_a_bake_makes_no_keyframes(flock):
    actions = set(bpy.data.actions)
    bpy.ops.flock.bake()
    assert set(bpy.data.actions) == actions
    animated = [flock, flock.data, flock.modifiers[0].node_group]
    assert all(item.animation_data is None for item in animated)
