# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is stored on objects: a flock's settings, and what makes an Empty a repulsor.

Every field of core's `Settings` is one property of the same name, and has its default.
"""

import math
import uuid
from dataclasses import fields
from typing import Any

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..core.settings import LENGTHS, RULE_LENGTHS, RULES, Rule, Settings, weight_powers
from . import compat, nodes

DEFAULTS = Settings()
OVERRIDE = {"LIBRARY_OVERRIDABLE"}
STILL: set[str] = set()
"""Options of a property that is not sampled over time, and so cannot be animated."""

ENDLESS = 1e30
"""A number of this size or more, in a property, means without end."""


# -- what happens when a property changes ----------------------------------------------------------------------------


def _changed_spawn(self: Any, context: bpy.types.Context) -> None:
    from . import bake

    bake.refresh_spawn(self.id_data, context.scene)


def _changed_length(self: Any, context: bpy.types.Context) -> None:
    old, new = self.applied_length, self.body_length
    if old == new or old <= 0:
        return
    self.applied_length = new
    scale_lengths(self, new / old)
    modifier = nodes.find_modifier(self.id_data)
    if modifier:
        compat.set_input(modifier, "Scale", compat.get_input(modifier, "Scale") * new / old)
    _changed_spawn(self, context)


def _changed_sizes(self: Any, context: bpy.types.Context) -> None:
    modifier = nodes.find_modifier(self.id_data)
    if modifier:
        compat.set_input(modifier, "Scale Variation", self.size_variation)


def _changed_creature(self: Any, context: bpy.types.Context) -> None:
    show_creature(self.id_data)


def show_creature(flock: bpy.types.Object) -> None:
    """Tells the nodes which creature or collection the flock shows."""
    own = flock.flock
    if own.creature_type == "COLLECTION":
        nodes.set_creature(flock, None, own.creature_collection)
    else:
        nodes.set_creature(flock, own.creature, None)


# -- one function for each kind of property --------------------------------------------------------------------------


def _common(name: str, description: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "override": OVERRIDE, "options": STILL} | more


def _real(field: str, name: str, description: str, of: Any = DEFAULTS, **more: Any) -> Any:
    default = getattr(of, field)
    if math.isinf(default):
        more.setdefault("default", 0.0)
    return FloatProperty(**_common(name, description, {"default": default, "min": 0.0} | more))


def _length(field: str, name: str, description: str, of: Any = DEFAULTS, **more: Any) -> Any:
    return _real(field, name, description, of, **({"unit": "LENGTH", "soft_max": 100.0} | more))


def _speed(field: str, name: str, description: str, **more: Any) -> Any:
    return _real(field, name, description, unit="VELOCITY", soft_max=100.0, **more)


def _seconds(field: str, name: str, description: str, **more: Any) -> Any:
    return _real(field, name, description, subtype="TIME_ABSOLUTE", unit="TIME_ABSOLUTE", soft_max=10.0, **more)


def _angle(field: str, name: str, description: str, of: Any = DEFAULTS, **more: Any) -> Any:
    return _real(field, name, description, of, **({"subtype": "ANGLE", "max": math.pi / 2} | more))


def _share(field: str, name: str, description: str, **more: Any) -> Any:
    return _real(field, name, description, **({"subtype": "FACTOR", "max": 0.9} | more))


def _whole(field: str, name: str, description: str, **more: Any) -> Any:
    return IntProperty(**_common(name, description, {"default": getattr(DEFAULTS, field), "min": 0} | more))


def _yes(field: str, name: str, description: str, of: Any = DEFAULTS) -> Any:
    return BoolProperty(**_common(name, description, {"default": getattr(of, field)}))


def _triple(field: str, name: str, description: str, **more: Any) -> Any:
    return FloatVectorProperty(
        **_common(name, description, {"default": getattr(DEFAULTS, field), "subtype": "XYZ", "size": 3} | more)
    )


def _choice(field: str, name: str, description: str, items: dict[str, tuple[str, str]], **more: Any) -> Any:
    listed = [(value, *words) for value, words in items.items()]
    return EnumProperty(**_common(name, description, {"items": listed, "default": listed[0][0]} | more))


# -- the rules -------------------------------------------------------------------------------------------------------

_STEER = {
    "UNIT": ("Unit", "The direction alone, whatever its length"),
    "RAW": ("Raw", "The sum or mean as it is"),
    "REYNOLDS": ("Reynolds", "The wanted velocity minus the velocity, bounded by the acceleration"),
}


def _rule(field: str, what: str) -> dict[str, Any]:
    """Annotations of the property group of one rule, with that rule's own defaults."""
    rule: Rule = getattr(DEFAULTS, field)
    return {
        "weight": _real("weight", "Weight", f"How much boids {what}", rule, min=-100.0, soft_min=0.0, soft_max=5.0),
        # below 0 it is refused with a sentence, where a bound would change silently what somebody's script asked for
        "radius": _length(
            "radius",
            "Radius",
            f"Neighbours further away do not count when boids {what}; 0 for never",
            rule,
            min=-1e9,
            soft_min=0.0,
        ),
        "inner_radius": _length("inner_radius", "Inner Radius", "Neighbours nearer than this do not count", rule),
        "field_of_view": _angle(
            "field_of_view", "Field of View", "Full angle ahead in which neighbours are seen", rule, max=math.tau
        ),
        "steer": _choice("steer", "Steering", "How the rule turns into an acceleration", _STEER, default=rule.steer),
        "total": _choice(
            "total",
            "Total",
            "How the neighbours add up",
            {"MEAN": ("Mean", "Their mean"), "SUM": ("Sum", "Their sum: many neighbours count more")},
            default=rule.total,
        ),
        "count_self": _yes("count_self", "Count Self", "The boid counts as its own neighbour", rule),
    }


