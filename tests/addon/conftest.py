# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real Blender with the extension installed: the built zip where FLOCK_ZIP names it, else this checkout.

Blender reads its user folder when `bpy` is first imported, so that folder is made here, before any test module is.
"""

import os
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

USER = tempfile.TemporaryDirectory(prefix="flock-user-")
os.environ["BLENDER_USER_RESOURCES"] = USER.name
CHECKOUT = Path(__file__).resolve().parents[2]
MODULE = "bl_ext.user_default.flock"

if "FLOCK_ZIP" not in os.environ:
    # A symlink into the extensions' folder is a true installation, and the file that is edited is the file that is tested.
    extensions = Path(USER.name, "extensions", "user_default")
    extensions.mkdir(parents=True)
    (extensions / "flock").symlink_to(CHECKOUT)

import bpy  # noqa: E402, I001  (the user folder comes first, and Blender brings addon_utils)
import addon_utils  # noqa: E402

addon_utils.extensions_refresh()


def enable() -> None:
    """Install and enable the extension as a user does."""
    if zip_file := os.environ.get("FLOCK_ZIP"):
        bpy.ops.extensions.package_install_files(filepath=zip_file, repo="user_default", enable_on_install=True)
    else:
        addon_utils.enable(MODULE, default_set=True)
    # The installer answers FINISHED also where it refused.
    assert MODULE in bpy.context.preferences.addons, "the extension was not enabled"


@pytest.fixture(scope="session")
def flock_addon() -> ModuleType:
    """The enabled add-on's package, `bl_ext.user_default.flock.flock_addon`."""
    if MODULE not in bpy.context.preferences.addons:
        enable()
    from bl_ext.user_default.flock import flock_addon

    return flock_addon


@pytest.fixture
def fresh(flock_addon: ModuleType) -> bpy.types.Scene:
    """The only scene of a new, empty file, with the add-on enabled."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    if MODULE not in bpy.context.preferences.addons:
        enable()
    return bpy.context.scene
