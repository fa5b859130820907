# SPDX-License-Identifier: Apache-2.0
"""Small pictures as SVG text: enough for a report that is one file and prints well."""
import html
import math
import re

PALETTE = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222", "#44bb99",
           "#ffaabb", "#99ddff", "#eedd88", "#ee8866", "#77aadd", "#aaaa00", "#dddddd")


NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text):
    """The text with a mark for each character that XML cannot have, such as control characters."""
    return NO_XML.sub("\ufffd", str(text))


def escape(text):
    return html.escape(xml_text(text), quote=True)


def text_width(text, size):
    """Room for a label in a sans-serif font, rather too much than too little."""
    return 0.62 * size * len(str(text))


class Picture:
    """Shapes in a box of width x height; text() of it is an <svg> element."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def rectangle(self, x, y, width, height, fill="none", stroke="none", tip=""):
        self._add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.2f}" height="{max(height, 0):.2f}" '
                  f'fill="{fill}" stroke="{stroke}"', "rect", tip)

    def line(self, x1, y1, x2, y2, stroke="#888", width=1.0, tip="", dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                  f'stroke-width="{width:.1f}"{dashes}', "line", tip)

    def polyline(self, points, stroke, width=1.5, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" '
                          f'stroke="{stroke}" stroke-width="{width}"{dashes}/>')

    def polygon(self, points, fill, tip=""):
        self._add(f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="{fill}"', "polygon", tip)

    def curve(self, start, bend, end, stroke, width, tip=""):
        """A quadratic curve from start to end, drawn towards bend."""
        (x1, y1), (x2, y2), (x3, y3) = start, bend, end
        self._add(f'<path d="M{x1:.1f} {y1:.1f}Q{x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}" fill="none" stroke="{stroke}" '
                  f'stroke-width="{width}"', "path", tip)

    def circle(self, x, y, radius, fill, tip=""):
        self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}"', "circle", tip)

    def label(self, x, y, text, size=11, anchor="start", fill="#222", turn=0):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                          f'fill="{fill}"{turned}>{escape(text)}</text>')

    def _add(self, head, kind, tip):
        self.parts.append(f"{head}><title>{escape(tip)}</title></{kind}>" if tip else f"{head}/>")

    def text(self):
        return (f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" role="img" '
                f'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"><title>{escape(self.title)}</title>'
                + "".join(self.parts) + "</svg>")


def heat(share):
    """Color of a share from 0 (light gray) over yellow and orange to 1 (dark red)."""
    stops = ((0.0, (225, 228, 232)), (0.02, (254, 240, 190)), (0.25, (253, 190, 90)), (0.6, (240, 90, 50)), (1.0, (130, 0, 30)))
    share = min(max(share, 0.0), 1.0)
    for (low, a), (high, b) in zip(stops, stops[1:]):
        if share <= high:
            part = (share - low) / (high - low)
            return "#" + "".join(f"{round(x + (y - x) * part):02x}" for x, y in zip(a, b))
    return "#82001e"


def decades(low, high):
    """Powers of ten around a range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** n for n in range(first, max(last, first + 1) + 1)]


def colors_of(names):
    """{name: color}, for pictures that show the same things."""
    return {name: PALETTE[n % len(PALETTE)] for n, name in enumerate(dict.fromkeys(names))}


