# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `blender --addons bl_ext.user_default.flock scene.blend --command flock bake …`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy

from ..core.settings import FlockError
from . import bake, plan, preferences, properties

NAME = "flock"
_handles: list[Any] = []


def run(words: list[str]) -> int:
    """Carries out one command. Returns the exit status: 0 done, 1 a sentence on the error output, 2 a wrong command."""
    try:
        options = _read(words)
    except SystemExit as stop:  # argparse ends the process, which here is all of Blender
        return int(stop.code or 0)
    try:
        return 0 if _bake(options) else 1
    except FlockError as error:
        _say(error)
        return 1


def _say(error: object) -> None:
    print(f"{NAME}: {error}", file=sys.stderr, flush=True)


# -- what is asked for -----------------------------------------------------------------------------------------------


def _read(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"blender … --command {NAME}", description="Bake flocks without a window.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("bake", help="bake the flocks of the scene, and save the file after each")
    command.add_argument("--flock", metavar="NAME", help="only the flock of this name")
    last = bpy.types.Scene.bl_rna.properties["frame_current"].hard_max
    frame = _whole_number("frame", -last, last)
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--frames", metavar=("A", "B"), nargs=2, type=frame, help="first and last frame; the flock's own by default"
    )
    what.add_argument(
        "--resume", action="store_true", help="go on with a bake that was ended by force; bake anew where there is none"
    )
    what.add_argument(
        "--extend",
        metavar="N",
        type=_whole_number("number of frames to add", 1, last),
        help="fly N more frames behind the clip's last",
    )
    what.add_argument(
        "--from",
        dest="start",
        metavar="K",
        type=frame,
        help="fly the clip again from frame K on, and keep those before",
    )
    command.add_argument(
        "--output",
        metavar="FILE.blend",
        type=_path,
        help="where to save, and beside which clips are stored; the file itself by default",
    )
    options = parser.parse_args(words)
    if options.frames and options.frames[1] < options.frames[0]:
        command.error("argument --frames: the last frame lies before the first: say the first one first")
    return options


def _whole_number(what: str, least: int, most: int) -> Callable[[str], int]:
    """Reads such a number from a word."""

    def read(word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"'{word}' is no {what}: give a whole number from {least} to {most}")
        return number

    return read


def _path(word: str) -> str:
    """An absolute path. An empty word is a script's variable that was never set, and no wish to save in place."""
    if not word:
        raise argparse.ArgumentTypeError("name a file, or leave the option out")
    return os.path.abspath(bpy.path.abspath(word))


# -- what is done ----------------------------------------------------------------------------------------------------


def _bake(options: argparse.Namespace) -> bool:
    """Looks at every flock before it flies the first, and saves after each. Whether all went well: what goes wrong with one
    flock is told, and costs the others nothing.
    """
    scene, output = bpy.context.scene, options.output or bpy.data.filepath
    if not output:
        raise FlockError("Open a .blend before the command, or say --output FILE.blend")
    _check_output(Path(output))
    flocks, jobs, done = _chosen(scene, options.flock), [], []
    for flock in flocks:
        with _telling(flock.name):
            jobs.append(_job(flock, scene, options, output))
    for job in jobs:
        with _telling(job.name):
            _fly(job)
            _save(output)
            done.append(job)
    return len(done) == len(flocks)


@contextmanager
def _telling(flock: str) -> Iterator[None]:
    """Says what goes wrong with a flock, and lets the others go on."""
    try:
        yield
    except FlockError as error:
        _say(f"{flock}: {error}")


def _check_output(file: Path) -> None:
    """Raises a sentence where the file could not be saved, which is better known before the flight than after it."""
    try:
        with tempfile.TemporaryFile(dir=file.parent):
            pass
        if file.exists():
            file.open("r+b").close()
    except OSError as error:
        raise FlockError(
            f"The file cannot be saved to {file}: {error.strerror}. Choose a folder and a name that can be written"
        ) from error
    if file in (Path(bpy.path.abspath(library.filepath)) for library in bpy.data.libraries):
        raise FlockError(f"The file cannot be saved to {file}, from which something is linked: choose another name")


def _chosen(scene: bpy.types.Scene, name: str | None) -> list[bpy.types.Object]:
    """The flocks to bake: a linked one only where nothing else is asked for, and then it is told that it cannot be."""
    found = properties.flocks(scene)
    names = ", ".join(f"'{item.name}'" for item in found) or "none"
    if name is not None:
        found = [item for item in found if item.name == name]
    if not found:
        raise FlockError(f"The scene '{scene.name}' has no such flock; it has: {names}")
    own = [item for item in found if item.library is None] or found
    for item in found:
        if item not in own:
            print(f"{item.name}: left out, since it is linked from {item.library.filepath}: bake it there", flush=True)
    return own


def _job(flock: bpy.types.Object, scene: bpy.types.Scene, options: argparse.Namespace, output: str) -> bake.Job:
    """What the options ask for."""
    usual = preferences.options()
    chosen = replace(usual, output=output)
    unfinished = None
    if options.resume:
        unfinished = plan.unfinished(flock, chosen) or plan.unfinished(flock, usual)
    if options.extend is not None:
        wanted = plan.extension(flock, scene, options.extend)
    elif options.start is not None:
        wanted = plan.continuation(flock, scene, options.start)
    else:
        wanted = plan.whole(flock, scene, options.frames and tuple(options.frames))
    return bake.Job(flock, scene, wanted, chosen, unfinished)


def _fly(job: bake.Job) -> None:
    job.run(_Progress(job.name))
    if job.warning:
        print(f"{job.name}: {job.warning}", file=sys.stderr, flush=True)


def _save(file: str) -> None:
    try:
        # a copy would keep this session's file; the saved one is what was asked for
        bpy.ops.wm.save_as_mainfile(filepath=file, check_existing=False)
    except RuntimeError as error:
        raise FlockError(f"The file cannot be saved to {file}: {error}".strip()) from error
    print(f"Saved {bpy.data.filepath}", flush=True)


class _Progress:
    """Prints a line for every whole twentieth, and whenever the work changes."""

    def __init__(self, name: str) -> None:
        self._name, self._last = name, ("", -1)

    def __call__(self, share: float, message: str) -> None:
        now = (message.partition(":")[0], int(20 * share))
        if now != self._last:
            self._last = now
            print(f"{self._name}: {share:4.0%}  {message}", flush=True)


def register() -> None:
    _handles.append(bpy.utils.register_cli_command(NAME, run))


def unregister() -> None:
    while _handles:
        bpy.utils.unregister_cli_command(_handles.pop())
