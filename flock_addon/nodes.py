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

VERSION = 2
"""Of the node groups; an older one in a file is rebuilt in place."""

VERSION_PROPERTY = "flock_nodes"
MODIFIER = "Flock"
PLAYBACK, TIME, FRAME = "Flock Playback", "Flock Time", "Flock Frame"
CREATURES, WING, EXPORT = "Flock Creatures", "Flock Wing", "Flock Export"

FORWARD_AXES = ("X", "Y", "Z", "-X", "-Y", "-Z")
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
    return _ensure(PLAYBACK)


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
    """Leaves one node group of each kind where appending has brought in more. Returns how many went."""
    gone = 0
    for kind in _BUILDERS:
        groups = _local_groups(kind)
        for double in groups[1:]:
            _move_users(double, groups[0])
            bpy.data.node_groups.remove(double)
            gone += 1
    return gone


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
        node = self.group.nodes.new(kind)
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

    def scale(self, vector: Any, factor: Any):
        """A vector times a number."""
        return self("ShaderNodeVectorMath", vector, factor, operation="SCALE")

    def integer(self, operation: str, *values: Any):
        """A whole number."""
        return self("FunctionNodeIntegerMath", *values, operation=operation)

    def switch(self, kind: str, condition: Any, no: Any, yes: Any):
        """One of two values."""
        return self("GeometryNodeSwitch", condition, no, yes, input_type=kind)

    def round(self, number: Any):
        """A number to the nearest whole one."""
        return self("FunctionNodeFloatToInt", number, rounding_mode="ROUND")

    def xyz(self, vector: Any):
        """A vector's three numbers."""
        return tuple(self.node("ShaderNodeSeparateXYZ", vector).outputs)

    def attribute(self, name: str, kind: str):
        """A named attribute of whatever geometry it is read on."""
        return self("GeometryNodeInputNamedAttribute", name, data_type=kind)

    def store(self, geometry: Any, name: str, kind: str, value: Any):
        """The points with one more attribute."""
        return self("GeometryNodeStoreNamedAttribute", geometry, None, name, value, data_type=kind, domain="POINT")

    def group_node(self, kind: str, values: dict[str, Any]):
        """One of our own groups inside this one, its inputs by name."""
        node = self.group.nodes.new("GeometryNodeGroup")
        node.node_tree = _ensure(kind)
        for name, value in values.items():
            self._feed(node.inputs[name], value)
        return node

    def finish(self) -> None:
        """Removes sockets that an older version had, and lays the nodes out from left to right."""
        for item in list(self.group.interface.items_tree):
            if item.item_type == "SOCKET" and item.identifier not in self._wanted:
                self.group.interface.remove(item)
        columns = _columns(self.group)
        heights: dict[int, float] = {}
        for node in self.group.nodes:
            column = columns[node.name]
            node.location = (220.0 * column, -heights.get(column, 0.0))
            heights[column] = heights.get(column, 0.0) + 60.0 + 24.0 * (len(node.inputs) + len(node.outputs))


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
    """Flock Playback: what the modifier shows."""
    clip = tree.input("Geometry", "Geometry", description="The clip")
    look = {name: _creature_input(tree, name) for name in _CREATURE_INPUTS}
    show = tree.input("Show", "Menu", description="What is drawn; vertices can be exported to USD and Alembic")
    seed = tree.input("Seed", "Int", 0, "Of each boid's random number, and so of its scale and its creature")
    number = tree.input("Flock Index", "Int", 0, "Attribute 'flock', which tells several flocks apart")
    time_inputs = {name: _time_input(tree, name) for name in _TIME_INPUTS}

    time = tree.group_node(TIME, {"Geometry": clip} | time_inputs).outputs
    frame = {name: time[name] for name in ("Count", "From", "To", "Factor", "Seconds", "Rate")}
    points = tree.group_node(FRAME, {"Geometry": clip, "Seed": seed, "Flock Index": number} | frame).outputs[0]
    creatures = tree.group_node(CREATURES, {"Points": points, "Seed": seed} | look).outputs[0]
    vertices = tree("GeometryNodePointsToVertices", points)

    choice = tree.group.nodes.new("GeometryNodeMenuSwitch")
    _menu(choice, "GEOMETRY", SHOW)
    tree.group.links.new(show, choice.inputs[0])
    for source, socket in zip((creatures, points, vertices), choice.inputs[1:4], strict=True):
        tree.group.links.new(source, socket)
    tree.output("Geometry", "Geometry", choice.outputs[0])
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


def _menu(node: Any, data_type: str, names: tuple[str, ...]) -> None:
    node.data_type = data_type
    node.enum_items.clear()
    for name in names:
        node.enum_items.new(name)


