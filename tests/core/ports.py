# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published flocks in plain loops, one step each, from their formulas alone: what the presets are checked against."""

import numpy as np


def unit(vector):
    size = np.sqrt(vector @ vector)
    return vector / size if size > 0 else np.zeros(3)


def cut(vector, most):
    size = np.sqrt(vector @ vector)
    return vector * (most / size) if size > most else vector


def godot(x, v, dt, target):
    after = v.copy()
    for i in range(len(x)):
        intruders, places, speeds = [], [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 1.0:
                intruders.append(x[j])
            elif j != i and d < 16.0:
                places.append(x[j])
                speeds.append(v[j])
        total = 1.6 * unit(target - x[i])
        if intruders:
            total += 4.2 * unit(x[i] - np.mean(intruders, axis=0))
        if places:
            total += unit(np.mean(places, axis=0) - x[i]) + 1.6 * unit(np.mean(speeds, axis=0))
        after[i] = cut(v[i] + 26.0 * unit(total) * dt, 13.0)
    return x + after * dt, after


def rust(x, v, dt, target):
    after = v.copy()
    for i in range(len(x)):
        total, places, speeds = 0.0005 * unit(target - x[i]), [], []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j == i:
                continue
            if d <= 0.05:
                total += 0.01 * unit(x[i] - x[j])
            if d <= 0.5:
                places.append(x[j])
            if d <= 0.1:
                speeds.append(v[j])
        if places:
            total += 0.008 * (np.mean(places, axis=0) - x[i])
        if speeds:
            total += 0.06 * (np.mean(speeds, axis=0) - v[i])
        after[i] = v[i] + cut(total, 0.01) * dt
    return x + after * dt, after


def article(x, v, dt, target):
    after = v.copy()
    for i in range(len(x)):
        seen = []
        for j in range(len(x)):
            d = np.linalg.norm(x[j] - x[i])
            if j != i and d < 4.0 and unit(x[j] - x[i]) @ unit(v[i]) > -0.5:
                seen.append((d, j))
        seen = sorted(seen)[:7]
        total = np.zeros(3)
        apart = [unit(x[i] - x[j]) / d for d, j in seen if 0 < d < 1.0]
        speeds = [v[j] for d, j in seen if d < 2.0]
        places = [x[j] - x[i] for d, j in seen]
        for weight, wishes in ((1.5, apart), (1.0, speeds), (1.0, places)):
            if wishes:
                total += weight * cut(unit(np.sum(wishes, axis=0)) * 4.0 - v[i], 3.0)
        after[i] = cut(v[i] + total * dt, 4.0)
    return x + after * dt, after
