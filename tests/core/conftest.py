# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of the engine share."""

import pytest


@pytest.fixture
def all_together(monkeypatch):
    """All threads fly all steps, also where one alone would be as fast."""
    crew = pytest.importorskip("core.crew")
    pace = type(
        "Always", (), {"together": True, "learn": lambda self, seconds: None, "__init__": lambda self, threads: None}
    )
    monkeypatch.setattr(crew, "Pace", pace)
