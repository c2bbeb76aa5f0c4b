# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node groups that play a clip, made in Python, one function each.

They read the clip's header and its frames from the flock object's own mesh, so that nothing but the .blend is needed to play it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bpy

from . import compat, creature

VERSION = 4
"""Of the node groups; an older one in a file is rebuilt in place."""

VERSION_PROPERTY = "flock_nodes"
MODIFIER = "Flock"
PLAYBACK, BOIDS, WING, EXPORT = "Flock Playback", "Flock Boids", "Flock Wing", "Flock Export"

SHOW = ("Creatures", "Points", "Vertices")

_HALF, _QUARTER = 3.141592653589793, 1.5707963267948966
# turns the creature's forward axis to +Y; up stays +Z where it can, and is +Y for a creature that looks along Z
_FORWARD_TURNS = {
    "X": (0.0, 0.0, _QUARTER),
    "Y": (0.0, 0.0, 0.0),
    "Z": (_QUARTER, 0.0, _HALF),
    "-X": (0.0, 0.0, -_QUARTER),
    "-Y": (0.0, 0.0, _HALF),
    "-Z": (_QUARTER, 0.0, 0.0),
}
# -- used by the rest of the add-on ----------------------------------------------------------------------------------


def playback_group() -> bpy.types.NodeTree:
    """The one 'Flock Playback' of this file: made, or brought up to date, when it has to be."""
    tidy()
    group = _ensure(PLAYBACK)
    _remove_former()
    return group


def attach(item: bpy.types.Object) -> bpy.types.NodesModifier:
    """The object's playback modifier, added when it has none yet."""
    known = find_modifier(item)
    if known is None:
        made: Any = item.modifiers.new(MODIFIER, "NODES")
        made.node_group = playback_group()
        return made
    if known.node_group.library is None:
        playback_group()
    return known


def find_modifier(item: bpy.types.Object) -> bpy.types.NodesModifier | None:
    """The modifier that plays a clip on this object, whatever its name."""
    for modifier in item.modifiers:
        if (
            isinstance(modifier, bpy.types.NodesModifier)
            and modifier.node_group
            and _kind(modifier.node_group) == PLAYBACK
        ):
            return modifier
    return None


def set_creature(
    item: bpy.types.Object, body: bpy.types.Object | None, collection: bpy.types.Collection | None = None
) -> None:
    """Shows this creature, with its wings where it has some; or one of the collection's objects for each boid."""
    modifier = attach(item)
    left, right = creature.wings(body)
    for name, value in (("Creature", body), ("Left Wing", left), ("Right Wing", right), ("Collection", collection)):
        compat.set_input(modifier, name, value)


def new_export_object(item: bpy.types.Object) -> bpy.types.Object:
    """A mesh whose vertices are the flock's boids, for Blender's exporters. A child of the flock, not linked yet."""
    twin = bpy.data.objects.new(f"{item.name} Points", bpy.data.meshes.new(f"{item.name} Points"))
    twin.parent = item
    modifier = twin.modifiers.new(EXPORT, "NODES")
    modifier.node_group = _ensure(EXPORT)
    compat.set_input(modifier, "Flock", item)
    return twin


def is_ours(item: bpy.types.ID | None) -> bool:
    """Whether this datablock is one of our node groups."""
    return isinstance(item, bpy.types.NodeTree) and bool(_kind(item))


def tidy() -> int:
    """Leaves one node group of each kind where appending has brought in more, and none of an older release that nobody uses.

    Returns:
        How many went.
    """
    gone = 0
    for kind in _BUILDERS:
        groups = _local_groups(kind)
        for double in groups[1:]:
            _move_users(double, groups[0])
            bpy.data.node_groups.remove(double)
            gone += 1
    return gone + _remove_former()


def _remove_former() -> int:
    """Removes groups of which older releases were made and this one is not, where nobody uses them. Returns how many."""
    former = [group for group in bpy.data.node_groups if group.library is None and _kind(group) not in ("", *_BUILDERS)]
    unused = [group for group in former if not group.users]
    for group in unused:
        bpy.data.node_groups.remove(group)
    return len(unused)


