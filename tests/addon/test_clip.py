# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clip's mesh: what is written is what is read, it tells when it was edited, and it can lie in a file of its own."""

import gzip
import hashlib
import importlib
import struct
import zlib
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.addon.processes import anonymous_bytes

NAMES = ("position", "velocity", "rotation", "flap")


@pytest.fixture
def clip(fresh, flock_addon):
    return importlib.import_module(f"{flock_addon.__name__}.clip")


@pytest.fixture
def saved(clip, tmp_path):
    """The path of a file that was saved, in a folder of its own."""
    path = tmp_path / "shot" / "shot.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def arrays(clip, frames=6, count=5, seed=1):
    """Numbers of every size, so that a lost bit shows."""
    random = np.random.default_rng(seed)
    made = clip.ClipArrays.zeros(frames, count)
    for name in NAMES:
        part = getattr(made, name)
        part[:] = random.normal(size=part.shape) * 10.0 ** random.integers(-6, 6, part.shape)
    return made


def written(clip, frames=6, count=5, seed=1, name="Flock"):
    made = arrays(clip, frames, count, seed)
    return made, clip.write(
        name, made, clip.Header(count, frames, 1001, 24 / 1.001), {"engine": "NUMBA", "seed": 2**40}
    )


def some(arrays, begin, end):
    """Frames `begin` to `end - 1`."""
    return type(arrays)(**{name: getattr(arrays, name)[begin:end] for name in NAMES})


def shown(mesh, name="Flock"):
    item = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(item)
    return item


def assert_same(one, two):
    for name in NAMES:
        assert getattr(one, name).dtype == np.float32
        np.testing.assert_array_equal(getattr(one, name).view(np.uint32), getattr(two, name).view(np.uint32))


def test_what_is_written_is_read_back_bit_for_bit(clip):
    made, mesh = written(clip)
    assert_same(clip.read(mesh), made)
    assert clip.header(mesh) == clip.Header(5, 6, 1001, 24 / 1.001)
    assert clip.record(mesh) == {"engine": "NUMBA", "seed": 2**40, "hash": clip.content_hash(made)}
    assert clip.damage(mesh) is None


def test_a_clip_carries_nothing_but_its_own_attributes(clip):
    assert sorted(attribute.name for attribute in written(clip)[1].attributes) == sorted(NAMES)


def test_the_nodes_find_the_header_in_the_last_two_vertices(clip):
    made, mesh = written(clip)
    assert len(mesh.vertices) == 6 * 5 + 2
    rows = [tuple(mesh.attributes["velocity"].data[-back].vector) for back in (2, 1)]
    assert rows[0] == (5.0, 6.0, 1001.0)
    assert rows[1] == (np.float32(24 / 1.001), 1.0, clip.FORMAT)
    assert tuple(mesh.vertices[-1].co) == tuple(made.position[0, 0])


@pytest.mark.parametrize("frames", [1, 4])
def test_a_clip_without_boids_has_no_vertices(clip, frames):
    _made, mesh = written(clip, frames, count=0)
    assert len(mesh.vertices) == 0
    assert clip.damage(mesh) is None
    assert clip.read(mesh).position.shape == (frames, 0, 3)
    longer = clip.splice(mesh, frames, arrays(clip, 2, 0), {})
    assert clip.header(longer).frames == frames + 2


def test_a_header_that_does_not_fit_is_refused(clip):
    with pytest.raises(ValueError, match="6 frames of 5 boids"):
        clip.write("Flock", arrays(clip), clip.Header(5, 7), {})


def test_an_extended_clip_is_the_one_that_was_written_at_once(clip):
    made, whole = written(clip, frames=10)
    part = clip.write("Flock", some(made, 0, 6), clip.Header(5, 6, 1001, 24 / 1.001), {"engine": "NUMBA"})
    longer = clip.splice(part, 6, some(made, 6, 10), clip.record(part))
    assert_same(clip.read(longer), made)
    assert clip.header(longer) == clip.header(whole)
    assert clip.record(longer)["hash"] == clip.record(whole)["hash"]
    assert clip.damage(longer) is None
    assert clip.header(part).frames == 6, "the old clip is left as it was"


@pytest.mark.parametrize("new_frames", [1, 4, 9])
def test_frames_can_be_replaced_from_one_on(clip, new_frames):
    made, mesh = written(clip)
    other = arrays(clip, new_frames, seed=2)
    spliced = clip.read(clip.splice(mesh, 3, other, {}))
    assert_same(some(spliced, 0, 3), some(made, 0, 3))
    assert_same(some(spliced, 3, 3 + new_frames), other)


