# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clip: all frames of a flock in one mesh, written, read, extended, and stored in the file or beside it.

Vertex `frame * count + boid` holds one boid at one frame, in the attributes `position`, `velocity`, `rotation` and `flap`. Two
more vertices at the end are the header that the nodes read; what Python needs to know lies in a custom property.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..core.settings import FlockError
from .arrays import WIDTHS, ClipArrays, array_shape

FORMAT = 1
"""Of the mesh's layout; the nodes and older add-ons can tell a newer one by it."""

PROPERTY = "flock_clip"
"""The mesh's custom property: header and record."""

LATER = ("flight_check",)
"""Keys of the record that do not make it another clip."""

HEADER_VERTICES = 2
FOLDER = "flock"
_KINDS = {"rotation": ("QUATERNION", "value"), "velocity": ("FLOAT_VECTOR", "vector"), "flap": ("FLOAT", "value")}
_Parts = Callable[[str], tuple[np.ndarray, ...]]
"""For an attribute's name the arrays that make it up, one after the other."""

_OURS = re.compile(r".+-[0-9a-f]{12}\.blend")


@dataclass(frozen=True)
class Header:
    """What the nodes have to know about a clip."""

    count: int
    """Number of boids."""
    frames: int
    """Number of stored frames."""
    first: int = 1
    """The scene's frame at which the clip begins."""
    fps: float = 24.0
    """Frames per second of the scene in which it was baked."""
    step: float = 1.0
    """Frames of the scene from one stored frame to the next."""

    @property
    def last(self) -> float:
        """The scene's frame of the last stored frame."""
        return self.first + (self.frames - 1) * self.step


def size_in_bytes(count: int, frames: int) -> int:
    """What a clip takes, in the file and in memory."""
    return (count * frames + HEADER_VERTICES) * 4 * sum(WIDTHS.values()) if count else 0


def content_hash(arrays: ClipArrays) -> str:
    """Of all the numbers, hexadecimal digits: SHA-256 of the frames' checksums, each CRC-32 of its arrays in the order of `WIDTHS`."""
    checksums = [0] * arrays.frames
    for name in WIDTHS:
        _carry_on(checksums, getattr(arrays, name))
    return _hash(checksums, arrays.count)


def _carry_on(checksums: list[int], array: np.ndarray) -> None:
    """Carries the checksums of the first frames on over another array."""
    for index, frame in enumerate(array):
        checksums[index] = zlib.crc32(np.ascontiguousarray(frame, np.float32), checksums[index])


def _hash(checksums: list[int], count: int) -> str:
    return hashlib.sha256(f"{len(checksums)} {count}".encode() + np.array(checksums, "<u4").tobytes()).hexdigest()


# -- writing and reading ----------------------------------------------------------------------------------------------


def write(
    mesh_name: str, arrays: ClipArrays, header: Header, record: Mapping[str, Any], checksums: Sequence[int] = ()
) -> bpy.types.Mesh:
    """A new mesh that holds the clip; with no boids it has no vertices.

    Args:
        record: whatever JSON can hold; `hash`, that of the content, is added.
        checksums: of the frames, as `content_hash` makes them, where they are known.

    Raises:
        FlockError: the header does not fit the arrays.
    """
    if (header.count, header.frames) != (arrays.count, arrays.frames):
        raise FlockError(f"The clip has {arrays.frames} frames of {arrays.count} boids: write a header that says so")
    return _assemble(mesh_name, header, record, lambda name: (getattr(arrays, name),), checksums)


def _assemble(
    mesh_name: str, header: Header, record: Mapping[str, Any], parts: _Parts, known: Sequence[int]
) -> bpy.types.Mesh:
    """One attribute after the other, so that no more than one is twice in memory. Checksums are `known` of the last frames."""
    mesh, unknown = bpy.data.meshes.new(mesh_name), header.frames - len(known)
    checksums = [0] * unknown + list(known)
    if header.count:
        mesh.vertices.add(header.count * header.frames + HEADER_VERTICES)
        mesh.attributes.remove(mesh.attributes[".select_vert"])  # new vertices are selected ones: a byte for each
        for name, width in WIDTHS.items():
            flat = _with_header(name, parts(name), header)
            first = flat[: unknown * header.count * width]
            _carry_on(checksums, first.reshape(array_shape(name, unknown, header.count)))
            _set_attribute(mesh, name, flat)
            del flat, first  # before the next one is made
        mesh.update()
    _set_property(mesh, header, dict(record) | {"hash": _hash(checksums, header.count)})
    return mesh


