# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: hypothesis without deadlines, for no test depends on time."""

import hypothesis

hypothesis.settings.register_profile("flock", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("flock")