class FLOCK_PG_separation(bpy.types.PropertyGroup):
    """Keep away from near neighbours."""

    __annotations__ = _rule("separation", "keep away from near neighbours")


class FLOCK_PG_alignment(bpy.types.PropertyGroup):
    """Fly as the neighbours do."""

    __annotations__ = _rule("alignment", "fly the way their neighbours do")


class FLOCK_PG_cohesion(bpy.types.PropertyGroup):
    """Stay together."""

    __annotations__ = _rule("cohesion", "draw together")


# -- the flock -------------------------------------------------------------------------------------------------------


def _is_placed(self: Any, item: bpy.types.Object) -> bool:
    return not item.flock.is_flock


class FLOCK_PG_flock(bpy.types.PropertyGroup):
    """All that one flock object knows: whom it heeds, how it flies, and how it is baked."""

    is_flock: BoolProperty(name="Is a Flock", description="This object shows a flock", override=OVERRIDE, options=STILL)
    applied_length: FloatProperty(
        name="Applied Length",
        description="The body length to which all lengths were scaled last",
        default=1.0,
        override=OVERRIDE,
        options=STILL,
    )
    identity: StringProperty(
        name="Identity",
        description="Names what an unfinished bake of this flock leaves, whatever flock and file are called; copies share it",
        override=OVERRIDE,
        options={"HIDDEN"},
    )

    # whom it looks like, and what acts on it
    creature_type: EnumProperty(
        name="Creature",
        description="What the boids look like",
        items=[
            ("OBJECT", "Object", "Every boid is the same object"),
            ("COLLECTION", "Collection", "Every boid is one of the collection's objects, at random"),
        ],
        override=OVERRIDE,
        options=STILL,
        update=_changed_creature,
    )
    creature: PointerProperty(
        type=bpy.types.Object,
        name="Creature",
        description="What every boid looks like",
        override=OVERRIDE,
        poll=_is_placed,
        update=_changed_creature,
    )
    creature_collection: PointerProperty(
        type=bpy.types.Collection,
        name="Creatures",
        description="Each boid is one of these objects",
        override=OVERRIDE,
        update=_changed_creature,
    )
    target: PointerProperty(
        type=bpy.types.Object,
        name="Target",
        description="The flock flies to this object",
        override=OVERRIDE,
        poll=_is_placed,
    )
    repulsors: PointerProperty(
        type=bpy.types.Collection,
        name="Repulsors",
        description="Every Empty in this collection is a sphere that no boid enters",
        override=OVERRIDE,
    )
    active_repulsor: IntProperty(
        name="Repulsor", description="The repulsor chosen in the list", min=0, override=OVERRIDE, options=STILL
    )

    # the flock
    count: _whole("count", "Count", "Number of boids", soft_max=20000, max=2000000, update=_changed_spawn)
    seed: _whole("seed", "Seed", "Another number gives another flight", max=2**31 - 1, update=_changed_spawn)
    body_length: _length(
        "body_length",
        "Body Length",
        "Size of one boid; radii, spacing and speeds scale with it",
        min=0.001,
        update=_changed_length,
    )
    spacing: _length(
        "spacing", "Spacing", "Mean distance between neighbours at the start", min=0.001, update=_changed_spawn
    )
    spawn_shape: _choice(
        "spawn_shape",
        "Spawn Shape",
        "Volume in which the flock starts",
        {"BALL": ("Ball", "A ball around the flock object"), "BOX": ("Box", "A box around the flock object")},
        update=_changed_spawn,
    )
    spawn_proportions: _triple(
        "spawn_proportions", "Proportions", "Of the box in which the flock starts", min=0.001, update=_changed_spawn
    )
    start: _choice(
        "start",
        "Start",
        "Headings at the start",
        {
            "ALIGNED": ("Aligned", "All along the flock object's Y axis"),
            "RANDOM": ("Random", "Each its own way"),
            "REST": ("At Rest", "They stand still"),
        },
        update=_changed_spawn,
    )
    initial_speed: _speed("initial_speed", "Initial Speed", "Speed at the start")
    initial_speed_variation: _share(
        "initial_speed_variation", "Initial Speed Variation", "Share by which the speeds at the start differ"
    )
    release_duration: _seconds("release_duration", "Release", "Time over which the boids leave their places one by one")
    size_variation: _share(
        "size_variation",
        "Size Variation",
        "Share by which the creatures' sizes differ; all keep the clearance of the largest",
        update=_changed_sizes,
    )
    speed_variation: _share("speed_variation", "Speed Variation", "Share by which the boids' speeds differ")
    weight_variation: _share("weight_variation", "Character Variation", "Share by which the boids' weights differ")

    # whom a boid heeds
    separation: PointerProperty(
        type=FLOCK_PG_separation, name="Separation", description="Keep away from near neighbours", override=OVERRIDE
    )
    alignment: PointerProperty(
        type=FLOCK_PG_alignment, name="Alignment", description="Fly the way the neighbours do", override=OVERRIDE
    )
    cohesion: PointerProperty(type=FLOCK_PG_cohesion, name="Cohesion", description="Draw together", override=OVERRIDE)
    neighbours: _whole("neighbours", "Neighbours", "How many of the nearest count; 0 for all within the radius", max=32)
    edge: _choice(
        "edge",
        "Edge",
        "What happens where a neighbour crosses a radius",
        {"SMOOTH": ("Smooth", "Its influence fades out"), "HARD": ("Hard", "It counts fully or not at all")},
    )
    falloff: _choice(
        "falloff",
        "Falloff",
        "Strength of separation over distance",
        {
            "CONSTANT": ("Constant", "The same at every distance"),
            "INVERSE": ("Inverse", "One over the distance"),
            "INVERSE_SQUARE": ("Inverse Square", "One over the distance squared"),
            "CENTROID": ("Centroid", "Away from the middle of the neighbours"),
            "NEAREST": ("Nearest", "Away from the nearest neighbour alone"),
        },
        default=DEFAULTS.falloff,
    )
    zones: _choice(
        "zones",
        "Zones",
        "How the rules' radii work together",
        {
            "OVERLAPPING": ("Overlapping", "A neighbour counts for every rule within whose radius it is"),
            "EXCLUSIVE": ("Exclusive", "A neighbour counts for the innermost rule only"),
            "PRIORITY": ("Priority", "Separation alone, as long as somebody is too near"),
        },
    )
    alignment_of: _choice(
        "alignment_of",
        "Alignment of",
        "What boids align",
        {"VELOCITY": ("Velocity", "Speed and heading"), "HEADING": ("Heading", "The heading alone")},
    )
    cohesion_of: _choice(
        "cohesion_of",
        "Cohesion of",
        "What cohesion adds up",
        {"OFFSET": ("Offset", "The way to each neighbour"), "DIRECTION": ("Direction", "Its direction alone")},
    )

    # how it steers
    acceleration: _choice(
        "acceleration",
        "Acceleration",
        "How the wish to steer becomes an acceleration",
        {
            "BOUNDED": ("Bounded", "At most the maximum"),
            "CONSTANT": ("Constant", "Always the maximum"),
            "UNBOUNDED": ("Unbounded", "As large as the rules ask for"),
            "TURN": ("Turn", "Only the heading changes, at the cruise speed"),
        },
    )
    blending: _choice(
        "blending",
        "Blending",
        "How the rules come together",
        {
            "SUM": ("Sum", "They add up"),
            "AVERAGE": ("Average", "Their mean"),
            "PRIORITISED": ("Prioritised", "One after the other, until the acceleration is used up"),
        },
    )
    integration: _choice(
        "integration",
        "Integration",
        "Order of one step",
        {
            "VELOCITY_FIRST": ("Velocity First", "New velocity, then the move"),
            "POSITION_FIRST": ("Position First", "The move, then the new velocity"),
        },
    )
    cruise_speed: _speed("cruise_speed", "Cruise Speed", "Speed that the boids seek")
    response_time: _seconds(
        "response_time", "Response Time", "In which Reynolds steering seeks the speed and heading it wants", min=0.001
    )
    min_speed: _speed("min_speed", "Min Speed", "No boid flies slower")
    max_speed: _speed("max_speed", "Max Speed", "No boid flies faster")
    max_acceleration: _real(
        "max_acceleration", "Max Acceleration", "Bound of all steering", unit="ACCELERATION", soft_max=100.0
    )
    limit_turn_rate: BoolProperty(
        name="Limit Turn Rate", description="Bounds how fast a heading turns", override=OVERRIDE, options=STILL
    )
    max_turn_rate: _angle(
        "max_turn_rate", "Max Turn Rate", "Fastest turn, for each second", default=math.pi, min=0.001, max=1000.0
    )
    max_climb: _angle("max_climb", "Max Climb", "Steepest climb above the horizon")
    max_dive: _angle("max_dive", "Max Dive", "Steepest dive below the horizon")
    drag: _real("drag", "Drag", "Loss of speed, for each second", soft_max=2.0)
    attraction: _real(
        "attraction", "Attraction", "How much boids fly to the target", min=-100.0, soft_min=0.0, soft_max=5.0
    )
    attraction_steer: _choice(
        "attraction_steer",
        "Attraction Steering",
        "How the pull turns into an acceleration",
        _STEER,
        default=DEFAULTS.attraction_steer,
    )
    wander: _real("wander", "Wander", "How much each boid roams by itself", soft_max=5.0)
    wander_rate: _real(
        "wander_rate", "Wander Rate", "How often the wander turns, for each second", min=0.001, soft_max=5.0
    )
    noise: _angle("noise", "Noise", "Random turn in a second of flight", max=math.tau)
    noise_shape: _choice(
        "noise_shape",
        "Noise Shape",
        "How the random turns spread",
        {
            "NORMAL": ("Normal", "The noise is the standard deviation"),
            "UNIFORM": ("Uniform", "The noise is the whole width"),
        },
    )
    speed_control: _real(
        "speed_control", "Speed Control", "How much boids hold cruise speed, and turn rather than brake", soft_max=10.0
    )
    level_flight: _real("level_flight", "Level Flight", "How much boids like to fly level", soft_max=5.0)
    plane: _yes("plane", "In a Plane", "The flock stays in the XY plane of its object")

    # sources
    sources: _whole("sources", "Sources", "Number of goals that jump about", soft_max=100, max=10000)
    source_interval: _seconds("source_interval", "Interval", "Time from one jump to the next", min=0.001)
    source_size: _triple("source_size", "Size", "Of the box in which the sources jump", min=0.0, unit="LENGTH")

    # the space
    space: _choice(
        "space",
        "Space",
        "Where the flock may fly",
        {
            "OPEN": ("Open", "Everywhere"),
            "BOX": ("Box", "In a box"),
            "SPHERE": ("Sphere", "In a sphere"),
        },
    )
    boundary: _choice(
        "boundary",
        "Boundary",
        "What happens at the border",
        {
            "STEER": ("Steer", "Boids turn back"),
            "REFLECT": ("Reflect", "Boids bounce"),
            "WRAP": ("Wrap", "Boids come in again on the other side"),
            "PERIODIC": ("Periodic", "The same, and neighbours are seen across the border"),
        },
    )
    space_centre: _triple("space_centre", "Centre", "Of the space, from the flock object", subtype="XYZ", unit="LENGTH")
    space_size: _triple("space_size", "Size", "Of the box, or the sphere's diameter", min=0.001, unit="LENGTH")
    limit_height: BoolProperty(
        name="Floor", description="No boid flies below a height", override=OVERRIDE, options=STILL
    )
    min_height: _length("min_height", "Min Height", "Lowest flight, from the flock object", min=-1e9, soft_min=-100.0)

    # obstacles
    avoidance: _choice(
        "avoidance",
        "Repulsors",
        "What boids do at repulsors",
        {
            "STEER_AROUND": ("Steer Around", "They see them ahead, and fly around"),
            "SLIDE": ("Slide", "They slide along them"),
            "REFLECT": ("Reflect", "They bounce off"),
        },
    )
    look_ahead: _seconds("look_ahead", "Look Ahead", "How far ahead a boid sees a repulsor")
    collision_decay: _share("collision_decay", "Collision Decay", "Share of the speed kept after a collision", max=1.0)
    clearance: _length("clearance", "Clearance", "Distance kept from repulsors")
    feelers: _real("feelers", "Feelers", "How much the probes ahead and beside turn a boid; 0 for none", soft_max=5.0)
    feeler_length: _length("feeler_length", "Feeler Length", "Reach of the probes")

    # how it turns its body
    banking: _real("banking", "Banking", "Share of the roll of a level turn; 0 keeps the wings level", soft_max=2.0)
    gravity: _real(
        "gravity", "Gravity", "With the turn, it gives the roll", unit="ACCELERATION", min=0.001, soft_max=100.0
    )
    roll_rate: _angle("roll_rate", "Roll Rate", "Fastest roll, for each second", min=0.001, max=1000.0)
    smoothing: _seconds("smoothing", "Smoothing", "Time in which the body follows the flight")
    beat_rate: _real("beat_rate", "Beat Rate", "Wing beats for each second of level flight", soft_max=20.0)

    # time
    pre_roll: _seconds("pre_roll", "Pre-Roll", "Time flown before the first frame", max=1000.0)
    substeps: _whole("substeps", "Substeps", "Steps for each frame", min=1, soft_max=8, max=64)
    use_scene_range: BoolProperty(
        name="Scene Range", description="Bakes the frames of the scene", default=True, override=OVERRIDE, options=STILL
    )
    frame_start: IntProperty(
        name="Start", description="First frame to bake", default=1, override=OVERRIDE, options=STILL
    )
    frame_end: IntProperty(name="End", description="Last frame to bake", default=250, override=OVERRIDE, options=STILL)
    storage: EnumProperty(
        name="Storage",
        description="Where the clip lives",
        items=[
            ("AUTO", "Automatic", "In the file while it is small or was never saved, else in a file beside it"),
            ("FILE", "In the File", "In this file"),
            ("SIDECAR", "Beside the File", "In a file of its own, in the folder 'flock' beside this one"),
        ],
        override=OVERRIDE,
        options=STILL,
    )
    flight_check: StringProperty(
        name="Flight Check",
        description="The hash of the clip that was checked last, and what was found at each frame",
        override=OVERRIDE,
        options={"HIDDEN"},
    )


