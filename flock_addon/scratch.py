# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scratch file of a bake under way: one frame after the other, so that a crash or a power cut costs no finished frame.

A head of JSON says what is baked; then each frame is a record of fixed size with a checksum of its own. It is written plainly and
mapped into memory only to be read: a full disk ends a process that writes into a map, but is an error to one that writes a file.
"""

from __future__ import annotations

import functools
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.settings import FlockError
from ..core.state import State
from .arrays import WIDTHS, ClipArrays

SUFFIX = ".bake"
_MAGIC = "flock scratch 1"
_PAGE = 4096
"""The head fills a multiple of this many bytes."""
_FIRST_LINE = 64
"""The first line, in which count and the head's length stand, is no longer than this."""


def record_type(count: int) -> np.dtype:
    """One frame of `count` boids: the state's arrays, its step, and the checksum of all before it."""
    shapes = {name: (count,) if width == 1 else (count, width) for name, width in WIDTHS.items()}
    return np.dtype([*((name, "<f4", shape) for name, shape in shapes.items()), ("step", "<u8"), ("check", "<u4")])


class Taken(FlockError):
    """The file keeps another bake, which nobody has given up."""


class InUse(Taken):
    """Another process is writing the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Another Blender is baking this flock into {path}: wait until it is done, or end it")


# -- writing ---------------------------------------------------------------------------------------------------------


class Writer:
    """A scratch file that this process alone is writing.

    Raises:
        Taken: there are frames in it, or another process is writing it.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, count: int, about: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open(path, count, os.O_CREAT)
        try:
            if frames_left(path):
                raise Taken("it keeps an unfinished bake, which can be resumed or discarded")
            if os.fstat(self._file.fileno()).st_size:  # ext4 writes out a file that was cut whenever a reader closes it
                self._file.truncate(0)
            self._file.write(_head(count, about))
            self._file.flush()
        except BaseException:
            self.close()
            raise

    @classmethod
    def resume(cls, head: Head) -> Writer:
        """Goes on behind the complete frames of a scratch file that was left; torn ones are cut off."""
        writer = cls.__new__(cls)
        writer._open(head.path, head.count)
        writer.checksums = checksums(head)
        end = head.begin + writer.frames * writer._record.itemsize
        writer._file.truncate(end)
        writer._file.seek(end)
        return writer

    def _open(self, path: Path, count: int, flags: int = 0) -> None:
        self.path, self._unwanted = path, False
        self.checksums: list[int] = []
        """Of the numbers of each frame, as `clip.write` takes them."""
        self._record = np.empty(
            1, record_type(count)
        )  # used again and again: fresh memory takes longer than to fill it
        # it is emptied only once it is known that nobody else writes it
        self._file = os.fdopen(os.open(path, os.O_RDWR | flags | getattr(os, "O_BINARY", 0), 0o666), "r+b")
        if not _lock(self._file.fileno()):
            self._file.close()
            raise InUse(path)

    @property
    def frames(self) -> int:
        """How many are in the file."""
        return len(self.checksums)

    def append(self, state: State) -> None:
        """Adds one frame.

        Raises:
            FlockError: the disk is full; the frames before are kept.
        """
        record = self._record
        for name in WIDTHS:
            for column, values in zip(_columns(record[name][0]), _columns(getattr(state, name)), strict=True):
                column[:] = values
        record["step"] = state.step
        numbers, record["check"] = _checksums(record)
        try:
            self._file.write(record.view(np.uint8))
            self._file.flush()
        except OSError as error:
            raise FlockError(
                f"The bake cannot go on writing to {self.path}: {error}. Make room there, and resume it"
            ) from error
        self.checksums.append(numbers)

    def discard(self) -> None:
        """Deletes the file: at once, or when it is closed where the system deletes no open files."""
        try:
            _delete(self.path)
        except OSError:
            self._unwanted = True

    def close(self) -> None:
        """Ends writing. What is there stays, unless it was discarded."""
        with suppress(OSError):  # what a full disk did not take is lost anyway
            self._file.close()
        if self._unwanted:
            with suppress(OSError):
                _delete(self.path)


