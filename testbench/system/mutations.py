# SPDX-License-Identifier: Apache-2.0
"""Damaged inputs for tests of parsers: bytes and values of good ones changed at random, from a seed."""
import copy
import json
import random

BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\n", b",", b'"', b"{", b"]", b"//", b"/*", b"-", b"1e999", b"NaN", b"9" * 40,
         b"9" * 5000, b"\\u0000", b"\\ud800", b"\x1b[1m", b"$\\frac$", b"<b>", "\u0663\u2028".encode(), b"[" * 500, b" " * 300)
VALUES = (None, True, False, 0, -1, 1, 0.5, -1e18, 1e-29, 1e29, 1 << 63, "", "x", "\x00\x1b", "\ud800", "<script>", "../../x", "a/b", "$x",
          [], {}, [[]], [None], {"a": 1}, [1] * 3, {"": ""}, "9" * 30, 10 ** 7)


def of_bytes(data, dice):
    """A copy with a few bytes cut, doubled, moved or replaced."""
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        at = dice.randrange(len(made) + 1)
        end = min(len(made), at + dice.choice((0, 1, 1, 3, 20, 200)))
        how = dice.randrange(5)
        if how == 0:
            del made[at:end]
        elif how == 1:
            made[at:at] = made[at:end] * dice.choice((1, 3))
        elif how == 2 and dice.random() < 0.3:
            del made[at:]
        elif how == 3 and at < len(made):
            made[at] ^= 1 << dice.randrange(8)
        else:
            made[at:end] = dice.choice(BYTES)
    return bytes(made)


def _places(value, found):
    """(holder, key) of every value within a JSON value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found.append((value, key))
        _places(inner, found)
    return found


def of_value(value, dice):
    """A copy of a JSON value with a few of its parts replaced, gone or renamed."""
    made = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 2, 4))):
        places = _places(made, [])
        if not places:
            return dice.choice(VALUES)
        depth_first = dice.random() < 0.5  # large tables would hide what stands at the top
        holder, key = dice.choice(places[:40] if depth_first else places)
        how = dice.randrange(4)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, dict):
            holder[key + "_"] = holder.pop(key)
        elif how == 2:
            other, name = dice.choice(places)
            try:
                holder[key] = copy.deepcopy(other[name])
            except (KeyError, IndexError):  # it has gone
                holder[key] = None
        else:
            holder[key] = copy.deepcopy(dice.choice(VALUES))
    return made


def mutants(data, count, seed):
    """`count` damaged copies of a file: those of JSON as often by value as by byte."""
    dice = random.Random(seed)
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    for n in range(count):
        yield json.dumps(of_value(value, dice)).encode() if value is not None and n % 2 else of_bytes(data, dice)
