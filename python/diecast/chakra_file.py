# SPDX-License-Identifier: Apache-2.0
"""Reads files of Chakra execution traces, one per rank, in any of their three forms.

- .et: messages of Protocol Buffers, each behind its length as a varint: a GlobalMetadata, then the Nodes; perhaps gzipped.
- JSON, as Chakra's jsonizer writes it: the same messages in protobuf's JSON mapping, one behind the other.
- JSON, as Chakra's feeder reads it (src/feeder/JSONNode.cpp): an object whose workload_graph lists the nodes, with Id, Name and
  NodeType (a number), runtime in microseconds, data_deps, and attributes as fields.

Field numbers and names are those of github.com/mlcommons/chakra, schema/protobuf/et_def.proto; the framing is that of its
src/third_party/utils/protolib.py; the encoding is protobuf.dev/programming-guides/encoding.
"""
import base64
import codecs
import re
import struct

from diecast.inputs import SPACE, data_of, decoded, first_json
from diecast.trace import BadTrace, need

NODE_TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
              "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE")
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
WIRE = {VARINT: "a varint", FIXED64: "64 bits", BYTES: "bytes of a length", FIXED32: "32 bits"}

# Node
ID, NAME, TYPE, CTRL_DEPS, DATA_DEPS, DURATION, ATTR = 1, 2, 3, 4, 5, 7, 10

# AttributeProto: field: (name, how its bits are read); lists are beside them, one number up.
SCALARS = {3: ("double", "<d"), 5: ("float", "<f"), 7: ("int32", "signed"), 9: ("int64", "signed"), 11: ("uint32", None),
           13: ("uint64", None), 15: ("sint32", "zigzag"), 17: ("sint64", "zigzag"), 19: ("fixed32", "<I"),
           21: ("fixed64", "<Q"), 23: ("sfixed32", "<i"), 25: ("sfixed64", "<q"), 27: ("bool", None), 29: ("string", "text"),
           31: ("bytes", "bytes")}
BOOL_LIST = 28


class Node:
    """id, name, type (a name of NODE_TYPES, or the number), data_deps, ctrl_deps, duration_micros, attributes by name.

    An attribute is a number, a text, a bool, or the list of a bool_list; None for lists of other types, which no
    importer needs."""

    def __init__(self):
        self.id, self.name, self.type = 0, "", NODE_TYPES[0]
        self.data_deps, self.ctrl_deps, self.duration_micros, self.attributes = [], [], 0, {}


def varint(data, at):
    """The number at `at`, and where the next thing begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise BadTrace("ends within a number")
        value |= (data[at] & 0x7f) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value & (1 << 64) - 1, at
    raise BadTrace("a number of more than ten bytes")


def fields(data):
    """(field number, wire type, value) of a message: numbers as unsigned, all else as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind, size = key & 7, {FIXED64: 8, FIXED32: 4}.get(key & 7)
        if kind == VARINT:
            value, at = varint(data, at)
            yield key >> 3, kind, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        if size is None or at + size > len(data):
            raise BadTrace(f"no message of Chakra: field {key >> 3} of wire type {kind} at byte {at}")
        yield key >> 3, kind, data[at:at + size]
        at += size


def typed(data, expected):
    """The same, with the wire types checked: expected(field number) are those that the field may have, or None."""
    for number, kind, value in fields(data):
        kinds = expected(number)
        need(kinds is None or kind in kinds, f"field {number}",
             f"{WIRE[kind]}; expected {' or '.join(WIRE[k] for k in kinds or ())}")
        yield number, kind, value


def node_wire(number):
    return {ID: (VARINT,), NAME: (BYTES,), TYPE: (VARINT,), CTRL_DEPS: (VARINT, BYTES), DATA_DEPS: (VARINT, BYTES),
            DURATION: (VARINT,), ATTR: (BYTES,)}.get(number)


def attribute_wire(number):
    if number in (1, BOOL_LIST):
        return (BYTES,)
    if number not in SCALARS:
        return None
    how = SCALARS[number][1]
    return {"text": (BYTES,), "bytes": (BYTES,), "<d": (FIXED64,), "<Q": (FIXED64,), "<q": (FIXED64,), "<f": (FIXED32,),
            "<I": (FIXED32,), "<i": (FIXED32,)}.get(how, (VARINT,))


def numbers(kind, value):
    """A repeated number: one of it, or many packed."""
    if kind == VARINT:
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def scalar(kind, value, how):
    if how == "signed":
        return value - (1 << 64) if value >> 63 else value
    if how == "zigzag":
        return value >> 1 ^ -(value & 1)
    if how == "text":
        return value.decode("utf-8", "replace")
    return value if how in (None, "bytes") else struct.unpack(how, value)[0]


def attribute(data):
    """(name, value) of an AttributeProto."""
    name, found = "", None
    for number, kind, value in typed(data, attribute_wire):
        if number == 1:
            name = scalar(kind, value, "text")
        elif number in SCALARS:
            what, how = SCALARS[number]
            found = bool(value) if what == "bool" else scalar(kind, value, how)
        elif number == BOOL_LIST:
            found = [bool(v) for n, k, packed in fields(value) if n == 1 for v in numbers(k, packed)]
    return name, found


def type_name(number):
    return NODE_TYPES[number] if number < len(NODE_TYPES) else number


def node(data):
    made = Node()
    for number, kind, value in typed(data, node_wire):
        if number == ID:
            made.id = value
        elif number == NAME:
            made.name = scalar(kind, value, "text")
        elif number == TYPE:
            made.type = type_name(value)
        elif number == CTRL_DEPS:
            made.ctrl_deps += numbers(kind, value)
        elif number == DATA_DEPS:
            made.data_deps += numbers(kind, value)
        elif number == DURATION:
            made.duration_micros = value
        elif number == ATTR:
            name, found = attribute(value)
            made.attributes[name] = found
    return made


