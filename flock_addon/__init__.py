# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on: its modules, registered in this order and unregistered in reverse."""

from . import bake, check_operators, cli, clip_operators, handlers, operators, panels, preferences, properties

_modules = (preferences, properties, operators, clip_operators, check_operators, panels, cli, handlers)


def register() -> None:
    for module in _modules:
        module.register()
    bake.engine.look()


def unregister() -> None:
    for module in reversed(_modules):
        module.unregister()
