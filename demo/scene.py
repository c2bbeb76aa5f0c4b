# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's scene: 2,000 gulls over a dark sea follow a light past three floating globes.

The flock is made by the add-on's operators; the rest is what any animator would add.
"""

import math

import bpy

COUNT, FRAMES, FPS = 2000, 120, 24
SPEED = 20.0
"""The flock's, lengths per second; the target flies as fast."""
HEIGHT = 16.0
PRE_ROLL = 2.0
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the frame range: where the target's path has its keys."""


def build() -> bpy.types.Object:
    """Makes the whole scene in the current, empty file. Returns the flock, not baked yet."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.render.fps = FPS
    # Spawned so far back that the pre-roll brings it to the origin by the first frame.
    scene.cursor.location = (0.0, -SPEED * PRE_ROLL, HEIGHT)
    bpy.ops.flock.new(count=COUNT)
    flock = bpy.context.object
    _set_flight(flock)
    _fly_target(flock.flock.target)
    globes = _repulsors(flock)
    _light()
    _lake()
    _camera()
    for number, globe in enumerate(globes):
        _show_globe(globe, number)
    _show_target(flock.flock.target)
    _paint_birds()
    bpy.context.view_layer.objects.active = flock
    scene.frame_set(1)
    return flock


def _set_flight(flock: bpy.types.Object) -> None:
    own = flock.flock
    own.spacing = 1.7
    own.spawn_shape, own.spawn_proportions = (
        "BOX",
        (1.6, 1.5, 0.45),
    )  # a sheet of birds: the gaps behind the globes show from above
    own.pre_roll = PRE_ROLL
    own.substeps = 2
    own.initial_speed = own.cruise_speed = SPEED
    own.min_speed, own.max_speed = 0.9 * SPEED, 1.3 * SPEED  # it has five seconds to pass them all
    own.max_acceleration = 70.0
    own.attraction = 1.0


def _key(item: bpy.types.Object, path: str, values, index: int = -1) -> None:
    """Keys of one property, evenly over the frame range."""
    for number, value in enumerate(values):
        frame = 1 + (FRAMES - 1) * number / (len(values) - 1)
        if index < 0:
            setattr(item, path, value)
        else:
            getattr(item, path)[index] = value
        item.keyframe_insert(path, index=index, frame=frame)


def _fly_target(target: bpy.types.Object) -> None:
    """Along a path that sways and climbs, always ahead of the flock."""
    way = SPEED * FRAMES / FPS
    _key(
        target,
        "location",
        [
            (4.0 * math.sin(2.0 * share), 40.0 + way * share, HEIGHT + 2.0 * math.sin(4.0 * share))
            for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        ],
    )
    target.empty_display_size = 2.0


def _repulsors(flock: bpy.types.Object) -> list[bpy.types.Object]:
    """One that is keyframed, one on a turning arm, one with a keyframed radius and a scale that differs between its axes."""
    swaying = flock.flock.repulsors.objects[0]
    swaying.name, swaying.empty_display_size = "Swaying Globe", 8.0
    _key(swaying, "location", [(-5.0, 25.0, HEIGHT - 1.0), (0.0, 26.0, HEIGHT + 1.0), (-4.0, 25.0, HEIGHT)])

    arm = bpy.data.objects.new("Turning Arm", None)
    arm.location, arm.empty_display_type = (8.0, 41.0, HEIGHT), "ARROWS"
    bpy.context.scene.collection.objects.link(arm)
    _key(arm, "rotation_euler", [0.0, math.radians(200.0)], index=2)
    circling = _add_repulsor("Circling Globe", 5.0)
    circling.parent, circling.location = arm, (-7.0, 0.0, 0.0)

    breathing = _add_repulsor("Breathing Globe", 3.0)
    breathing.location, breathing.scale = (-4.0, 54.0, HEIGHT), (1.0, 0.7, 1.3)
    _key(breathing, "empty_display_size", [3.5, 5.5, 4.5])
    return [swaying, circling, breathing]


def _add_repulsor(name: str, radius: float) -> bpy.types.Object:
    bpy.ops.flock.repulsor_add()
    added = bpy.context.object
    added.name = name
    added.flock_repulsor.radius = radius
    return added


# -- what there is to see --------------------------------------------------------------------------------------------


def _material(name: str, colour, roughness: float, emission: float = 0.0) -> bpy.types.Material:
    made = bpy.data.materials.new(name)
    if made.node_tree is None:  # Blender 4.5; later ones always have one
        made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Emission Color"].default_value = (*colour, 1.0)
    shader.inputs["Emission Strength"].default_value = emission
    return made


def _ball(name: str, material: bpy.types.Material) -> bpy.types.Object:
    bpy.ops.mesh.primitive_uv_sphere_add(segments=48, ring_count=24, location=(0.0, 0.0, 0.0))
    made = bpy.context.object
    made.name = name
    bpy.ops.object.shade_smooth()
    made.data.materials.append(material)
    return made


def _show_globe(repulsor: bpy.types.Object, number: int) -> None:
    """A globe that is the repulsor's sphere: its size by a driver, times the largest axis of its scale."""
    colour = ((0.9, 0.22, 0.06), (0.95, 0.42, 0.07), (0.75, 0.10, 0.12))[number]
    ball = _ball(f"{repulsor.name} Look", _material(f"{repulsor.name} Look", colour, 0.35, 0.25))
    ball.constraints.new("COPY_LOCATION").target = repulsor
    for curve in ball.driver_add("scale"):
        driver = curve.driver
        variable = driver.variables.new()
        variable.name = "radius"
        variable.targets[0].id, variable.targets[0].data_path = repulsor, "empty_display_size"
        driver.expression = f"radius * {max(repulsor.scale):g}"


