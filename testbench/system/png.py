# SPDX-License-Identifier: Apache-2.0
"""Just enough of PNG (8 bits, RGB or RGBA, not interlaced) to look at a browser's screenshot."""
import struct
import zlib


def chunks(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def paeth(a, b, c):
    p = a + b - c
    return min((a, b, c), key=lambda x: abs(p - x))


def unfilter(kind, line, above, step):
    """The bytes of a row from its filtered ones and the row above."""
    out = bytearray(line)
    for n in range(len(out) if kind else 0):
        left, up = out[n - step] if n >= step else 0, above[n]
        corner = above[n - step] if n >= step else 0
        out[n] = (out[n] + (left, up, (left + up) // 2, paeth(left, up, corner))[kind - 1]) & 255
    return out


def rows(data):
    """Each row of a PNG file's bytes as a list of (r, g, b)."""
    parts = list(chunks(data))
    width, _, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", dict(parts)[b"IHDR"])
    if bits != 8 or color not in (2, 6) or interlaced:
        raise ValueError(f"{bits} bits of color type {color}; expected 8 of type 2 or 6")
    step = {2: 3, 6: 4}[color]
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    above, pitch = bytes(width * step), 1 + width * step
    for at in range(0, len(raw), pitch):
        above = unfilter(raw[at], raw[at + 1:at + pitch], above, step)
        yield [tuple(above[n:n + 3]) for n in range(0, len(above), step)]
