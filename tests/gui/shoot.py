# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the pictures of the add-on in a real Blender window: `make gui`.

Usage: shoot.py DRIVER EXTENSION.zip OUT [NAME …]. DRIVER is a folder with `shot.sh EXTENSION.zip SCRIPT.py OUT.png SECONDS`, which
opens a window, installs the extension, runs the script inside and saves what the screen shows; STEPS are words for xdotool.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
OPEN_TAB = "mousemove 1300 325 click 1"  # the sidebar's first tab after Blender's own


@dataclass(frozen=True)
class Shot:
    """One picture: how long the script may take before it, and what is typed then."""

    seconds: int = 25
    steps: str = OPEN_TAB


SHOTS = {
    "nothing_selected": Shot(),
    "flock": Shot(),
    "target_selected": Shot(),
    "during_bake": Shot(30),
    "after_bake": Shot(45),
    "playing": Shot(60),
    "preferences": Shot(25, ""),
    "wrong_setting": Shot(30),
    "escape": Shot(30, f"{OPEN_TAB} mousemove 500 500 sleep 1 key Escape sleep 3"),
    "first_flock": Shot(240),
}


def without_wheels(extension: Path, folder: Path) -> Path:
    """The same extension for a Blender whose Python is not one that the wheels are for, and which has numba of its own."""
    bare = folder / extension.name
    with zipfile.ZipFile(extension) as source, zipfile.ZipFile(bare, "w") as target:
        for name in source.namelist():
            if name == "blender_manifest.toml":
                manifest = source.read(name).decode()
                target.writestr(name, re.sub(r"^wheels = \[[^]]*\]$", "", manifest, flags=re.MULTILINE))
            elif not name.startswith("wheels/"):
                target.writestr(name, source.read(name))
    return bare


def shoot(driver: Path, extension: Path, out: Path, name: str) -> bool:
    """Take one picture; whether the scene's script ended well."""
    shot = SHOTS[name]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text((HERE / "common.py").read_text() + (HERE / f"scenes/{name}.py").read_text())
        words = ["bash", driver / "shot.sh", extension, script, out / f"{name}.png", shot.seconds]
        done = subprocess.run(
            [str(word) for word in words],
            env={**os.environ, "STEPS": shot.steps},
            capture_output=True,
            text=True,
            check=False,
        )
    (out / f"{name}.log").write_text(done.stdout + done.stderr)
    good = done.returncode == 0 and "Traceback" not in done.stdout + done.stderr
    print(
        f"{name:18} {time.monotonic() - start:5.0f} s  {'ok' if good else 'FAILED: see ' + str(out / (name + '.log'))}",
        flush=True,
    )
    return good


def main() -> int:
    driver, extension, out = map(Path, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        bare = without_wheels(extension, Path(folder))
        good = [shoot(driver, bare, out, name) for name in sys.argv[4:] or SHOTS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