class FLOCK_PG_repulsor(bpy.types.PropertyGroup):
    """What an Empty needs to be a repulsor; its radius is the sphere that the viewport draws."""

    radius: FloatProperty(
        name="Radius",
        description="Radius of the sphere, the Empty's display size; it counts times the largest axis of its scale",
        unit="LENGTH",
        min=0.0001,
        soft_max=100.0,
        max=1000.0,
        options=STILL,
        get=lambda self: self.id_data.empty_display_size,
        set=lambda self, value: setattr(self.id_data, "empty_display_size", value),
    )
    mute: BoolProperty(name="Mute", description="The flock does not see this repulsor", override=OVERRIDE)
    strength: FloatProperty(
        name="Strength",
        description="How hard boids steer away; no boid enters the sphere at any strength",
        default=1.0,
        min=0.0,
        soft_max=5.0,
        override=OVERRIDE,
    )


# -- from and to core's settings -------------------------------------------------------------------------------------

_LIMITS = {"max_turn_rate": ("limit_turn_rate", math.inf), "min_height": ("limit_height", -math.inf)}
"""Fields that a switch turns off, and what they are then."""


def to_settings(own: FLOCK_PG_flock) -> Settings:
    """Core's settings of a flock.

    Raises:
        FlockError: a value that is out of range, as a sentence.
    """
    values = _values(own, DEFAULTS, [entry.name for entry in fields(Settings) if entry.name not in RULES])
    for name, (switch, endless) in _LIMITS.items():
        if not getattr(own, switch):
            values[name] = endless
    parts = [entry.name for entry in fields(Rule)]
    rules = {name: Rule(**_values(getattr(own, name), getattr(DEFAULTS, name), parts)) for name in RULES}
    return Settings(**values, **rules)


