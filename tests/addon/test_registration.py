# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registering and unregistering leave no trace."""

import os
import subprocess
import sys
import textwrap

import bpy


def traces() -> dict[str, object]:
    """Everything that an add-on can leave behind."""
    handlers = {
        name: len(value) for name in dir(bpy.app.handlers) if isinstance(value := getattr(bpy.app.handlers, name), list)
    }
    keymaps = bpy.context.window_manager.keyconfigs
    return {
        "classes": sorted(name for name in dir(bpy.types) if "FLOCK" in name),
        "operators": sorted(dir(bpy.ops.flock)),
        "properties": sorted(
            name
            for kind in (bpy.types.Object, bpy.types.Scene, bpy.types.WindowManager)
            for name in dir(kind)
            if "flock" in name
        ),
        "handlers": handlers,
        "menu": len(bpy.types.VIEW3D_MT_add._dyn_ui_initialize()),
        "keymaps": [len(keymap.keymap_items) for config in keymaps if config for keymap in config.keymaps],
    }


def test_ten_times_on_and_off_leave_no_trace(fresh, flock_addon):
    with_addon = traces()
    assert with_addon["classes"] and with_addon["properties"]
    flock_addon.unregister()
    without = traces()
    assert without["classes"] == [] and without["properties"] == [] and without["operators"] == []
    assert without["menu"] == with_addon["menu"] - 1
    for _ in range(10):
        flock_addon.register()
        assert traces() == with_addon
        flock_addon.unregister()
        assert traces() == without
    flock_addon.register()


def test_the_only_handler_is_that_of_appending(fresh, flock_addon):
    ours = [
        name
        for name in dir(bpy.app.handlers)
        if isinstance(handlers := getattr(bpy.app.handlers, name), list)
        for handler in handlers
        if "flock" in getattr(handler, "__module__", "")
    ]
    assert ours == ["blend_import_post"]


def test_the_command_is_released(fresh, flock_addon):
    assert len(flock_addon.cli._handles) == 1
    flock_addon.unregister()
    assert flock_addon.cli._handles == []
    flock_addon.register()


def test_enabling_imports_no_numba(flock_addon):
    code = textwrap.dedent("""
        import sys, bpy, addon_utils
        addon_utils.extensions_refresh()
        addon_utils.enable("bl_ext.user_default.flock", default_set=True)
        assert "bl_ext.user_default.flock" in bpy.context.preferences.addons
        assert "numba" not in sys.modules
    """)
    found = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
