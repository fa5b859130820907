# SPDX-License-Identifier: Apache-2.0
"""Axes, bars and words of the pictures and tables that scripts make: what can be wrong without a run."""
import re
import sys
import types
import unittest

import harness
from harness import script

sys.path.insert(0, str(harness.ROOT / "python"))

from diecast import axes, fabric_picture, report, svg, sweep  # noqa: E402


class Axes(unittest.TestCase):
    def test_marks_are_round_numbers_of_the_range(self):
        self.assertEqual(axes.marks(0.6, 25), [1, 2, 5, 10, 20])
        self.assertEqual(axes.marks(0.22, 1.9), [0.2, 0.5, 1, 2])  # few: those around it, too
        self.assertEqual(axes.marks(3, 3), [2, 5])
        self.assertEqual(axes.marks(1, 1e6), [1, 10, 100, 1e3, 1e4, 1e5, 1e6])
        self.assertEqual(axes.marks(1, 1e12), [1, 100, 1e4, 1e6, 1e8, 1e10, 1e12])
        for low, high in ((0.001, 0.002), (7, 8), (0.9, 1.1), (1, 2e15), (5, 5e8)):
            found = axes.marks(low, high)
            self.assertEqual(found, sorted(found))
            self.assertTrue(2 <= len(found) <= 9, (low, high, found))

    def test_sizes_at_equal_factors(self):
        self.assertEqual([axes.byte_text(n) for n in axes.byte_marks(64, 1 << 20)], ["64 B", "1 KiB", "16 KiB", "256 KiB"])
        self.assertEqual(axes.byte_marks(1024, 8192), [1024, 2048, 4096, 8192])
        self.assertEqual(axes.byte_text(1000), "1000 B")


class Lines(unittest.TestCase):
    """A line of a sweep's plot has one point at each x."""
    SPEC = types.SimpleNamespace(grid={"--bytes": [1, 2], "ipcq.n_slots": [4, 8], "noc.vcs": [2, 3]})

    def rows(self, **more):
        return [{"status": "ok", "bytes": size, "ipcq.n_slots": slots, "noc.vcs": vcs, "time_ns": 100 * slots + 10 * vcs + size, **more}
                for size in (1, 2) for slots in (4, 8) for vcs in (2, 3)]

    def test_points_of_other_keys_are_lines_of_their_own(self):
        lines = sweep.lines_of(self.SPEC, {"x": "--bytes", "y": "time_ns"}, self.rows())
        self.assertEqual(lines, {f"ipcq.n_slots={slots}, noc.vcs={vcs}": [(size, 100 * slots + 10 * vcs + size) for size in (1, 2)]
                                 for slots in (4, 8) for vcs in (2, 3)})
        lines = sweep.lines_of(self.SPEC, {"x": "bytes", "y": "time_ns", "series": "ipcq.n_slots"}, self.rows())
        self.assertEqual(list(lines), ["4, noc.vcs=2", "4, noc.vcs=3", "8, noc.vcs=2", "8, noc.vcs=3"])

    def test_medians_of_draws_have_bars_to_their_extremes(self):
        drawn = [{"status": "ok", "bytes": 1, "jitter_median_ns": 10, "jitter_min_ns": 8, "jitter_max_ns": 13}]
        self.assertEqual(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "jitter_median_ns"}, drawn), {"": [(1, 10, 2, 3)]})
        self.assertEqual(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "jitter_min_ns"}, drawn), {"": [(1, 8)]})

    def test_numbers_of_a_grid_are_numbers_and_none_below_0_is_logarithmic(self):
        found = [sweep.column_value(value) for value in (16, 0.5, "8", "64KiB", "center", True)]
        self.assertEqual(found, [16, 0.5, 8, 65536, "center", "true"])
        rows = [{"status": "ok", "bytes": size, "time_ns": 7, "noc.vcs": 1} for size in (0, 1, "all", None)]
        for scale, shown in ({"xscale": "log"}, [(1, 7)]), ({"yscale": "log"}, [(0, 7), (1, 7), ("all", 7)]):
            self.assertEqual(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "time_ns", **scale}, rows), {"": shown})

    def test_only_what_tells_points_apart_parts_a_line(self):
        few = [row for row in self.rows() if row["noc.vcs"] == 2]
        self.assertEqual(list(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "time_ns", "series": "ipcq.n_slots"}, few)), [4, 8])
        own_x = [dict(row, ranks=row["noc.vcs"] * row["ipcq.n_slots"] * row["bytes"] ** 4) for row in self.rows()]
        self.assertEqual(list(sweep.lines_of(self.SPEC, {"x": "ranks", "y": "time_ns"}, own_x)), [""])
        both = [dict(row, algorithm=name) for row in few for name in ("a", "b") if row["ipcq.n_slots"] == 4]
        self.assertEqual(list(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "time_ns"}, both)), ["algorithm=a", "algorithm=b"])
        self.assertEqual(sweep.lines_of(self.SPEC, {"x": "bytes", "y": "time_ns"}, [dict(row, status="error") for row in few]), {})


