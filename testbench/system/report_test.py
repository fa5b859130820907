#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""critical_path.json, scripts/report and scripts/compare."""
import csv
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import png

sys.path.insert(0, str(harness.ROOT / "python"))
from diecast import fabric_picture, svg  # noqa: E402
from diecast.results import load  # noqa: E402

SCRIPTS = harness.ROOT / "scripts"
BIN = harness.BIN
CHROMIUM = shutil.which("chromium")
CASES = (
    ("--bytes", "16KiB"),
    ("--bytes", "16KiB", "--set", "ipcq.n_slots=1"),
    ("--bytes", "16KiB", "--set", "ipcq.buffer_kind=hbm"),
    ("--bytes", "16KiB", "--set", "ipcq.buffer_kind=sram"),
    ("--bytes", "16KiB", "--set", "ipcq.backpressure=poll"),
    ("--bytes", "100KiB", "--algorithm", "intercube", "--iters", "2"),
    ("--bytes", "2", "--algorithm", "intercube", "--no-data"),
)


class Path(harness.Case):

    def path(self, *arguments):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, *arguments, "--out", out)
        return (json.loads((out / "critical_path.json").read_text()),
                json.loads((out / "result.json").read_text())["runs"][0])

    def test_edges_sum_to_the_time(self):
        for case in CASES:
            path, row = self.path(*case)
            self.assertLessEqual(row["time_min_ns"], path["time_ns"], case)
            self.assertLessEqual(path["time_ns"], row["time_max_ns"], case)
            self.assertEqual(sum(e["time_fs"] for e in path["edges"]), path["time_fs"], case)
            self.assertEqual(sum(c["time_fs"] for c in path["causes"]), path["time_fs"], case)
            if "--iters" not in case:
                self.assertEqual(path["time_fs"], round(row["time_ns"] * 1e6), case)
            at = 0.0
            for e in path["edges"]:
                self.assertEqual(e["from_ns"], at, case)
                at = e["to_ns"]
            self.assertEqual(at, path["time_ns"], case)

    def test_every_wait_is_explained_and_every_move_is_a_message(self):
        for case in CASES:
            path, _ = self.path(*case)
            self.assertNotIn("unexplained", {c["cause"] for c in path["causes"]}, case)
            for e, after in zip(path["edges"], path["edges"][1:]):
                self.assertEqual(e.get("to_pe", e["pe"]), after["pe"], case)

    def test_half_the_cost_saves_no_more_than_the_edge(self):
        job = ("--bytes", "64KiB", "--algorithm", "intercube")
        path, row = self.path(*job)
        share = {c["cause"]: c["time_ns"] for c in path["causes"]}
        config = json.loads((self.folder / "out" / "config.json").read_text())
        half = {"vector": f"pe.vector_lanes={config['pe']['vector_lanes'] * 2}",
                "firmware": f"ccl.kernel_call_cycles={config['ccl']['kernel_call_cycles'] // 2}",
                "fabric, between SIPs": f"sip_link.latency_ns={config['sip_link']['latency_ns'] / 2}"}
        self.assertIn(path["causes"][0]["cause"], half, "the top edge has no key in this test")
        for cause, setting in half.items():
            faster = row["time_ns"] - self.path(*job, "--set", setting)[1]["time_ns"]
            self.assertGreater(faster, 0, setting)
            self.assertLessEqual(faster, share[cause], setting)

    def halved(self, edge, config):
        """--set words that halve what the edge is made of, as locally as the config allows, and which edges these words
        can shorten."""
        def crosses(name):
            return lambda e: name in e.get("links", ())

        def of(*causes):
            return lambda e: e["cause"] in causes

        cause = edge["cause"]
        if cause in ("fabric, between SIPs", "fabric, between cubes"):
            block, pattern = ("sip_link", r"-sip") if cause.endswith("SIPs") else ("ucie", r"\.ucie_(north|east|south|west)$")
            link = next(name for name in edge["links"] if re.search(pattern, name))
            back = self.other_direction(link)
            entry = [{"match": link, "set": {"latency_ns": config[block]["latency_ns"] / 2}}]
            return "overrides=" + json.dumps(entry), lambda e: crosses(link)(e) or crosses(back)(e)
        key, touched = {"copy": ("noc.hop_cycles", lambda e: e["cause"].startswith(("fabric", "credit", "copy", "slot_write",
                                                                                    "source_read"))),
                        "firmware": ("ccl.kernel_call_cycles", of("firmware")),
                        "vector": ("pe.vector_startup_cycles", of("vector")),
                        "dma_start": ("pe.dma_startup_cycles", of("dma_start"))}[cause]
        block, name = key.split(".")
        return f"{key}={config[block][name] // 2}", touched

    def other_direction(self, link):
        """The name of the link back."""
        sip = re.fullmatch(r"pod\.(sip\d+\.\w+)-(sip\d+\.\w+)", link)
        if sip:
            return f"pod.{sip[2]}-{sip[1]}"
        place, x, y, side = re.fullmatch(r"(pod\.sip\d+\.cube_)(\d+)_(\d+)\.ucie_(\w+)", link).groups()
        dx, dy, back = {"east": (1, 0, "west"), "west": (-1, 0, "east"), "north": (0, 1, "south"),
                        "south": (0, -1, "north")}[side]
        return f"{place}{int(x) + dx}_{int(y) + dy}.ucie_{back}"

    def test_half_the_cost_of_the_top_edge_saves_no_more_than_what_it_changes(self):
        # The two directions of ring_1d share a core: a message that comes earlier can be served before one that matters
        # more, and at many sizes the faster link makes that ring slower.
        causes = set()
        for job in (("--algorithm", "intercube", "--bytes", "64KiB"), ("--algorithm", "intercube", "--bytes", "1KiB"),
                    ("--algorithm", "ring_1d_unidir", "--bytes", "256KiB"), ("--algorithm", "ring_1d", "--bytes", "1KiB"),
                    ("--algorithm", "ring_1d_unidir", "--bytes", "64KiB"),
                    ("--algorithm", "intercube", "--bytes", "16KiB", "--set", "pod.sips=1", "--set", "ucie.latency_ns=90"),
                    ("--algorithm", "intercube", "--bytes", "1KiB", "--set", "pod.sips=1"),
                    ("--algorithm", "ring_1d", "--bytes", "64KiB", "--set", "ipcq.buffer_kind=hbm")):
            path, _ = self.path(*job)
            config = json.loads((self.folder / "out" / "config.json").read_text())
            top = max(path["edges"], key=lambda e: e["time_fs"])
            setting, touched = self.halved(top, config)
            self.assertTrue(touched(top), setting)
            cost = sum(e["time_fs"] for e in path["edges"] if touched(e))
            saved = path["time_fs"] - self.path(*job, "--set", setting)[0]["time_fs"]
            self.assertGreater(saved, 0, setting)
            self.assertLessEqual(saved, cost, setting)
            causes.add(top["cause"])
        self.assertGreaterEqual(causes, {"fabric, between SIPs", "fabric, between cubes", "copy"})

    def test_watching_changes_nothing(self):
        plain = self.one(*harness.SMALL, "--bytes", "16KiB")
        _, watched = self.path("--bytes", "16KiB")
        self.assertEqual((plain["time_ns"], plain["fingerprint"]), (watched["time_ns"], watched["fingerprint"]))

    def test_too_many_events_are_said(self):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, "--set", "trace.path_events=100", "--out", out)
        self.assertFalse((out / "critical_path.json").exists())
        self.assertIn("trace.path_events", (out / "result.json").read_text())

    def test_each_run_of_a_sweep_has_its_own(self):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, "--bytes", "4KiB:8KiB", "--out", out)
        names = {p.name for p in out.glob("critical_path*")}
        self.assertEqual(names, {"critical_path_0.json", "critical_path_1.json"})
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--out", out)
        self.assertEqual({p.name for p in out.glob("critical_path*")}, {"critical_path.json"})


