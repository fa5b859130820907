# SPDX-License-Identifier: Apache-2.0
"""Plots by matplotlib whose logarithmic axes have plain numbers, and whose files are the same for the same figures."""
import importlib.util
import io
import math
import os
import signal
import sys

from diecast.endings import SIGNALS
from diecast.inputs import BadInput
from diecast.processes import finished
from diecast.svg import xml_text
from diecast.whole_file import write_whole

SYSTEM = "/usr/bin/python3"  # has Debian's packages, whichever Python is first in PATH
TRIED = "DIECAST_PYTHON_TRIED"


def has_plots():
    """Whether this Python has matplotlib. If only the system's Python has it, the script starts again there: call this first.
    A broken matplotlib is reported when it is used."""
    if importlib.util.find_spec("matplotlib"):
        return True
    if os.path.isfile(SYSTEM) and TRIED not in os.environ and finished([SYSTEM, "-c", "import matplotlib"]).code == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # as the first line of each script does
        os.execve(SYSTEM, [SYSTEM, *sys.argv], {**os.environ, TRIED: sys.executable})
    return False


def pyplot():
    """matplotlib's pyplot, set to write SVG. Raises BadInput with what to install where it is missing."""
    try:
        has_plots()
        import matplotlib
    except ImportError:
        tried = " and ".join(dict.fromkeys((sys.executable, *([SYSTEM] if os.path.isfile(SYSTEM) else []))))
        raise BadInput(f"plots need matplotlib, which {tried} cannot import: apt-get install python3-matplotlib") from None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "diecast"  # no random ids
    from matplotlib import pyplot as plots
    return plots


def panels(rows, columns, **options):
    """A figure with a number of panels, and the panels row by row."""
    figure, grid = pyplot().subplots(rows, columns, squeeze=False, **options)
    for panel in grid.flat:
        panel.grid(True, alpha=0.3)
    return figure, grid


def label(text):
    """A text of a file as matplotlib shows it literally: no formula, no character that SVG cannot have."""
    return xml_text(text).replace("$", r"\$")


def save(figure, file, rect=(0, 0, 1, 1)):
    """The figure as SVG; rect: the part of it that its panels fill. Raises NotWritten."""
    picture = io.BytesIO()
    figure.tight_layout(rect=rect)
    figure.savefig(picture, format="svg", metadata={"Date": None})
    pyplot().close(figure)
    write_whole(file, picture.getvalue())


def marks(low, high, most=8):
    """Round numbers from low to high for a logarithmic axis: 1, 2 and 5 of every decade, or where they would be more than
    `most` only 1 of each, or of every second one, ..; where they are few also the next ones outside. 0 < low <= high."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)  # decades that contain low and high
    fine = [digit * 10.0 ** n for n in decades for digit in (1, 2, 5)]
    within = [mark for mark in fine if low <= mark <= high]
    if len(within) < 4:
        return [mark for mark in fine if max(m for m in fine if m <= low) <= mark <= min(m for m in fine if m >= high)]
    if len(within) <= most:
        return within
    whole = [10.0 ** n for n in decades if low <= 10.0 ** n <= high]
    return whole[::math.ceil(len(whole) / most)]


def byte_marks(low, high, most=7):
    """Powers of two from low to high at factors of 2, 4 or 16, so that there are about `most`. 1 <= low <= high."""
    between = [2 ** n for n in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    return between[::next((step for step in (1, 2) if len(between) / step <= most), 4)]


def byte_text(size):
    """"64 B", "1 KiB"."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _scaled(panel, which, places, text):
    getattr(panel, f"set_{which}scale")("log")
    axis = getattr(panel, f"{which}axis")
    axis.set_ticks(places)
    axis.set_ticklabels([text(place) for place in places])
    axis.set_ticks([], minor=True)


def numbers(panel, which, values):
    """Makes axis `which` ("x", "y") logarithmic with plain numbers about `values`."""
    _scaled(panel, which, marks(min(values), max(values)), lambda mark: f"{mark:g}")


def powers(panel, values):
    """Makes the x axis logarithmic with the powers of two among `values`."""
    _scaled(panel, "x", [value for value in values if value & (value - 1) == 0], str)


def sizes(panel, values):
    """Makes the x axis logarithmic with sizes in bytes, as "1 KiB"."""
    _scaled(panel, "x", byte_marks(min(values), max(values)), byte_text)
