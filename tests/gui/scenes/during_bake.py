# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""A bake under way: progress in the panel and in the status bar."""

long_bake(count=20000, frames=1000)
when(lambda: tab_is_open() and flying(), done)