def _set_menu_default(group: bpy.types.NodeTree, name: str, value: str) -> None:
    for item in group.interface.items_tree:
        if item.item_type == "SOCKET" and item.name == name:
            item.default_value = value


def _build_time(tree: _Tree) -> None:
    """Flock Time: the clip's header, and the two stored frames around the scene's frame."""
    clip = tree.input("Geometry", "Geometry")
    speed, offset, moved, moved_to = (_time_input(tree, name) for name in _TIME_INPUTS)

    size = tree("GeometryNodeAttributeDomainSize", clip, component="MESH")
    velocity = tree.attribute("velocity", "FLOAT_VECTOR")
    rows = [
        tree("GeometryNodeSampleIndex", clip, velocity, tree.integer("SUBTRACT", size, back), data_type="FLOAT_VECTOR")
        for back in (2, 1)
    ]
    count, frames, first = map(tree.round, tree.xyz(rows[0]))
    fps, step, _format = tree.xyz(rows[1])

    wanted = tree.integer("ADD", tree.integer("MULTIPLY", count, frames), 2)
    fits = tree("FunctionNodeCompare", size, wanted, data_type="INT", operation="EQUAL")
    empty = tree("FunctionNodeCompare", size, 0, data_type="INT", operation="EQUAL")
    wrong = tree("FunctionNodeBooleanMath", fits, empty, operation="NOR")
    message = "This clip was edited, so no boid is drawn: undo the edit, or bake again"
    warned = tree("GeometryNodeWarning", wrong, message)
    tree.output("Count", "Int", tree.switch("INT", warned, count, 0))

    last = tree.math("MAXIMUM", tree.integer("SUBTRACT", frames, 1), 0.0)
    begin = tree.switch("INT", moved, first, moved_to)
    since = tree.math("SUBTRACT", tree.node("GeometryNodeInputSceneTime").outputs["Frame"], begin)
    into = tree.math("DIVIDE", tree.math("MULTIPLY_ADD", since, speed, offset), step)
    backwards = tree.math("LESS_THAN", speed, 0.0)
    place = tree.math("MULTIPLY_ADD", last, backwards, into)
    held = tree("ShaderNodeClamp", place, 0.0, last)
    low = tree.math("FLOOR", held)
    tree.output("From", "Int", tree.round(low))
    tree.output("To", "Int", tree.round(tree.math("MINIMUM", tree.math("ADD", low, 1.0), last)))
    tree.output("Factor", "Float", tree.math("SUBTRACT", held, low))
    tree.output("Seconds", "Float", tree.math("DIVIDE", step, fps))
    plays = tree("FunctionNodeCompare", place, held, 0.0, data_type="FLOAT", operation="EQUAL")
    tree.output("Rate", "Float", tree.switch("FLOAT", plays, 0.0, speed))


def _build_frame(tree: _Tree) -> None:
    """Flock Frame: the boids of one moment as points, between two stored frames."""
    clip = tree.input("Geometry", "Geometry")
    count = tree.input("Count", "Int", 0)
    ends = tree.input("From", "Int", 0), tree.input("To", "Int", 0)
    factor = tree.input("Factor", "Float", 0.0)
    seconds = tree.input("Seconds", "Float", 1.0, "Time from one stored frame to the next")
    rate = tree.input("Rate", "Float", 1.0, "Factor of the velocity")
    seed = tree.input("Seed", "Int", 0)
    number = tree.input("Flock Index", "Int", 0)

    boid = tree("GeometryNodeInputIndex")
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
    stored = tree("FunctionNodeCompare", factor, 0.0, 0.0, data_type="FLOAT", operation="EQUAL")
    position = tree.switch("VECTOR", stored, position, places[0])
    velocity = tree.scale(tree.switch("VECTOR", stored, velocity, velocities[0]), rate)
    rotation = tree.switch("ROTATION", stored, rotation, turns[0])
    flap = tree.switch("FLOAT", stored, flap, flaps[0])
    random = tree("FunctionNodeRandomValue", 0.0, 1.0, boid, seed, data_type="FLOAT")

    points = tree("GeometryNodePoints", count, position, 0.05)
    points = tree.store(points, "id", "INT", boid)
    points = tree.store(points, "velocity", "FLOAT_VECTOR", velocity)
    points = tree.store(points, "rotation", "QUATERNION", rotation)
    points = tree.store(points, "flap", "FLOAT", flap)
    points = tree.store(points, "speed", "FLOAT", tree.node("ShaderNodeVectorMath", tree.attribute(
        "velocity", "FLOAT_VECTOR"), operation="LENGTH").outputs["Value"])  # fmt: skip
    points = tree.store(points, "bank", "FLOAT", _bank(tree))
    points = tree.store(points, "random", "FLOAT", random)
    points = tree.store(points, "flock", "INT", number)
    points = tree.store(points, "part", "INT", 0)
    tree.output("Points", "Geometry", points)


