# SPDX-License-Identifier: Apache-2.0
"""The machine as a picture: SIPs, cubes and routers, with every link colored by its share of busy time."""
import math
import re

from diecast.svg import Picture, heat

ROUTER = re.compile(r"pod\.sip(\d+)\.cube_(\d+)_(\d+)\.router_(\d+)_(\d+)\.(\w+)$")
EDGE = re.compile(r"pod\.sip(\d+)\.cube_(\d+)_(\d+)\.ucie_(north|east|south|west)$")
BETWEEN_SIPS = re.compile(r"pod\.sip(\d+)\.(\w+)-sip(\d+)\.(\w+)$")
STEP = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}


class Layout:
    """Where things stand; y grows downwards in the picture, upwards in the machine."""

    def __init__(self, config, gap=16):
        routers = config["noc"]["columns"] * config["sip"]["columns"]
        pitch = min(36, max(9, 620 // max(routers, 1)))  # a small machine fills the page, a large one fits
        self.pitch, self.gap = pitch, gap
        self.router_columns, self.router_rows = config["noc"]["columns"], config["noc"]["rows"]
        self.cube_columns, self.cube_rows = config["sip"]["columns"], config["sip"]["rows"]
        self.sips = config["pod"]["sips"]
        self.cube_width = (self.router_columns - 1) * pitch + 2 * 8
        self.cube_height = (self.router_rows - 1) * pitch + 2 * 8
        self.sip_width = self.cube_columns * (self.cube_width + gap) + gap
        self.sip_height = self.cube_rows * (self.cube_height + gap) + gap
        self.across = min(self.sips, max(1, 900 // (self.sip_width + 30)))
        self.width = max(self.across * (self.sip_width + 30) + 10, 560)
        self.height = math.ceil(self.sips / self.across) * (self.sip_height + 44) + 40

    def sip(self, s):
        return 10 + s % self.across * (self.sip_width + 30), 30 + s // self.across * (self.sip_height + 44)

    def cube(self, s, x, y):
        left, top = self.sip(s)
        return (left + self.gap + x * (self.cube_width + self.gap),
                top + self.gap + (self.cube_rows - 1 - y) * (self.cube_height + self.gap))

    def router(self, s, cube_x, cube_y, x, y):
        left, top = self.cube(s, cube_x, cube_y)
        return left + 8 + x * self.pitch, top + 8 + (self.router_rows - 1 - y) * self.pitch


def tip_of(link):
    return f"{link['link']}: {link['bytes']:,} bytes, busy {link['busy_fraction']:.1%}, stalls {link['stall_ns']:,.0f} ns"


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


def legend(picture, layout, scale):
    y = layout.height - 14
    for n in range(41):
        picture.rectangle(10 + 4 * n, y, 4, 9, fill=heat(n / 40))
    picture.label(180, y + 9, f"share of time busy, 0 to {scale:.1%}; hover a link for its numbers", size=10)


def draw(config, links):
    """SVG of the machine with the links of one run; links: rows of links.csv."""
    layout = Layout(config)
    picture = Picture(layout.width, layout.height, "Links of the machine by share of busy time")
    drawn = [(link, ROUTER.match(link["link"]), EDGE.match(link["link"])) for link in links]
    scale = max((link["busy_fraction"] for link, router, edge in drawn if router or edge), default=0) or 1
    for s in range(layout.sips):
        left, top = layout.sip(s)
        picture.rectangle(left, top, layout.sip_width, layout.sip_height, fill="#fbfbfb", stroke="#999")
        picture.label(left + 4, top - 4, f"sip{s}", size=11)
        for x in range(layout.cube_columns):
            for y in range(layout.cube_rows):
                cube_left, cube_top = layout.cube(s, x, y)
                picture.rectangle(cube_left, cube_top, layout.cube_width, layout.cube_height, fill="#fff",
                                  stroke="#bbb", tip=f"sip{s} cube_{x}_{y}")
    for link, router, edge in drawn:
        if router:
            draw_mesh_link(picture, layout, router, link, scale)
        elif edge:
            draw_edge(picture, layout, edge, link, scale)
    legend(picture, layout, scale)
    return picture.text()


def between_sips(links):
    """The rows of links that join SIPs."""
    return [link for link in links if BETWEEN_SIPS.match(link["link"])]
