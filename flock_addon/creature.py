# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bird that a new flock shows: a low-poly body and two wings, made in code.

It flies along +Y with +Z up, is one unit long from beak to tail, and the wings' origins are their hinges.
"""

from __future__ import annotations

import math
from typing import Any

import bpy

from . import compat

LEFT, RIGHT = "flock_left_wing", "flock_right_wing"
"""Custom properties of a creature's body: the objects that flap. Any object may carry them."""

# rings of the body from tail to beak: y, half width, height of the spine, of the belly
_RINGS = (
    (-0.30, 0.035, 0.020, -0.012),
    (-0.16, 0.075, 0.045, -0.055),
    (0.04, 0.105, 0.065, -0.095),
    (0.20, 0.085, 0.060, -0.075),
    (0.29, 0.050, 0.060, -0.025),
    (0.36, 0.062, 0.088, -0.020),
    (0.42, 0.036, 0.064, -0.006),
)
_SIDES = 6


def new_bird(name: str = "Bird") -> bpy.types.Object:
    """The body, with its wings as children; nothing is linked to a collection yet (see `parts`)."""
    feathers = _material("Bird Feathers", (0.055, 0.085, 0.16, 1.0))
    belly = _material("Bird Belly", (0.75, 0.70, 0.62, 1.0))
    beak = _material("Bird Beak", (0.85, 0.38, 0.06, 1.0))
    body = bpy.data.objects.new(name, _mesh(name, (feathers, belly, beak), *_body()))
    for side, label, key in ((-1.0, "Left Wing", LEFT), (1.0, "Right Wing", RIGHT)):
        wing = bpy.data.objects.new(f"{name} {label}", _mesh(f"{name} {label}", (feathers, belly, beak), *_wing(side)))
        wing.parent = body
        wing.location = (side * 0.06, 0.10, 0.035)
        body[key] = wing
    return body


def wings(creature: bpy.types.Object | None) -> tuple[bpy.types.Object | None, bpy.types.Object | None]:
    """The creature's left and right wing, where it has such."""
    return (creature.get(LEFT), creature.get(RIGHT)) if creature else (None, None)


def parts(creature: bpy.types.Object) -> tuple[bpy.types.Object, ...]:
    """The body and its wings."""
    return (creature, *(wing for wing in wings(creature) if wing))


def _material(name: str, colour: Any) -> bpy.types.Material:
    material = bpy.data.materials.new(name)
    compat.use_nodes(material)
    material.diffuse_color = colour
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = colour
    shader.inputs["Roughness"].default_value = 0.6
    return material


def _mesh(name, materials, vertices, faces, slots) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    for material in materials:
        mesh.materials.append(material)
    mesh.polygons.foreach_set("material_index", slots)
    mesh.update()
    return mesh


def _body():
    """Vertices, faces and their material slots: feathers 0, belly 1, beak 2."""
    vertices, faces, slots = [], [], []
    for y, half, top, bottom in _RINGS:
        middle, height = (top + bottom) / 2, (top - bottom) / 2
        for side in range(_SIDES):
            angle = math.tau * (side + 0.5) / _SIDES
            vertices.append((half * math.sin(angle), y, middle + height * math.cos(angle)))
    for ring in range(len(_RINGS) - 1):
        for side in range(_SIDES):
            a, b = ring * _SIDES + side, ring * _SIDES + (side + 1) % _SIDES
            faces.append((a, b, b + _SIDES, a + _SIDES))
            slots.append(1 if side in (1, 2, 3) else 0)
    return _with_beak_and_tail(vertices, faces, slots)


def _with_beak_and_tail(vertices, faces, slots):
    head = (len(_RINGS) - 1) * _SIDES
    tip = len(vertices)
    vertices.append((0.0, 0.52, 0.015))
    for side in range(_SIDES):
        faces.append((head + side, head + (side + 1) % _SIDES, tip))
        slots.append(2)
    tail = len(vertices)
    vertices += [(0.0, -0.26, 0.018), (-0.13, -0.48, 0.008), (0.0, -0.42, 0.016), (0.13, -0.48, 0.008)]
    vertices += [(0.0, -0.26, -0.010)]
    for triangle in ((0, 1, 2), (0, 2, 3), (4, 2, 1), (4, 3, 2)):
        faces.append(tuple(tail + corner for corner in triangle))
        slots.append(0)
    return vertices, faces, slots


def _wing(side: float):
    """Vertices around the hinge, faces and slots of a swept wing that reaches out along x * side."""
    outline = ((0.0, 0.11), (0.26, 0.14), (0.66, -0.16), (0.32, -0.06), (0.0, -0.16))
    lift = (0.0, 0.035, 0.015, 0.03, 0.0)
    vertices = [(side * x, y, z) for (x, y), z in zip(outline, lift, strict=True)]
    vertices += [(side * x, y, z - 0.012) for (x, y), z in zip(outline, lift, strict=True)]
    top = [(0, 4, 3, 1), (1, 3, 2)]
    under = [tuple(corner + 5 for corner in reversed(face)) for face in top]
    rim = [(a, (a + 1) % 5, (a + 1) % 5 + 5, a + 5) for a in range(5)]
    faces = top + under + rim
    if side < 0:
        faces = [tuple(reversed(face)) for face in faces]
    return vertices, faces, [0, 0, 1, 1] + [0] * len(rim)