def test_frames_of_another_flock_do_not_fit(clip):
    _, mesh = written(clip)
    with pytest.raises(ValueError, match="do not fit"):
        clip.splice(mesh, 6, arrays(clip, 2, 4), {})


@pytest.mark.parametrize("name", NAMES)
def test_the_hash_tells_clips_apart_by_one_bit(clip, name):
    made = arrays(clip)
    before = clip.content_hash(made)
    assert clip.content_hash(arrays(clip)) == before
    getattr(made, name).view(np.uint32).flat[17] ^= 1
    assert clip.content_hash(made) != before


def test_the_hash_tells_clips_apart_by_their_order_and_shape(clip):
    made = arrays(clip)
    back = clip.ClipArrays(**{name: getattr(made, name)[::-1] for name in NAMES})
    assert clip.content_hash(back) != clip.content_hash(made)
    empty = [clip.write("Flock", arrays(clip, frames, 0), clip.Header(0, frames), {}) for frames in (1, 2)]
    hashes = [clip.record(mesh)["hash"] for mesh in empty]
    assert hashes == [clip.content_hash(arrays(clip, frames, 0)) for frames in (1, 2)]
    assert hashes[0] != hashes[1]


def test_the_hash_is_made_of_checksums_that_anybody_can_work_out(clip):
    """zlib's CRC-32 of each frame, all of whose arrays lie one after the other, and SHA-256 of these."""
    made = arrays(clip)
    numbers = [(made.rotation[k], made.velocity[k], made.position[k], made.flap[k]) for k in range(6)]
    sums = [zlib.crc32(b"".join(array.tobytes() for array in frame)) for frame in numbers]
    assert clip.content_hash(made) == hashlib.sha256(b"6 5" + struct.pack("<6I", *sums)).hexdigest()


@pytest.mark.parametrize("keep", [0, 4, 6])
def test_checksums_that_are_known_give_the_same_hash(clip, keep):
    _, mesh = written(clip)
    other = arrays(clip, 3, seed=2)
    sums = [zlib.crc32(b"".join(getattr(other, name)[k].tobytes() for name in clip.WIDTHS)) for k in range(3)]
    known, worked_out = clip.splice(mesh, keep, other, {}, sums), clip.splice(mesh, keep, other, {})
    assert clip.record(known)["hash"] == clip.record(worked_out)["hash"] == clip.content_hash(clip.read(known))


def test_the_size_is_known_before(clip):
    # 11 floats for each boid and frame, and two vertices more: 20,000 x 250 are 220 MB
    assert clip.size_in_bytes(20_000, 250) == (20_000 * 250 + 2) * 44
    assert clip.size_in_bytes(0, 250) == 0


def test_an_edited_clip_says_so(clip):
    _made, mesh = written(clip)
    item = shown(mesh)
    bpy.context.view_layer.objects.active = item
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.merge(type="CENTER")
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "has 1 points instead of 32" in clip.damage(mesh)
    with pytest.raises(ValueError, match="was edited"):
        clip.read(mesh)


def test_a_mesh_of_someone_else_is_no_clip(clip):
    mesh = bpy.data.meshes.new("Cube")
    assert clip.header(mesh) is None and clip.record(mesh) == {} and clip.damage(mesh) is None
    with pytest.raises(ValueError, match="holds no clip"):
        clip.read(mesh)


def test_a_clip_that_lost_its_object_is_found(clip):
    _, mesh = written(clip)
    item = shown(mesh)
    assert clip.clips_without_users() == []
    item.data = bpy.data.meshes.new("Converted")
    assert clip.clips_without_users() == [mesh]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_header_record_and_damage_read_no_attribute(clip, saved):
    _, mesh = written(clip, 250, 4000)
    mesh = clip.move_to_sidecar(mesh)
    shown(mesh)
    bpy.ops.wm.save_mainfile()
    assert saved.stat().st_size < 2e6 < 4e7 < Path(bpy.path.abspath(mesh.library.filepath)).stat().st_size
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    mesh = bpy.context.scene.objects["Flock"].data
    before = anonymous_bytes()
    for _ in range(20):
        assert clip.header(mesh).count == 4000 and clip.record(mesh)["engine"] == "NUMBA"
        assert clip.damage(mesh) is None and clip.missing(mesh) is None
    assert anonymous_bytes() - before < 4e6  # one attribute is 12 MB or more


# -- in a file of its own -------------------------------------------------------------------------------------------


