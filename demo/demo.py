# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the built extension into a real Blender, makes the demo scene with it, bakes, saves and renders.

    python demo/demo.py [ZIP [FOLDER]]

ZIP is the built extension (or FLOCK_ZIP names it), FOLDER is where the results go, out/demo by default. `make demo` sets all this up.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = "bl_ext.user_default.flock"
WIDTH, HEIGHT, SAMPLES = 480, 270, 8
COLUMNS, ROWS = 3, 3
BEGIN = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - BEGIN:5.0f} s] {text}", flush=True)


def install(zip_file: Path) -> None:
    """The extension from its zip, as a user installs it, into an empty user folder."""
    import bpy

    bpy.ops.extensions.package_install_files(filepath=str(zip_file), repo="user_default", enable_on_install=True)
    # The installer answers FINISHED also where it refused.
    if MODULE not in bpy.context.preferences.addons:
        sys.exit(f"Blender {bpy.app.version_string} did not install {zip_file}: see above")
    say(f"Installed {zip_file.name} into Blender {bpy.app.version_string}")


def make(blend: Path):
    """The scene, baked and saved. Returns the flock."""
    import bpy
    import scene  # beside this file

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    flock = scene.build()
    say(f"Built the scene: {flock.flock.count} boids, {len(flock.flock.repulsors.all_objects)} repulsors")
    bake(flock)
    _set_render(bpy.context.scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(blend), check_existing=False)
    say(f"Saved {blend}")
    return flock


def bake(flock) -> None:
    """By the add-on's own job, which the button and the command line run too."""
    import importlib

    import bpy

    job, preferences = (importlib.import_module(f"{MODULE}.flock_addon.{name}") for name in ("bake", "preferences"))
    last = [-1]

    def report(share: float, message: str) -> None:
        if int(20 * share) != last[0]:
            last[0] = int(20 * share)
            say(f"Bake {share:4.0%}: {message}")

    job.bake(flock, bpy.context.scene, options=preferences.options(), report=report)
    if job.engine.problem:
        say(job.engine.problem)


def _set_render(scene) -> None:
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    render.use_motion_blur, render.motion_blur_shutter = True, 0.5
    render.use_persistent_data = True
    cycles = scene.cycles
    cycles.device, cycles.samples, cycles.use_adaptive_sampling = "CPU", SAMPLES, False
    cycles.max_bounces = 1
    cycles.use_denoising = True
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"


@contextlib.contextmanager
def quiet():
    """Blender's own lines for each rendered tile go nowhere meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def render(frames: Path) -> list[Path]:
    """All frames as pictures."""
    import bpy

    scene = bpy.context.scene
    scene.render.image_settings.file_format = "PNG"
    done = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        scene.render.filepath = str(frames / f"{frame:04}.png")
        with quiet():
            bpy.ops.render.render(write_still=True)
        done.append(Path(scene.render.filepath))
        if frame % 5 == 0 or frame == scene.frame_start:
            say(f"Rendered frame {frame} of {scene.frame_end}")
    return done


def film(pictures: list[Path], path: Path, fps: int) -> None:
    """The pictures as one video."""
    import bpy

    scene = bpy.data.scenes.new("Film")
    scene.frame_start, scene.frame_end = 1, len(pictures)
    scene.view_settings.view_transform = "Standard"
    editor = scene.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences
    strip = strips.new_image("Frames", str(pictures[0]), 1, 1)
    for picture in pictures[1:]:
        strip.elements.append(picture.name)
    render = scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH, HEIGHT, 100
    render.fps, render.filepath, render.use_file_extension = fps, str(path), False
    if hasattr(render.image_settings, "media_type"):
        render.image_settings.media_type = "VIDEO"
    render.image_settings.file_format = "FFMPEG"
    render.ffmpeg.format, render.ffmpeg.codec = "MPEG4", "H264"
    render.ffmpeg.constant_rate_factor = "HIGH"
    with quiet():
        bpy.ops.render.render(animation=True, scene=scene.name)
    bpy.data.scenes.remove(scene)


def contact_sheet(pictures: list[Path], path: Path) -> None:
    """Moments of the film, evenly over it, on one picture."""
    import bpy
    import numpy as np

    count = COLUMNS * ROWS
    chosen = [pictures[round(number * (len(pictures) - 1) / (count - 1))] for number in range(count)]
    sheet = np.zeros((ROWS * HEIGHT, COLUMNS * WIDTH, 4), np.float32)
    for number, picture in enumerate(chosen):
        image = bpy.data.images.load(str(picture))
        pixels = np.empty(WIDTH * HEIGHT * 4, np.float32)
        image.pixels.foreach_get(pixels)
        bpy.data.images.remove(image)
        row, column = ROWS - 1 - number // COLUMNS, number % COLUMNS
        place = sheet[row * HEIGHT : (row + 1) * HEIGHT, column * WIDTH : (column + 1) * WIDTH]
        place[:] = pixels.reshape(HEIGHT, WIDTH, 4)
    image = bpy.data.images.new("Sheet", COLUMNS * WIDTH, ROWS * HEIGHT)
    image.pixels.foreach_set(sheet.ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)


def main(zip_file: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    frames = out / "frames"
    shutil.rmtree(frames, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="flock-user-") as user:
        os.environ["BLENDER_USER_RESOURCES"] = user  # before Blender is first imported
        install(zip_file)
        make(out / "flock.blend")
        pictures = render(frames)
        film(pictures, out / "flock.mp4", 24)
        contact_sheet(pictures, out / "flock.png")
    say("Done. This is what was made:")
    print(f"  {out / 'flock.png'}    nine moments: open it first")
    print(f"  {out / 'flock.mp4'}    the film, 5 seconds: any player")
    print(f"  {out / 'flock.blend'}  the scene: opens and plays in Blender with or without Flock; press Space")


if __name__ == "__main__":
    words = sys.argv[1:]
    archive = words[0] if words else os.environ.get("FLOCK_ZIP", "")
    if not Path(archive).is_file():
        sys.exit("Name the built zip: python demo/demo.py ZIP [FOLDER]; `make demo` builds it first")
    main(Path(archive).resolve(), Path(words[1] if len(words) > 1 else ROOT / "out/demo").resolve())