class SipGrid(unittest.TestCase):
    """SIPs of a mesh or torus are drawn as they stand, north above."""

    def layout(self, sips, topology, columns=0):
        return fabric_picture.Layout({
            "pod": {"sips": sips, "topology": topology, "columns": columns}, "sip": {"columns": 1, "rows": 1}, "cube": {"pes": 4},
            "noc": {"columns": 2, "rows": 2, "topology": "mesh"}, "hbm": {"ports": 4}})

    def test_sips_stand_in_their_grid(self):
        for sips, columns, given in ((4, 2, 0), (12, 4, 0), (12, 3, 3), (7, 7, 0)):
            layout = self.layout(sips, "torus_2d", given)
            for where in (layout.sip, lambda s: fabric_picture.sip_place(layout, s)):
                for s in range(sips):
                    (x, y), (x0, y0) = where(s), where(0)
                    self.assertEqual(x > x0, s % columns > 0)
                    self.assertEqual(y < y0, s // columns > 0, f"sip{s} of {sips} is north of sip0")
            self.assertEqual(len({fabric_picture.sip_place(layout, s) for s in range(sips)}), sips)
            for s in range(sips):
                x, y = fabric_picture.sip_place(layout, s)
                self.assertTrue(17 <= x <= layout.width - 17 and layout.mesh_height < y - 8 < y + 8 < layout.height - 14)
        ring = self.layout(4, "ring")
        self.assertIsNone(ring.grid)
        self.assertEqual(len({round(fabric_picture.sip_place(ring, s)[1]) for s in range(4)}), 3)  # a circle


class Tables(unittest.TestCase):
    def test_wide_tables_wrap_or_scroll(self):
        self.assertRegex(report.html_table(["a b"], [["c"]]), r"^<div class=wide><table>.*</table></div>$")
        self.assertIn("<td>d</td><td class=text>" + "e, " * 11, report.html_table(["a", "b", "c"], [["c", "d", "e, " * 11]]))
        self.assertRegex(report.STYLE, r"td\.text \{ white-space: normal;.* \.wide \{ overflow-x: auto; \}")
        self.assertRegex(report.STYLE, r"th, td:first-child \{ white-space: normal; \}")  # headers break between words alone


    def test_what_a_run_does_not_have_is_left_empty(self):
        row = {"collective": "barrier", "algorithm": "dissemination", "bytes": 0, "ranks": 4, "rank_set": "cube", "time_ns": 2154.0,
               "algbw_gbytes_s": None, "busbw_gbytes_s": None, "bound_ns": 256.0, "bound_kind": "latency", "efficiency": 0.118,
               "verified": True, "status": "ok"}
        cells = re.findall(r"<td>([^<]*)</td>", report.results_table([row]))
        self.assertEqual(cells, ["barrier dissemination", "4 cube", "2,154.0", "256.0", "latency", "yes", "ok"])
        cells = re.findall(r"<td>([^<]*)</td>", report.results_table([{**row, "collective": "scatter", "bytes": 1024, "algbw_gbytes_s": 0.5}]))
        self.assertEqual(cells[1:8], ["1 KiB", "4 cube", "2,154.0", "256.0", "latency", "11.8%", "0.500"])


class Bars(unittest.TestCase):
    def bars(self, picture):
        """{tip: (x, width)} of a picture's bars."""
        return {tip: (float(x), float(width)) for x, width, tip in
                re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*><title>([^<]*)</title>', picture)}

    def numbers(self, picture):
        """{number: x} of an axis."""
        return {float(text.replace(",", "")): float(x)
                for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>(-?[\d.,]+)</text>', picture)}

    def test_signed_bars_lie_on_their_axis(self):
        picture = svg.signed_bars("T", "%", ["time", "energy"], [("a", [-0.65, -0.4]), ("b", [0.16, None])], axis="percent of T")
        at, bars = self.numbers(picture), self.bars(picture)
        scale = (at[0.2] - at[-0.4]) / 0.6
        self.assertEqual(len(bars), 3)
        for tip, value in (("a time: -0.65 %", -0.65), ("a energy: -0.4 %", -0.4), ("b time: +0.16 %", 0.16)):
            x, width = bars[tip]
            self.assertAlmostEqual(width, abs(value) * scale, 0)
            self.assertAlmostEqual(x if value > 0 else x + width, at[0], 0)
        self.assertIn(">percent of T<", picture)

    def test_stacked_bars_follow_each_other(self):
        picture = svg.stacked_bars("T", "ns", ["p", "q"], [("a", [30.0, 90.0]), ("b", [0, 10.0])])
        at, bars = self.numbers(picture), self.bars(picture)
        scale = (at[100] - at[0]) / 100
        self.assertAlmostEqual(bars["a p: 30 ns"][0], at[0], 0)
        self.assertAlmostEqual(bars["a q: 90 ns"][0], at[0] + 30 * scale, 0)
        self.assertAlmostEqual(sum(bars["a q: 90 ns"]), at[0] + 120 * scale, 0)
        self.assertIn(">ns<", picture)
        small = svg.stacked_bars("T", "uJ", ["p"], [("a", [0.0391])], axis="energy (uJ)")
        self.assertIn("a p: 0.0391 uJ", self.bars(small))
        self.assertIn(">energy (uJ)<", small)
        self.assertIn("a p: 10,507.3 ns", self.bars(svg.stacked_bars("T", "ns", ["p"], [("a", [10507.3])])))
        svg.stacked_bars("nothing", "ns", [], [])

    def test_rounding_makes_no_further_mark(self):
        for most in (100, 100 + 1e-12, sum([0.1] * 1000)):
            self.assertEqual(svg.steps(most), [0, 20, 40, 60, 80, 100])
        self.assertEqual(svg.steps(101), [0, 50, 100, 150])
        self.assertEqual(svg.steps(0.65), [0, 0.2, 0.4, 0.6000000000000001, 0.8])

    def test_colors_of_a_bar_differ(self):
        self.assertEqual(len(set(svg.PALETTE)), len(svg.PALETTE))


class Words(unittest.TestCase):
    def test_a_setting_is_tried_at_few_parts(self):
        degrade = script("degrade")
        for count in (1, 7, 8, 9, 15, 16, 17, 256):
            tried = degrade.some_of([str(n) for n in range(count)])
            self.assertLessEqual(len(tried), degrade.MOST_TRIED, count)
            self.assertGreaterEqual(2 * len(tried), min(count, degrade.MOST_TRIED), count)
            self.assertEqual(tried[0], "0")

    def test_settings_of_a_part(self):
        self.assertEqual(script("degrade").set_text({"vector_lanes": 16, "hop_cycles": 18}), "vector_lanes 16, hop_cycles 18")


if __name__ == "__main__":
    harness.main()