def read(mesh: bpy.types.Mesh) -> ClipArrays:
    """All frames, copied.

    Raises:
        FlockError: this is no clip, or a damaged one.
    """
    head = header(mesh)
    problem = "This mesh holds no clip: bake the flock" if head is None else damage(mesh)
    if problem:
        raise FlockError(problem)
    return ClipArrays(**{name: _get_attribute(mesh, name, head) for name in WIDTHS})


def read_frame(mesh: bpy.types.Mesh, index: int) -> dict[str, np.ndarray]:
    """One frame of each array, copied."""
    head = header(mesh)
    return {name: np.array(_get_attribute(mesh, name, head)[index]) for name in WIDTHS}


def splice(
    mesh: bpy.types.Mesh, keep: int, more: ClipArrays, record: Mapping[str, Any], checksums: Sequence[int] = ()
) -> bpy.types.Mesh:
    """A new clip: the first `keep` frames of this one, their bits as they are, and `more` after them.

    Args:
        checksums: of the frames in `more`, where they are known: see `write`.

    Raises:
        FlockError: the two do not fit together.
    """
    old = header(mesh)
    if old is None or damage(mesh):
        raise FlockError(damage(mesh) or "This mesh holds no clip: bake the flock")
    if more.count != old.count or not 0 <= keep <= old.frames:
        raise FlockError(f"The clip has {old.frames} frames of {old.count} boids: the new frames do not fit it")

    def parts(name: str) -> tuple[np.ndarray, ...]:
        return _get_attribute(mesh, name, old)[:keep], getattr(more, name)

    new = _assemble(mesh.name, replace(old, frames=keep + more.frames), record, parts, checksums)
    for material in mesh.materials:
        new.materials.append(material)
    return new


def _with_header(name: str, parts: tuple[np.ndarray, ...], header: Header) -> np.ndarray:
    """One attribute, flat, with the header's two vertices at its end: float32 ((count * frames + 2) * width,)."""
    width = WIDTHS[name]
    size = header.count * header.frames * width
    flat = np.zeros(size + HEADER_VERTICES * width, np.float32)
    begin = 0
    for part in parts:
        flat[begin : begin + part.size].reshape(part.shape)[...] = part  # no copy of what lies apart in a file
        begin += part.size
    tail = flat[size:].reshape(HEADER_VERTICES, width)
    if name == "velocity":
        tail[:] = ((header.count, header.frames, header.first), (header.fps, header.step, FORMAT))
    elif name == "position":
        tail[:] = flat[:3]  # where a boid is anyway, so that the bounds stay those of the flock
    elif name == "rotation":
        tail[:, 0] = 1.0
    return flat


def _set_attribute(mesh: bpy.types.Mesh, name: str, flat: np.ndarray) -> None:
    kind, key = _KINDS.get(name, ("FLOAT_VECTOR", "vector"))
    attribute = mesh.attributes.get(name) or mesh.attributes.new(name, kind, "POINT")
    attribute.data.foreach_set(key, flat)


def _get_attribute(mesh: bpy.types.Mesh, name: str, header: Header) -> np.ndarray:
    width, shape = WIDTHS[name], array_shape(name, header.frames, header.count)
    if not header.count:
        return np.zeros(shape, np.float32)
    flat = np.empty((header.count * header.frames + HEADER_VERTICES) * width, np.float32)
    shared = mesh.copy()  # reading would give the clip itself an array that it shares with nobody, for good
    shared.attributes[name].data.foreach_get(_KINDS.get(name, ("", "vector"))[1], flat)
    bpy.data.meshes.remove(shared)
    return flat[: -HEADER_VERTICES * width].reshape(shape)


# -- what Python knows of it, without reading any attribute ----------------------------------------------------------


def _set_property(mesh: bpy.types.Mesh, header: Header, record: Mapping[str, Any]) -> None:
    text = json.dumps(record)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    mesh[PROPERTY] = asdict(header) | {"format": FORMAT, "record": text, "key": key}