def plot(title, xlabel, ylabel, series, colors, x_names=None, bounds=None, width=460, height=300):
    """Lines over logarithmic axes. series: {name: [(x, y)]}, values not above 0 are left out; colors: by name;
    x_names: text by x for the ticks; bounds: {name: [(x, y)]}, drawn dashed in the color of the name."""
    lines = [(name, sorted(line), "") for name, line in series.items()]
    lines += [(name, sorted(line), "5 3") for name, line in (bounds or {}).items()]
    points = [p for _, line, _ in lines for p in line if p[0] > 0 and p[1] > 0]
    head = 13 * (len(series) + bool(bounds))  # the names are above the axes, where no line hides them
    picture = Picture(width, height + head, title)
    picture.label(width / 2, 14, title, size=12, anchor="middle")
    height += head
    if not points:
        picture.label(width / 2, height / 2, "nothing to show", anchor="middle")
        return picture.text()
    left, right, top, bottom = 60, width - 10, 24 + head, height - 42
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    y_ticks = decades(min(ys), max(ys))
    x_low, x_high = min(xs), max(max(xs), min(xs) * 2)

    def at(x, y):
        across = (math.log(x) - math.log(x_low)) / (math.log(x_high) - math.log(x_low))
        up = (math.log(y) - math.log(y_ticks[0])) / (math.log(y_ticks[-1]) - math.log(y_ticks[0]))
        return left + across * (right - left - 10), bottom - up * (bottom - top)

    for tick in y_ticks:
        y = at(x_low, tick)[1]
        picture.line(left, y, right, y, stroke="#ddd")
        picture.label(left - 5, y + 4, f"{tick:g}", size=10, anchor="end")
    ticks = sorted(set(xs))
    for tick in ticks[::max(1, len(ticks) // 6)]:
        x = at(tick, y_ticks[0])[0]
        picture.line(x, bottom, x, bottom + 4, stroke="#444")
        picture.label(x, bottom + 16, (x_names or {}).get(tick, f"{tick:g}"), size=10, anchor="middle")
    picture.rectangle(left, top, right - left, bottom - top, stroke="#888")
    for name, line, dash in lines:
        drawn = [at(x, y) for x, y in line if x > 0 and y > 0]
        picture.polyline(drawn, colors[name], 1.5, dash)
        for x, y in drawn if not dash else ():
            picture.circle(x, y, 2.5, colors[name])
    for n, name in enumerate(series):
        picture.label(left + 8, 32 + 13 * n, name, size=10, fill=colors[name])
    if bounds:
        picture.label(left + 8, 32 + 13 * len(series), "dashed: what no algorithm can beat", size=10, fill="#555")
    picture.label((left + right) / 2, height - 6, xlabel, size=11, anchor="middle")
    picture.label(14, (top + bottom) / 2, ylabel, size=11, anchor="middle", turn=-90)
    return picture.text()


def bars_picture(title, names, bottom, marks, axis, width, left, inset=0):
    """A picture for horizontal bars above `bottom`, with the names of their colors and an axis; and the x of a value."""
    picture, x = Picture(width, bottom + 32, title), left
    picture.label(4, 14, title, size=12)
    for n, name in enumerate(names):
        picture.rectangle(x, 20, 10, 10, fill=PALETTE[n % len(PALETTE)])
        picture.label(x + 14, 29, name, size=10)
        x += 24 + 6.5 * len(name)

    def x_of(value):
        return left + inset + (value - marks[0]) / (marks[-1] - marks[0]) * (width - left - inset - 24)

    for mark in marks:
        picture.line(x_of(mark), 36, x_of(mark), bottom, stroke="#888" if mark == 0 else "#ddd")
        picture.label(x_of(mark), bottom + 12, f"{mark:,g}", size=9, anchor="middle")
    picture.label((x_of(marks[0]) + x_of(marks[-1])) / 2, bottom + 25, axis, size=10, anchor="middle")
    return picture, x_of


def tip_text(value):
    """A number as tool tips have it."""
    return f"{value:,.1f}" if value >= 100 else f"{value:.3g}"


def stacked_bars(title, unit, names, rows, width=900, left=190, axis=None):
    """Horizontal bars from 0. unit: of the values in tool tips; axis: title of the axis, by default the unit; names: of
    the parts; rows: [(label, [values])], none negative; left: room for the labels."""
    row_height = 14 if len(rows) <= 64 else 6
    marks = steps(max((sum(values) for _, values in rows), default=0) or 1)
    picture, x_of = bars_picture(title, names, 38 + row_height * len(rows), marks, axis or unit, width, left)
    for n, (label, values) in enumerate(rows):
        y = 38 + n * row_height
        if row_height > 8 or n % 4 == 0:
            picture.label(left - 6, y + min(row_height, 10), label, size=9, anchor="end")
        before = 0
        for part, value in enumerate(values):
            picture.rectangle(x_of(before), y, x_of(before + value) - x_of(before), row_height - 2,
                              fill=PALETTE[part % len(PALETTE)], tip=f"{label} {names[part]}: {tip_text(value)} {unit}")
            before += value
    return picture.text()


def signed_bars(title, unit, names, rows, width=900, left=190, axis=None):
    """Thin bars to the left and right of 0, one below the other for every name. unit, axis: as of stacked_bars; rows: [(label,
    [values])], None: no bar."""
    thick, row_height = 6, 6 * len(names) + 5
    values = [0.0, *(value for _, of_row in rows for value in of_row if value is not None)]
    step = steps(max(map(abs, values)) or 1)[1]
    marks = [n * step for n in range(math.floor(min(values) / step), math.ceil(max(values) / step) + 1)]
    marks = marks if len(marks) > 1 else [0, step]
    picture, x_of = bars_picture(title, names, 40 + row_height * len(rows), marks, axis or unit, width, left, inset=10)
    for n, (label, of_row) in enumerate(rows):
        y = 40 + n * row_height
        picture.label(left - 2, y + row_height / 2 + 1, label, size=9, anchor="end")
        for part, value in enumerate(of_row):
            if value is not None:
                picture.rectangle(min(x_of(0), x_of(value)), y + part * thick, abs(x_of(value) - x_of(0)), thick - 1,
                                  fill=PALETTE[part], tip=f"{label} {names[part]}: {value:+.3g} {unit}")
    return picture.text()


def steps(most):
    """Round marks from 0 to at least `most`: five at most, besides 0."""
    power = 10.0 ** math.floor(math.log10(most))
    little = 1e-9  # shares whose sum is 100 but for rounding end at 100
    step = next(s * power / 10 for s in (1, 2, 5, 10, 20, 50) if most / (s * power / 10) <= 5 + little)
    return [n * step for n in range(math.ceil(most / step - little) + 1)]


def spreads(title, xlabel, ylabel, rows, color=PALETTE[0], width=560, height=300):
    """A bar from the least to the most of each row and a line over their middles, from 0 on a linear axis, rows side by
    side; notes stand in a line at the top. rows: [(name, least, middle, most, note)]; values not negative, the most of all
    positive."""
    picture = Picture(width, height, title)
    picture.label(width / 2, 14, title, size=12, anchor="middle")
    left, right, top, bottom = 60, width - 10, 28, height - 42
    marks = steps(1.1 * max(row[3] for row in rows))  # the notes are above the highest bar

    def up(value):
        return bottom - value / marks[-1] * (bottom - top)

    for mark in marks:
        picture.line(left, up(mark), right, up(mark), stroke="#ddd")
        picture.label(left - 5, up(mark) + 4, f"{mark:g}", size=10, anchor="end")
    picture.rectangle(left, top, right - left, bottom - top, stroke="#888")
    across = [left + (n + 0.5) * (right - left) / len(rows) for n in range(len(rows))]
    picture.polyline([(x, up(row[2])) for x, row in zip(across, rows)], color, 1.5, "")
    for x, (name, least, middle, most, note) in zip(across, rows):
        picture.line(x, up(least), x, up(most), stroke=color, width=5)
        picture.circle(x, up(middle), 3, color)
        picture.label(x, bottom + 16, name, size=10, anchor="middle")
        picture.label(x, top + 12, note, size=9, anchor="middle", fill="#555")
    picture.label((left + right) / 2, height - 6, xlabel, size=11, anchor="middle")
    picture.label(14, (top + bottom) / 2, ylabel, size=11, anchor="middle", turn=-90)
    return picture.text()