def _hermite(tree: _Tree, places: list, velocities: list, factor: Any, seconds: Any):
    """Cubic Hermite position and its velocity; at factor 0 they are the stored ones, to the bit.

    p = p0 + t m0 + t^2 c2 + t^3 c3, with m = v * seconds, c2 = 3 (p1 - p0) - 2 m0 - m1, c3 = m0 + m1 - 2 (p1 - p0).
    """
    way = tree.vector("SUBTRACT", places[1], places[0])
    slopes = [tree.scale(velocity, seconds) for velocity in velocities]
    both = tree.vector("ADD", *slopes)
    c2 = tree.vector("SUBTRACT", tree.vector("SUBTRACT", tree.scale(way, 3.0), slopes[0]), both)
    c3 = tree.vector("SUBTRACT", both, tree.scale(way, 2.0))
    inner = tree.vector("MULTIPLY_ADD", c3, factor, c2)
    inner = tree.vector("MULTIPLY_ADD", inner, factor, slopes[0])
    position = tree.vector("MULTIPLY_ADD", inner, factor, places[0])

    # its derivative over time: v0 + (2 t c2 + 3 t^2 c3) / seconds
    bend = tree.vector("MULTIPLY_ADD", tree.scale(c3, 3.0), factor, tree.scale(c2, 2.0))
    share = tree.math("DIVIDE", factor, seconds)
    return position, tree.vector("MULTIPLY_ADD", bend, share, velocities[0])


def _bank(tree: _Tree):
    """Angle of the wings against the horizon, positive with the right wing low."""
    to_own = tree("FunctionNodeInvertRotation", tree.attribute("rotation", "QUATERNION"))
    # the world's up as the boid sees it: to its right and above it, as far as its own right and up look up in the world
    right, _, up = tree.xyz(tree("FunctionNodeRotateVector", (0.0, 0.0, 1.0), to_own))
    return tree.math("ARCTAN2", tree.math("MULTIPLY", right, -1.0), up)


def _build_creatures(tree: _Tree) -> None:
    """Flock Creatures: an instance for each point, or a body and two wings."""
    points = tree.input("Points", "Geometry")
    seed = tree.input("Seed", "Int", 0)
    look = {name: _creature_input(tree, name) for name in _CREATURE_INPUTS}

    boid = tree.attribute("id", "INT")
    axis = tree.group.nodes.new("GeometryNodeMenuSwitch")
    _menu(axis, "ROTATION", FORWARD_AXES)
    tree.group.links.new(look["Forward Axis"], axis.inputs[0])
    for socket, name in zip(axis.inputs[1:], FORWARD_AXES, strict=False):
        socket.default_value = _FORWARD_TURNS[name]
    turn = axis.outputs[0]
    rotation = tree(
        "FunctionNodeRotateRotation", tree.attribute("rotation", "QUATERNION"), turn, rotation_space="LOCAL"
    )
    vary = tree("FunctionNodeRandomValue", -1.0, 1.0, boid, tree.integer("ADD", seed, 1), data_type="FLOAT")
    share = tree.math("MULTIPLY_ADD", vary, look["Scale Variation"], 1.0)
    alike = tree("FunctionNodeCompare", look["Scale Variation"], 0.0, 0.0, data_type="FLOAT", operation="EQUAL")
    scale = tree.math("MULTIPLY", tree.switch("FLOAT", alike, share, 1.0), look["Scale"])

    body = tree.node("GeometryNodeObjectInfo", look["Creature"], True, transform_space="ORIGINAL").outputs
    alone = tree("GeometryNodeInstanceOnPoints", points, None, body["Geometry"], None, None, rotation, scale)
    ahead = tree("FunctionNodeRotateVector", (0.0, 1.0, 0.0), tree("FunctionNodeInvertRotation", turn))
    angle = tree.math("SINE", tree.math("MULTIPLY", tree.attribute("flap", "FLOAT"), 2.0 * _HALF))
    angle = tree.math("MULTIPLY", tree.math("MULTIPLY", angle, look["Flap Angle"]), look["Flapping"])
    common = {"Points": points, "Body": body["Transform"], "Axis": ahead, "Rotation": rotation, "Scale": scale}
    right_angle = tree.math("MULTIPLY", angle, -1.0)
    wings = [
        tree.group_node(WING, common | {"Wing": look[name], "Angle": value, "Part": part}).outputs[0]
        for name, value, part in (("Left Wing", angle, 1), ("Right Wing", right_angle, 2))
    ]
    whole = tree.group.nodes.new("GeometryNodeJoinGeometry")
    for part in (*reversed(wings), alone):  # the newest link comes first, and with it the body
        tree.group.links.new(part, whole.inputs[0])

    flock = tree("GeometryNodeCollectionInfo", look["Collection"], True, True, transform_space="ORIGINAL")
    kinds = tree.node("GeometryNodeAttributeDomainSize", flock, component="INSTANCES").outputs["Instance Count"]
    pick = tree("FunctionNodeRandomValue", 0, tree.integer("SUBTRACT", kinds, 1), boid, tree.integer("ADD", seed, 2),
                data_type="INT")  # fmt: skip
    mixed = tree("GeometryNodeInstanceOnPoints", points, None, flock, True, pick, rotation, scale)

    shown = tree.switch("GEOMETRY", _any_instance(tree, body["Geometry"]), points, whole.outputs[0])
    several = tree("FunctionNodeCompare", kinds, 0, data_type="INT", operation="GREATER_THAN")
    tree.output("Geometry", "Geometry", tree.switch("GEOMETRY", several, shown, mixed))
    _set_menu_default(tree.group, "Forward Axis", "Y")


