# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flock, a Blender extension: the way in, and nothing else."""


# The imports stay inside: test runners import this file too, where there is no Blender.
def register() -> None:
    from . import flock_addon

    flock_addon.register()


def unregister() -> None:
    from . import flock_addon

    flock_addon.unregister()