def is_clip(mesh: Any) -> bool:
    """Whether this datablock is a mesh that holds a clip."""
    return isinstance(mesh, bpy.types.Mesh) and PROPERTY in mesh.keys()


def header(mesh: bpy.types.Mesh) -> Header | None:
    """The clip's header, or None where there is no clip."""
    if not is_clip(mesh):
        return None
    stored = mesh[PROPERTY]
    return Header(**{entry.name: stored[entry.name] for entry in fields(Header)})


def record(mesh: bpy.types.Mesh) -> dict[str, Any]:
    """What the clip knows of its making; empty where there is no clip. What lies inside is shared: do not change it.

    It is read once for each record, since panels ask for it whenever they are drawn.
    """
    return dict(_parsed(mesh[PROPERTY])) if is_clip(mesh) else {}


def _parsed(stored: Any) -> dict[str, Any]:
    key = stored.get("key") or stored["record"]
    if key not in _records:
        if len(_records) >= _MOST_RECORDS:
            _records.clear()
        _records[key] = json.loads(stored["record"])
    return _records[key]


_records: dict[str, dict[str, Any]] = {}
_MOST_RECORDS = 64


def damage(mesh: bpy.types.Mesh) -> str | None:
    """A sentence where the mesh no longer holds what its header says, else None."""
    head = header(mesh)
    if head is None:
        return None
    wanted = head.count * head.frames + HEADER_VERTICES if head.count else 0
    found = len(mesh.vertices)
    if found == wanted:
        return None
    return f"The clip '{mesh.name}' was edited: it has {found} points instead of {wanted}. Undo the edit, or bake again"


def being_edited(mesh: bpy.types.Mesh) -> str | None:
    """A sentence where some object has this mesh in Edit Mode, else None: then nothing can take the mesh's place.

    Blender leaves such an object its mesh when users are remapped, and deletes the object with the mesh.
    """
    if not mesh.is_editmode:
        return None
    name = next((item.name for item in bpy.data.objects if item.data == mesh and item.mode == "EDIT"), mesh.name)
    return f"Leave Edit Mode of '{name}' first"


# -- where it lives --------------------------------------------------------------------------------------------------


def is_sidecar(mesh: bpy.types.Mesh) -> bool:
    """Whether the clip lies in a file of its own."""
    return mesh.library is not None


def missing(mesh: bpy.types.Mesh) -> str | None:
    """A sentence where the clip's side-car is not there, else None.

    Opened without it, Blender has an empty mesh in its place, which holds nothing but the link.
    """
    if mesh.library is None:
        return None
    there, name = Path(bpy.path.abspath(mesh.library.filepath)).exists(), mesh.library.filepath
    if mesh.is_missing:
        what_to_do = "is back: get the clip back" if there else "is missing: put it back and reopen this file"
        return f"The clip's file {name} {what_to_do}, or bake again"
    return None if there else f"The clip's file {name} is missing: put it back, or take the clip into this file"


