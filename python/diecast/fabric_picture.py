# SPDX-License-Identifier: Apache-2.0
"""The machine as a picture: SIPs, cubes, routers, PEs and HBM ports, with every link colored by its share of busy time.
The links between SIPs are drawn in a picture of their own beneath: a mesh or torus as it is, north above, others on a circle."""
import collections
import itertools
import math
import re

from diecast.inputs import need
from diecast.results import BadResults
from diecast.svg import Picture, heat

ROUTER = re.compile(r"pod\.sip([0-9]{1,5})\.cube_([0-9]{1,5})_([0-9]{1,5})\.router_([0-9]{1,5})_([0-9]{1,5})\.(\w+)$")
EDGE = re.compile(r"pod\.sip([0-9]{1,5})\.cube_([0-9]{1,5})_([0-9]{1,5})\.ucie_(north|east|south|west)$")
BETWEEN_SIPS = re.compile(r"pod\.sip([0-9]{1,5})\.(\w+)-sip([0-9]{1,5})\.(\w+)$")
PE_COLOR, HBM_COLOR = "#4477aa", "#228833"
LEGEND = 34
APART = (120, 80)  # SIPs of a grid
MOST_DRAWN = 1 << 16  # cubes of a machine, routers, PEs and memory channels of a cube
PLACES = re.compile(r"[0-9]{1,5}_[0-9]{1,5}(,[0-9]{1,5}_[0-9]{1,5})*")
STEP = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}


def grid_of(pod):
    """Columns of the SIPs of a mesh or torus (pod_grid_of in models/config); None of other topologies."""
    sips, columns = pod["sips"], pod.get("columns") or 0
    if pod.get("topology") not in ("mesh_2d", "torus_2d"):
        return None
    if columns and sips % columns == 0:
        return columns
    return sips // max(rows for rows in range(1, math.isqrt(sips) + 1) if sips % rows == 0)