def _move_users(old: bpy.types.NodeTree, new: bpy.types.NodeTree) -> None:
    """Gives all users of one group another of its kind. Modifiers keep their inputs by identifier: we keep them by name."""
    names = compat.input_names(old)
    users = [(modifier, {name: compat.get_input(modifier, name) for name in names}) for modifier in _modifiers(old)]
    old.user_remap(new)
    for modifier, values in users:
        _set_inputs(modifier, compat.input_defaults(new) | values)


def _modifiers(group: bpy.types.NodeTree) -> Iterator[bpy.types.NodesModifier]:
    """Those of this file that use the group."""
    for item in bpy.data.objects:
        for modifier in item.modifiers if item.library is None else ():
            if isinstance(modifier, bpy.types.NodesModifier) and modifier.node_group == group:
                yield modifier


def _set_inputs(modifier: bpy.types.NodesModifier, values: dict[str, Any]) -> None:
    """Sets those inputs that the modifier's group has."""
    for name in compat.input_names(modifier.node_group) & set(values):
        compat.set_input(modifier, name, values[name])


# -- finding, upgrading ----------------------------------------------------------------------------------------------


def _kind(group: bpy.types.NodeTree) -> str:
    return group[VERSION_PROPERTY]["kind"] if VERSION_PROPERTY in group.keys() else ""


def _version(group: bpy.types.NodeTree) -> int:
    return group[VERSION_PROPERTY]["version"]


def _local_groups(kind: str) -> list[bpy.types.NodeTree]:
    """This file's own groups of that kind, the newest first."""
    own = [group for group in bpy.data.node_groups if group.library is None and _kind(group) == kind]
    return sorted(own, key=_version, reverse=True)


def _ensure(kind: str) -> bpy.types.NodeTree:
    groups = _local_groups(kind)
    group = groups[0] if groups else bpy.data.node_groups.new(kind, "GeometryNodeTree")
    if not groups or _version(group) < VERSION:
        users, before = list(_modifiers(group)), compat.input_names(group)
        tree = _Tree(group)
        _BUILDERS[kind](tree)
        tree.finish()
        group[VERSION_PROPERTY] = {"kind": kind, "version": VERSION}
        # an input that is new begins as 0 on a modifier that is there already, whatever its default
        begun = {name: value for name, value in compat.input_defaults(group).items() if name not in before}
        for modifier in users:
            _set_inputs(modifier, begun)
    return group