def _any_instance(tree: _Tree, geometry: Any):
    size = tree.node("GeometryNodeAttributeDomainSize", geometry, component="INSTANCES").outputs["Instance Count"]
    return tree("FunctionNodeCompare", size, 0, data_type="INT", operation="GREATER_THAN")


def _build_wing(tree: _Tree) -> None:
    """Flock Wing: one wing of every boid, turned about its hinge. An instance of its own, so that it blurs truly."""
    points = tree.input("Points", "Geometry")
    wing = tree.input("Wing", "Object")
    body = tree.input("Body", "Matrix", description="The creature's place in the scene")
    axis = tree.input("Axis", "Vector", (0.0, 1.0, 0.0), "The hinge, in the creature's space")
    angle = tree.input("Angle", "Float", 0.0)
    rotation = tree.input("Rotation", "Rotation")
    scale = tree.input("Scale", "Float", 1.0)
    part = tree.input("Part", "Int", 1, "Attribute 'part' of the wing; the body's is 0")

    info = tree.node("GeometryNodeObjectInfo", wing, True, transform_space="ORIGINAL").outputs
    inverse = tree("FunctionNodeInvertMatrix", body)
    beside = tree("FunctionNodeMatrixMultiply", inverse, info["Transform"])
    hinge, rest, size = tree.node("FunctionNodeSeparateTransform", beside).outputs
    flap = tree("FunctionNodeAxisAngleToRotation", axis, angle)
    beaten = tree("FunctionNodeRotateRotation", rest, flap, rotation_space="GLOBAL")
    turned = tree("FunctionNodeRotateRotation", rotation, beaten, rotation_space="LOCAL")
    arm = tree("FunctionNodeRotateVector", tree.scale(hinge, scale), rotation)
    moved = tree("GeometryNodeSetPosition", tree.store(points, "part", "INT", part), None, None, arm)
    placed = tree(
        "GeometryNodeInstanceOnPoints", moved, None, info["Geometry"], None, None, turned, tree.scale(size, scale)
    )
    nothing = tree("GeometryNodePoints", 0)
    tree.output("Geometry", "Geometry", tree.switch("GEOMETRY", _any_instance(tree, info["Geometry"]), nothing, placed))


def _build_export(tree: _Tree) -> None:
    """Flock Export: another object's boids as the vertices of a mesh, which exporters write with all their attributes."""
    flock = tree.input("Flock", "Object", description="The flock whose boids these are")
    geometry = tree.node("GeometryNodeObjectInfo", flock, False, transform_space="ORIGINAL").outputs["Geometry"]
    is_body = tree("FunctionNodeCompare", tree.attribute("part", "INT"), 0, data_type="INT", operation="EQUAL")
    instances = tree("GeometryNodeInstancesToPoints", geometry, is_body)
    points = tree.node("GeometryNodeSeparateComponents", geometry).outputs["Point Cloud"]
    both = tree.group.nodes.new("GeometryNodeJoinGeometry")
    for part in (instances, points):
        tree.group.links.new(part, both.inputs[0])
    tree.output("Geometry", "Geometry", tree("GeometryNodePointsToVertices", both.outputs[0]))


_BUILDERS: dict[str, Callable[[_Tree], None]] = {
    WING: _build_wing,
    CREATURES: _build_creatures,
    FRAME: _build_frame,
    TIME: _build_time,
    PLAYBACK: _build_playback,
    EXPORT: _build_export,
}
