# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F821
"""The panel of the flock whose target is selected."""

select(new_flock().flock.target)
when(tab_is_open, done)