def test_a_sidecar_holds_the_same_bits_for_all_users(clip, saved):
    made, mesh = written(clip)
    mesh.materials.append(bpy.data.materials.new("Skin"))
    one, two = shown(mesh, "One"), shown(mesh, "Two")
    linked = clip.move_to_sidecar(mesh)
    assert one.data == two.data == linked and clip.is_sidecar(linked)
    assert_same(clip.read(linked), made)
    assert clip.record(linked)["engine"] == "NUMBA"
    assert [item for item in bpy.data.meshes if clip.is_clip(item)] == [linked]
    path = linked.library.filepath
    assert path.startswith("//flock/shot-Flock-") and "\\" not in path and path.endswith(".blend")
    file = saved.parent / path[2:]
    assert file.read_bytes()[:7] == b"BLENDER", "uncompressed"
    with bpy.data.libraries.load(str(file)) as (source, _):
        assert len(source.meshes) == 1 and not source.materials


def test_a_sidecar_plays_after_reopening_and_in_another_folder(clip, saved):
    made, mesh = written(clip)
    shown(clip.move_to_sidecar(mesh))
    bpy.ops.wm.save_mainfile()
    elsewhere = saved.parent.parent / "elsewhere"
    saved.parent.rename(elsewhere)
    bpy.ops.wm.open_mainfile(filepath=str(elsewhere / saved.name))
    assert_same(clip.read(bpy.data.objects["Flock"].data), made)


def test_save_as_keeps_both_files_playing(clip, saved):
    made, mesh = written(clip)
    shown(clip.move_to_sidecar(mesh))
    bpy.ops.wm.save_mainfile()
    other = saved.parent.parent / "copies" / "other.blend"
    other.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    for path in (other, saved):
        bpy.ops.wm.open_mainfile(filepath=str(path))
        assert_same(clip.read(bpy.data.objects["Flock"].data), made)


def test_a_clip_moves_back_into_the_file_and_leaves_its_sidecar(clip, saved):
    made, mesh = written(clip)
    item = shown(mesh)
    linked = clip.move_to_sidecar(mesh)
    file = Path(bpy.path.abspath(linked.library.filepath))
    local = clip.move_to_file(linked)
    assert item.data == local and local.library is None
    assert_same(clip.read(local), made)
    assert clip.record(local)["engine"] == "NUMBA"
    assert not bpy.data.libraries and file.exists()
    again = clip.move_to_sidecar(local)
    assert Path(bpy.path.abspath(again.library.filepath)) == file, "the same clip lies in the same file"


def test_each_bake_has_a_file_of_its_own(clip, saved):
    one = clip.move_to_sidecar(written(clip, seed=1)[1])
    two = clip.move_to_sidecar(written(clip, seed=2)[1])
    assert one.library != two.library
    assert len(list((saved.parent / "flock").iterdir())) == 2


def test_without_a_saved_file_there_is_no_beside(clip):
    _, mesh = written(clip)
    with pytest.raises(ValueError, match="Save the file first"):
        clip.move_to_sidecar(mesh)
    assert clip.damage(mesh) is None


def test_a_folder_that_cannot_be_written_is_a_sentence(clip, saved):
    made, mesh = written(clip)
    (saved.parent / "flock").write_text("a file stands where the folder should be")
    with pytest.raises(ValueError, match="cannot be written"):
        clip.move_to_sidecar(mesh)
    assert_same(clip.read(mesh), made)
    assert [item for item in bpy.data.meshes if clip.is_clip(item)] == [mesh]


def test_a_missing_sidecar_is_named_and_heals(clip, saved):
    made, mesh = written(clip)
    shown(clip.move_to_sidecar(mesh))
    bpy.ops.wm.save_mainfile()
    (saved.parent / "flock").rename(saved.parent / "lost")
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    lost = bpy.data.objects["Flock"].data
    assert "is missing" in clip.missing(lost) and clip.damage(lost) is None
    assert len(lost.vertices) == 0
    with pytest.raises(ValueError, match="is missing"):
        clip.move_to_file(lost)
    bpy.ops.wm.save_mainfile()
    (saved.parent / "lost").rename(saved.parent / "flock")
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    healed = bpy.data.objects["Flock"].data
    assert clip.missing(healed) is None
    assert_same(clip.read(healed), made)


def test_only_unused_files_of_ours_are_listed(clip, saved):
    folder = saved.parent / "flock"
    used = clip.move_to_sidecar(written(clip, seed=1)[1])
    shown(used)
    unused = clip.move_to_sidecar(written(clip, seed=2)[1])
    unused_file = Path(bpy.path.abspath(unused.library.filepath))
    assert clip.unused_files() == [], "linked is used"
    clip.release(unused.library)
    (folder / "notes.txt").write_text("not ours")
    (folder / "Set-0123456789ab.blend").write_bytes(b"not a blend file")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "Shot-ba9876543210.blend"), copy=True)
    assert clip.unused_files() == [unused_file]
    assert len(bpy.data.libraries) == 1, "looking leaves nothing behind"


