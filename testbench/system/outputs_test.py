#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waveforms, machine-readable results and what the binary prints about itself."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import unittest

import jsonschema  # Debian's python3-jsonschema, of scripts/setup

import harness
from harness import SMALL
from vcd import BadVcd, Vcd

BIN = harness.BIN

HBM = harness.binary("hbm")
NOC = harness.binary("noc")
CREDITS = harness.sets("trace.vcd_credits=true")
POINTERS = {"my_head", "my_tail", "peer_head_cache", "peer_tail_cache", "free_credits"}


class Waveform(harness.Case):
    JOB = (*SMALL, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "4KiB")

    def waveform(self, *extra):
        self.row = self.one(*self.JOB, "--vcd", "w.vcd", *extra)
        return Vcd((self.folder / "w.vcd").read_text())

    def test_tree_and_times(self):
        wave = self.waveform()
        for sip in (0, 1):
            for cube in (0, 1):
                for pe in range(4):
                    for part in ("ipcq.E", "ipcq.W", "core"):
                        self.assertIn(f"pod.sip{sip}.cube_{cube}_0.pe{pe}.{part}", wave.scopes)
        self.assertEqual(wave.timescale, "1 fs")
        self.assertGreaterEqual(wave.end, self.row["time_ns"] * 1e6)
        self.assertEqual({p.rsplit(".", 1)[1] for p in wave.widths if ".ipcq." in p}, POINTERS)

    def test_pointers_count_what_was_sent(self):
        wave = self.waveform("--out", "out")
        with open(self.folder / "out" / "ipcq.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 32)
        for row in rows:
            scope = f"{row['pe']}.ipcq.{row['direction']}"
            heads = [int(v, 2) for _, v in wave.changes[f"{scope}.my_head"]]
            self.assertEqual(heads, list(range(heads[0], heads[-1] + 1)), f"{scope} skips a number")
            self.assertEqual(heads[-1], int(row["sends"]), scope)
            self.assertEqual(int(wave.changes[f"{scope}.free_credits"][-1][1], 2), 4, "a credit was lost")

    def test_queue_pairs_are_named_as_in_reports(self):
        """Of two streams that share a PE, and of names that VCD's readers would part or end at."""
        def escaped(name):
            if re.fullmatch(r"[A-Za-z0-9_-]+", name):
                return name
            return "\\" + "".join(c if "!" <= c <= "~" and c != "%" else f"%{ord(c):02X}" for c in name)

        ring = {"op": "all_reduce", "bytes": 256, "algorithm": "ring_1d"}
        streams = [{"name": name, "on": [0, 1], "ops": [ring, {**ring, "id": f"{name}2", "after": []}]} for name in ("tp", "d p", "$end")]
        file = self.file("streams.json", json.dumps({"streams": streams}))
        self.run_pod(*SMALL, "--workload", file, "--vcd", "w.vcd", "--out", "out")
        wave = Vcd((self.folder / "w.vcd").read_text())
        with open(self.folder / "out" / "ipcq.csv", newline="") as table:
            named = [f"{row['pe']}.ipcq.{escaped(row['direction'])}" for row in csv.DictReader(table)]
        # A stream's ops beside each other have queue pairs of their own, named by the op.
        for name in ("\\tp.E", "\\tp2.E", "\\d%20p.E", "\\d%20p2.W"):
            self.assertEqual(named.count(f"pod.sip0.cube_0_0.pe0.ipcq.{name}"), 1, name)
        self.assertEqual({p.rsplit(".", 1)[0] for p in wave.widths if p.endswith(".my_head")}, set(named))

    def test_a_window_behind_the_end_is_said(self):
        self.waveform("--vcd-window", "900000000:")
        self.assertEqual([n for n in self.row["notes"] if "--vcd-window begins at" in n and "after the run's end" in n], self.row["notes"])
        self.assertEqual(len(self.row["notes"]), 1)

    def test_links_are_busy(self):
        wave = self.waveform()
        busy = [p for p in wave.widths if p.endswith("busy")]
        self.assertGreater(len(busy), 100)
        used = [p for p in busy if any(v == "1" for _, v in wave.changes[p])]
        self.assertIn("pod.sip0.cube_0_0.pe0.inject_busy", used)

    def credits(self, wave):
        """{path of a link: {vc: [(time, flits)]}} of the credit counts."""
        links = {}
        for path, changes in wave.changes.items():
            link, found, vc = path.partition("_credits_vc")
            if found:
                links.setdefault(link, {})[int(vc)] = [(t, int(v, 2)) for t, v in changes]
        return links

    def test_link_credits_are_spent_and_come_home(self):
        # Classes share ports here, so that batches of credits end later than they were told.
        for more in ((), harness.sets("noc.arbitration=weighted"), harness.sets("noc.flow=wormhole"),
                     ("--set", "comm.path=staged")):
            wave = self.waveform("--out", "out", *CREDITS, *more)
            with open(self.folder / "out" / "links.csv", newline="") as file:
                used = {row["link"] for row in csv.DictReader(file) if int(row["bytes"]) > 0}
            links = self.credits(wave)
            self.assertEqual(set(links), {p.removesuffix("_busy") for p in wave.widths if p.endswith("_busy")})
            for link, vcs in links.items():
                for vc, counts in vcs.items():
                    home = counts[0][1]
                    self.assertEqual(counts[-1][1], home, f"{link} vc {vc}: credits are missing")
                    self.assertLessEqual(max(c for _, c in counts), home, f"{link} vc {vc} (a count wraps below 0)")
            # Sideband on wires of its own passes no buffers.
            moved = {link for link, vcs in links.items() if any(len(counts) > 1 for counts in vcs.values())}
            self.assertLessEqual(moved, used)
            for kind in ("inject", "eject", "router_", "ucie_", "sip0.e-sip1.w"):
                self.assertTrue([link for link in moved if kind in link], kind)

    def test_a_stall_for_link_credits_shows(self):
        # The buffer behind the SIP link holds one packet of 17 flits: the next one waits for it to leave.
        self.one(*self.JOB[:-1], "64KiB", "--vcd", "w.vcd", *CREDITS, *harness.sets("sip_link.buffer_flits=17"))
        wave = Vcd((self.folder / "w.vcd").read_text())
        counts = [c for vcs in (self.credits(wave)["pod.sip0.e-sip1.w"],) for c in vcs.values()]
        self.assertEqual({c[0][1] for c in counts}, {17})
        self.assertEqual(min(flits for c in counts for _, flits in c), 0)

    def test_credits_are_drawn_on_request(self):
        """They are nine in ten signals, which a first look does not want; all else is as with them."""
        brief, whole = self.waveform(), self.waveform(*CREDITS)
        self.assertEqual(self.credits(brief), {})
        self.assertGreater(len(whole.widths), 8 * len(brief.widths))
        self.assertEqual(brief.changes, {path: whole.changes[path] for path in brief.widths})

    def test_scope_limits_the_tree(self):
        wave = self.waveform("--vcd-scope", "pod.sip1.cube_1_0.*", *CREDITS)
        self.assertIn("pod.sip1.cube_1_0.pe0.ipcq.E", wave.scopes)
        self.assertFalse([s for s in wave.scopes if s.startswith("pod.sip0")])
        self.assertTrue(self.credits(wave))

    def test_the_checker_can_fail(self):
        good = ("$timescale 1 fs $end $scope module a $end $var wire 1 ! x $end $upscope $end "
                "$enddefinitions $end ")
        Vcd(good + "#0 0! #5 1!")
        for bad in ("#5 0! #4 1!", "#0 0?", "#0 b11 !"):
            with self.assertRaises(BadVcd):
                Vcd(good + bad)

    def test_deadlock_leaves_a_waveform(self):
        self.run_pod(*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--vcd", "w.vcd",
                     *harness.sets("ipcq.match=sender"), expect=3)
        self.assertIn("pod.sip0.cube_0_0.pe0.ipcq", Vcd((self.folder / "w.vcd").read_text()).scopes)


@unittest.skipUnless(shutil.which("vcd2fst"), "vcd2fst (package gtkwave) is not installed")
class Reader(harness.Case):
    def test_vcd2fst_reads_the_waveform(self):
        self.run_pod(*SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", "--vcd", "w.vcd")
        done = subprocess.run(["vcd2fst", "w.vcd", "w.fst"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        back = subprocess.run(["fst2vcd", "w.fst"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(back.returncode, 0, back.stderr)
        scopes = re.findall(r"\$scope module (\S+) \$end", back.stdout)
        for name in ("pod", "sip0", "cube_0_0", "pe0", "ipcq"):
            self.assertIn(name, scopes)


class Trace(harness.Case):
    JOB = (*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB")
    LINE = re.compile(r"ccl rank ([01]) at (\d+\.\d{3}) ns: (send|recv|credit) ([EW])( \d+ bytes)? seq (\d+)")

    def lines(self, text):
        found = []
        for line in text.splitlines():
            match = self.LINE.fullmatch(line)
            self.assertTrue(match, line)
            found.append(match.groups())
        return found

    def test_every_send_is_received_and_credited(self):
        done = self.run_pod(*self.JOB, "--ccl-trace", "--quiet")
        events = self.lines(done.stderr)
        times = [float(e[1]) for e in events]
        self.assertEqual(times, sorted(times))
        for rank in "01":
            for direction in "EW":
                def of(what, who, way):
                    return [(e[4], int(e[5])) for e in events if (e[0], e[2], e[3]) == (who, what, way)]
                sent = of("send", rank, direction)
                self.assertEqual([seq for _, seq in sent], [0, 1])
                peer, back = "10"[int(rank)], "WE"["EW".index(direction)]
                self.assertEqual(of("recv", peer, back), sent)
                self.assertEqual([seq for _, seq in of("credit", rank, direction)], [1, 2])

    def test_it_changes_nothing_and_can_be_asked_for_by_the_environment(self):
        plain = self.one(*self.JOB)
        done = self.run_pod(*self.JOB, "--ccl-trace", "--format", "json")
        row = json.loads(done.stdout)["runs"][0]
        self.assertEqual((row["time_ns"], row["fingerprint"]), (plain["time_ns"], plain["fingerprint"]))
        for value, code in (("1", 0), ("0", 0), ("yes", 2)):
            environment = {**os.environ, "DIECAST_CCL_TRACE": value}
            same = subprocess.run(self.command(*self.JOB, "--quiet"), cwd=self.folder, capture_output=True,
                                  text=True, env=environment)
            self.assertEqual(same.returncode, code, value)
            if value == "yes":
                self.assertRegex(same.stderr, "DIECAST_CCL_TRACE.*yes")
            else:
                self.assertEqual(same.stderr, done.stderr if value == "1" else "")


class QueuePairs(harness.Case):
    def rows(self, *arguments):
        self.run_pod(*SMALL, "--algorithm", "ring_1d", "--out", "out", *arguments)
        with open(self.folder / "out" / "ipcq.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_what_is_sent_is_received(self):
        rows = self.rows("--ranks", "sip", "--bytes", "40KiB")
        self.assertEqual(len(rows), 4)
        by_pair = {(r["pe"], r["direction"]): r for r in rows}
        for row in rows:
            peer = by_pair[(row["pe"].replace("sip0", "sipX").replace("sip1", "sip0").replace("sipX", "sip1"),
                            {"E": "W", "W": "E"}[row["direction"]])]
            self.assertEqual((row["sends"], row["bytes"]), (peer["received"], peer["bytes_received"]))

    def test_occupancy_adds_up_and_stays_within_the_ring(self):
        spans = set()
        for row in self.rows("--ranks", "sip", "--bytes", "200KiB", *harness.sets("ipcq.n_slots=2")):
            levels = dict(entry.split(":") for entry in row["occupancy_ns"].split())
            self.assertLessEqual(set(levels), {"0", "1", "2"})
            spans.add(round(sum(float(v) for v in levels.values()), 3))
            self.assertLessEqual(float(row["empty_wait_ns"]), sum(float(v) for v in levels.values()))
        self.assertEqual(len(spans), 1, "every ring is watched as long")

    def test_waits_of_a_run_that_hangs_are_counted_to_its_end(self):
        self.run_pod(*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--out", "out",
                     *harness.sets("ipcq.match=sender", "ipcq.backpressure=poll", "sim.watchdog_us=100"),
                     expect=3)
        with open(self.folder / "out" / "ipcq.csv", newline="") as file:
            rows = {(r["pe"], r["direction"]): r for r in csv.DictReader(file)}
        self.assertGreater(float(rows[("pod.sip0.cube_0_0.pe0", "W")]["empty_wait_ns"]), 100_000)


class Unended(harness.Case):
    HANG = (*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--set", "ipcq.match=sender")
    FIGURES = ("time_ns", "time_min_ns", "time_max_ns", "algbw_gbytes_s", "busbw_gbytes_s")

    def test_a_run_without_an_end_has_no_time(self):
        text = self.run_pod(*self.HANG, "--format", "json", "--out", "out", expect=3).stdout
        row = json.loads(text)["runs"][0]
        self.assertEqual({row[key] for key in (*self.FIGURES, "efficiency")}, {None})
        self.assertGreater(row["launch_ns"], 0)
        row = next(csv.DictReader(io.StringIO(self.run_pod(*self.HANG, "--format", "csv", expect=3).stdout)))
        self.assertEqual({row[key] for key in self.FIGURES}, {""})
        table = self.run_pod(*self.HANG, expect=3).stdout.splitlines()[2].split()
        self.assertEqual((table[2:5], table[-1]), (["-", "-", "-"], "deadlock"))
        self.run_pod(*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--out", "well")
        for sides in (("out", "well"), ("well", "out")):
            done = subprocess.run([harness.ROOT / "scripts" / "compare", *sides], cwd=self.folder, capture_output=True, text=True)
            self.assertIn("no time to compare", done.stdout, done.stderr)


class Formats(harness.Case):
    JOB = (*SMALL, "--algorithm", "intercube,ring_1d", "--bytes", "1KiB:4KiB")

    def test_json_is_the_result_file(self):
        printed = self.result(*self.JOB, "--out", "out")
        written = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(printed, written)

    def test_csv(self):
        text = self.run_pod(*self.JOB, "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([(r["algorithm"], r["bytes"]) for r in rows],
                         [(a, b) for a in ("intercube", "ring_1d") for b in ("1024", "2048", "4096")])
        for row, same in zip(rows, self.runs(*self.JOB)):
            self.assertEqual((row["verified"], row["wrong_elements"], row["status"]), ("true", "0", "ok"))
            self.assertEqual(float(row["time_ns"]), same["time_ns"])
            self.assertEqual(row["fingerprint"], same["fingerprint"])

    def test_a_note_on_the_machine_is_said_once(self):
        text = self.run_pod(*self.JOB, "--set", "pod.topology=torus_2d").stdout
        self.assertEqual(text.count("note: pod.topology torus_2d of 2 x 1 SIPs is a mesh"), 1, text)

    def test_csv_of_a_workload_leaves_out_what_it_does_not_have(self):
        text = self.run_pod(*SMALL, "--workload", harness.ROOT / "platforms/workloads/overlapping_teams.json", "--format",
                            "csv").stdout
        self.assertEqual(next(csv.DictReader(io.StringIO(text)))["count"], "")

    def test_sizes_that_do_not_fit_are_one_line_and_the_others_run(self):
        line = (r"%s4 MiB to 64 MiB do not fit the TCM with %s: needs \d,\d{3} KiB of 1,464; ccl.tensor_kind=hbm holds "
                r"them\n")
        for algorithm, who in (("auto", "any algorithm"), ("ring_1d", "ring_1d")):
            job = (*SMALL, "--algorithm", algorithm, "--no-data", "--bytes")
            done = self.run_pod(*job, "4KiB:64MiB:x4", "--format", "json")
            self.assertRegex(done.stderr, f"^{line % ('left out: ', who)}$")
            self.assertEqual([r["bytes"] for r in json.loads(done.stdout)["runs"]], [4 << 10 << 2 * i for i in range(5)])
            self.assertRegex(self.run_pod(*job, "4MiB:64MiB:x4", expect=2).stderr, f"^{line % ('--bytes: ', who)}$")
        # With tensors in HBM, as the line says; and where the ports of HBM are too small.
        self.assertEqual(len(self.result(*job, "4MiB", *harness.sets("ccl.tensor_kind=hbm"))["runs"]), 1)
        small = self.run_pod(*job, "4MiB:64MiB:x4", *harness.sets("ccl.tensor_kind=hbm", "hbm.port_mib=1"), expect=2)
        self.assertRegex(small.stderr, r"^--bytes: 4 MiB to 64 MiB do not fit the HBM port with ring_1d: needs [\d,]+ KiB of ")

    def test_algorithms_that_cannot_run_are_a_line_each(self):
        stderr = self.run_pod(*SMALL, "--algorithm", "all", "--bytes", "1KiB:4KiB").stderr
        self.assertEqual(stderr.count("left out: in_network of 1 KiB to 4 KiB: noc.multicast"), 1)
        self.assertEqual(stderr.count("in_network"), 1)

    def test_quiet(self):
        done = self.run_pod(*self.JOB, "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))


class UnreadKeys(harness.Case):
    def test_unread_keys_are_listed(self):
        row = self.result(*SMALL, *harness.sets("pod.sips=1", "sip_link.latency_ns=7", "ucie.modules=2"))
        self.assertIn("sip_link.latency_ns", row["unread_keys"])
        self.assertNotIn("pod.sips", row["unread_keys"])
        self.assertNotIn("ucie.modules", row["unread_keys"])
        done = self.run_pod(*SMALL, *harness.sets("pod.sips=1", "sip_link.latency_ns=7"))
        self.assertIn("note: this machine does not read sip_link.latency_ns\n", done.stdout)
        self.assertEqual(self.result(*SMALL)["unread_keys"], [])

    def test_lists_are_keys_too(self):
        lists = harness.sets('faults=[{"kind":"dead_pe","where":"pod.sip0.cube_0_0.pe0","after":1000000}]',
                             'overrides=[{"match":"*ucie*","set":{"modules":1}}]',
                             'ccl.algorithms={"ring_1d":{"pattern":"ring_1d"}}')
        self.assertEqual(self.result(*SMALL, *lists, "--bytes", "64")["unread_keys"], [])
        done = subprocess.run([HBM, "--requests", "100", *lists, "--format", "json"], capture_output=True, text=True,
                              check=True)
        self.assertEqual([k for k in json.loads(done.stdout)["unread_keys"] if "." not in k or k.startswith("ccl.")],
                         ["ccl.algorithms", "faults", "overrides"])
        done = subprocess.run([HBM, "--requests", "100", *lists], capture_output=True, text=True, check=True)
        self.assertIn("note: this machine does not read ccl.algorithms, faults, overrides", done.stdout)

    def test_studies_say_that_they_leave_out_the_overrides_of_a_file(self):
        """A block in a file may be meant for others; a list of what is broken is meant for this very machine."""
        broken = self.file("broken.json", json.dumps({"hbm": {"ports": 4}, "overrides": [
            {"match": "*.hbm1", "set": {"enabled": False}}]}))
        for study, job in ((HBM, ("--requests", "100")), (NOC, ("--rate", "0.02", "--cycles", "500"))):
            done = subprocess.run([study, "--config", broken, *job], capture_output=True, text=True, check=True)
            self.assertIn("note: this machine does not read overrides\n", done.stdout, study)


class Information(harness.Case):
    def text(self, *arguments):
        done = self.run_pod(*arguments)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_dumped_config_runs_identically(self):
        options = harness.sets("ccl.root=corner", "ipcq.n_slots=3", "noc.preset=lean", "ucie.gt_s=12.5")
        dumped = self.text(*SMALL, *options, "--dump-config")
        path = self.file("dumped.json", dumped)
        self.assertEqual(self.text("--config", path, "--dump-config"), dumped)
        job = ("--algorithm", "all", "--bytes", "4KiB")
        first, again = self.result(*SMALL, *options, *job), self.result("--config", path, *job)
        self.assertEqual(again["config_sha256"], first["config_sha256"])
        key = [(r["algorithm"], r["time_ns"], r["fingerprint"]) for r in first["runs"]]
        self.assertEqual([(r["algorithm"], r["time_ns"], r["fingerprint"]) for r in again["runs"]], key)
        self.run_pod(*SMALL, *options, *job, "--out", "out")
        self.assertEqual((self.folder / "out" / "config.json").read_text(), dumped)

    def test_schema_names_every_key(self):
        schema = json.loads(self.text("--schema"))
        self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
        dumped = json.loads(self.text(*SMALL, "--dump-config"))
        for block, keys in dumped.items():
            if not isinstance(keys, dict):
                continue
            for key in keys:
                entry = schema["properties"][block]["properties"][key]
                self.assertTrue(entry["description"], f"{block}.{key}")

    def test_lists(self):
        for what, names in (("algorithms", ("ring_1d", "ring_1d_unidir", "ring_full_tile", "intercube")),
                            ("patterns", ("ring_1d", "intercube")),
                            ("mappers", ("all_pes", "cube_leaders", "leader_only")),
                            ("presets", ("rebel100", "HBM3_6400", "seed_ucie", "lean"))):
            words = self.text("--list", what).split()
            for name in names:
                self.assertIn(name, words, what)

    def test_listed_algorithms_run(self):
        rows = [line.split() for line in self.text("--list", "algorithms").splitlines()[1:]]
        for row in rows:
            size = () if row[0] == "barrier" else ("--bytes", "1KiB")
            routers = ("--set", "noc.multicast=true", "--set", "noc.reduce=true")  # some algorithms need them
            self.one(*SMALL, *routers, "--collective", row[0], "--algorithm", row[1], *size)

    def test_map_has_no_overlap(self):
        trees = ("--set", "noc.multicast=true", "--set", "noc.reduce=true")
        lines = self.text(*SMALL, *trees, "--print-map").splitlines()[1:]
        ranges = [(int(a, 16), int(b, 16)) for a, b in (line.split()[:2] for line in lines)]
        # A cube: TCM, registers and two mailboxes of 4 PEs, the SRAM, 4 HBM ports, its CPU; a SIP: its IO CPU and the
        # host's memory; two trees.
        self.assertEqual(len(ranges), 4 * (4 * 4 + 1 + 4 + 1) + 2 * 2 + 2)
        self.assertEqual(ranges[:-2], sorted(ranges[:-2]))
        self.assertRegex(lines[-1], "tree +routers")
        ranges.sort()
        for (_, last), (first, _) in zip(ranges, ranges[1:]):
            self.assertLess(last, first)

    def test_check_config(self):
        for name in ("pod_default", "small_pod", "seed_machine", "seed_machine_6sip"):
            text = self.text("--config", harness.CONFIGS / f"{name}.json", "--check-config")
            self.assertIn("no cycle", text, name)
        self.assertIn("Balanced: every buffer covers its round trip.", self.text("--check-config"))
        self.assertIn("warning: ", self.text(*SMALL, "--check-config", "--set", "ucie.buffer_flits=20"))

    def test_install_plan_is_disjoint(self):
        lines = self.text(*SMALL, "--dump-install", "--algorithm", "ring_1d").splitlines()
        rings = [int(line.split()[4], 16) for line in lines[2:]]
        self.assertEqual(len(rings), 32)
        self.assertEqual(len(set(rings)), 32)

    def test_version_and_help(self):
        self.assertRegex(self.text("--version"), r"^diecast-pod \d+\.\d+\.\d+\n$")
        self.assertIn("--algorithm", self.text("--help"))
        for page in ("config", "registers", "verdicts", "workload"):
            self.assertTrue(self.text("--doc", page).lstrip().startswith(("#", "<!--")), page)


class Schema(harness.Case):
    def test_schema_accepts_configs_and_refuses_mistakes(self):
        schema = json.loads(self.run_pod("--schema").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        validator.validate(json.loads(self.run_pod(*SMALL, "--dump-config").stdout))
        for bad in ({"pod": {"sips": 0}}, {"pod": {"sipz": 1}}, {"cheese": {}}, {"pe": {"tcm_banks": 1.5}},
                    {"ipcq": {"match": "nobody"}}, {"sim": {"build_order": "shuffle"}}):
            self.assertTrue(list(validator.iter_errors(bad)), bad)

    def test_every_shipped_config_is_valid(self):
        """An editor that uses the schema marks nothing in them."""
        validator = jsonschema.Draft202012Validator(json.loads(self.run_pod("--schema").stdout))
        files = sorted(harness.CONFIGS.rglob("*.json"))
        self.assertGreater(len(files), 20)
        for file in files:
            text = re.sub(r"(^|\s)//.*$", "", file.read_text(), flags=re.MULTILINE)
            self.assertEqual([e.message for e in validator.iter_errors(json.loads(text))], [], file)

    def test_a_config_names_its_schema(self):
        self.file("diecast.schema.json", self.run_pod("--schema").stdout)
        config = self.file("m.json", json.dumps({"$schema": "./diecast.schema.json",
                                                 "extends": str(harness.CONFIGS / "small_pod.json")}))
        self.run_pod("--config", config, "--bytes", "1KiB", "--out", "out")
        self.assertNotIn("$schema", (self.folder / "out" / "config.json").read_text())
        self.assertNotIn("$schema", (self.folder / "out" / "result.json").read_text())


class Help(harness.Case):
    def test_flags_are_in_groups_and_examples_use_them(self):
        for binary in ("pod", "sip", "cube", "noc", "hbm", "bench"):
            path = BIN / f"diecast-{binary}"
            text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
            self.assertTrue(text.startswith(f"diecast-{binary}: "), binary)
            groups = re.findall(r"^([A-Z][\w ]+):$", text, re.MULTILINE)
            self.assertEqual((groups[0], groups[-1]), ("Examples", "Information"), binary)
            self.assertGreaterEqual(len(groups), 4, binary)
            self.assertIn("Exit codes: ", text)
            self.assertLess(max(map(len, text.splitlines())), 100, binary)
            # A flag with a value that may be left out gives its default, where it is not another flag's.
            for flag in re.findall(r"(?m)^  (--(?:format|progress|algorithm|bytes|dtype|op|iters|rate|requests|cycles|runs)) ", text):
                words = re.search(rf"(?ms)^  {flag} .*?(?=^  --|^$)", text)[0]
                self.assertRegex(words, r"\(default:\s", f"{binary} {flag}")
            for group in text.split("\n\n"):
                head, *lines = group.strip("\n").splitlines()
                if head.rstrip(":") in groups[1:]:
                    self.assertTrue(lines and lines[0].startswith("  --"), f"{binary}: {head}")
            examples = re.findall(rf"^  (diecast-{binary} .*)$", text, re.MULTILINE)
            self.assertGreaterEqual(len(examples), 2, binary)
            for example in examples:  # a flag of an example is one of the help
                for flag in re.findall(r" (--[a-z-]+)", example):
                    self.assertRegex(text, rf"(?m)^  {flag}( |$)", example)


class SmallerPlatforms(harness.Case):
    def test_one_package_and_one_die_run_verified(self):
        for binary, cubes, pes in (("sip", 16, 128), ("cube", 1, 8)):
            done = subprocess.run([BIN / f"diecast-{binary}", "--algorithm", "ring_1d", "--bytes", "4KiB", "--format", "json"],
                                  capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            self.assertEqual((document["platform"], document["machine"]),
                             (f"diecast-{binary}", {"sips": 1, "cubes": cubes, "pes": pes}))
            row, = document["runs"]
            self.assert_verified(row)
            self.assertEqual(row["ranks"], pes)


if __name__ == "__main__":
    harness.main()