class _Tree:
    """Builds one node group. Sockets that the group has already are kept, and with them what modifiers say of them."""

    def __init__(self, group: bpy.types.NodeTree) -> None:
        self.group = group
        group.nodes.clear()
        self.begin = group.nodes.new("NodeGroupInput")
        self.end = group.nodes.new("NodeGroupOutput")
        self._wanted: list[Any] = []
        self._frame: bpy.types.Node | None = None

    def section(self, label: str) -> None:
        """A frame of that label around all nodes that are made from now on."""
        self._frame = None
        self._frame = self._new("NodeFrame")
        self._frame.label = label

    def _new(self, kind: str) -> Any:
        node = self.group.nodes.new(kind)
        node.parent = self._frame
        return node

    def input(self, name: str, kind: str, default: Any = None, description: str = "", panel: str = "", **limits: Any):
        """A socket of the group's input; returns what it gives inside."""
        item = self._socket(name, kind, "INPUT", panel)
        item.description = description
        for key, value in ({} if default is None else {"default_value": default} | limits).items():
            setattr(item, key, value)
        return self._named(self.begin.outputs, item)

    def output(self, name: str, kind: str, source: Any) -> None:
        """A socket of the group's output."""
        item = self._socket(name, kind, "OUTPUT", "")
        self.group.links.new(source, self._named(self.end.inputs, item))

    def _socket(self, name: str, kind: str, side: str, panel: str):
        wanted = f"NodeSocket{kind}"
        for item in self.group.interface.items_tree:
            if item.item_type == "SOCKET" and (item.name, item.in_out, item.socket_type) == (name, side, wanted):
                break
        else:
            parent = self._panel(panel) if panel else None
            item = self.group.interface.new_socket(name, in_out=side, socket_type=wanted, parent=parent)
        self._wanted.append(item.identifier)
        return item

    def _panel(self, name: str):
        for item in self.group.interface.items_tree:
            if item.item_type == "PANEL" and item.name == name:
                return item
        return self.group.interface.new_panel(name)

    @staticmethod
    def _named(sockets: Any, item: Any):
        return next(socket for socket in sockets if socket.identifier == item.identifier)

    def node(self, kind: str, *values: Any, **properties: Any):
        """A node with its properties, its available inputs in order: a link, a plain value, or None for its default."""
        node = self._new(kind)
        for key, value in properties.items():
            setattr(node, key, value)
        sockets = [socket for socket in node.inputs if socket.enabled and socket.type != "CUSTOM"]
        for socket, value in zip(sockets, values, strict=False):
            self._feed(socket, value)
        return node

    def _feed(self, socket: Any, value: Any) -> None:
        if isinstance(value, bpy.types.NodeSocket):
            self.group.links.new(value, socket)
        elif value is not None:
            socket.default_value = value

    def __call__(self, kind: str, *values: Any, **properties: Any):
        """The first available output of a new node."""
        return next(socket for socket in self.node(kind, *values, **properties).outputs if socket.enabled)

    def math(self, operation: str, *values: Any):
        """A number."""
        return self("ShaderNodeMath", *values, operation=operation)

    def vector(self, operation: str, *values: Any):
        """A vector, or the number that the operation gives."""
        return self("ShaderNodeVectorMath", *values, operation=operation)

    def length(self, vector: Any):
        """A vector's length."""
        return self.node("ShaderNodeVectorMath", vector, operation="LENGTH").outputs["Value"]

    def scale(self, vector: Any, factor: Any):
        """A vector times a number."""
        return self("ShaderNodeVectorMath", vector, factor, operation="SCALE")

    def integer(self, operation: str, *values: Any):
        """A whole number."""
        return self("FunctionNodeIntegerMath", *values, operation=operation)

    def switch(self, kind: str, condition: Any, no: Any, yes: Any):
        """One of two values."""
        return self("GeometryNodeSwitch", condition, no, yes, input_type=kind)

    def menu(self, kind: str, chosen: Any, values: dict[str, Any]):
        """The value that is chosen by its name."""
        node = self._new("GeometryNodeMenuSwitch")
        node.data_type = kind
        node.enum_items.clear()
        for name in values:
            node.enum_items.new(name)
        self.group.links.new(chosen, node.inputs[0])
        for socket, value in zip(node.inputs[1:], values.values(), strict=False):
            self._feed(socket, value)
        return node.outputs[0]

    def equal(self, one: Any, other: float):
        """Whether two numbers are the same."""
        return self("FunctionNodeCompare", one, other, 0.0, data_type="FLOAT", operation="EQUAL")

    def object(self, item: Any):
        """What is known of an object: its geometry, as one instance, and its transform."""
        return self.node("GeometryNodeObjectInfo", item, True, transform_space="ORIGINAL").outputs

    def instances(self, geometry: Any):
        """The number of instances; as a condition, whether there are any."""
        size = self.node("GeometryNodeAttributeDomainSize", geometry, component="INSTANCES")
        return size.outputs["Instance Count"]

    def round(self, number: Any):
        """A number to the nearest whole one."""
        return self("FunctionNodeFloatToInt", number, rounding_mode="ROUND")

    def xyz(self, vector: Any):
        """A vector's three numbers."""
        return tuple(self.node("ShaderNodeSeparateXYZ", vector).outputs)

    def attribute(self, name: str, kind: str):
        """A named attribute of whatever geometry it is read on."""
        return self("GeometryNodeInputNamedAttribute", name, data_type=kind)

    def store(self, geometry: Any, name: str, kind: str, value: Any, domain: str = "POINT"):
        """The points, or the instances, with one more attribute."""
        return self("GeometryNodeStoreNamedAttribute", geometry, None, name, value, data_type=kind, domain=domain)

    def group_node(self, kind: str, values: dict[str, Any]):
        """One of our own groups inside this one, its inputs by name."""
        node = self._new("GeometryNodeGroup")
        node.node_tree = _ensure(kind)
        for name, value in values.items():
            self._feed(node.inputs[name], value)
        return node

    def finish(self) -> None:
        """Removes sockets that an older version had, and lays the nodes out from left to right."""
        for item in list(self.group.interface.items_tree):
            if item.item_type == "SOCKET" and item.identifier not in self._wanted:
                self.group.interface.remove(item)
        columns, top = _columns(self.group), 0.0
        for frame in (None, *(node for node in self.group.nodes if node.type == "FRAME")):
            heights: dict[int, float] = {}
            for node in self.group.nodes:
                if node.parent == frame and node.type != "FRAME":
                    column = columns[node.name]
                    node.location = (220.0 * column, top - heights.get(column, 0.0))
                    heights[column] = heights.get(column, 0.0) + 60.0 + 24.0 * (len(node.inputs) + len(node.outputs))
            top -= max(heights.values(), default=0.0) + 120.0


