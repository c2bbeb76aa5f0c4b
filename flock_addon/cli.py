# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `blender --addons bl_ext.user_default.flock scene.blend --command flock bake …`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import bpy

from ..core.settings import FlockError
from . import bake, plan, preferences, properties

NAME = "flock"
_handles: list[Any] = []


def run(words: list[str]) -> int:
    """Carries out one command. Returns the exit status: 0 done, 1 a sentence on the error output, 2 a wrong command."""
    try:
        options = _parser().parse_args(words)
    except SystemExit as stop:  # argparse ends the process, which here is all of Blender
        return int(stop.code or 0)
    try:
        return _bake(options)
    except FlockError as error:
        print(f"flock: {error}", file=sys.stderr, flush=True)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"blender … --command {NAME}", description="Bake flocks without a window.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("bake", help="bake the flocks of the scene and save the file")
    command.add_argument("--flock", metavar="NAME", help="only the flock of this name")
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--frames", metavar=("A", "B"), nargs=2, type=int, help="first and last frame; the flock's own by default"
    )
    what.add_argument(
        "--resume", action="store_true", help="go on with a bake that was ended by force; bake anew where there is none"
    )
    what.add_argument("--extend", metavar="N", type=int, help="fly N more frames behind the clip's last")
    what.add_argument(
        "--from", dest="start", metavar="K", type=int, help="fly the clip again from frame K on, and keep those before"
    )
    command.add_argument("--output", metavar="FILE.blend", help="where to save; the file itself by default")
    return parser


def _bake(options: argparse.Namespace) -> int:
    scene = bpy.context.scene
    if not (options.output or bpy.data.filepath):
        raise FlockError("Open a .blend before the command, or say --output FILE.blend")
    for flock in _chosen(scene, options.flock):
        job = _job(flock, scene, options)
        job.run(_Progress(flock.name))
        if job.warning:
            print(f"{flock.name}: {job.warning}", file=sys.stderr, flush=True)
    _save(options.output)
    return 0


def _job(flock: bpy.types.Object, scene: bpy.types.Scene, options: argparse.Namespace) -> bake.Job:
    """What the options ask for."""
    chosen = preferences.options()
    unfinished = plan.unfinished(flock, chosen) if options.resume else None
    if options.extend is not None:
        wanted = plan.extension(flock, scene, options.extend)
    elif options.start is not None:
        wanted = plan.continuation(flock, scene, options.start)
    else:
        wanted = plan.whole(flock, scene, options.frames and tuple(options.frames))
    return bake.Job(flock, scene, wanted, chosen, unfinished)


def _chosen(scene: bpy.types.Scene, name: str | None) -> list[bpy.types.Object]:
    found = properties.flocks(scene)
    names = ", ".join(f"'{item.name}'" for item in found) or "none"
    if name is not None:
        found = [item for item in found if item.name == name]
    if not found:
        raise FlockError(f"The scene '{scene.name}' has no such flock; it has: {names}")
    return found


def _save(path: str | None) -> None:
    try:
        # a copy would keep this session's file; the saved one is what was asked for
        bpy.ops.wm.save_as_mainfile(filepath=path or bpy.data.filepath, check_existing=False)
    except RuntimeError as error:
        raise FlockError(f"The file cannot be saved to {path or bpy.data.filepath}: {error}".strip()) from error
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