def move_to_sidecar(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    """Writes the clip into an immutable file of its own, and links it from there for all its users.

    Raises:
        FlockError: the .blend was never saved, the clip is damaged or in Edit Mode, or the file cannot be written; then
            nothing has changed.
    """
    if mesh.library is not None:
        return mesh
    problem = being_edited(mesh) or damage(mesh)
    if problem:
        raise FlockError(problem)
    linked = link(write_sidecar(mesh, mesh.name))
    mesh.user_remap(linked)
    bpy.data.meshes.remove(mesh)
    return linked


def move_to_file(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    """Takes a linked clip into the file, for all its users. Its side-car stays where it is.

    Raises:
        FlockError: the side-car was missing when this file was opened.
    """
    if mesh.library is None:
        return mesh
    if mesh.is_missing:
        raise FlockError(missing(mesh))
    library = mesh.library
    local = mesh.copy()
    local.name = mesh.name
    mesh.user_remap(local)
    release(library)
    return local


def release(library: bpy.types.Library) -> None:
    """Forgets a side-car that nothing in this file uses any more; the file itself stays."""
    if not any(item.users for item in library.users_id):
        bpy.data.libraries.remove(library)


def sidecar_path(mesh: bpy.types.Mesh, name: str, file: str = "") -> Path:
    """The file in which this clip would lie under a name: it begins with the .blend's, and ends in a hash of all that is in it.

    Args:
        file: the .blend that is to use it; the open one by default.

    Raises:
        FlockError: the .blend was never saved.
    """
    clean = bpy.path.clean_name(name) or "Flock"
    return sidecar_folder(file) / f"{_maker(file or bpy.data.filepath)}{clean}-{_file_hash(mesh)}.blend"


def _maker(file: str | Path) -> str:
    """How the names of the side-cars begin that were made for a .blend."""
    return f"{bpy.path.clean_name(Path(file).stem)}-"


def _file_hash(mesh: bpy.types.Mesh) -> str:
    """12 hexadecimal digits for header and record, and so for the content, whose own hash is in the record."""
    return hashlib.sha256(json.dumps(_identity(mesh), sort_keys=True).encode()).hexdigest()[:12]


def _identity(mesh: bpy.types.Mesh) -> list[dict[str, Any]]:
    """Header and record, but for what was found out about the clip later."""
    head = header(mesh)
    return [asdict(head) if head else {}, {name: value for name, value in record(mesh).items() if name not in LATER}]


def sidecar_folder(file: str = "") -> Path:
    """The folder beside a .blend that holds its clips.

    Args:
        file: its path; that of the open one by default.

    Raises:
        FlockError: the .blend was never saved.
    """
    file = file or bpy.data.filepath
    if not file:
        raise FlockError("Save the file first: the clip is stored beside it")
    return Path(file).parent / FOLDER


def write_sidecar(mesh: bpy.types.Mesh, name: str, file: str = "") -> Path:
    """Writes the clip, under a name, into a file of its own, where it does not lie there yet.

    Args:
        file: the .blend that is to use it; the open one by default.

    Raises:
        FlockError: the .blend was never saved, or the file cannot be written.
    """
    path = sidecar_path(mesh, name, file)
    if path.exists():
        return path
    bare = mesh.copy()  # shares its arrays with the clip
    bare.materials.clear()
    holder: bpy.types.Mesh | None = bpy.data.meshes.get((name, None))
    if holder:  # lends its name meanwhile
        holder.name = "Moving"
    bare.name = name
    partial = path.with_name(f"{path.stem}.part.blend")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        bpy.data.libraries.write(str(partial), {bare}, fake_user=True, compress=False)
        partial.replace(path)
    except (OSError, RuntimeError) as error:
        raise FlockError(
            f"The clip cannot be written to {path}: {error}. Choose a folder that can be written"
        ) from error
    finally:
        bpy.data.meshes.remove(bare)
        if holder:
            holder.name = name
    return path


def link(path: Path) -> bpy.types.Mesh:
    """The clip that lies in a side-car.

    Raises:
        FlockError: the file cannot be read, or holds no clip.
    """
    relative = bool(bpy.data.filepath)
    try:
        with bpy.data.libraries.load(str(path), link=True, relative=relative) as (source, target):
            target.meshes = source.meshes
        mesh = next(item for item in target.meshes if is_clip(item))
    except (OSError, StopIteration) as error:
        raise FlockError(f"The clip's file {path} cannot be read: {error}".rstrip(": ")) from error
    mesh.library.filepath = mesh.library.filepath.replace("\\", "/")
    return mesh


def unused_files() -> list[Path]:
    """Side-cars beside this file that are ours and that no .blend in its folder uses, also as it was last saved, nor a backup.

    Those that were made for another .blend in the folder are left to it: somebody may have it open, and not saved yet. Files in
    other folders may still use what is listed.

    Raises:
        FlockError: this file was never saved, or another in its folder cannot be looked into.
    """
    folder = sidecar_folder()
    used = {Path(bpy.path.abspath(library.filepath)).resolve() for library in bpy.data.libraries}
    found = [path for path in _sidecars(folder) if path.resolve() not in used and _is_for_this_file(path)]
    if not found:
        return []
    named = set[bytes]().union(*map(_names_in, filter(Path.is_file, folder.parent.glob("*.blend*"))))
    return [path for path in found if _end(path.name.encode()) not in named]


def _is_for_this_file(path: Path) -> bool:
    """Whether a side-car was made for this file, or for one that is not beside it, or at a time when names did not tell."""
    makers = map(_maker, path.parent.parent.glob("*.blend"))
    own = _maker(bpy.data.filepath)
    return max((maker for maker in makers if path.name.startswith(maker)), key=len, default=own) == own


def _names_in(path: Path) -> set[bytes]:
    """The ends of all names of side-cars that occur in a .blend, whose libraries Blender lists only for the file that is open.

    Raises:
        FlockError: it cannot be looked into.
    """
    names, rest = set[bytes](), b""
    try:
        with _uncompressed(path) as file:
            while block := file.read(_BLOCK):
                text = rest + block
                names |= {_end(part + _SUFFIX) for part in text.split(_SUFFIX)[:-1]}
                rest = text[1 - _END :]
    except Exception as error:  # each kind of compression has errors of its own
        raise FlockError(
            f"{path} cannot be looked into, and may use some of these clips ({error}): move it away, or delete clips by hand"
        ) from error
    return names


_SUFFIX = b".blend"
_END = len("-0123456789ab.blend")
_BLOCK = 1 << 24
_ZSTANDARD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"


def _end(name: bytes) -> bytes:
    """What tells side-cars apart: the hash in a name, and what is around it."""
    return name[-_END:]


def _uncompressed(path: Path) -> Any:
    """A .blend opened for reading, which may be compressed in two ways."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == _ZSTANDARD:
        import zstandard  # Blender brings it, but somebody's own build need not

        return zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
    return gzip.open(path) if magic.startswith(_GZIP) else path.open("rb")


def remove_unused_files() -> dict[Path, int]:
    """Deletes what `unused_files` lists, and nothing else. Returns the bytes of each file that went.

    Raises:
        FlockError: as there, and nothing is gone; or a file cannot be deleted, and those before it are gone.
    """
    gone = {}
    for path in unused_files():
        size = path.stat().st_size
        try:
            path.unlink()
        except OSError as error:
            raise FlockError(f"The file {path} cannot be deleted: {error}. Delete it by hand") from error
        gone[path] = size
    return gone


def _sidecars(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.blend")):
        if _OURS.fullmatch(path.name) and _holds_one_clip(path):
            yield path


def _holds_one_clip(path: Path) -> bool:
    try:
        with bpy.data.libraries.load(str(path), link=True) as (source, _):
            return len(source.meshes) == 1 and not source.objects and not source.scenes
    except OSError:
        return False


def clips_without_users() -> list[bpy.types.Mesh]:
    """Clips in this file that no object shows: they can be given back to their flock."""
    shown = {item.data for item in bpy.data.objects}
    return [mesh for mesh in bpy.data.meshes if is_clip(mesh) and mesh not in shown]


def way_back(mesh: bpy.types.Mesh) -> bpy.types.Mesh | Path | None:
    """For a damaged or missing clip, where it is as it was: another mesh, or the side-car from which it came.

    Edit Mode destroys a clip in the file, and Convert leaves an empty mesh; both leave the record, by which it is found.
    """
    if damage(mesh) is None and not mesh.is_missing:
        return None
    if mesh.library is not None:  # Convert empties a linked mesh too, until it is read again
        path = Path(bpy.path.abspath(mesh.library.filepath))
        return path if path.exists() else None
    known = _identity(mesh)
    for other in bpy.data.meshes:
        if other != mesh and is_clip(other) and _identity(other) == known and not (damage(other) or missing(other)):
            return other
    folder = sidecar_folder() if bpy.data.filepath else None
    return next(iter(sorted(folder.glob(f"*-{_file_hash(mesh)}.blend"))), None) if folder else None


def recover(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    """The damaged clip as it was.

    Raises:
        FlockError: it is nowhere to be found.
    """
    found = way_back(mesh)
    if mesh.library is not None and found:
        return _read_again(mesh)
    if found is None:
        raise FlockError(f"There is no other copy of the clip '{mesh.name}': undo the edit, or bake again")
    return link(found) if isinstance(found, Path) else found


def _read_again(mesh: bpy.types.Mesh) -> bpy.types.Mesh:
    """What the mesh is in its file, in which there can be others, where that is no side-car but an asset."""
    name, library = mesh.name, mesh.library
    library.reload()
    return next(item for item in bpy.data.meshes if item.library == library and item.name == name)