def _columns(group: bpy.types.NodeTree) -> dict[str, int]:
    """For each node, the number of nodes in the longest chain before it."""
    before: dict[str, set[str]] = {node.name: set() for node in group.nodes}
    for link in group.links:
        before[link.to_node.name].add(link.from_node.name)
    columns: dict[str, int] = {}

    def column(name: str) -> int:
        if name not in columns:
            columns[name] = max((column(other) + 1 for other in before[name]), default=0)
        return columns[name]

    for name in before:
        column(name)
    return columns


# -- the groups ------------------------------------------------------------------------------------------------------


def _build_playback(tree: _Tree) -> None:
    """Flock Playback: the modifier's own tree. Blender logs all that passes through it, so that it holds one node alone."""
    boids = tree.group_node(BOIDS, _playback_inputs(tree))
    tree.output("Geometry", "Geometry", boids.outputs[0])
    _set_menu_default(tree.group, "Show", SHOW[0])
    _set_menu_default(tree.group, "Forward Axis", "Y")


def _playback_inputs(tree: _Tree) -> dict[str, Any]:
    """All that a user can choose, by name."""
    clip = tree.input("Geometry", "Geometry", description="The clip")
    look = {name: _creature_input(tree, name) for name in _CREATURE_INPUTS}
    show = tree.input("Show", "Menu", description="What is drawn; vertices can be exported to USD and Alembic")
    seed = tree.input("Seed", "Int", 0, "Of each boid's random number, and so of its scale and its creature")
    number = tree.input("Flock Index", "Int", 0, "Attribute 'flock', which tells several flocks apart")
    time = {name: _time_input(tree, name) for name in _TIME_INPUTS}
    return {"Geometry": clip} | look | {"Show": show, "Seed": seed, "Flock Index": number} | time


def _build_boids(tree: _Tree) -> None:
    """Flock Boids: what the modifier shows."""
    chosen = _playback_inputs(tree)
    tree.section("Time")
    time = _time(tree, chosen)
    tree.section("Frame")
    points, instances, position = _frame(tree, chosen, time)
    tree.section("Creatures")
    creatures = _creatures(tree, chosen, points, instances, position)
    tree.section("Show")
    vertices = tree("GeometryNodePointsToVertices", points)
    shown = dict(zip(SHOW, (creatures, points, vertices), strict=True))
    tree.output("Geometry", "Geometry", tree.menu("GEOMETRY", chosen["Show"], shown))
    _set_menu_default(tree.group, "Show", SHOW[0])
    _set_menu_default(tree.group, "Forward Axis", "Y")


_TIME_INPUTS: dict[str, tuple] = {
    "Speed": ("Float", 1.0, "Factor of the clip's speed; below 0 it plays backwards from its last frame"),
    "Time Offset": ("Float", 0.0, "Frames further into the clip; can be keyframed"),
    "Move First Frame": ("Bool", False, "Lets the clip begin at another frame than the one it was baked from"),
    "First Frame": ("Int", 1, "The scene's frame at which the clip begins, when it is moved"),
}


def _time_input(tree: _Tree, name: str):
    kind, default, description = _TIME_INPUTS[name]
    return tree.input(name, kind, default, description, panel="Time")


