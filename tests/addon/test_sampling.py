# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the flock is told of the scene equals what the scene shows."""

import dataclasses
import math

import bpy
import numpy as np
import pytest

FIRST, FRAMES, SUBSTEPS = 5, 8, 4


@pytest.fixture
def flock(fresh):
    bpy.ops.flock.new(count=5)
    fresh.frame_set(1)
    return bpy.context.object


@pytest.fixture
def repulsor(flock):
    return flock.flock.repulsors.objects[0]


@pytest.fixture
def sampling(flock_addon):
    return flock_addon.sampling


def new_empty(name: str) -> bpy.types.Object:
    item = bpy.data.objects.new(name, None)
    bpy.context.collection.objects.link(item)
    return item


def animate(item: bpy.types.Object, path: str, first, last, index: int = -1) -> None:
    for frame, value in ((1, first), (20, last)):
        if index < 0:
            setattr(item, path, value)
        else:
            getattr(item, path)[index] = value
        item.keyframe_insert(path, index=index, frame=frame)


def seen(item: bpy.types.Object) -> np.ndarray:
    """The object's matrix at every sample, as the scene itself evaluates it."""
    scene, found = bpy.context.scene, []
    for sample in range((FRAMES - 1) * SUBSTEPS + 1):
        scene.frame_set(FIRST + sample // SUBSTEPS, subframe=sample % SUBSTEPS / SUBSTEPS)
        found.append(np.array(item.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world))
    return np.array(found)


def sampled(sampling, flock):
    return sampling.sample(flock, bpy.context.scene, FIRST, FRAMES, SUBSTEPS)


def check(sampling, flock, item) -> None:
    found, wanted = sampled(sampling, flock), seen(item)
    assert np.ptp(wanted, axis=0).max() > 0.01, "the test moves nothing"
    np.testing.assert_array_equal(found.matrices[:, 0], wanted)


def test_a_keyframed_repulsor(sampling, flock, repulsor):
    animate(repulsor, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    check(sampling, flock, repulsor)


def test_a_repulsor_on_a_turning_arm_leaves_the_chord_between_two_frames(sampling, flock, repulsor):
    arm = new_empty("Arm")
    animate(arm, "rotation_euler", 0.0, 12.0, index=2)
    repulsor.parent, repulsor.location = arm, (10.0, 0.0, 0.0)
    check(sampling, flock, repulsor)
    radius = np.linalg.norm(sampled(sampling, flock).matrices[:, 0, :2, 3], axis=1)
    np.testing.assert_allclose(radius, 10.0, rtol=1e-5)


def test_a_repulsor_parented_to_a_bone(sampling, flock, repulsor):
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    bone = rig.pose.bones[0]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[0] = 0.0
    bone.keyframe_insert("rotation_euler", frame=1)
    bone.rotation_euler[0] = 2.0
    bone.keyframe_insert("rotation_euler", frame=20)
    repulsor.parent, repulsor.parent_type, repulsor.parent_bone = rig, "BONE", bone.name
    check(sampling, flock, repulsor)


def test_a_repulsor_held_by_a_constraint_and_another_by_a_driver(sampling, flock, repulsor):
    leader = new_empty("Leader")
    animate(leader, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    repulsor.constraints.new("COPY_LOCATION").target = leader
    driver = repulsor.driver_add("rotation_euler", 2).driver
    driver.expression = "frame / 7"
    check(sampling, flock, repulsor)


def test_a_repulsor_moved_by_the_nonlinear_animation(sampling, flock, repulsor):
    animate(repulsor, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    data = repulsor.animation_data
    data.nla_tracks.new().strips.new("Move", 3, data.action)
    data.action = None
    check(sampling, flock, repulsor)


def test_a_target_that_follows_a_vertex_of_a_deformed_mesh(sampling, flock):
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=4, y_subdivisions=4)
    grid = bpy.context.object
    wave = grid.modifiers.new("Wave", "WAVE")
    wave.height, wave.speed = 3.0, 0.5
    target = flock.flock.target
    target.parent, target.parent_type, target.parent_vertices = grid, "VERTEX", (5, 0, 0)
    found, wanted = sampled(sampling, flock), seen(target)
    assert np.ptp(wanted, axis=0).max() > 0.01
    np.testing.assert_array_equal(found.target[:, 0], wanted[:, :3, 3])


def test_a_hidden_repulsor_is_where_it_would_be_seen(sampling, flock, repulsor):
    animate(repulsor, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    wanted = seen(repulsor)
    repulsor.hide_viewport = True
    np.testing.assert_array_equal(sampled(sampling, flock).matrices[:, 0], wanted)


def test_keyframed_numbers_of_a_repulsor(sampling, flock, repulsor):
    animate(repulsor, "empty_display_size", 1.0, 5.0)
    for frame, mute, strength in ((1, False, 0.0), (9, True, 1.0)):
        own = repulsor.flock_repulsor
        own.mute, own.strength = mute, strength
        own.keyframe_insert("mute", frame=frame)
        own.keyframe_insert("strength", frame=frame)
    found = sampled(sampling, flock)
    assert (np.diff(found.radii[:, 0]) > 0).all()
    assert (np.diff(found.strengths[: 4 * SUBSTEPS, 0]) > 0).all()
    assert not found.mutes[: 4 * SUBSTEPS].any() and found.mutes[4 * SUBSTEPS :].all()


def falling_cube():
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 50.0))
    bpy.ops.rigidbody.object_add()
    return bpy.context.object


def bake_to_keyframes(item):
    """What Blender's own operator of that name does, which needs a window."""
    matrices = {}
    for frame in range(1, FIRST + FRAMES + 1):  # physics goes from frame to frame
        bpy.context.scene.frame_set(frame)
        matrices[frame] = item.matrix_world.copy()
    item.rigid_body.kinematic = True
    for frame, matrix in matrices.items():
        item.matrix_world = matrix
        item.keyframe_insert("location", frame=frame)
        item.keyframe_insert("rotation_euler", frame=frame)


@pytest.mark.parametrize("how", ["target", "parent of a repulsor", "grandparent of the target"])
def test_what_physics_moves_is_named_until_it_is_baked_to_keyframes(sampling, flock, flock_addon, how):
    cube, effector = falling_cube(), flock.flock.target
    if how == "target":
        effector = flock.flock.target = cube
    elif how == "parent of a repulsor":
        effector = flock.flock.repulsors.objects[0]
        effector.parent = cube
    else:
        arm = new_empty("Arm")
        arm.parent, effector.parent = cube, arm
    (said,) = (line for line in flock_addon.bake.problems(flock, bpy.context.scene) if "physics" in line)
    assert said.startswith("'Cube' is moved by rigid body physics") and "Bake to Keyframes" in said
    assert said in flock_addon.bake.Job(flock, bpy.context.scene).warning
    for job in list(flock_addon.bake.running.values()):
        job.cancel()
    bake_to_keyframes(cube)
    fallen = effector.matrix_world.translation.copy()
    assert sampling.unseen_motion(flock, bpy.context.scene) == []
    found = sampling.sample(flock, bpy.context.scene, 1, FIRST + FRAMES, 1)
    places = found.matrices[:, 0, :3, 3] if how == "parent of a repulsor" else found.target[:, 0]
    np.testing.assert_allclose(places[-1], fallen, atol=1e-3)
    assert places[-1, 2] < places[0, 2] - 0.1, "it fell"


@pytest.mark.parametrize(
    "still",
    [
        lambda scene, body: setattr(body, "type", "PASSIVE"),
        lambda scene, body: setattr(body, "enabled", False),
        lambda scene, body: setattr(body, "kinematic", True),
        lambda scene, body: setattr(scene.rigidbody_world, "enabled", False),
    ],
)
def test_physics_that_moves_nothing_is_no_matter(sampling, flock, fresh, still):
    flock.flock.target = falling_cube()
    assert len(sampling.unseen_motion(flock, fresh)) == 1
    still(fresh, flock.flock.target.rigid_body)
    assert sampling.unseen_motion(flock, fresh) == []


def test_a_muted_repulsor_may_fall(sampling, flock, repulsor, fresh):
    repulsor.parent = falling_cube()
    assert len(sampling.unseen_motion(flock, fresh)) == 1
    repulsor.flock_repulsor.mute = True
    assert sampling.unseen_motion(flock, fresh) == []


def test_the_radius_counts_times_the_largest_axis_of_the_world_scale(sampling, flock, repulsor):
    parent = new_empty("Parent")
    parent.scale = (2.0, 2.0, 2.0)
    repulsor.parent, repulsor.scale, repulsor.empty_display_size = parent, (0.5, -3.0, 1.0), 1.5
    found = sampling.sample(flock, bpy.context.scene, 1, 1, 1)
    assert sampling.world_radii(found)[0, 0] == pytest.approx(1.5 * 3.0 * 2.0)


def test_effectors_are_brought_into_the_flocks_own_space(sampling, flock, repulsor):
    flock.location, flock.scale, flock.rotation_euler = (100.0, 0.0, 0.0), (2.0, 2.0, 2.0), (math.pi / 2, 0.0, 0.0)
    flock.flock.target.location, repulsor.location, repulsor.empty_display_size = (
        (100.0, 0.0, 8.0),
        (102.0, 0.0, 0.0),
        3.0,
    )
    found = sampling.effectors(sampling.sample(flock, bpy.context.scene, 1, 1, 1))
    # turned by a quarter about X, world Z is the flock's Y; one of its lengths is two of the world's
    np.testing.assert_allclose(found.attractors.position[0, 0], (0.0, 4.0, 0.0), atol=1e-5)
    np.testing.assert_allclose(found.spheres.centre[0, 0], (1.0, 0.0, 0.0), atol=1e-5)
    assert found.spheres.radius[0, 0] == pytest.approx(1.5)
    np.testing.assert_allclose(found.up, (0.0, 1.0, 0.0), atol=1e-6)


def test_the_flocks_space_is_that_of_the_first_frame(sampling, flock):
    animate(flock, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    found = sampled(sampling, flock)
    np.testing.assert_array_equal(found.flock_matrix, seen(flock)[0])


def test_sampling_leaves_nothing_in_the_file_and_the_scene_at_its_frame(sampling, flock, repulsor):
    bpy.context.scene.frame_set(3)
    before = [
        list(group.keys()) for group in (bpy.data.objects, bpy.data.scenes, bpy.data.actions, bpy.data.collections)
    ]
    sampled(sampling, flock)
    after = [
        list(group.keys()) for group in (bpy.data.objects, bpy.data.scenes, bpy.data.actions, bpy.data.collections)
    ]
    assert before == after
    assert bpy.context.scene.frame_current == 3


def test_sampling_does_not_evaluate_the_rest_of_the_scene(sampling, flock, repulsor):
    bpy.ops.mesh.primitive_cube_add()
    bystander = bpy.context.object
    counter = []
    bpy.app.driver_namespace["count_evaluations"] = lambda: counter.append(1) or 0.0
    bystander.driver_add("location", 0).driver.expression = "count_evaluations() + 0 * frame"
    bpy.context.view_layer.update()
    counter.clear()
    sampled(sampling, flock)
    assert not counter


def test_it_does_not_matter_in_how_many_pieces_a_scene_is_sampled(sampling, flock, repulsor):
    animate(repulsor, "location", (0.0, 0.0, 0.0), (9.0, 3.0, 1.0))
    whole = sampled(sampling, flock)
    before = bpy.data.objects.keys(), bpy.data.scenes.keys()
    sampler = sampling.Sampler(flock, bpy.context.scene, FIRST, FRAMES, SUBSTEPS, piece=0.0)
    shares = []
    for share in sampler:
        shares.append(share)
        assert (bpy.data.objects.keys(), bpy.data.scenes.keys()) == before
    count = (FRAMES - 1) * SUBSTEPS + 1
    np.testing.assert_allclose(shares, np.arange(1, count + 1) / count)
    for entry in dataclasses.fields(whole):
        np.testing.assert_array_equal(getattr(sampler.samples(), entry.name), getattr(whole, entry.name))


def test_muted_repulsors_are_not_heeded(sampling, flock, repulsor):
    repulsor.flock_repulsor.mute = True
    found = sampling.effectors(sampling.sample(flock, bpy.context.scene, 1, 3, 2))
    assert found.spheres.radius.shape == (5, 0)
