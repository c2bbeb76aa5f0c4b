# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flocks as settings, one TOML file each: those that were published elsewhere, and our own starlings, fish, bees and geese."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..settings import FlockError, Settings

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str, body_length: float | None = None) -> Settings:
    """The preset, at its own size or scaled to a body length.

    Raises:
        FlockError: there is no such preset.
    """
    if name not in names():
        raise FlockError(f"Choose one of the presets {', '.join(names())}")
    settings = Settings.from_dict(tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")))
    return settings if body_length is None else settings.scaled(body_length)
