# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the extension's zips into dist, one for each platform, with Blender's own extension tool.

It runs in an environment that holds Blender as a Python module, whose tool it takes. The wheels that the manifest lists are downloaded
once into wheels, pinned by version and hash in tools/wheels.txt.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WHEELS = ROOT / "wheels"
PINS = ROOT / "tools" / "wheels.txt"


def bundled_wheels() -> list[Path]:
    """The wheels that the manifest lists."""
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text())
    return [ROOT / wheel for wheel in manifest["wheels"]]


def pinned_hashes() -> set[str]:
    return set(re.findall(r"sha256:([0-9a-f]{64})", PINS.read_text()))


def is_pinned(wheel: Path) -> bool:
    return wheel.exists() and hashlib.sha256(wheel.read_bytes()).hexdigest() in pinned_hashes()


def download(wheel: Path) -> None:
    """Fetch what is pinned for the Python and the platform that a wheel's name tells."""
    _, _, python, abi, platforms = wheel.stem.split("-")
    target = [f"--python-version={python.removeprefix('cp')}", "--implementation=cp", f"--abi={abi}"]
    target += [f"--platform={platform}" for platform in platforms.split(".")]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
    ]
    subprocess.run([*command, f"--requirement={PINS}", f"--dest={WHEELS}", *target], check=True)


def blender_scripts() -> Path:
    """The scripts of the Blender in this environment."""
    package = importlib.util.find_spec("bpy")
    if not package or not package.submodule_search_locations:
        sys.exit("Building needs Blender as a Python module: `make build` sets it up")
    (scripts,) = Path(package.submodule_search_locations[0]).glob("*/scripts")
    return scripts


def extension_tool(*words: object) -> None:
    """Call Blender's extension tool, with the tags that the extension platform knows."""
    scripts = blender_scripts()
    tool = scripts / "addons_core/bl_pkg/cli/blender_ext.py"
    tags = scripts / "modules/_bpy_internal/extensions/tags.py"
    subprocess.run([sys.executable, tool, *words, f"--valid-tags={tags}"], check=True)


def main() -> None:
    WHEELS.mkdir(exist_ok=True)
    for wheel in bundled_wheels():
        if not is_pinned(wheel):
            print(f"downloading {wheel.name}", flush=True)
            download(wheel)
        if not is_pinned(wheel):
            sys.exit(f"{wheel.name} is not the file that {PINS.name} pins")
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("*.zip"):
        old.unlink()
    extension_tool("build", "--split-platforms", f"--source-dir={ROOT}", f"--output-dir={DIST}")
    for built in sorted(DIST.glob("*.zip")):
        extension_tool("validate", built)
        print(f"{built.relative_to(ROOT)}  {built.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