@pytest.mark.parametrize("name", ["Bees", "Birds", "Fish"])
def test_of_several_clips_in_a_linked_file_the_right_one_comes_back(clip, saved, name):
    made = [written(clip, seed=seed, name=other) for seed, other in enumerate(("Bees", "Birds", "Fish"))]
    expected = next(numbers for numbers, mesh in made if mesh.name == name)
    asset = saved.parent / "asset.blend"
    bpy.data.libraries.write(str(asset), {mesh for _, mesh in made}, fake_user=True)
    for _, mesh in made:
        bpy.data.meshes.remove(mesh)
    with bpy.data.libraries.load(str(asset), link=True, relative=True) as (source, target):
        target.meshes = source.meshes
    for mesh in target.meshes:
        shown(mesh, f"Flock of {mesh.name}")
    bpy.ops.wm.save_mainfile()
    away = asset.rename(saved.parent / "away")
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    away.rename(asset)
    found = clip.recover(bpy.data.objects[f"Flock of {name}"].data)
    assert found == bpy.data.objects[f"Flock of {name}"].data
    assert_same(clip.read(found), expected)


def orphaned(clip, seed=2):
    """The file of a clip that was written, and that this file does not use."""
    mesh = clip.move_to_sidecar(written(clip, seed=seed)[1])
    path = Path(bpy.path.abspath(mesh.library.filepath))
    clip.release(mesh.library)
    return path


@pytest.mark.parametrize("how", ["plain", "Zstandard", "gzip"])
@pytest.mark.parametrize("name", ["other.blend", "shot.blend1"])
def test_what_another_file_of_the_folder_uses_is_not_unused(clip, saved, how, name):
    shown(clip.move_to_sidecar(written(clip, seed=1)[1]), "Also Used")
    used = shown(clip.move_to_sidecar(written(clip, seed=2)[1]))
    path = saved.parent / name
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=how == "Zstandard")
    starts = {"plain": b"BLENDER", "Zstandard": b"\x28\xb5\x2f\xfd", "gzip": b"\x1f\x8b"}
    if how == "gzip":  # as Blender did before 3.0
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert path.read_bytes().startswith(starts[how])
    mesh, library = used.data, used.data.library
    bpy.data.objects.remove(used)
    bpy.data.meshes.remove(mesh)
    clip.release(library)
    assert len(bpy.data.libraries) == 1 and clip.unused_files() == []
    path.unlink()
    assert len(clip.unused_files()) == 1


def test_the_name_of_a_clip_is_found_wherever_it_lies_in_a_file(clip, tmp_path, monkeypatch):
    name = b"-0123456789ab.blend"
    monkeypatch.setattr(clip, "_BLOCK", 64)
    for begin in range(130):
        path = tmp_path / "some.blend"
        path.write_bytes(bytes(begin) + b"//flock/shot-Flock" + name + bytes(70))
        assert name in clip._names_in(path)


def test_what_was_made_for_another_file_of_the_folder_is_left_to_it(clip, saved):
    """Somebody may have that file open, with a bake that is not saved yet; and one file's name can begin as another's."""
    shot, shot_2 = orphaned(clip), saved.parent / "shot-2.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(shot_2))
    newer = orphaned(clip)
    assert newer.name.startswith("shot-2-") and newer != shot
    assert clip.unused_files() == [newer]
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    assert clip.unused_files() == [shot]
    shot_2.unlink()
    assert clip.unused_files() == sorted([shot, newer]), "nobody is there any more to whom it could belong"
    renamed = newer.rename(newer.with_name(newer.name.removeprefix("shot-2-")))  # as names once were
    assert clip.unused_files() == sorted([shot, renamed])


def test_a_neighbour_that_cannot_be_looked_into_may_use_everything(clip, saved):
    unused = orphaned(clip)
    broken = saved.parent / "broken.blend"
    broken.write_bytes(b"\x28\xb5\x2f\xfd no such thing")
    with pytest.raises(ValueError, match=r"broken\.blend cannot be looked into"):
        clip.unused_files()
    with pytest.raises(ValueError, match="may use some"):
        clip.remove_unused_files()
    assert unused.exists()


def test_a_clip_survives_duplication_and_append(clip, saved):
    made, mesh = written(clip)
    shown(mesh)
    assert clip.header(mesh.copy()) == clip.header(mesh)
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(saved)) as (_, target):
        target.objects = ["Flock"]
    assert_same(clip.read(target.objects[0].data), made)
    assert clip.record(target.objects[0].data)["engine"] == "NUMBA"