class Balanced(html.parser.HTMLParser):
    """Fails on a tag that is not closed; collects text, and what the page would fetch."""
    VOID = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.stack, self.words, self.fetched = [], [], []
        self.feed(text)
        if self.stack:
            raise ValueError(f"not closed: {self.stack}")

    def handle_starttag(self, tag, attributes):
        self.fetched += [v for k, v in attributes if k in ("src", "href")]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.fetched += [v for k, v in attributes if k in ("src", "href")]

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            raise ValueError(f"stray </{tag}>")

    def handle_data(self, data):
        self.words.append(data)


class Reports(harness.Case):

    def script(self, name, *arguments, expect=0):
        done = subprocess.run([SCRIPTS / name, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def report(self, *arguments):
        out = self.folder / "out"
        self.run_pod(*arguments, "--out", out)
        self.script("report", out)
        return (out / "report.html").read_text()


class Scripts(Reports):

    def test_report_is_one_page(self):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, "--bytes", "1KiB:16KiB:x4", "--set", "ipcq.buffer_kind=hbm", "--out", out)
        self.script("report", out)
        text = (out / "report.html").read_text()
        page = Balanced(text)
        self.assertEqual(page.fetched, [], "the page fetches something")
        self.assertNotIn("<script", text)
        words = " ".join(page.words)
        for part in ("Results", "Time", "Bus bandwidth", "Critical path", "Links", "Waits per PE", "HBM", "row_bus"):
            self.assertIn(part, words)
        path = json.loads((out / "critical_path_2.json").read_text())
        self.assertIn(f"{path['time_ns']:,.3f} ns", words)
        # A later run finds a directory that is its own.
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", out)
        self.assertFalse((out / "report.html").exists())

    def test_a_workload_has_its_streams_and_ops(self):
        ranks = list(range(16))
        workload = {"streams": [
            {"name": "tp", "on": ranks, "ops": [{"op": "compute", "ns": 3000}, {"op": "all_reduce", "bytes": 4096}]},
            {"name": "dp", "on": ranks, "ops": [{"op": "all_reduce", "bytes": 65536}]}]}
        file = self.file("w.json", json.dumps(workload))
        text = self.report(*harness.SMALL, "--workload", file, "--isolate")
        run, = load(self.folder / "out").runs
        words = Balanced(text).words
        for stream in run["streams"]:
            self.assertIn(f"{stream['slowdown']:.2f}", words)
            self.assertIn(f"{stream['isolated_ns']:,.1f}", words)
        for op in run["ops"]:
            self.assertIn(f"<title>{op['id']}: {op['start_ns']:,.1f} to {op['end_ns']:,.1f} ns</title>", text)
        # Why 3,000 ns of computation last longer: what ran beside it.
        compute, large = run["ops"][0], run["ops"][2]
        self.assertGreater(compute["end_ns"] - compute["start_ns"], 5000)
        shared = min(compute["end_ns"], large["end_ns"]) - max(compute["start_ns"], large["start_ns"])
        self.assertTrue(any(word.startswith(f"dp.0 {shared:,.0f}") for word in words), words)
        self.assertIn("--isolate", self.report(*harness.SMALL, "--workload", file).split("<h2>Streams")[1])
        self.assertNotIn("<h2>Streams", self.report(*harness.SMALL, "--bytes", "1KiB"))

    def test_each_algorithm_has_its_color_and_its_own_bound(self):
        text = self.report(*harness.SMALL, "--algorithm", "intercube,ring_1d", "--bytes", "1KiB:64KiB:x8")
        plots = [part for part in re.findall(r"<svg.*?</svg>", text) if "<polyline" in part]
        self.assertEqual(len(plots), 2, "time and bandwidth")
        for part in plots:
            for name, color in svg.colors_of(["all_reduce intercube", "all_reduce ring_1d"]).items():
                self.assertRegex(part, f'<text[^>]*fill="{color}"[^>]*>{name}</text>')
                self.assertIn(f'stroke="{color}"', part)
        dashed = re.findall(r'<polyline points="([^"]*)"[^>]*stroke-dasharray', plots[0])
        self.assertEqual(len(dashed), 2, "one bound per algorithm")
        self.assertNotIn("dasharray", plots[1])
        for points in dashed:
            xs = [float(point.split(",")[0]) for point in points.split()]
            self.assertEqual((xs, len(xs)), (sorted(set(xs)), 3), "it runs backwards")

    def test_what_is_printed_needs_no_mouse(self):
        self.assertNotIn("hover", self.report(*harness.SMALL, "--bytes", "1KiB"))

    def test_causes_have_a_color_key(self):
        text = self.report(*harness.SMALL, "--bytes", "16KiB")
        path = load(self.folder / "out").critical_path()
        for cause, color in svg.colors_of(c["cause"] for c in path["causes"]).items():
            self.assertIn(f'<i class=key style="background:{color}"></i>{cause}</td>', text)
            self.assertIn(f'fill="{color}"', text)

    def test_every_link_pe_and_port_is_drawn(self):
        self.run_pod(*harness.SMALL, *harness.sets("pod.sips=4"), "--algorithm", "ring_1d", "--bytes", "1KiB", "--out", "out")
        done = load(self.folder / "out")
        links = done.rows("links.csv", 0)
        picture = fabric_picture.draw(done.config, links)
        inner = [l for l in links if re.search(r"\.(router_\d+_\d+\.|ucie_)(north|east|south|west)$", l["link"])]
        outer = fabric_picture.between_sips(links)
        self.assertEqual(len(outer), 8)  # a ring
        for link in inner + outer:
            self.assertIn(f"<title>{svg.escape(fabric_picture.tip_of(link))}</title>", picture)
        self.assertEqual(picture.count("<path "), len(outer))
        # The scale holds for all of them.
        busiest = max(inner + outer, key=lambda l: l["busy_fraction"])
        self.assertIn(f"0 to {busiest['busy_fraction']:.1%}", picture)
        loud = [{**l, "busy_fraction": 0.9 if l["link"] == outer[0]["link"] else 0.001} for l in links]
        self.assertIn("0 to 90.0%", fabric_picture.draw(done.config, loud))

    def test_pes_and_ports_are_where_the_machine_has_them(self):
        for job in (harness.SMALL, harness.SEED, (*harness.SMALL, "--set", "cube.pes=3", "--set", "noc.columns=5"),
                    (*harness.SMALL, "--set", "placement.pes=1_1,0_0,0_1,0_0", "--set", "placement.hbm_ports=0_0,1_0,1_0,1_1")):
            told = self.run_pod(*job, "--print-map").stdout
            config = json.loads(self.run_pod(*job, "--dump-config").stdout)
            layout = fabric_picture.Layout(config)
            drawn = {name: f"{x}_{y}" for (x, y), names in
                     fabric_picture.blocks(config, layout).items() for kind in names for name in kind}
            found = dict(re.findall(r"cube_0_0\.((?:pe|hbm)\d+) on router_(\d+_\d+)", told))
            self.assertEqual(found, drawn)

    def waits(self, *arguments):
        """{cause: ns over all PEs} of the last run's waits.csv, and the report's text."""
        text = self.report(*harness.SMALL, *arguments)
        with open(self.folder / "out" / "waits.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), len({row["pe"] for row in rows}))
        return {key: sum(float(row[key]) for row in rows) for key in rows[0] if key.endswith("_ns")}, text

    def test_waits_of_every_cause_are_shown(self):
        flood = harness.ROOT / "platforms" / "workloads" / "unexpected_flood.json"
        for cause, name, job in (("data", "a message", ("--algorithm", "ring_1d")),
                                 ("credit", "a free slot", ("--algorithm", "ring_1d", "--set", "ipcq.n_slots=1")),
                                 ("memory", "a copy", ("--algorithm", "ring_1d", "--set", "ipcq.buffer_kind=hbm")),
                                 ("poll", "the next look", ("--set", "ipcq.backpressure=poll")),
                                 ("message", "the tag-matching unit", ("--workload", flood))):
            sums, text = self.waits(*job, *(() if cause == "message" else ("--bytes", "16KiB")))
            self.assertGreater(sums[f"{cause}_ns"], 0, cause)
            self.assertEqual(sums["never_ended_ns"], 0)
            section = text[text.index("<h2>Waits per PE"):]
            self.assertIn(f"<td>{name}</td><td>{sums[f'{cause}_ns']:,.1f}</td>", section, cause)

    def test_waits_are_those_of_the_timeline(self):
        sums, _ = self.waits("--bytes", "16KiB", "--algorithm", "ring_1d", "--timeline", self.folder / "t.json")
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        for cause in ("data", "credit", "dma", "memory"):
            seen = sum(e["dur"] for e in events if e.get("args", {}).get("cause") == cause) * 1e3
            self.assertAlmostEqual(sums[f"{cause}_ns"], seen, 3, cause)

    def test_what_never_came_is_a_wait(self):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--set",
                     "ipcq.match=sender", "--out", out, expect=3)
        self.assertGreater(max(row["never_ended_ns"] for row in load(out).rows("waits.csv")), 0)
        self.script("report", out)
        self.assertIn("<td>what never came</td>", (out / "report.html").read_text())

    def test_report_of_runs_that_end_early(self):
        out = self.folder / "out"
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB:8KiB",
                     "--set", "ipcq.match=sender", "--out", out, expect=3)
        self.script("report", out)
        words = " ".join(Balanced((out / "report.html").read_text()).words)
        self.assertIn("Status: deadlock", words)
        self.assertIn("waits for a message", words)
        self.run_pod(*harness.SMALL, "--bytes", "0", "--out", out)
        self.script("report", out)
        Balanced((out / "report.html").read_text())

    def test_energy_of_every_run_is_shown(self):
        text = self.report(*harness.SMALL, "--algorithm", "ring_1d,intercube", "--bytes", "4KiB:16KiB:x4", "--iters", "2")
        rows = json.loads((self.folder / "out" / "result.json").read_text())["runs"]
        self.assertEqual(len(rows), 4)
        section = text[text.index("<h2>Energy of a launch"):text.index("<h2>Critical path")]
        for row in rows:
            energy = row["energy"]
            bit = f"<td>{energy['pj_per_bit_reduced']:.2f}</td>"
            cells = next(line for line in section.split("<tr>") if f"<td>all_reduce {row['algorithm']}, "
                         f"{row['bytes'] // 1024} KiB</td>" in line)
            for value in (energy["idle_pj"] / 2, energy["sip_link_pj"] / 2, energy["per_launch_pj"]):
                self.assertIn(f"<td>{value / 1e6:.3f}</td>", cells)
            self.assertIn(bit, cells)
            # Beside the bandwidth, too.
            line = next(line for line in text[:text.index("<h2>Energy")].split("<tr>") if f"<td>{row['time_ns']:,.1f}</td>" in line)
            self.assertIn(f"<td>{row['busbw_gbytes_s']:.3f}</td>{bit}", line)
        self.assertIn("<th>busbw GB/s</th><th>pJ/bit</th>", text)
        idle = rows[0]["energy"]["idle_pj"] / 2e6
        self.assertIn(f"<title>all_reduce ring_1d, 4 KiB idle: {idle:,.1f} uJ</title>", section)
        barrier = self.report(*harness.SMALL, "--collective", "barrier")
        self.assertIn("<h2>Energy of a launch", barrier)
        self.assertNotRegex(barrier, r"\b0 B\b|f16, none", "a barrier has no size and no elements")

    def test_report_draws_a_timeline(self):
        out, timeline = self.folder / "out", self.folder / "t.json"
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--out", out, "--timeline", timeline)
        self.script("report", out, "--timeline", timeline)
        text = (out / "report.html").read_text()
        self.assertIn("What each core did", text)
        self.assertGreater(text.count("wait: data"), 16)
        self.assertIn("no timeline", self.script("report", out, "--timeline", out / "result.json", expect=2).stderr)

    def test_report_of_nothing(self):
        self.assertIn("result.json", self.script("report", self.folder, expect=2).stderr)
        (self.folder / "result.json").write_text("{}")
        self.assertIn("schema", self.script("report", self.folder, expect=2).stderr)

    def test_compare_shows_stalls_of_both_sides(self):
        for slots in (1, 4):
            self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64KiB", "--set", f"ipcq.n_slots={slots}",
                         "--out", self.folder / f"s{slots}")
        sides = [{l["link"]: l for l in load(self.folder / f"s{n}").rows("links.csv", 0)} for n in (1, 4)]
        links = json.loads(self.script("compare", "s1", "s4", "--format", "json").stdout)["runs"][0]["links"]
        self.assertTrue([row for row in links if row[5] != row[6]], "no link's stalls differ")
        for link, *numbers in links:
            left, right = (side[link] for side in sides)
            self.assertEqual(numbers, [s[k] for k in ("busy_fraction", "bytes", "stall_ns") for s in (left, right)])
        # The same bytes cross each link: what differs is when, and who waits.
        self.assertTrue([row for row in links if row[3] == row[4]])
        self.assertIn("A stalls ns  B stalls ns", self.script("compare", "s1", "s4").stdout)
        whole = self.report(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64KiB", "--set", "sim.fidelity=message")
        self.assertIn("<th>link</th><th>bytes</th><th>busy</th></tr>", whole, "messages have no stalls")
        self.assertRegex(self.script("compare", "out", "s4").stdout, r"A stalls ns  B stalls ns\n .*  -            -\n")

    def test_compare_is_about_collectives(self):
        subprocess.run([BIN / "diecast-noc", "--cycles", "200", "--quiet", "--out", self.folder / "noc"], check=True)
        subprocess.run([BIN / "diecast-hbm", "--requests", "100", "--quiet", "--out", self.folder / "hbm"], check=True)
        for kind in ("noc", "hbm"):
            self.assertIn(f"results of diecast-{kind}", self.script("report", kind, expect=2).stderr)
            for name, sides, what in (("compare", 2, "a comparison is"), ("alphabeta", 1, "fits are"), ("energy", 1, "energy accounts are")):
                done = self.script(name, *[kind] * sides, expect=2)
                self.assertIn(f"{kind}: results of diecast-{kind}; {what} about collectives", done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_compare_says_what_changed_and_why(self):
        for root in ("center", "corner"):
            self.run_pod("--config", harness.CONFIGS / "sip_default.json", "--algorithm", "intercube", "--bytes", "4KiB",
                         "--set", f"ccl.root={root}", "--out", self.folder / root)
        text = self.script("compare", "center", "corner").stdout
        self.assertRegex(text, r"ccl\.root +center +corner")
        self.assertRegex(text, r"center is \d+\.\d% faster")
        self.assertIn("because on the critical path", text)
        self.assertIn("because of these links", text)
        data = json.loads(self.script("compare", "center", "corner", "--format", "json").stdout)
        center, corner = data["runs"][0]["time_ns"]
        causes = data["runs"][0]["critical_path"][0]
        self.assertAlmostEqual(sum(b - a for _, a, b in causes), corner - center, places=6)
        self.assertEqual(data["config"], [["ccl.root", "center", "corner"]])
        self.assertIn("both take the same time", self.script("compare", "center", "center").stdout)
        self.script("compare", "center", "absent", expect=2)
        self.assertIn("did you mean center?", self.script("compare", "center", "center/result.json", expect=2).stderr)

    def test_paths_are_utf_8_whatever_the_locale(self):
        out = self.folder / "Maß"
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", out)
        plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        subprocess.run([harness.ROOT / "scripts" / "report", out], env=plain, check=True, capture_output=True)
        self.assertIn("Maß", (out / "report.html").read_text(encoding="utf-8"))

    def test_compare_prints_values_as_set_takes_them(self):
        lost = '[{"match": "pod.sip0.cube_0_0.ucie_east", "set": {"modules": 1}}]'
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", self.folder / "a")
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--set", f"overrides={lost}", "--out", self.folder / "b")
        self.assertIn(f"overrides  []  {lost}\n", self.script("compare", "a", "b").stdout)

    def test_compare_names_both_sides(self):
        for name, algorithm, size in (("a", "ring_1d", "1KiB"), ("b", "intercube", "4KiB")):
            self.run_pod(*harness.SMALL, "--algorithm", algorithm, "--bytes", size, "--ranks", "cube", "--out", self.folder / name)
        text = self.script("compare", "a", "b").stdout
        self.assertIn("all_reduce ring_1d and intercube f16 sum, 1,024 bytes and 4,096 bytes\n  other work, so neither is called faster", text)
        self.assertRegex(text, r"(?m)^ +A +- +- +all_reduce +1024 +4\n +B +- +- +all_reduce +4096 +4$")
        run = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"][0]
        self.assertEqual((run["what"]["algorithm"], run["against"]["algorithm"]), ("ring_1d", "intercube"))

    def test_compare_calls_neither_of_two_jobs_faster(self):
        for name, size in (("a", "1KiB"), ("b", "2KiB"), ("c", "1KiB")):
            ops = [{"op": "compute", "ns": 100 if name == "c" else 900}, {"id": "grad", "op": "all_reduce", "bytes": size}]
            self.file("w.json", json.dumps({"groups": {"g": {"ranks": "pe"}}, "streams": [{"name": "s", "on": "g", "ops": ops}]}))
            self.run_pod(*harness.SMALL, "--workload", "w.json", "--out", self.folder / name)
        text = self.script("compare", "a", "b").stdout
        self.assertRegex(text, r"(?m)^  other work, so neither is called faster: .* ns and .* ns$")
        self.assertRegex(text, r"(?m)^ +A +s +grad +all_reduce +1024 +16\n +B +s +grad +all_reduce +2048 +16$")
        self.assertIsNone(json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"][0]["time_change_percent"])
        self.assertRegex(self.script("compare", "a", "c").stdout, r"  c is \d+\.\d% faster")

    def test_compare_names_runs_of_one_side(self):
        for name, sizes in (("a", "2KiB:4KiB"), ("b", "1KiB:2KiB")):
            self.run_pod(*harness.SMALL, "--algorithm", "intercube", "--bytes", sizes, "--out", self.folder / name)
        text = self.script("compare", "a", "b").stdout
        self.assertIn("Config: the same\n\nonly in A: all_reduce intercube f16 sum 4,096 bytes, 4 cube\n"
                      "only in B: all_reduce intercube f16 sum 1,024 bytes, 4 cube\n\nall_reduce intercube f16 sum, 2,048 bytes\n",
                      text)
        data = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)
        asked = {"collective": "all_reduce", "algorithm": "intercube", "dtype": "f16", "op": "sum", "rank_set": "cube", "ranks": 4}
        self.assertEqual((data["only_in_a"], data["only_in_b"]), ([{**asked, "bytes": 4096}], [{**asked, "bytes": 1024}]))
        self.assertEqual([run["what"]["bytes"] for run in data["runs"]], [2048])
        self.assertNotIn("only in", self.script("compare", "a", "a").stdout)

    def test_compare_names_each_run_of_one_side(self):
        """Also of several that ask the same, and by their teams, and where no run has another."""
        barrier = (*harness.SMALL, "--collective", "barrier", "--ranks", "cube", "--algorithm", "dissemination")
        self.run_pod(*barrier, "--team", "0:1:2,0:1:4", "--out", self.folder / "a")
        self.run_pod(*barrier, "--team", "0:1:2", "--out", self.folder / "b")
        self.run_pod(*harness.SMALL, "--algorithm", "intercube", "--bytes", "1KiB", "--out", self.folder / "c")
        self.assertIn("\nonly in A: barrier dissemination team 0:1:4, 4 cube\n",
                      self.script("compare", "a", "b").stdout)
        text = self.script("compare", "a", "c").stdout
        self.assertIn("No run of one is in the other", text)
        self.assertEqual([line[:9] for line in text.splitlines() if line.startswith("only in")],
                         ["only in A"] * 2 + ["only in B"])
        file = self.folder / "c" / "result.json"
        document = json.loads(file.read_text())
        document["runs"] *= 2
        shutil.copytree(self.folder / "c", self.folder / "d")
        (self.folder / "d" / "result.json").write_text(json.dumps(document))
        for sides, expected in ((("c", "d"), "B"), (("d", "c"), "A")):
            text = self.script("compare", *sides).stdout
            self.assertEqual(re.findall("^only in .*$", text, re.M),
                             [f"only in {expected}: all_reduce intercube f16 sum 1,024 bytes, 4 cube"])


@unittest.skipUnless(CHROMIUM, "chromium is not installed")
class Browser(Reports):
    """The report as a browser shows and prints it."""

    def browse(self, page, *flags):
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                   *flags, f"file://{page}"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return done.stdout

    def test_the_pictures_are_seen(self):
        self.report(*harness.SMALL, "--algorithm", "intercube", "--bytes", "4KiB:64KiB:x4")
        self.assertIn("Critical path through the PEs", self.browse(self.folder / "out" / "report.html", "--dump-dom"))
        shot = self.folder / "shot.png"
        self.browse(self.folder / "out" / "report.html", "--hide-scrollbars", "--window-size=960,3600", f"--screenshot={shot}")
        rows = list(png.rows(shot.read_bytes()))
        self.assertEqual((len(rows), len(rows[0])), (3600, 960))
        inked = [n for n, row in enumerate(rows) if any(min(pixel) < 200 for pixel in row)]
        self.assertGreater(len(inked), 1000, "most of the page is empty")
        seen = {pixel for row in rows for pixel in row}
        # The colors of a PE, an HBM port, the busiest link and the first causes of the path.
        for color in (fabric_picture.PE_COLOR, fabric_picture.HBM_COLOR, svg.heat(1), *svg.PALETTE[:4]):
            self.assertIn(tuple(bytes.fromhex(color[1:])), seen, color)

    def test_it_prints_on_a_few_pages(self):
        self.report(*harness.SMALL, "--algorithm", "intercube", "--bytes", "4KiB:64KiB:x4")
        paper = self.folder / "report.pdf"
        self.browse(self.folder / "out" / "report.html", "--no-pdf-header-footer", f"--print-to-pdf={paper}")
        pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", paper.read_bytes()))
        self.assertTrue(2 <= pages <= 8, f"{pages} pages")


if __name__ == "__main__":
    sys.exit(harness.main())
