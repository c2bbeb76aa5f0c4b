# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the pictures of the add-on in a real Blender window: `make gui`.

Usage: shoot.py DRIVER EXTENSION.zip OUT [NAME …]. DRIVER is a folder with `shot.sh EXTENSION.zip SCRIPT.py OUT.png SECONDS`, which
opens a window, installs the extension, runs the script inside and saves what the screen shows after that many seconds. A scene that has
not said by then that it is done has failed.
"""

import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

SECONDS = {
    "nothing_selected": 20,
    "flock": 20,
    "target_selected": 20,
    "during_bake": 60,
    "after_bake": 60,
    "playing": 75,
    "preferences": 20,
    "wrong_setting": 20,
    "flight_check": 120,
    "autosave": 200,
    "rendering": 1000,
    "escape": 90,
    "unfinished": 240,
    "first_compile": 60,
    "first_flock": 240,
}
"""How long each scene has until its picture is taken."""
LATE = 4
"""Times as long, on a machine that is too slow or too busy for that."""


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
    """Take one picture; whether the scene was on the screen by then. A scene that was merely late gets one more try."""
    start = time.monotonic()
    for seconds in (SECONDS[name], LATE * SECONDS[name]):
        status, printed = drive(driver, extension, out, name, seconds)
        if "SCENE: done" in printed or "Traceback" in printed:
            break
    good = status == 0 and "SCENE: done" in printed and "Traceback" not in printed
    told = "ok" if good else f"FAILED: see {out / name}.log"
    print(f"{name:18} {time.monotonic() - start:5.0f} s  {told}", flush=True)
    return good


def drive(driver: Path, extension: Path, out: Path, name: str, seconds: int) -> tuple[int, str]:
    """Run a scene in a window for so long; its exit status, and all that was printed, which is also kept as a log."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text((HERE / "common.py").read_text() + (HERE / f"scenes/{name}.py").read_text())
        words = ["bash", driver / "shot.sh", extension, script, out / f"{name}.png", seconds]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    (out / f"{name}.log").write_text(printed)
    return done.returncode, printed


def main() -> int:
    driver, extension, out = map(Path, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        bare = without_wheels(extension, Path(folder))
        good = [shoot(driver, bare, out, name) for name in sys.argv[4:] or SECONDS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
