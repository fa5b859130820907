# SPDX-License-Identifier: Apache-2.0
"""The one place where scripts read files: each once, from any readable file, within limits.
A problem of a file is a BadInput, one sentence with its place: the script ends with exit code 2."""
import csv
import difflib
import gzip
import io
import json
import os
import pathlib
import re
import zlib

from diecast import whole_file

MOST_BYTES = 512 << 20  # largest file, gzipped or unpacked
MOST_DEPTH = 100  # lists and objects within each other
MOST_DIGITS = 18  # most digits of a whole number in tables and schedules
MOST_WHOLE = 1 << 64  # largest whole number in JSON: seeds have 64 bits
LEAST, MOST = 1e-50, 1e50  # range of other numbers, besides 0, with all of f32; products are finite
MOST_CHAIN = 64  # configs that extend each other
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class BadInput(Exception):
    """Input that cannot be used; the message names the place and the expected value."""
    exit_code = 2


def need(condition, where, message, refused=BadInput):
    if not condition:
        raise refused(f"{where}: {message}")


def near(name, known):
    """"; did you mean X?" where a known name is like this one."""
    found = difflib.get_close_matches(str(name), list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""


def one_line(text):
    """The text with its line ends and control characters visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def sentence(text):
    """A message in one line, without the middle of one that a value has made very long."""
    line = one_line(text)
    return line if len(line) <= 1200 else f"{line[:600]} ... {line[-300:]} ({len(line)} characters)"


def limited(file):
    """The bytes of a file; of one that is too long one byte more than allowed. read() of so many alone takes memory for all of them."""
    data = bytearray()
    while len(data) <= MOST_BYTES and (part := file.read(min(1 << 20, MOST_BYTES + 1 - len(data)))):
        data += part
    return bytes(data)


def data_of(path, refused=BadInput, noted=True):
    """The bytes of a file, unpacked where they are gzipped. noted: it is an input, which the script may not write."""
    packed = False
    try:
        with open(path, "rb") as file:
            if noted:
                whole_file.reads(path, os.fstat(file.fileno()))
            data = limited(file)
        packed = data[:2] == b"\x1f\x8b" and len(data) <= MOST_BYTES
        if packed:
            data = limited(gzip.GzipFile(fileobj=io.BytesIO(data)))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise refused(f"{path}: damaged gzip data ({error})") from None
    except OSError as error:
        raise refused(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # a name with a NUL
        raise refused(f"{path}: no name of a file ({error})") from None
    need(len(data) <= MOST_BYTES, path, f"more than {MOST_BYTES >> 20} MiB{' when unpacked' if packed else ''}; expected a smaller "
         "file", refused)
    return data


def text_of(path, refused=BadInput, errors="strict", noted=True):
    """A file as text: UTF-8, with or without a byte-order mark."""
    return decoded(data_of(path, refused, noted), path, refused, errors)


def decoded(data, where, refused=BadInput, errors="strict"):
    need(data[:2] not in UTF_16, where, "is UTF-16; expected UTF-8", refused)
    try:
        return data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise refused(f"{where}: byte {error.start} is no UTF-8; expected text") from None


# --- JSON ---------------------------------------------------------------------------------------------------------------


def _object(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        seen = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"{twice}: the key is given twice")
    return made


def _whole(text):
    if len(text) > MOST_DIGITS + 3 or abs(int(text)) > MOST_WHOLE:
        raise ValueError(f"the number {text[:24]}; expected at most {MOST_WHOLE}")
    return int(text)


def finite(text):
    """The number of a text; None where the text has none, or one beyond the range of quantities."""
    try:
        value = float(str(text).replace("_", "?").encode("ascii", "replace"))  # float() takes 1_0, and digits of other scripts
    except ValueError:
        return None
    return value if value == 0 or LEAST <= abs(value) <= MOST else None


def _real(text):
    value = finite(text)
    if value is None:
        raise ValueError(f"the number {text[:24]}; expected 0, or {LEAST:g} to {MOST:g}")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole, parse_float=_real, parse_constant=_real)


def _check_depth(value):
    level, depth = [value], 0
    while level := [inner for inner in level if isinstance(inner, (dict, list))]:
        depth += 1
        if depth > MOST_DEPTH:
            raise ValueError(f"more than {MOST_DEPTH} lists and objects within each other")
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]


def first_json(text, at, where, refused=BadInput):
    """The value that begins at `at`, and where it ends."""
    try:
        value, end = DECODER.raw_decode(text, at)
        _check_depth(value)
        return value, end
    except RecursionError:
        raise refused(f"{where}: not JSON (more than {MOST_DEPTH} lists and objects within each other)") from None
    except ValueError as error:
        raise refused(f"{where}: not JSON ({error})") from None


SPACE = re.compile(r"[ \t\r\n]*")


def parsed(text, where, refused=BadInput):
    """The value of a JSON text. Raises where it is none, has a key twice, or is nested or has numbers beyond the limits."""
    value, end = first_json(text, SPACE.match(text).end(), where, refused)
    end = SPACE.match(text, end).end()
    if end < len(text):
        raise refused(f"{where}: not JSON ({json.JSONDecodeError('Extra data', text, end)})")
    return value


def json_of(path, refused=BadInput, comments=False, noted=True):
    text = text_of(path, refused, noted=noted)
    return parsed(without_comments(text) if comments else text, path, refused)


COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)


def without_comments(text):
    """JSON with blanks for its comments, which specs may have as configs do; lines and columns stay."""
    return COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), text)


# What has a schema, or one of these keys, and what reads it.
OTHERS = {"diecast.sweep/1": "a sweep; scripts/sweep runs it", "diecast.suite/1": "a suite; scripts/regress runs it",
          "diecast.result/1": "a result; scripts/report and scripts/compare read its folder",
          "streams": "a workload; --workload runs it", "gpus": "an MSCCL++ plan; --workload runs it",
          "workload_graph": "a Chakra trace; scripts/chakra2workload reads it", "pod": "a config; --config reads it"}


def need_schema(data, schema, where, refused=BadInput):
    """Checks the schema of a document; the message for one of another kind names the kind."""
    need(isinstance(data, dict), where, f"{kind_of(data)}; expected an object", refused)
    if data.get("schema") != schema:
        is_other = next((f" (this is {text})" for key, text in OTHERS.items() if key == data.get("schema") or key in data), "")
        value = one_line(repr(data["schema"])[:40]) if "schema" in data else "missing"
        raise refused(f"{where}: schema: {value}; expected {schema!r}{is_other}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# What values may be: (word in a message, test).
KINDS = {"number": ("a number", is_number), "text": ("a text", lambda v: isinstance(v, str)),
         "count": ("a count", lambda v: isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 32),
         "positive": ("a number above 0", lambda v: is_number(v) and v > 0),
         "bool": ("true or false", lambda v: isinstance(v, bool)), "null": ("null", lambda v: v is None),
         "any": ("a value", lambda v: True)}


def kind_of(value):
    names = {dict: "an object", list: "a list", str: "a text", bool: "a bool", type(None): "null"}
    return names.get(type(value), "a number")


def found(value):
    """A value in a message: its kind, and the value itself if it is short."""
    return kind_of(value) if isinstance(value, (dict, list, type(None))) else f"{kind_of(value)}, {one_line(repr(value)[:40])}"


def words_of(shape):
    if isinstance(shape, str):
        return " or ".join(KINDS[kind][0] for kind in shape.split("|"))
    return "a list" if isinstance(shape, list) else "an object"


def check(value, shape, where, refused=BadInput):
    """Holds a value to a shape: words of KINDS joined by |; [shape] is a list of such; {key: shape} an object that has these
    keys ("key?": perhaps; "*": the shape of all others, which else may be anything)."""
    fits = (any(KINDS[kind][1](value) for kind in shape.split("|")) if isinstance(shape, str) else isinstance(value, type(shape)))
    if not fits:
        raise refused(f"{where}: {found(value)}; expected {words_of(shape)}")
    if isinstance(shape, list):
        for n, inner in enumerate(value):
            check(inner, shape[0], f"{where}[{n}]", refused)
    elif isinstance(shape, dict):
        named = {key.rstrip("?"): key for key in shape if key != "*"}
        for name, key in named.items():
            if name in value:
                check(value[name], shape[key], f"{where}.{name}", refused)
            elif key == name:
                raise refused(f"{where}.{name}: missing; expected {words_of(shape[key])}")
        for name in value.keys() - named.keys() if "*" in shape else ():
            check(value[name], shape["*"], f"{where}.{name}", refused)


# --- tables and numbers -------------------------------------------------------------------------------------------------


def table_of(text, where, refused=BadInput):
    """The columns of a CSV text and its rows as (place, {column: cell}), each with a cell for every column."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        columns, rows = next(reader, []), []
        for column in columns:
            need(columns.count(column) == 1, f"{where}: line 1", f"column {one_line(column)} is given twice", refused)
        for cells in reader:
            place = f"{where}: line {reader.line_num}"
            need(len(cells) in (0, len(columns)), place, f"{len(cells)} cells; expected {len(columns)}, as line 1 has", refused)
            if cells:
                rows.append((place, dict(zip(columns, cells))))
    except csv.Error as error:
        raise refused(f"{where}: line {reader.line_num}: {error}") from None
    return columns, rows


def records_of(path, columns):
    """Rows of a CSV file, in front of which lines may begin with #. columns: {name: a kind of KINDS, or "" of texts}; of the first
    of several kinds that are joined by | a cell that is empty is null."""
    text = re.sub(r"\A(?:#[^\n]*\n)+", "", text_of(path))
    known, rows = table_of(text, path)
    for name in columns:
        need(name in known, path, f"no column {name}; there are {one_line(', '.join(known))}")
    made = []
    for place, row in rows:
        for name, kind in columns.items():
            if kind:
                row[name] = None if row[name] == "" and "null" in kind else number_of(row[name])
                check(row[name], kind, f"{place}: {name}")
        made.append(row)
    need(made, path, "no row")
    return made


def number_of(text):
    """A text as int or float where it is one, else as it is."""
    if text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 20:
        return int(text)
    value = finite(text)
    return text if value is None else value


def whole_number(text, where, what, refused=BadInput):
    """The number of decimal digits."""
    need(text.isascii() and text.isdigit(), where, f"{what} is {one_line(text)[:40]!r}; expected a whole number", refused)
    need(len(text) <= MOST_DIGITS, where, f"{what} of {len(text)} digits; expected at most {MOST_DIGITS}", refused)
    return int(text)


# --- what binaries read in place of a script ----------------------------------------------------------------------------


def folder_of(path):
    """The folder that names in a file are relative to: its own; the working directory for a pipe or device, which is in none."""
    return pathlib.Path(path).parent if os.path.isfile(path) and not is_open_file(path) else pathlib.Path.cwd()


def is_open_file(path):
    """/dev/stdin and the like lead to a file that somebody else has named."""
    return str(pathlib.Path(path).parent) in whole_file.OPEN_FILES


def reads_words(words):
    """Notes the files that words of a command line name, alone or behind = or : (--set ccl.tuner=FILE, replay:FILE)."""
    for word in words:
        for at in (0, *(mark.end() for mark in re.finditer("[=:]", word))):
            whole_file.reads(word[at:])


def reads_config(path):
    """Notes a config, its table of algorithms and those that it extends as inputs. Their errors are reported by the binary."""
    for _ in range(MOST_CHAIN):
        try:
            data = json_of(path, comments=True)
        except BadInput:
            return
        data = data if isinstance(data, dict) else {}
        tuner, base = data.get("ccl", {}), data.get("extends")
        tuner = tuner.get("tuner") if isinstance(tuner, dict) else None
        if isinstance(tuner, str):
            whole_file.reads(tuner)
        if not isinstance(base, str):
            return
        path = pathlib.Path(path).parent / base
