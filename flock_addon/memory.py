# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory is left on this machine, by what each system tells without another package."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def available() -> int | None:
    """Bytes that this process could still take, or None where the system does not tell.

    Linux and Windows tell what is free or can be freed; macOS only what is built in.
    """
    try:
        if sys.platform == "win32":
            return _windows()
        return _linux() if MEMINFO.exists() else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, KeyError):
        return None


def _linux() -> int:
    lines = (line.split(":") for line in MEMINFO.read_text().splitlines())
    return int(dict(lines)["MemAvailable"].split()[0]) * 1024


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "available", "page_total", "page_available")),
        *((name, ctypes.c_uint64) for name in ("virtual_total", "virtual_available", "extended")),
    )


def _windows() -> int:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("the system does not tell")
    return status.available
