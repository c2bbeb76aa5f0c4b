# SPDX-FileCopyrightText: 2026 Flock Authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every difference between Blender versions, chosen by what an object has and not by a version number."""

from __future__ import annotations

from typing import Any, Literal

import bpy

Result = set[Literal["RUNNING_MODAL", "CANCELLED", "FINISHED", "PASS_THROUGH", "INTERFACE"]]
"""What the functions of an operator return."""


def socket_identifier(modifier: bpy.types.NodesModifier, name: str) -> str:
    """The identifier ('Socket_2') of the modifier's input of that name.

    Raises:
        KeyError: the node group has no such input.
    """
    for item in _inputs(modifier.node_group):
        if item.name == name:
            return item.identifier
    raise KeyError(name)


def input_names(group: bpy.types.NodeTree) -> set[str]:
    """The names of a node group's inputs that hold a value: all but geometry and matrices."""
    return {item.name for item in _inputs(group)}


def input_defaults(group: bpy.types.NodeTree) -> dict[str, Any]:
    """What a new modifier's inputs hold, by their names."""
    return {item.name: item.default_value for item in _inputs(group)}


def _inputs(group: bpy.types.NodeTree) -> list[Any]:
    return [
        item
        for item in group.interface.items_tree
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and hasattr(item, "default_value")
    ]


def input_path(modifier: bpy.types.NodesModifier, name: str) -> tuple[Any, str]:
    """The struct and the property name with which a layout draws the input, by `layout.prop`."""
    identifier = socket_identifier(modifier, name)
    if hasattr(modifier, "properties"):
        return getattr(modifier.properties.inputs, identifier), "value"
    return modifier, f'["{identifier}"]'


def get_input(modifier: bpy.types.NodesModifier, name: str) -> Any:
    """The value of one input; a menu's is the name of its item."""
    owner, key = input_path(modifier, name)
    if key == "value":
        return owner.value
    value = modifier[socket_identifier(modifier, name)]
    menu = _menu_items(modifier, name)
    return menu[value] if menu else value


def set_input(modifier: bpy.types.NodesModifier, name: str, value: Any) -> None:
    """Sets one input and tells the dependency graph, which neither Blender does by itself."""
    owner, key = input_path(modifier, name)
    if key == "value":
        owner.value = value
    else:
        numbers = {item: number for number, item in _menu_items(modifier, name).items()}
        modifier[socket_identifier(modifier, name)] = numbers.get(value, value) if numbers else value
    modifier.id_data.update_tag()


def use_nodes(owner: bpy.types.Material | bpy.types.World) -> None:
    """Gives a new material or world its nodes, which later Blenders do by themselves."""
    if owner.node_tree is None:
        owner.use_nodes = True


def _menu_items(modifier: bpy.types.NodesModifier, name: str) -> dict[int, str]:
    """Number and name of each item of a menu input, which is stored as a number where inputs are custom properties."""
    identifier = socket_identifier(modifier, name)
    description = modifier.id_properties_ui(identifier).as_dict() if identifier in modifier.keys() else {}
    return {item[4]: item[0] for item in description.get("items") or ()}