def from_settings(own: FLOCK_PG_flock, settings: Settings) -> None:
    """Writes core's settings into a flock."""
    own.applied_length = settings.body_length  # so that the new length scales nothing
    for entry in fields(Settings):
        value = getattr(settings, entry.name)
        if entry.name in RULES:
            for part in fields(Rule):
                setattr(getattr(own, entry.name), part.name, getattr(value, part.name))
        elif entry.name in _LIMITS:
            setattr(own, _LIMITS[entry.name][0], math.isfinite(value))
            if math.isfinite(value):
                setattr(own, entry.name, value)
        else:
            setattr(own, entry.name, value)


def scale_lengths(own: FLOCK_PG_flock, factor: float) -> None:
    """Scales every length and speed but the body length, and the weights that go with them."""
    for name, power in weight_powers(own).items():
        owner, weight = (own, "attraction") if name == "attraction" else (getattr(own, name), "weight")
        setattr(owner, weight, getattr(owner, weight) * factor**power)
    for name in LENGTHS:
        if name != "body_length":
            value = getattr(own, name)
            setattr(own, name, [part * factor for part in value] if hasattr(value, "__len__") else value * factor)
    for name in RULES:
        for part in RULE_LENGTHS:
            setattr(getattr(own, name), part, getattr(getattr(own, name), part) * factor)