_CREATURE_INPUTS: dict[str, tuple] = {
    "Creature": ("Object", None, "What every boid looks like; its own place, turn and scale do not count", {}),
    "Left Wing": ("Object", None, "Turns about its origin as the boid flaps; where it stands beside the creature", {}),
    "Right Wing": ("Object", None, "Turns about its origin as the boid flaps; where it stands beside the creature", {}),
    "Collection": ("Collection", None, "Instead of the creature: one of these objects for each boid, at random", {}),
    "Forward Axis": ("Menu", None, "The creature's axis that flies ahead", {}),
    "Scale": ("Float", 1.0, "Size of the creatures", {"min_value": 0.0}),
    "Scale Variation": ("Float", 0.0, "Share by which their sizes differ", {"min_value": 0.0, "max_value": 0.9}),
    "Flapping": ("Bool", True, "The wings beat", {}),
    "Flap Angle": ("Float", 0.75, "How far the wings reach up and down", {"subtype": "ANGLE"}),
}


def _creature_input(tree: _Tree, name: str):
    kind, default, description, limits = _CREATURE_INPUTS[name]
    return tree.input(name, kind, default, description, panel="Creature", **limits)


def _set_menu_default(group: bpy.types.NodeTree, name: str, value: str) -> None:
    for item in group.interface.items_tree:
        if item.item_type == "SOCKET" and item.name == name:
            item.default_value = value


def _time(tree: _Tree, chosen: dict[str, Any]) -> dict[str, Any]:
    """The clip's header, and the two stored frames around the scene's frame.

    Returns:
        'count' of boids, rows 'from' and 'to' of the stored frames, the 'factor' between them and the 'seconds' from one
        to the other, and the 'rate' by which velocities are multiplied.
    """
    clip = chosen["Geometry"]
    speed, offset, moved, moved_to = (chosen[name] for name in _TIME_INPUTS)

    size = tree("GeometryNodeAttributeDomainSize", clip, component="MESH")
    velocity = tree.attribute("velocity", "FLOAT_VECTOR")
    rows = [
        tree("GeometryNodeSampleIndex", clip, velocity, tree.integer("SUBTRACT", size, back), data_type="FLOAT_VECTOR")
        for back in (2, 1)
    ]
    count, frames, first = map(tree.round, tree.xyz(rows[0]))
    fps, step, _format = tree.xyz(rows[1])

    wanted = tree.integer("MULTIPLY_ADD", count, frames, 2)
    fits = tree("FunctionNodeCompare", size, wanted, data_type="INT", operation="EQUAL")
    wrong = tree("FunctionNodeBooleanMath", size, fits, operation="NIMPLY")  # an empty clip is none that was edited
    message = "This clip was edited, so no boid is drawn: undo the edit, or bake again"
    warned = tree("GeometryNodeWarning", wrong, message)

    last = tree.math("MAXIMUM", tree.integer("SUBTRACT", frames, 1), 0.0)
    begin = tree.switch("INT", moved, first, moved_to)
    since = tree.math("SUBTRACT", tree.node("GeometryNodeInputSceneTime").outputs["Frame"], begin)
    into = tree.math("DIVIDE", tree.math("MULTIPLY_ADD", since, speed, offset), step)
    backwards = tree.math("LESS_THAN", speed, 0.0)
    place = tree.math("MULTIPLY_ADD", last, backwards, into)
    held = tree("ShaderNodeClamp", place, 0.0, last)
    low = tree("FunctionNodeFloatToInt", held, rounding_mode="FLOOR")
    plays = tree("FunctionNodeCompare", place, held, 0.0, data_type="FLOAT", operation="EQUAL")
    return {
        "count": tree.switch("INT", warned, count, 0),
        "from": low,
        "to": tree.integer("MINIMUM", tree.integer("ADD", low, 1), last),
        "factor": tree.math("FRACT", held),
        "seconds": tree.math("DIVIDE", step, fps),
        "rate": tree.switch("FLOAT", plays, 0.0, speed),
    }