def _show_target(target: bpy.types.Object) -> None:
    ball = _ball("Light", _material("Light", (1.0, 0.85, 0.5), 0.5, 12.0))
    ball.scale = (0.6, 0.6, 0.6)
    ball.constraints.new("COPY_LOCATION").target = target


def _light() -> None:
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy, sun.data.color, sun.data.angle = 4.0, (1.0, 0.72, 0.45), math.radians(2.0)
    sun.rotation_euler = (math.radians(68.0), 0.0, math.radians(115.0))
    bpy.context.scene.collection.objects.link(sun)
    world = bpy.data.worlds.new("Dusk")
    bpy.context.scene.world = world
    if world.node_tree is None:
        world.use_nodes = True
    tree = world.node_tree
    place, split = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeSeparateXYZ")
    ramp, background = tree.nodes.new("ShaderNodeValToRGB"), tree.nodes["Background"]
    tree.links.new(place.outputs["Generated"], split.inputs[0])
    tree.links.new(split.outputs["Z"], ramp.inputs[0])
    tree.links.new(ramp.outputs[0], background.inputs["Color"])
    stops = ramp.color_ramp.elements
    stops[0].position, stops[0].color = 0.0, (1.0, 0.50, 0.22, 1.0)
    stops[1].position, stops[1].color = 0.75, (0.05, 0.13, 0.36, 1.0)
    middle = stops.new(0.22)
    middle.color = (0.62, 0.55, 0.60, 1.0)


def _lake() -> None:
    """Rippled water as far as the camera sees."""
    bpy.ops.mesh.primitive_plane_add(size=3000.0, location=(0.0, 0.0, 0.0))
    lake = bpy.context.object
    lake.name = "Lake"
    water = _material("Water", (0.015, 0.045, 0.075), 0.12)
    tree = water.node_tree
    noise, bump = tree.nodes.new("ShaderNodeTexNoise"), tree.nodes.new("ShaderNodeBump")
    place = tree.nodes.new("ShaderNodeTexCoord")
    noise.inputs["Scale"].default_value = 0.35
    noise.inputs["Detail"].default_value = 4.0
    bump.inputs["Strength"].default_value = 0.35
    tree.links.new(place.outputs["Object"], noise.inputs["Vector"])
    tree.links.new(noise.outputs[0], bump.inputs["Height"])
    tree.links.new(bump.outputs[0], tree.nodes["Principled BSDF"].inputs["Normal"])
    lake.data.materials.append(water)


def _camera() -> None:
    """Travels beside and above the flock, and looks down on it against the sea."""
    scene = bpy.context.scene
    aim = bpy.data.objects.new("Aim", None)
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    for item in (aim, camera):
        scene.collection.objects.link(item)
    camera.data.lens, camera.data.clip_end = 30.0, 5000.0
    _key(aim, "location", [(0.0, 12.0, HEIGHT - 4.0), (0.0, 48.0, HEIGHT - 4.0), (0.0, 82.0, HEIGHT - 4.0)])
    _key(camera, "location", [(46.0, -12.0, 56.0), (48.0, 28.0, 53.0), (46.0, 58.0, 50.0)])
    track = camera.constraints.new("TRACK_TO")
    track.target, track.track_axis, track.up_axis = aim, "TRACK_NEGATIVE_Z", "UP_Y"
    scene.camera = camera


def _paint_birds() -> None:
    """White, to stand against the sea."""
    for material in bpy.data.materials:
        if "Feathers" in material.name:
            material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.85, 0.85, 0.82, 1.0)