def _columns(array: np.ndarray) -> np.ndarray:
    """One array for each number that a boid has in (count, width) or (count,): numpy is slow across rows of three."""
    return np.atleast_2d(array.T)


def _head(count: int, about: Mapping[str, Any]) -> bytes:
    text = json.dumps(about).encode()
    length = -(-(_FIRST_LINE + len(text)) // _PAGE) * _PAGE
    first = f"{_MAGIC} {count} {length}".encode().ljust(_FIRST_LINE - 1) + b"\n"
    return (first + text).ljust(length)


def _checksums(record: np.ndarray) -> tuple[int, int]:
    """CRC-32 of one record, shape (1,): of its arrays, and of all before its own checksum."""
    data = record.view(np.uint8)
    step, check = (record.dtype.fields[name][1] for name in ("step", "check"))
    numbers = zlib.crc32(data[:step])
    return numbers, zlib.crc32(data[step:check], numbers)


def _lock(file: int) -> bool:
    """Whether the open file is this process's alone now; the system gives it free when the process ends, however it does."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _lock_on_windows(file: int) -> bool:
    import msvcrt

    os.lseek(file, 2**40, os.SEEK_SET)  # far behind all frames: what is locked there cannot be read by others
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    finally:
        os.lseek(file, 0, os.SEEK_SET)
    return True


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """What a scratch file says of itself."""

    path: Path
    count: int
    """Number of boids."""
    about: dict[str, Any]
    """What is baked, and from what."""
    begin: int
    """Bytes before the first frame."""
    size: int
    """Bytes in all."""
    changed: int
    """When it was last written, nanoseconds."""

    @property
    def frames(self) -> int:
        """Frames that fit into its size; the last ones may be torn."""
        return max(0, self.size - self.begin) // record_type(self.count).itemsize


def look(path: Path) -> Head | None:
    """What a scratch file says of itself, or None where there is none. Cheap: it is read again only when it has changed."""
    try:
        status = path.stat()
    except OSError:
        return None
    return _look(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _look(path: Path, changed: int, size: int) -> Head | None:
    try:
        with path.open("rb") as file:
            *magic, count, length = file.read(_FIRST_LINE).decode().split()
            if magic != _MAGIC.split():
                return None
            return Head(path, int(count), json.loads(file.read(int(length) - _FIRST_LINE)), int(length), size, changed)
    except (OSError, ValueError):  # something else, or torn in its head
        return None


def frames_left(path: Path) -> Head | None:
    """The same, or None also where there is no frame in it."""
    head = look(path)
    return head if head and head.frames else None


def complete_frames(head: Head) -> int:
    """How many frames from the first on are whole: a power cut may have left others behind them."""
    return len(checksums(head))


def checksums(head: Head) -> list[int]:
    """Of the numbers of each frame that is whole."""
    found, records = [], _map(head, head.frames)
    for index in range(head.frames):
        record = np.array(records[index : index + 1])
        numbers, check = _checksums(record)
        if record["check"][0] != check:
            break
        found.append(numbers)
    return found


def frames(head: Head, number: int) -> ClipArrays:
    """The first frames, mapped into memory."""
    records = _map(head, number)
    return ClipArrays(**{name: records[name] for name in WIDTHS})


def state(head: Head, index: int) -> State:
    """The flock at one frame, from which the flight goes on bit for bit."""
    record = _map(head, index + 1)[index]
    return State(**{name: np.array(record[name]) for name in WIDTHS}, step=int(record["step"]))


def _map(head: Head, number: int) -> np.ndarray:
    kind = record_type(head.count)
    if not number:
        return np.empty(0, kind)
    return np.memmap(head.path, kind, "r", head.begin, (number,))


def discard(path: Path) -> None:
    """Deletes a scratch file, if it is there.

    Raises:
        InUse: another process is writing it.
        FlockError: it cannot be deleted.
    """
    if not path.exists():
        return
    try:
        with path.open("r+b") as file:
            if not _lock(file.fileno()):
                raise InUse(path)
        _delete(path)
    except OSError as error:
        raise FlockError(f"The file {path} cannot be deleted: {error}. Delete it by hand") from error


def _delete(path: Path) -> None:
    """Deletes a file, and its folder where nothing else is in it."""
    path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()