def _values(owner: Any, defaults: Settings | Rule, names: list[str]) -> dict[str, Any]:
    return {name: _value(getattr(owner, name), getattr(defaults, name)) for name in names}


def _value(value: Any, default: Any) -> Any:
    if isinstance(value, float):
        # an angle's default is no short decimal, and whoever asks whether a setting is at its default has to find it so
        return default if np.float32(default) == np.float32(value) else _plain(value)
    return tuple(_plain(part) for part in value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def _plain(value: float) -> float:
    """The shortest decimal that is this float32: what the user typed."""
    return math.copysign(math.inf, value) if abs(value) >= ENDLESS else float(str(np.float32(value)))


# -- finding ---------------------------------------------------------------------------------------------------------


def is_flock(item: bpy.types.Object | None) -> bool:
    """Whether this object shows a flock."""
    return item is not None and item.type == "MESH" and item.flock.is_flock


def new_identity() -> str:
    """For a flock that is new in this file."""
    return uuid.uuid4().hex


def flocks(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The scene's flocks."""
    return [item for item in scene.objects if is_flock(item)]


def find_flock(context: bpy.types.Context) -> bpy.types.Object | None:
    """The flock to show: the active one, the one that the active object belongs to, or the only one in the scene."""
    active = context.active_object
    if is_flock(active):
        return active
    found = flocks(context.scene)
    for flock in found:
        if active and active in members(flock):
            return flock
    return found[0] if len(found) == 1 else None


def members(flock: bpy.types.Object) -> list[bpy.types.Object]:
    """The objects that belong to a flock: its target, its creatures, its repulsors."""
    own = flock.flock
    single = [item for item in (own.target, own.creature) if item]
    if own.creature:
        single += own.creature.children
    return single + [item for group in (own.repulsors, own.creature_collection) if group for item in group.all_objects]


def is_repulsor(item: bpy.types.Object) -> bool:
    """Whether an object in a flock's collection of repulsors is one of them."""
    return item.type == "EMPTY"


def repulsors(flock: bpy.types.Object) -> list[bpy.types.Object]:
    """The Empties in a flock's collection of repulsors and in those within it, muted ones too."""
    group = flock.flock.repulsors
    return list(filter(is_repulsor, group.all_objects)) if group else []


def target(flock: bpy.types.Object) -> bpy.types.Object | None:
    """The flock's target, or None where it has none or it was deleted: the pointer alone keeps a deleted object alive."""
    item = flock.flock.target
    return item if item and item.users_scene else None


def frame_range(flock: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, int]:
    """First and last frame to bake."""
    own = flock.flock
    return (scene.frame_start, scene.frame_end) if own.use_scene_range else (own.frame_start, own.frame_end)


def frame_rate(scene: bpy.types.Scene) -> float:
    """Frames per second."""
    return scene.render.fps / scene.render.fps_base


_classes = (FLOCK_PG_separation, FLOCK_PG_alignment, FLOCK_PG_cohesion, FLOCK_PG_flock, FLOCK_PG_repulsor)
_register, _unregister = bpy.utils.register_classes_factory(_classes)


def register() -> None:
    _register()
    kind = bpy.types.Object
    kind.flock = PointerProperty(type=FLOCK_PG_flock, name="Flock", description="A flock's settings", override=OVERRIDE)
    kind.flock_repulsor = PointerProperty(
        type=FLOCK_PG_repulsor, name="Repulsor", description="How this Empty keeps a flock away", override=OVERRIDE
    )


def unregister() -> None:
    del bpy.types.Object.flock_repulsor
    del bpy.types.Object.flock
    _unregister()