class Layout:
    """Positions in the picture; y grows downwards in it, upwards in the machine."""

    def __init__(self, config, gap=16):
        for what, *sizes in (("cubes", config["pod"]["sips"], config["sip"]["columns"], config["sip"]["rows"]),
                             ("routers", config["noc"]["columns"], config["noc"]["rows"]), ("PEs", config["cube"]["pes"]),
                             ("memory channels", config["hbm"]["ports"])):
            need(1 <= math.prod(sizes) <= MOST_DRAWN, "config.json", f"a machine of {math.prod(sizes)} {what}; expected 1 to "
                 f"{MOST_DRAWN}", BadResults)
        one_router = config["noc"]["topology"] == "crossbar"
        self.router_columns = 1 if one_router else config["noc"]["columns"]
        self.router_rows = 1 if one_router else config["noc"]["rows"]
        routers = self.router_columns * config["sip"]["columns"]
        self.pitch = min(36, max(9, 620 // max(routers, 1)))  # a small machine fills the page, a large one fits
        self.gap, pitch = gap, self.pitch
        self.cube_columns, self.cube_rows = config["sip"]["columns"], config["sip"]["rows"]
        self.sips = config["pod"]["sips"]
        self.cube_width = (self.router_columns - 1) * pitch + 2 * 8
        self.cube_height = (self.router_rows - 1) * pitch + 2 * 8
        self.sip_width = self.cube_columns * (self.cube_width + gap) + gap
        self.sip_height = self.cube_rows * (self.cube_height + gap) + gap
        self.grid = grid_of(config["pod"])
        self.across = self.grid or min(self.sips, max(1, 900 // (self.sip_width + 30)))
        self.width = max(self.across * (self.sip_width + 30) + 10, 560, 20 + APART[0] * (self.grid or 0))
        self.mesh_height = math.ceil(self.sips / self.across) * (self.sip_height + 44)
        self.ring = min(150, 34 + 9 * self.sips) if self.sips > 1 else 0  # radius of the circle of SIPs
        self.tall = self.ring if self.sips > 2 else 0  # two SIPs are side by side
        if self.grid:
            self.tall = (self.sips // self.grid - 1) * APART[1] / 2
        self.height = self.mesh_height + (2 * self.tall + 90 if self.ring else 0) + LEGEND

    def sip(self, s):
        row = s // self.across
        if self.grid:
            row = self.sips // self.grid - 1 - row
        return 10 + s % self.across * (self.sip_width + 30), 30 + row * (self.sip_height + 44)

    def cubes(self):
        """(SIP, column, row) of every cube."""
        return itertools.product(range(self.sips), range(self.cube_columns), range(self.cube_rows))

    def cube(self, s, x, y):
        left, top = self.sip(s)
        return (left + self.gap + x * (self.cube_width + self.gap),
                top + self.gap + (self.cube_rows - 1 - y) * (self.cube_height + self.gap))

    def router(self, s, cube_x, cube_y, x, y):
        left, top = self.cube(s, cube_x, cube_y)
        return left + 8 + x * self.pitch, top + 8 + (self.router_rows - 1 - y) * self.pitch


def tip_of(link):
    return f"{link['link']}: {link['bytes']:,} bytes, busy {link['busy_fraction']:.1%}" + (
        f", stalls {link['stall_ns']:,.0f} ns" if "stall_ns" in link else "")


def draw_mesh_link(picture, layout, match, link, scale):
    s, cube_x, cube_y, x, y = (int(match[n]) for n in range(1, 6))
    if match[6] not in STEP:
        return
    dx, dy = STEP[match[6]]
    x1, y1 = layout.router(s, cube_x, cube_y, x, y)
    # Each direction has its own side of the line; a link that goes round is drawn as a stub.
    inside = 0 <= x + dx < layout.router_columns and 0 <= y + dy < layout.router_rows
    length = layout.pitch if inside else 5
    off_x, off_y = (0, 1.7 * dx) if dx else (1.7 * dy, 0)
    picture.line(x1 + off_x, y1 + off_y, x1 + dx * length + off_x, y1 - dy * length + off_y,
                 stroke=heat(link["busy_fraction"] / scale), width=2.6, tip=tip_of(link))


def draw_edge(picture, layout, match, link, scale):
    s, cube_x, cube_y = (int(match[n]) for n in range(1, 4))
    dx, dy = STEP[match[4]]
    left, top = layout.cube(s, cube_x, cube_y)
    x = left + layout.cube_width / 2 + dx * layout.cube_width / 2
    y = top + layout.cube_height / 2 - dy * layout.cube_height / 2
    off_x, off_y = (0, 5 * dx) if dx else (5 * dy, 0)
    picture.line(x + off_x, y + off_y, x + dx * layout.gap + off_x, y - dy * layout.gap + off_y,
                 stroke=heat(link["busy_fraction"] / scale), width=7, tip=tip_of(link))


def spread(layout, number, count):
    """(x, y) of the router that the machine gives to block `number` of `count`: evenly along a path that winds through
    the rows (place_cube in models/fabric; --print-map prints the same names)."""
    step = (2 * number + 1) * layout.router_columns * layout.router_rows // (2 * count)
    y, along = divmod(step, layout.router_columns)
    return (along if y % 2 == 0 else layout.router_columns - 1 - along), y


def routers_of(config, layout, key, count):
    """(x, y) of the routers of `count` blocks: as placement lists them ("0_0,3_1"), or spread."""
    placement = config.get("placement")
    listed = placement.get(key, "auto") if isinstance(placement, dict) else "auto"
    if listed == "auto":
        return [spread(layout, number, count) for number in range(count)]
    need(isinstance(listed, str) and PLACES.fullmatch(listed), f"config.json: placement.{key}", f"{listed!r}; expected places like "
         "0_0,3_1", BadResults)
    return [tuple(int(n) for n in place.split("_")) for place in listed.split(",")]


def blocks(config, layout):
    """{(x, y) of a router: ([names of its PEs], [names of its HBM ports])} of any cube."""
    found = collections.defaultdict(lambda: ([], []))
    kinds = (("pe", "pes", config["cube"]["pes"]), ("hbm", "hbm_ports", config["hbm"]["ports"]))
    for kind, (name, key, count) in enumerate(kinds):
        for number, place in enumerate(routers_of(config, layout, key, count)):
            found[place][kind].append(f"{name}{number}")
    return found


def draw_pe(picture, x, y, size, tip=""):
    picture.rectangle(x - size, y - size, 2 * size, 2 * size, fill=PE_COLOR, stroke="#fff", tip=tip)


def draw_hbm(picture, x, y, size, tip=""):
    picture.polygon([(x, y - 1.3 * size), (x + 1.3 * size, y), (x, y + 1.3 * size), (x - 1.3 * size, y)], HBM_COLOR, tip)


def draw_blocks(picture, layout, places, s, cube_x, cube_y):
    """Squares for PEs and diamonds for HBM ports, beside each other where a router has both."""
    size = max(1.6, min(4.0, layout.pitch / 7))
    for (x, y), (pes, ports) in places.items():
        at_x, at_y = layout.router(s, cube_x, cube_y, x, y)
        apart = 1.2 * size if pes and ports else 0
        if pes:
            draw_pe(picture, at_x - apart, at_y - apart, size, ", ".join(pes))
        if ports:
            draw_hbm(picture, at_x + apart, at_y + apart, size, ", ".join(ports))


def sip_place(layout, number):
    """Position of a SIP in its grid, or on the circle, where the first is at the left, so that two are side by side."""
    if layout.grid:
        row, column = divmod(number, layout.grid)
        return (layout.width / 2 + (column - (layout.grid - 1) / 2) * APART[0],
                layout.mesh_height + 46 + 2 * layout.tall - row * APART[1])
    angle = math.pi + 2 * math.pi * number / layout.sips
    return (layout.width / 2 + 1.6 * layout.ring * math.cos(angle),
            layout.mesh_height + 46 + layout.tall - layout.tall * math.sin(angle))


def draw_sip_links(picture, layout, links, scale):
    """SIPs and a curve per directed link, each direction on its own side, parallel ones apart."""
    picture.label(10, layout.mesh_height + 14, "links between SIPs", size=11)
    drawn = collections.Counter()
    for link, match in links:
        a, b = int(match[1]), int(match[3])
        (x1, y1), (x2, y2) = sip_place(layout, a), sip_place(layout, b)
        length = math.hypot(x2 - x1, y2 - y1) or 1
        bow = 9 + 16 * drawn[a, b]
        if layout.grid and length > 1.5 * max(APART):
            bow += 24  # around the SIPs between
        drawn[a, b] += 1
        off_x, off_y = -(y2 - y1) / length * bow, (x2 - x1) / length * bow
        picture.curve((x1, y1), ((x1 + x2) / 2 + 2 * off_x, (y1 + y2) / 2 + 2 * off_y), (x2, y2),
                      heat(link["busy_fraction"] / scale), 4, tip_of(link))
        mid_x, mid_y = (x1 + x2) / 2 + off_x, (y1 + y2) / 2 + off_y
        along_x, along_y = (x2 - x1) / length * 5, (y2 - y1) / length * 5
        picture.polygon([(mid_x + along_x, mid_y + along_y), (mid_x - along_x - along_y, mid_y - along_y + along_x),
                         (mid_x - along_x + along_y, mid_y - along_y - along_x)], "#333", tip_of(link))
    for s in range(layout.sips):
        x, y = sip_place(layout, s)
        picture.rectangle(x - 17, y - 8, 34, 16, fill="#fbfbfb", stroke="#999")
        picture.label(x, y + 4, f"sip{s}", size=10, anchor="middle")


def legend(picture, layout, scale):
    y = layout.height - 14
    for n in range(41):
        picture.rectangle(10 + 4 * n, y, 4, 9, fill=heat(n / 40))
    picture.label(180, y + 9, f"share of time busy, 0 to {scale:.1%}", size=10)
    draw_pe(picture, 380, y + 5, 4)
    picture.label(390, y + 9, "PE", size=10)
    draw_hbm(picture, 424, y + 5, 4)
    picture.label(434, y + 9, "HBM port", size=10)


def draw(config, links):
    """SVG of the machine with the links of one run; links: rows of links.csv."""
    layout = Layout(config)
    picture = Picture(layout.width, layout.height, "Links of the machine by share of busy time")
    meshes = [(link, ROUTER.match(link["link"])) for link in links]
    edges = [(link, EDGE.match(link["link"])) for link in links]
    outer = [(link, BETWEEN_SIPS.match(link["link"])) for link in links]
    scale = max((link["busy_fraction"] for link, match in meshes + edges + outer if match), default=0) or 1
    places = blocks(config, layout)
    for s in range(layout.sips):
        left, top = layout.sip(s)
        picture.rectangle(left, top, layout.sip_width, layout.sip_height, fill="#fbfbfb", stroke="#999")
        picture.label(left + 4, top - 4, f"sip{s}", size=11)
    for s, x, y in layout.cubes():
        picture.rectangle(*layout.cube(s, x, y), layout.cube_width, layout.cube_height, fill="#fff", stroke="#bbb",
                          tip=f"sip{s} cube_{x}_{y}")
    for kind, one in ((meshes, draw_mesh_link), (edges, draw_edge)):
        for link, match in kind:
            if match:
                one(picture, layout, match, link, scale)
    for cube in layout.cubes():
        draw_blocks(picture, layout, places, *cube)
    if layout.ring:
        draw_sip_links(picture, layout, [(link, match) for link, match in outer if match], scale)
    legend(picture, layout, scale)
    return picture.text()


def between_sips(links):
    """The rows of links that join SIPs."""
    return [link for link in links if BETWEEN_SIPS.match(link["link"])]
