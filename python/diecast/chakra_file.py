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


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def zigzag(value):
    return value >> 1 ^ -(value & 1)


def text(value):
    return value.decode("utf-8", "replace")


def bits(form):
    return lambda value: struct.unpack(form, value)[0]


# Fields of a Node: its name here, its wire types.
NODE = {1: ("id", (VARINT,)), 2: ("name", (BYTES,)), 3: ("type", (VARINT,)), 4: ("ctrl_deps", (VARINT, BYTES)),
        5: ("data_deps", (VARINT, BYTES)), 7: ("duration_micros", (VARINT,)), 10: ("attr", (BYTES,))}
# Values of an AttributeProto by field: how their bits are read, and their wire types; lists are beside them, one number up.
VALUES = {3: (bits("<d"), (FIXED64,)), 5: (bits("<f"), (FIXED32,)), 7: (signed, (VARINT,)), 9: (signed, (VARINT,)),
          11: (int, (VARINT,)), 13: (int, (VARINT,)), 15: (zigzag, (VARINT,)), 17: (zigzag, (VARINT,)), 19: (bits("<I"), (FIXED32,)),
          21: (bits("<Q"), (FIXED64,)), 23: (bits("<i"), (FIXED32,)), 25: (bits("<q"), (FIXED64,)), 27: (bool, (VARINT,)),
          29: (text, (BYTES,)), 31: (bytes, (BYTES,))}
ATTRIBUTE_NAME, BOOL_LIST = 1, 28
ATTRIBUTE = {ATTRIBUTE_NAME: (text, (BYTES,)), BOOL_LIST: (None, (BYTES,)), **VALUES}


class Node:
    """id, name, type (a name of NODE_TYPES, or the number), data_deps, ctrl_deps, duration_micros, attributes by name.

    An attribute is a number, a text, a bool, or the list of a bool_list; None for lists of other types, which no
    importer needs."""

    def __init__(self):
        self.id, self.name, self.type = 0, "", NODE_TYPES[0]
        self.data_deps, self.ctrl_deps, self.duration_micros, self.attributes = [], [], 0, {}


def varint(data, at):
    """The number at `at`, and the position behind it."""
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


def typed(data, known):
    """(field number, its definition, wire type, value) of the known fields, with their wire types checked."""
    for number, kind, value in fields(data):
        if number in known:
            what, kinds = known[number]
            need(kind in kinds, f"field {number}", f"{WIRE[kind]}; expected {' or '.join(WIRE[k] for k in kinds)}")
            yield number, what, kind, value


def numbers(kind, value):
    """A repeated number: a single one, or many packed."""
    if kind == VARINT:
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def attribute(data):
    """(name, value) of an AttributeProto."""
    name, found = "", None
    for number, read, _, value in typed(data, ATTRIBUTE):
        if number == ATTRIBUTE_NAME:
            name = text(value)
        elif number == BOOL_LIST:
            found = [bool(v) for n, k, packed in fields(value) if n == 1 for v in numbers(k, packed)]
        else:
            found = read(value)
    return name, found


def type_name(number):
    return NODE_TYPES[number] if 0 <= number < len(NODE_TYPES) else number


def node(data):
    made = Node()
    for _, what, kind, value in typed(data, NODE):
        if what.endswith("_deps"):
            getattr(made, what).extend(numbers(kind, value))
        elif what == "attr":
            name, found = attribute(value)
            made.attributes[name] = found
        else:
            setattr(made, what, text(value) if what == "name" else type_name(value) if what == "type" else value)
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
    """The nodes; an error names the number of its node in the file."""
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


def common(data, id, name, kind, duration):
    """A Node with the members that both forms of JSON have, under these names."""
    made = Node()
    made.id, made.name = json_number(data.get(id, 0), id), json_of(data.get(name, ""), str, name)
    value = data.get(kind, 0)
    made.type = value if isinstance(value, str) and kind == "type" else type_name(json_number(value, kind))
    made.data_deps, made.ctrl_deps = ([json_number(i, key) for i in json_of(data.get(key, []), list, key)]
                                      for key in ("data_deps", "ctrl_deps"))
    made.duration_micros = json_number(data.get(duration, 0), duration)
    return made


def json_node(data):
    data = snaked(data)
    made = common(data, "id", "name", "type", "duration_micros")
    made.attributes = dict(json_attribute(entry, f"attr[{n}]") for n, entry in enumerate(json_of(data.get("attr", []), list, "attr")))
    return made


def graph_node(data):
    """A node of the feeder's form."""
    need("Id" in data, "node", "no Id; expected Id, Name, NodeType, data_deps and attributes")
    made = common(data, "Id", "Name", "NodeType", "runtime")
    made.attributes = {name: value for name, value in data.items()
                       if name not in ("Id", "Name", "NodeType", "runtime", "data_deps", "ctrl_deps")}
    return made


def read_graph(graph):
    nodes = json_of(graph["workload_graph"], list, "workload_graph")
    return each(graph_node, [json_of(entry, dict, f"workload_graph[{n}]") for n, entry in enumerate(nodes)])


def read_json(data):
    """Nodes of a JSON file: objects one behind the other, or one with a workload_graph."""
    found, at = [], SPACE.match(data).end()
    while at < len(data):
        value, at = first_json(data, at, "JSON", BadTrace)
        found.append(json_of(value, dict, "JSON"))
        at = SPACE.match(data, at).end()
    if len(found) == 1 and "workload_graph" in found[0]:
        return read_graph(found[0])
    expected = "expected the GlobalMetadata, then every node as an object, one behind the other"
    need(found[0].keys() <= {"version", "attr"}, "JSON", f"{', '.join(found[0])[:60]} in the first object; {expected}")
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