def _frame(tree: _Tree, chosen: dict[str, Any], time: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The boids of one moment, between two stored frames: as points, as instances that stand nowhere yet, and their places."""
    clip, seed, number, body = (chosen[name] for name in ("Geometry", "Seed", "Flock Index", "Creature"))
    count, factor, seconds, rate = (time[name] for name in ("count", "factor", "seconds", "rate"))
    ends = time["from"], time["to"]

    # every field below is evaluated on its own: an attribute costs each of them less than the index does
    boid = tree.attribute("id", "INT")
    rows = [tree.integer("MULTIPLY_ADD", end, count, boid) for end in ends]

    def both(value: Any, kind: str):
        return [tree("GeometryNodeSampleIndex", clip, value, row, data_type=kind) for row in rows]

    places = both(tree("GeometryNodeInputPosition"), "FLOAT_VECTOR")
    velocities = both(tree.attribute("velocity", "FLOAT_VECTOR"), "FLOAT_VECTOR")
    position, velocity = _hermite(tree, places, velocities, factor, seconds)
    turns = both(tree.attribute("rotation", "QUATERNION"), "QUATERNION")
    rotation = tree("ShaderNodeMix", factor, *turns, data_type="ROTATION", clamp_factor=False)
    flaps = both(tree.attribute("flap", "FLOAT"), "FLOAT")
    flap = tree.math("MULTIPLY_ADD", tree.math("SUBTRACT", flaps[1], flaps[0]), factor, flaps[0])

    # On a stored frame it is taken as it is, to the same bits: a switch does not evaluate what it leaves out, and
    # playing frame by frame takes two thirds of the time.
    stored = tree.equal(factor, 0.0)
    position = tree.switch("VECTOR", stored, position, places[0])
    velocity = tree.scale(tree.switch("VECTOR", stored, velocity, velocities[0]), rate)
    rotation = tree.switch("ROTATION", stored, rotation, turns[0])
    flap = tree.switch("FLOAT", stored, flap, flaps[0])
    random = tree("FunctionNodeRandomValue", 0.0, 1.0, boid, seed, data_type="FLOAT")

    attributes = {
        "id": ("INT", tree("GeometryNodeInputIndex")),
        "velocity": ("FLOAT_VECTOR", velocity),
        "rotation": ("QUATERNION", rotation),
        "flap": ("FLOAT", flap),
        "speed": ("FLOAT", tree.length(tree.attribute("velocity", "FLOAT_VECTOR"))),
        "bank": ("FLOAT", _bank(tree)),
        "random": ("FLOAT", random),
        "flock": ("INT", number),
        "part": ("INT", 0),
    }
    points = tree("GeometryNodePoints", count, None, 0.05)
    instances = tree("GeometryNodeDuplicateElements", tree.object(body)["Geometry"], None, count, domain="INSTANCE")
    for name, (kind, value) in attributes.items():
        points = tree.store(points, name, kind, value)
        instances = tree.store(instances, name, kind, value, "INSTANCE")
    return tree("GeometryNodeSetPosition", points, None, position), instances, position


def _hermite(tree: _Tree, places: list, velocities: list, factor: Any, seconds: Any):
    """Cubic Hermite position and its velocity; at factor 0 they are the stored ones, to the bit.

    p = p0 + h01 (p1 - p0) + (h10 v0 + h11 v1) seconds, with the basis functions of t = factor
    h01 = t^2 (3 - 2 t), h10 = t (1 - t)^2, h11 = t^2 (t - 1). They are the same for all boids, so that they cost nothing.
    """
    way = tree.vector("SUBTRACT", places[1], places[0])
    rest = tree.math("SUBTRACT", 1.0, factor)
    both = tree.math("MULTIPLY", factor, rest)
    h01 = tree.math("MULTIPLY", tree.math("MULTIPLY", factor, factor), tree.math("MULTIPLY_ADD", factor, -2.0, 3.0))
    h10, minus_h11 = (tree.math("MULTIPLY", both, share) for share in (rest, factor))
    slopes = tree.math("MULTIPLY", h10, seconds), tree.math("MULTIPLY", minus_h11, tree.math("MULTIPLY", seconds, -1.0))
    position = tree.vector("MULTIPLY_ADD", way, h01, places[0])
    for velocity, slope in zip(velocities, slopes, strict=True):
        position = tree.vector("MULTIPLY_ADD", velocity, slope, position)

    # its derivative over time: 6 t (1 - t) (p1 - p0) / seconds + (1 - t) (1 - 3 t) v0 + t (3 t - 2) v1
    d01 = tree.math("DIVIDE", tree.math("MULTIPLY", both, 6.0), seconds)
    d10 = tree.math("MULTIPLY", rest, tree.math("MULTIPLY_ADD", factor, -3.0, 1.0))
    d11 = tree.math("MULTIPLY", factor, tree.math("MULTIPLY_ADD", factor, 3.0, -2.0))
    velocity = tree.vector("MULTIPLY_ADD", velocities[1], d11, tree.scale(velocities[0], d10))
    return position, tree.vector("MULTIPLY_ADD", way, d01, velocity)


def _bank(tree: _Tree):
    """Angle of the wings against the horizon, positive with the right wing low.

    With right and up the boid's own axes it is atan2(-right.z, up.z); of the unit quaternion (w, x, y, z) that is
    atan2(2 (w y - x z), 1 - 2 (x^2 + y^2)), and half of both is as good.
    """
    w, x, y, z = tree.node("FunctionNodeRotationToQuaternion", tree.attribute("rotation", "QUATERNION")).outputs
    low = tree.math("SUBTRACT", tree.math("MULTIPLY", w, y), tree.math("MULTIPLY", x, z))
    level = tree.math("SUBTRACT", 0.5, tree.math("MULTIPLY_ADD", y, y, tree.math("MULTIPLY", x, x)))
    return tree.math("ARCTAN2", low, level)


def _creatures(tree: _Tree, chosen: dict[str, Any], points: Any, instances: Any, position: Any):
    """An instance for each boid, or a body and two wings. `instances` are as many as `points`, with the same attributes."""
    boid = tree.attribute("id", "INT")
    turn = tree.menu("ROTATION", chosen["Forward Axis"], _FORWARD_TURNS)
    flown = tree.attribute("rotation", "QUATERNION")
    turned = tree("FunctionNodeRotateRotation", flown, turn, rotation_space="LOCAL")
    no_turn = tree.equal(tree("FunctionNodeRotationToQuaternion", turn), 1.0)  # its w
    rotation = tree.switch("ROTATION", no_turn, turned, flown)
    vary = tree("FunctionNodeRandomValue", -1.0, 1.0, boid, tree.integer("ADD", chosen["Seed"], 1), data_type="FLOAT")
    share = tree.math("MULTIPLY_ADD", vary, chosen["Scale Variation"], 1.0)
    alike = tree.equal(chosen["Scale Variation"], 0.0)
    scale = tree.math("MULTIPLY", tree.switch("FLOAT", alike, share, 1.0), chosen["Scale"])

    body, *wings = (tree.object(chosen[name]) for name in ("Creature", "Left Wing", "Right Wing"))
    alone = tree("GeometryNodeInstanceOnPoints", points, None, body["Geometry"], None, None, rotation, scale)
    common = {"Points": points, "Body": body["Transform"], "Rotation": rotation, "Scale": scale}
    has_wing = [tree.instances(wing["Geometry"]) for wing in wings]
    whole = tree.node("GeometryNodeJoinGeometry")
    for part in (*reversed(_wings(tree, wings, has_wing, chosen, turn, common)), alone):
        tree.group.links.new(part, whole.inputs[0])  # the newest link comes first, and with it the body

    # Instance on Points would take most of the time, so that one instance for each boid, all alike, is made without it.
    matrix = _matrix(tree, rotation, scale, alike, chosen["Scale"])
    single = tree("GeometryNodeSetInstanceTransform", instances, None, matrix)
    single = tree("GeometryNodeSetPosition", single, None, position)
    winged = tree("FunctionNodeBooleanMath", *has_wing, operation="OR")
    dressed = tree.switch("GEOMETRY", winged, single, whole.outputs[0])

    flock = tree("GeometryNodeCollectionInfo", chosen["Collection"], True, True, transform_space="ORIGINAL")
    kinds = tree.instances(flock)
    pick = tree("FunctionNodeRandomValue", 0, tree.integer("SUBTRACT", kinds, 1), boid, tree.integer("ADD", chosen["Seed"], 2),
                data_type="INT")  # fmt: skip
    mixed = tree("GeometryNodeInstanceOnPoints", points, None, flock, True, pick, rotation, scale)

    shown = tree.switch("GEOMETRY", tree.instances(body["Geometry"]), points, dressed)
    return tree.switch("GEOMETRY", kinds, shown, mixed)


def _wings(tree: _Tree, wings: list, has_wing: list, chosen: dict[str, Any], turn: Any, common: dict[str, Any]) -> list:
    """The left wings and the right wings, where there are such."""
    ahead = tree("FunctionNodeRotateVector", (0.0, 1.0, 0.0), tree("FunctionNodeInvertRotation", turn))
    beat = tree.math("SINE", tree.math("MULTIPLY", tree.attribute("flap", "FLOAT"), 2.0 * _HALF))
    angle = tree.math("MULTIPLY", tree.math("MULTIPLY", beat, chosen["Flap Angle"]), chosen["Flapping"])
    angles = angle, tree.math("MULTIPLY", angle, -1.0)
    made = []
    for part, (wing, has, value) in enumerate(zip(wings, has_wing, angles, strict=True), start=1):
        own = {"Instance": wing["Geometry"], "Place": wing["Transform"], "Axis": ahead, "Angle": value, "Part": part}
        made.append(tree.switch("GEOMETRY", has, None, tree.group_node(WING, common | own).outputs[0]))
    return made


def _matrix(tree: _Tree, rotation: Any, scale: Any, alike: Any, size: Any):
    """Rotation and scale of the instances; the less there is to scale, the cheaper.

    Args:
        scale: of each boid.
        alike: whether all of them have the same, which then is `size`.
    """
    varied = tree("FunctionNodeCombineTransform", None, rotation, scale)
    scaled = tree("FunctionNodeMatrixMultiply", rotation, tree("FunctionNodeCombineTransform", None, None, size))
    same = tree.switch("MATRIX", tree.equal(size, 1.0), scaled, rotation)
    return tree.switch("MATRIX", alike, varied, same)


def _build_wing(tree: _Tree) -> None:
    """Flock Wing: one wing of every boid, turned about its hinge. An instance of its own, so that it blurs truly."""
    points = tree.input("Points", "Geometry")
    wing = tree.input("Instance", "Geometry", description="The wing")
    place = tree.input("Place", "Matrix", description="The wing's place in the scene")
    body = tree.input("Body", "Matrix", description="The creature's place in the scene")
    axis = tree.input("Axis", "Vector", (0.0, 1.0, 0.0), "The hinge, in the creature's space")
    angle = tree.input("Angle", "Float", 0.0)
    rotation = tree.input("Rotation", "Rotation")
    scale = tree.input("Scale", "Float", 1.0)
    part = tree.input("Part", "Int", 1, "Attribute 'part' of the wing; the body's is 0")

    beside = tree("FunctionNodeMatrixMultiply", tree("FunctionNodeInvertMatrix", body), place)
    hinge, rest, size = tree.node("FunctionNodeSeparateTransform", beside).outputs
    flap = tree("FunctionNodeAxisAngleToRotation", axis, angle)
    beaten = tree("FunctionNodeRotateRotation", rest, flap, rotation_space="GLOBAL")
    turned = tree("FunctionNodeRotateRotation", rotation, beaten, rotation_space="LOCAL")
    arm = tree("FunctionNodeRotateVector", tree.scale(hinge, scale), rotation)
    moved = tree("GeometryNodeSetPosition", tree.store(points, "part", "INT", part), None, None, arm)
    placed = tree("GeometryNodeInstanceOnPoints", moved, None, wing, None, None, turned, tree.scale(size, scale))
    tree.output("Geometry", "Geometry", placed)


def _build_export(tree: _Tree) -> None:
    """Flock Export: another object's boids as the vertices of a mesh, which exporters write with all their attributes."""
    flock = tree.input("Flock", "Object", description="The flock whose boids these are")
    geometry = tree.node("GeometryNodeObjectInfo", flock, False, transform_space="ORIGINAL").outputs["Geometry"]
    is_body = tree("FunctionNodeCompare", tree.attribute("part", "INT"), 0, data_type="INT", operation="EQUAL")
    instances = tree("GeometryNodeInstancesToPoints", geometry, is_body)
    points = tree.node("GeometryNodeSeparateComponents", geometry).outputs["Point Cloud"]
    both = tree.node("GeometryNodeJoinGeometry")
    for part in (instances, points):
        tree.group.links.new(part, both.inputs[0])
    tree.output("Geometry", "Geometry", tree("GeometryNodePointsToVertices", both.outputs[0]))


_BUILDERS: dict[str, Callable[[_Tree], None]] = {
    WING: _build_wing,
    BOIDS: _build_boids,
    PLAYBACK: _build_playback,
    EXPORT: _build_export,
}