def read_protobuf(data):
    """Nodes of an .et file."""
    found, at = [], 0
    while at < len(data):
        size, at = varint(data, at)
        if at + size > len(data):
            raise BadTrace("ends within a message")
        found.append(data[at:at + size])
        at += size
    return each(node, found[1:])  # the first is the GlobalMetadata


def each(read_one, messages):
    """The nodes; what is wrong with one is said with its number in the file."""
    made = []
    for number, message in enumerate(messages, 1):
        try:
            made.append(read_one(message))
        except BadTrace as error:
            raise BadTrace(f"node {number} of the file: {error}") from None
    return made


def snake(name):
    """Protobuf's JSON mapping has lowerCamelCase, or with preserving_proto_field_name the schema's own names."""
    return re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), name)


def json_number(value, field):
    """A number, or the text of one: 64-bit numbers are texts in JSON."""
    number = isinstance(value, int) and not isinstance(value, bool)
    text = isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value, re.ASCII)
    need(number or text, field, f"{value!r}; expected a whole number")
    return int(value)


def json_of(value, kind, field):
    names = {dict: "an object", list: "a list", str: "a text"}
    need(isinstance(value, kind), field, f"{str(value)[:40]!r}; expected {names[kind]}")
    return value


def json_value(name, value, field):
    """The value of an attribute."""
    if name == "bool_list":
        return [bool(v) for v in json_of(json_of(value, dict, field).get("values", []), list, f"{field}.values")]
    if name.endswith("_list"):
        return None
    if name == "bytes":
        try:
            return base64.b64decode(json_of(value, str, field), validate=True)
        except ValueError:
            raise BadTrace(f"{field}: {value[:40]!r}; expected Base64") from None
    return json_number(value, field) if "int" in name or "fixed" in name else value


def snaked(data):
    return {snake(key): value for key, value in data.items()}


def json_attribute(entry, field):
    """(name, value) of an entry of attr."""
    entry = snaked(json_of(entry, dict, field))
    name = json_of(entry.get("name", ""), str, f"{field}.name")
    values = [(key, value) for key, value in entry.items() if key.endswith(("_val", "_list"))]
    return name, json_value(values[0][0].removesuffix("_val"), values[0][1], f"{field} ({name})") if values else None


def json_node(data):
    data, made = snaked(data), Node()
    made.id, made.name = json_number(data.get("id", 0), "id"), json_of(data.get("name", ""), str, "name")
    kind = data.get("type", NODE_TYPES[0])
    made.type = type_name(json_number(kind, "type")) if not isinstance(kind, str) else kind
    made.data_deps, made.ctrl_deps = ([json_number(i, key) for i in json_of(data.get(key, []), list, key)]
                                      for key in ("data_deps", "ctrl_deps"))
    made.duration_micros = json_number(data.get("duration_micros", 0), "duration_micros")
    for n, entry in enumerate(json_of(data.get("attr", []), list, "attr")):
        name, value = json_attribute(entry, f"attr[{n}]")
        made.attributes[name] = value
    return made


def graph_node(data):
    """A node of the feeder's form."""
    made, of_node = Node(), ("Id", "Name", "NodeType", "runtime", "data_deps", "ctrl_deps")
    need("Id" in data, "node", "no Id; expected Id, Name, NodeType, data_deps and attributes")
    made.id, made.name = json_number(data["Id"], "Id"), json_of(data.get("Name", ""), str, "Name")
    made.type = type_name(json_number(data.get("NodeType", 0), "NodeType"))
    made.data_deps, made.ctrl_deps = ([json_number(i, key) for i in json_of(data.get(key, []), list, key)]
                                      for key in ("data_deps", "ctrl_deps"))
    made.duration_micros = json_number(data.get("runtime", 0), "runtime")
    made.attributes = {name: value for name, value in data.items() if name not in of_node}
    return made


def read_graph(graph):
    nodes = json_of(graph["workload_graph"], list, "workload_graph")
    return each(graph_node, [json_of(entry, dict, f"workload_graph[{n}]") for n, entry in enumerate(nodes)])


def read_json(text):
    """Nodes of a JSON file: objects one behind the other, or one with a workload_graph."""
    found, at = [], SPACE.match(text).end()
    while at < len(text):
        value, at = first_json(text, at, "JSON", BadTrace)
        need(isinstance(value, dict), "JSON", f"{str(value)[:40]!r}; expected an object")
        found.append(value)
        at = SPACE.match(text, at).end()
    if len(found) == 1 and "workload_graph" in found[0]:
        return read_graph(found[0])
    expected = "expected the GlobalMetadata, then every node as an object, one behind the other"
    need(found and "name" not in found[0], "JSON", f"the first object is a node; {expected}")
    need("nodes" not in found[0], "JSON", f"one object with a list of nodes; {expected}")
    return each(json_node, found[1:])


def load(path):
    """The nodes of a file, in its order. Raises BadTrace."""
    data = data_of(path, BadTrace)
    data = data.removeprefix(codecs.BOM_UTF8) if re.match(codecs.BOM_UTF8 + rb"\s*[\[{]", data) else data
    try:
        need(data.strip(), "file", "is empty; expected the GlobalMetadata, then nodes")
        need(not re.match(rb"\s*\[\s*[\]{]", data), "JSON", "an array; expected objects, one behind the other")
        return read_json(decoded(data, "JSON", BadTrace)) if re.match(rb'\s*\{\s*["}]', data) else read_protobuf(data)
    except (BadTrace, ValueError, TypeError, AttributeError, KeyError, struct.error) as error:
        raise BadTrace(f"{path}: no Chakra trace ({error})") from None
