# SPDX-License-Identifier: Apache-2.0
"""The diagnosis: every shipped fault is called what it is, a healthy machine healthy, two faults both."""
import json
import os
import time

import harness
from harness import CONFIGS, FAULT_JOBS, PROGRAMS, ROOT, sets

FAULTS = CONFIGS / "faults"
SMALL = ["--config", CONFIGS / "small_pod.json"]

# Configs whose name is not the class: what hides the fault, or what the class is.
CLASS = {"dispatch_wrong_routine": "dispatch_corruption", "bit_flip_ucie": "bit_flip", "bit_flip_chance": "bit_flip", "lost_credit_one": "lost_credit",
         "wrong_install_first_match": "wrong_install", "wrong_install_overlap": "wrong_install",
         "premature_barrier_link": "premature_barrier"}
HIDDEN = {"bit_flip_ucie", "lost_credit_one", "late_credit", "link_degraded", "slow_pe"}
# Where each is, unless at EVERYWHERE_ELSE; of a link, the name of its two ends. Two ranks alone do not show
# premature_barrier, so that no third one can tell which PE it is.
PLACE = {"premature_barrier": "",
         "drop": "pod.sip0.e-sip1.w", "link_down": "pod.sip0.e-sip1.w", "link_degraded": "pod.sip0.cube_0_0.ucie_east",
         "bit_flip_ucie": "pod.sip0.cube_0_0.ucie_east", "infinite_poll": "pod.sip0.cube_1_0.pe0",
         "premature_barrier_link": "pod.sip0.e-sip1.w", "wrong_install_first_match": "pod.sip0.cube_0_0.pe0"}
EVERYWHERE_ELSE = "pod.sip0.cube_1_0.pe2"


# Six SIPs, 3 x 2, of the small pod's cubes and PEs.
TORUS_OF_SMALL = [*SMALL, *sets("pod.sips=6", "pod.topology=torus_2d", "pod.columns=3")]

# Defects of all barriers (ccl.errata), what the diagnosis calls them, and what they need to show.
BARRIER_ERRATA = (("packed_flags", "lost_signal", ["--algorithm", "dissemination", "--ranks", "pe",
                                                   *sets("ccl.barrier_skew_ns=200", "ccl.barrier_repeats=20")]),
                  ("late_counter", "counts_apart", ["--algorithm", "group_dissemination", "--ranks", "sip",
                                                    *sets("ccl.barrier_repeats=20")]))


class Diagnosis(harness.Case):
    def diagnose(self, *arguments, expect=None):
        done = self.run_pod("--diagnose", "--out", "out", "--quiet", *arguments, expect=expect)
        found = json.loads((self.folder / "out" / "diagnosis.json").read_text())
        text = (self.folder / "out" / "diagnosis.txt").read_text()
        self.assertTrue(text.startswith(f"Diagnosis: {found['verdict']} ("), text)
        self.assertLess(text.count("\n"), 80, "more than a page")
        return done, found

    def job_of(self, experiment):
        """The workload that an experiment ran, as the diagnosis has left it."""
        words = experiment["command"].split()
        return json.loads((self.folder / words[words.index("--workload") + 1]).read_text())

    def named(self, *arguments):
        _, found = self.diagnose(*arguments)
        return [f["class"] for f in found["findings"]], found

    def check(self, name):
        job = ["--config", FAULTS / f"{name}.json", *FAULT_JOBS.get(name, [])]
        done, found = self.diagnose(*job)
        plain = self.run_pod(*job, expect=None)
        self.assertEqual(done.code, plain.code, "--diagnose does not exit as the run does")
        self.assertEqual(found["verdict"], CLASS.get(name, name), json.dumps(found["findings"], indent=1)[:3000])
        first = found["findings"][0]
        self.assertEqual(first["where"], PLACE.get(name, EVERYWHERE_ELSE), name)
        self.assertEqual(first["hidden"], name in HIDDEN, name)
        if done.code == 0:  # right as it is: no other way can remove anything
            self.assertNotIn("another algorithm removes it", found["answers"], name)
            self.assertNotIn("staging removes it", found["answers"], name)
        self.assertTrue(first["evidence"])

    @harness.exhaustive
    def test_defects_that_the_default_job_does_not_meet(self):
        """The diagnosis meets them in its own jobs, and says so; the run as given is right."""
        for name, job in (("stale_cache_line", "a few barriers"), ("signal_without_flush", "a few barriers"),
                          ("infinite_poll", "a few barriers"), ("tag_list_race", "messages to each PE in turn")):
            _, found = self.diagnose("--config", FAULTS / f"{name}.json", expect=0)
            first = found["findings"][0]
            said = json.dumps(found["findings"], indent=1)[:3000]
            self.assertEqual((found["verdict"], first["where"]), (name, PLACE.get(name, EVERYWHERE_ELSE)), said)
            self.assertEqual((first["only_in"], first["hidden"]), ([job], False), said)
            self.assertIn(f"not in the job as given, only in: {job}\n", (self.folder / "out" / "diagnosis.txt").read_text())
            self.assertEqual(found["experiments"][0]["exit_code"], 0)

    @harness.exhaustive
    def test_a_degraded_link_is_found_by_jobs_that_load_it(self):
        """Or, where the job as given does not, by one with more bytes."""
        link = "pod.sip0.cube_0_0.ucie_east"
        for factor, job in ((2, ()), (4, ("--bytes", "4KiB")), (8, ("--collective", "all_gather")),
                            (2, ("--bytes", "4KiB", *sets("ipcq.n_slots=2"))),
                            (2, ("--collective", "reduce_scatter", "--algorithm", "pairwise", "--bytes", "1KiB"))):
            self.check_place("link_degraded", {"where": link, "factor": factor}, link, *job)

    def question(self, found, name):
        return next(q for q in found["questions"] if q["id"] == name)

    @harness.cases(1, 2)
    def test_a_fault_that_acts_by_chance_is_stochastic(self, count):
        """Whether the run as given fails or not; what removes it is told from rates."""
        for seed in (1, 2)[:count]:
            fault = json.dumps([{"kind": "bit_flip", "where": "pod.sip0.cube_1_0.pe2", "probability": 0.02, "count": 0,
                                 "seed": seed}])
            _, found = self.diagnose(*SMALL, "--set", f"faults={fault}", "--algorithm", "ring_1d", "--bytes", "16KiB")
            self.assertEqual((found["verdict"], found["determinism"]), ("bit_flip", "stochastic"))
            rate = found["failure_rate"]
            if found["experiments"][0]["wall_s"] < 0.3:  # else time cuts the draws short
                self.assertLessEqual(rate["high"] - rate["low"], 0.3)
            self.assertGreater(rate["draws"], 5)
            self.assertGreater(rate["high"], rate["rate"])
            self.assertLess(rate["low"], rate["rate"])
            self.assertEqual(self.question(found, "checksum")["answer"], "yes")
            for name in ("staging", "split_sendrecv", "algorithm"):
                asked = self.question(found, name)
                self.assertNotEqual(asked["answer"], "yes", asked)
                self.assertEqual(asked["before"], rate)
                self.assertGreater(asked["after"]["draws"], 1)

    @harness.cases(("sendrecv_alias",), ("bit_flip", "sendrecv_alias"))
    def test_what_always_acts_is_deterministic(self, kinds):
        for kind in kinds:
            fault = json.dumps([{"kind": kind, "where": "pod.sip0.cube_1_0.pe2"}])
            _, found = self.diagnose(*SMALL, "--algorithm", "ring_1d", "--bytes", "16KiB", "--set", f"faults={fault}")
            self.assertEqual((found["verdict"], found["determinism"]), (kind, "deterministic"))
            self.assertEqual(found["failure_rate"]["rate"], 1.0)
            split = self.question(found, "split_sendrecv")
            self.assertEqual(split["answer"], "yes" if kind == "sendrecv_alias" else "no")
            self.assertGreaterEqual(split["after"]["draws"], 2)

    def test_every_config_is_checked(self):
        self.assertEqual({f.stem for f in FAULTS.glob("*.json")},
                         {n[len("test_class_"):] for n in dir(self) if n.startswith("test_class_")})

    def test_the_page_has_a_row_for_each(self):
        table = (ROOT / "docs" / "diagnosis.md").read_text().split("<!-- table -->")[1].split("<!-- /table -->")[0]
        rows = [line.split(" | ") for line in table.strip().splitlines()[2:]]
        self.assertEqual([row[0].strip("|` ") for row in rows], sorted(f.stem for f in FAULTS.glob("*.json")))
        for row in rows:
            name = row[0].strip("|` ")
            self.assertIn(f"`{CLASS.get(name, name)}`", row[4])
            self.assertTrue(row[3].strip(), f"{name}: no check sees it")
            self.assertTrue(row[7].strip(" |"), f"{name}: a blank workaround")

    def check_place(self, kind, fault, where, *job):
        """The class and the place of a fault, the first finding of all and the only one of its class."""
        fault = json.dumps([{"kind": kind, **fault}])
        classes, found = self.named(*SMALL, "--set", f"faults={fault}", *job)
        said = f"{fault} {job}: {json.dumps(found['findings'], indent=1)[:3000]}"
        self.assertEqual(classes[:1], [kind], said)
        self.assertEqual([f["where"] for f in found["findings"] if f["class"] == kind], [where], said)
        return found

    @harness.exhaustive
    def test_packets_struck_at_links(self):
        """A link is to blame, not the PEs behind it: which end of the machine the link is at and what runs over it."""
        links = {"pod.sip0.sip_port_e": "pod.sip0.e-sip1.w", "pod.sip1.w-sip0.e": "pod.sip1.w-sip0.e",
                 "pod.sip0.cube_0_0.ucie_east": "pod.sip0.cube_0_0.ucie_east",
                 "pod.sip1.cube_1_0.ucie_w": "pod.sip1.cube_1_0.ucie_west"}
        kinds = {"reorder": [{"after": 4, "delay_ns": 300}], "drop": [{"after": 3}, {"count": 0}],
                 "duplicate": [{"after": 2}, {"count": 0}], "link_down": [{"after": 4}],
                 "late_credit": [{"after": 1, "count": 0, "delay_ns": 20000}], "lost_credit": [{"after": 2, "count": 0}]}
        faults = [(kind, more) for kind, ways in kinds.items() for more in ways]
        for i, (glob, name) in enumerate(links.items()):
            for kind, more in faults[i % 2::2]:  # each once at a link of either sort
                self.check_place(kind, {"where": glob, **more}, name)
            if ".ucie" not in glob:
                self.check_place("bit_flip", {"where": glob, **({"after": 3}, {"count": 0})[i % 2]}, name)

    @harness.exhaustive
    def test_packets_struck_at_links_of_other_algorithms(self):
        struck = (("bit_flip", {}), ("drop", {}), ("reorder", {"delay_ns": 300}))
        for i, algorithm in enumerate(("rabenseifner", "two_level", "tree_binary", "intercube")):
            for kind, more in (struck[i % 3], struck[(i + 1) % 3]):
                self.check_place(kind, {"where": "pod.sip0.sip_port_e", **more}, "pod.sip0.e-sip1.w", "--algorithm", algorithm)

    @harness.exhaustive
    def test_a_link_that_only_another_algorithm_shows_is_placed(self):
        """A single packet that is late and has none behind it: the run as given is right, rings are not."""
        link = "pod.sip0.e-sip1.w"
        found = self.check_place("reorder", {"where": link, "after": 1, "delay_ns": 300}, link, *TORUS_OF_SMALL[2:],
                                 *sets("sip.rows=2"), "--bytes", "8KiB", "--algorithm", "two_level")
        self.assertEqual(found["experiments"][0]["exit_code"], 0)

    @harness.exhaustive
    def test_packets_struck_at_other_pes(self):
        faults = (("bit_flip", {"after": 2}), ("drop", {"after": 2}), ("duplicate", {"after": 2}),
                  ("reorder", {"after": 2, "delay_ns": 300}), ("late_credit", {"delay_ns": 20000}), ("lost_credit", {"count": 0}),
                  ("dispatch_corruption", {}), ("dead_pe", {"after": 5}), ("slow_pe", {"factor": 8}),
                  ("sendrecv_alias", {"after": 2}), ("token_before_data", {"count": 0, "delay_ns": 2000}))
        for i, pe in enumerate(("pod.sip0.cube_0_0.pe0", "pod.sip1.cube_1_0.pe3")):
            for kind, more in faults[i::2]:
                self.check_place(kind, {"where": pe, **more}, pe)
            # The last PE is a leaf of the tree: it has one ring, which nothing can be swapped with.
            for algorithm in ("ring_1d", "rabenseifner", *(["tree_binary"] if pe.endswith("pe0") else [])):
                self.check_place("wrong_install", {"where": pe, "how": "swap"}, pe, "--algorithm", algorithm)

    @harness.exhaustive
    def test_a_place_in_a_second_row_is_spelled_as_in_configs(self):
        """Cubes are numbered in complaints, and named by column and row in configs."""
        pe = "pod.sip0.cube_1_1.pe1"
        self.check_place("dispatch_corruption", {"where": pe}, pe, *sets("sip.rows=2"))

    @harness.exhaustive
    def test_many_late_credits_are_late(self):
        for where in ("pod.sip*", "pod.sip0.cube*.pe*"):
            classes, found = self.named(*SMALL, "--set", "faults=" + json.dumps(
                [{"kind": "late_credit", "where": where, "delay_ns": 20000, "count": 0}]))
            self.assertEqual(set(classes), {"late_credit"}, json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_a_late_first_packet_of_the_only_slot_is_late(self):
        pe = "pod.sip0.cube_1_0.pe2"
        self.check_place("reorder", {"where": pe, "after": 4, "delay_ns": 300}, pe, *sets("ipcq.n_slots=1"))

    @harness.exhaustive
    def test_a_link_that_holds_tag_matched_messages_is_down(self):
        halo = ["--workload", ROOT / "platforms" / "workloads" / "halo_exchange.json"]
        self.check_place("link_down", {"where": "pod.sip0.sip_port_e", "after": 10}, "pod.sip0.e-sip1.w", *halo)
        ucie = "pod.sip0.cube_0_0.ucie_east"
        self.check_place("link_down", {"where": ucie, "after": 10}, ucie, *halo)

    @harness.exhaustive
    def test_sizes(self):
        def fault(text, *more):
            return self.named(*SMALL, "--set", f"faults=[{text}]", *more)[0]
        self.assertEqual(fault('{"kind":"drop","where":"pod.sip1.cube_0_0.pe1","after":9}')[0], "drop")
        self.assertEqual(fault('{"kind":"bit_flip","where":"pod.sip0.sip_port_e","seed":9}', "--bytes", "4KiB")[0], "bit_flip")
        # At several PEs it has no one place.
        self.assertEqual(fault('{"kind":"sendrecv_alias","where":"pod.sip1.*","after":20}')[0], "sendrecv_alias")

    @harness.exhaustive
    def test_defects_of_barriers_in_other_places(self):
        barrier = ["--config", CONFIGS / "barrier_small.json", "--collective", "barrier"]
        quick = sets("sim.watchdog_us=40")
        for kind, algorithm, where in (("stale_cache_line", "centralized_pull", "pod.sip1.cube_2_1.pe0"),
                                       ("signal_without_flush", "group_dissemination", "pod.sip1.cube_0_0.pe3")):
            fault = json.dumps([{"kind": kind, "where": where}])
            classes, found = self.named(*barrier, *quick, "--algorithm", algorithm, "--set", f"faults={fault}")
            self.assertEqual(classes[0], kind, json.dumps(found["findings"], indent=1)[:3000])
            self.assertEqual(found["findings"][0]["where"], where)
        # A barrier that lets go too early is the class itself.
        classes, _ = self.named(*barrier, "--team", "0:1:6", "--algorithm", "group_dissemination", *sets(
            "ccl.errata=no_round_barrier", "ccl.barrier_skew_ns=20000", "ccl.barrier_radix=3", "ccl.barrier_repeats=20"))
        self.assertEqual(classes[0], "premature_barrier")

    def test_a_healthy_barrier_is_healthy(self):
        _, found = self.diagnose("--config", CONFIGS / "barrier_small.json", "--collective", "barrier", expect=0)
        self.assertEqual(found["verdict"], "healthy", json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_credits_over_long_links_are_not_late(self):
        """The ring closes over SIP links; most credits come from the next PE."""
        _, found = self.diagnose(*SMALL, *sets("sip_link.latency_ns=1500"), expect=0)
        self.assertEqual(found["verdict"], "healthy", json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_faults_of_tag_matched_messages(self):
        halo = [*SMALL, "--workload", ROOT / "platforms" / "workloads" / "halo_exchange.json"]
        for kind in ("bit_flip", "reorder", "drop", "duplicate"):
            fault = json.dumps([{"kind": kind, "where": "pod.sip0.cube_1_0.pe2", "after": 1, "count": 3}])
            _, found = self.diagnose(*halo, "--set", f"faults={fault}")
            self.assertEqual(found["verdict"], kind, json.dumps(found["findings"], indent=1)[:3000])
            self.assertNotIn("token_before_data", [f["class"] for f in found["findings"]])

    @harness.cases(1, 7)
    def test_two_faults_are_both_named(self, count):
        pairs = [("slow_pe", "bit_flip"), ("dispatch_corruption", "link_degraded"), ("dead_pe", "slow_pe"),
                 ("sendrecv_alias", "late_credit"), ("bit_flip", "token_before_data"),
                 ("sendrecv_alias", "token_before_data"), ("drop", "duplicate")]
        for pair in pairs[:count]:
            faults = []
            for name in pair:
                dump = self.run_pod("--config", FAULTS / f"{name}.json", "--dump-config").stdout
                faults += json.loads(dump)["faults"]
            if pair[0] == "dead_pe":
                faults[1]["where"] = "pod.sip1.cube_0_0.pe1"
            classes, found = self.named(*SMALL, "--set", "faults=" + json.dumps(faults))
            self.assertTrue(set(pair) <= set(classes), f"{pair}: {json.dumps(found['findings'], indent=1)[:3000]}")

    @harness.exhaustive
    def test_a_fault_that_ends_the_run_hides_no_other_one(self):
        """One of each kind of pair; scripts/diagnose_faults --campaign draws more."""
        for pair in (("drop", "token_before_data"), ("reorder", "premature_barrier"), ("lost_credit", "sendrecv_alias"),
                     ("link_down", "late_credit"), ("dead_pe", "premature_barrier"), ("reorder", "lost_credit"),
                     ("drop", "link_down")):
            faults = [self.fault_of(name) for name in pair]
            faults[1]["where"] = "pod.sip1.cube_0_0.pe1" if ".pe" in faults[1]["where"] else "pod.sip1.cube_0_0.ucie_east"
            classes, found = self.named(*SMALL, "--set", "faults=" + json.dumps(faults))
            self.assertTrue(set(pair) <= set(classes), f"{pair}: {json.dumps(found['findings'], indent=1)[:3000]}")

    def fault_of(self, name):
        return json.loads(self.run_pod("--config", FAULTS / f"{name}.json", "--dump-config").stdout)["faults"][0]

    def test_losses_of_larger_messages_are_found(self):
        """Messages of 4 KiB have time to come through; those of another queue pair follow at once, one at a time or not."""
        where = "pod.sip1.cube_1_0.ucie_west"
        found = self.check_place("premature_barrier", {"where": where, "delay_ns": 2000, "count": 0}, where, "--algorithm",
                                 "double_binary_tree", "--bytes", "4KiB")
        self.assertIn("the collective with 65536 bytes", found["findings"][0]["only_in"])

    def test_what_only_another_algorithm_or_draw_shows_has_its_class(self):
        """Both runs as given are right: mesh_2d hangs over the link, and one draw in some loses a credit."""
        for fault, where, job in (
                ({"kind": "premature_barrier", "where": "pod.sip1.sip_port_w", "delay_ns": 2000, "count": 0}, "pod.sip1.w-sip0.e",
                 ("two_level", "16KiB")),
                ({"kind": "lost_credit", "where": "pod.sip0.cube_1_0.pe1", "seed": 161, "count": 0, "probability": 0.02},
                 "pod.sip0.cube_1_0.pe1", ("double_binary_tree", "4KiB"))):
            found = self.check_place(fault.pop("kind"), fault, where, "--algorithm", job[0], "--bytes", job[1])
            self.assertEqual(found["experiments"][0]["exit_code"], 0)

    @harness.exhaustive
    def test_early_reads_are_told_apart_in_every_algorithm(self):
        """With short delays and long ones; where nothing is read too early the run is right."""
        met = 0
        early = (("premature_barrier", "4KiB", 200), ("token_before_data", "64KiB", 20000),
                 ("premature_barrier", "64KiB", 20000), ("token_before_data", "4KiB", 200))
        for i, algorithm in enumerate(("rabenseifner", "recursive_doubling", "hierarchical_3level", "two_level", "intercube",
                                       "swing", "direct_one_shot", "tree_binary")):
            for kind, size, delay in early[:2] if i % 2 else early[2:]:
                pe = "pod.sip0.cube_1_0.pe" + ("0" if algorithm == "intercube" else "2")
                fault = json.dumps([{"kind": kind, "where": pe, "delay_ns": delay, "count": 0}])
                done, found = self.diagnose(*SMALL, "--algorithm", algorithm, "--bytes", size, "--set", f"faults={fault}")
                met += done.code != 0
                at = f"{algorithm} {kind} {size} {delay}: {json.dumps(found['findings'], indent=1)[:3000]}"
                # Where the algorithm as given does not meet it, another one may.
                self.assertIn(found["verdict"], (kind,) if done.code else (kind, "healthy"), at)
        self.assertGreater(met, 12, "the faults hardly ever act: this tests nothing")

    @harness.exhaustive
    def test_a_link_that_few_packets_met_is_named_rightly(self):
        """Right results, for nothing came after what was lost: other jobs of the diagnosis show what it is."""
        link = "pod.sip1.cube_0_0.ucie_east"
        for kind, job in (("lost_credit", ("--collective", "reduce_scatter", "--algorithm", "pairwise", "--bytes", "1KiB")),
                          ("link_down", ("--collective", "gather", "--algorithm", "linear", "--bytes", "16KiB"))):
            found = self.check_place(kind, {"where": link}, link, *job)
            self.assertEqual(found["experiments"][0]["exit_code"], 0)

    @harness.exhaustive
    def test_wrong_results_of_another_algorithm_are_looked_into(self):
        pe = "pod.sip0.cube_1_0.pe2"
        found = self.check_place("premature_barrier", {"where": pe, "delay_ns": 20000, "count": 0}, pe,
                                 "--algorithm", "hierarchical_3level")
        self.assertEqual(found["experiments"][0]["exit_code"], 0)
        self.assertEqual(found["findings"][0]["only_in"], ["the collective with ring_1d"])
        # Of that algorithm, not of the one given: its flags do not change it.
        self.assertNotIn("in the collective with ring_1d: fewest bytes that show it", found["answers"])

    @harness.exhaustive
    def test_wrong_results_of_a_large_machine_are_classed(self):
        fault = json.dumps([{"kind": "sendrecv_alias", "where": "pod.sip0.cube_2_3.pe5", "after": 2}])
        _, found = self.diagnose("--config", CONFIGS / "pod_default.json", *sets("pod.sips=1"), "--bytes", "1MiB", "--set",
                                 f"faults={fault}")
        self.assertEqual(found["verdict"], "sendrecv_alias", json.dumps(found["findings"], indent=1)[:3000])
        # A machine on which the job takes less than 2 s (examine_cheap_part) needs no part of it.
        part = "ranks 112 to 127" if found["experiments"][0]["wall_s"] >= 2 else None
        self.assertEqual(found["answers"].get("examined by the following experiments"), part)
        ended = {e["name"] for e in found["experiments"] if not e["timed_out"]}
        self.assertFalse(ended & set(found["not_tried"]))

    @harness.exhaustive
    def test_a_config_for_barriers_gets_one(self):
        """Alone; its defect is met in platforms/workloads/team_after_team.json only."""
        _, found = self.diagnose("--config", CONFIGS / "barrier_reused_slot.json", expect=0)
        self.assertEqual(found["verdict"], "healthy", json.dumps(found["findings"], indent=1)[:3000])
        self.assertTrue(found["answers"]["job"].startswith("a barrier: "))
        for experiment in found["experiments"]:
            of_its_own = "--workload out/diagnosis_job" in experiment["command"]
            self.assertNotEqual("--collective barrier" in experiment["command"], of_its_own, experiment)
        # Messages alone have no barrier: its refusal is said, and is no finding.
        self.assertIn("is refused: ccl.errata", found["answers"]["messages to each PE in turn"])

    @harness.exhaustive
    def test_the_simulators_children_alone_get_the_faults(self):
        fault = 'faults=[{"kind":"slow_pe","where":"pod.sip0.cube_0_0.pe0"}]'
        for words in (("--set", fault), (f"--set={fault}",)):
            _, found = self.diagnose(*SMALL, *words, *sets("pe.dma_startup_cycles=41"))
            self.assertEqual(found["verdict"], "slow_pe")  # they did get it
            for experiment in found["experiments"]:
                self.assertNotIn("faults", experiment["command"])
                self.assertIn("pe.dma_startup_cycles=41", experiment["command"])
            self.assertNotIn("faults=", (self.folder / "out" / "diagnosis.txt").read_text())

    @harness.exhaustive
    def test_the_fewest_bytes_are_asked_for(self):
        fault = '[{"kind":"bit_flip","where":"pod.sip0.cube_0_0.pe1","after":9}]'
        _, found = self.diagnose(*SMALL, "--set", f"faults={fault}", "--bytes", "64KiB")
        fewest = int(found["answers"]["fewest bytes that show it"])
        self.assertIn(fewest, (65536, 8192, 1024, 128))
        tried = {e["name"]: e["exit_code"] for e in found["experiments"] if e["name"].endswith(" bytes")}
        self.assertTrue(tried)
        self.assertEqual(min([65536] + [int(n.split()[0]) for n, code in tried.items() if code == 1]), fewest)
        vanished = [n for n, code in tried.items() if code == 0]
        self.assertTrue(found["answers"]["depends on the size"].startswith("yes" if vanished else "not"))

    @harness.exhaustive
    def test_a_hang_by_count_and_route_is_said_to_be_one(self):
        _, found = self.diagnose("--config", FAULTS / "premature_barrier_link.json")
        answers = found["answers"]
        self.assertEqual(answers["depends on the number of messages in flight"], "yes: right with one at a time")
        self.assertTrue(answers["depends on the size"].startswith("yes: "), answers)
        self.assertTrue(answers["depends on the route"].startswith("yes: right "), answers)
        self.assertIn("staged through host memory", answers["depends on the route"])
        # The link is between SIPs: no half of the ranks crosses it.
        ranks = answers["fewest ranks that show it"]
        self.assertTrue(ranks.startswith("2 (pe "), ranks)

    @harness.exhaustive
    def test_a_link_between_any_two_sips_is_found_by_two_ranks(self):
        """Links that neither the middle of the ranks nor their ends cross: X and Y of a torus of six, and its wrap."""
        torus = [*TORUS_OF_SMALL, "--algorithm", "ring_1d"]
        for link, ranks in (("pod.sip0.e-sip1.w", "0, 8"), ("pod.sip4.w-sip3.e", "24, 32"), ("pod.sip2.e-sip0.w", None)):
            fault = json.dumps([{"kind": "bit_flip", "where": link, "count": 0}])
            _, found = self.diagnose(*torus, "--set", f"faults={fault}", "--bytes", "4KiB")
            fewest = found["answers"]["fewest ranks that show it"]
            self.assertTrue(fewest.startswith("2 (pe "), f"{link}: {found['answers']}")
            if ranks:
                self.assertEqual(fewest, f"2 (pe {ranks})")
            self.assertTrue(found["answers"]["depends on the route"].startswith("yes: right "), link)

    @harness.exhaustive
    def test_the_fewest_ranks_are_asked_for(self):
        fault = json.dumps([{"kind": "dead_pe", "where": "pod.sip1.cube_0_0.pe1", "after": 5}])
        _, found = self.diagnose(*SMALL, "--set", f"faults={fault}")
        self.assertEqual(found["answers"]["fewest ranks that show it"], "2 (pe 8, 9)")
        # Without the PE it does not show, which is no matter of routes.
        self.assertNotIn("rank", found["answers"]["depends on the route"])
        # Every job that was tried is left, and its command names it.
        tried = [e for e in found["experiments"] if " ranks: " in e["name"]]
        self.assertGreaterEqual(len(tried), 4)
        for e in tried:
            workload = self.job_of(e)
            self.assertEqual(len(workload["groups"]["tried"]["list"]), int(e["name"].split()[0]))
            self.assertNotIn("faults", json.dumps(workload))

    @harness.exhaustive
    def test_another_transport_is_asked_for(self):
        transport = "another transport removes it"
        _, found = self.diagnose("--config", FAULTS / "dead_pe.json")
        self.assertEqual(found["answers"][transport], "no: the same (tag-matched messages)")
        _, found = self.diagnose("--config", FAULTS / "sendrecv_alias.json")
        self.assertEqual(found["answers"][transport], "yes (tag-matched messages)")
        _, found = self.diagnose("--config", FAULTS / "tag_list_race.json", *FAULT_JOBS["tag_list_race"])
        self.assertEqual(found["answers"][transport], "yes (queue pairs)")
        # Packets of data are struck among messages, too; and some PEs may be missing.
        _, found = self.diagnose("--config", FAULTS / "bit_flip.json")
        self.assertTrue(found["answers"][transport].startswith("no: "), found["answers"][transport])
        missing = json.dumps([{"match": "pod.sip1.cube_1_0.pe3", "set": {"enabled": False}}])
        for name, answer in (("dead_pe", "no: the same (tag-matched messages)"), ("tag_list_race", "yes (queue pairs)")):
            _, found = self.diagnose("--config", FAULTS / f"{name}.json", *FAULT_JOBS.get(name, []), "--set",
                                     f"overrides={missing}")
            self.assertEqual(found["answers"][transport], answer, name)
        # Barriers go by neither; and no refusal tells of what is withheld.
        _, found = self.diagnose("--config", FAULTS / "stale_cache_line.json", "--collective", "barrier")
        self.assertNotIn(transport, found["answers"])
        workload = ROOT / "platforms" / "workloads" / "barriers_and_all_reduces.json"
        fault = json.dumps([{"kind": "stale_cache_line", "where": "pod.sip0.cube_1_0.pe2"}])
        _, found = self.diagnose(*SMALL, "--workload", workload, "--set", f"faults={fault}", *sets("sim.watchdog_us=40"))
        self.assertNotIn("faults", json.dumps(found))

    @harness.exhaustive
    def test_the_history_of_a_workload_is_asked_for(self):
        drop = json.dumps([{"kind": "drop", "where": "pod.sip0.cube_1_0.pe2", "after": 1, "count": 3}])
        _, found = self.diagnose(*SMALL, "--workload", ROOT / "platforms" / "workloads" / "halo_exchange.json", "--set",
                                 f"faults={drop}")
        self.assertEqual(found["answers"]["in four rounds of the workload"], "the same")
        left = self.job_of(next(e for e in found["experiments"] if e["name"] == "four rounds of the workload"))
        self.assertEqual([s["repeat"] for s in left["streams"]], [16])  # it has four
        _, found = self.diagnose(*SMALL, "--workload", PROGRAMS / "chain_4.xml")
        self.assertEqual(found["answers"]["in four rounds of the workload"], "skipped: the workload is not a JSON file with streams")

    @harness.exhaustive
    def test_a_lost_message_is_no_circle_and_a_circle_is_one(self):
        _, found = self.diagnose(*SMALL, "--workload", PROGRAMS / "receive_before_send.json")
        self.assertEqual(found["verdict"], "deadlock_cycle", json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_a_message_on_the_wrong_queue_pair_is_not_lost(self):
        ring_of_two = sets("pod.sips=1", "sip.columns=2", "sip.rows=1", "ipcq.match=sender")
        classes, found = self.named(*ring_of_two, "--algorithm", "ring_1d", "--ranks", "cube", "--bytes", "16KiB")
        self.assertEqual(found["verdict"], "miscounted_message", json.dumps(found["findings"], indent=1)[:3000])
        self.assertEqual(set(classes), {"miscounted_message"})

    @harness.exhaustive
    def test_defects_of_all_barriers_have_their_classes(self):
        barrier = ["--config", CONFIGS / "barrier_small.json", "--collective", "barrier"]
        for errata, verdict, more in BARRIER_ERRATA:
            _, found = self.diagnose(*barrier, *sets(f"ccl.errata={errata}", "sim.watchdog_us=40"), *more)
            self.assertEqual(found["verdict"], verdict, json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_what_is_withheld_is_said_to_be(self):
        again = "have to be given again"
        self.diagnose("--config", FAULTS / "slow_pe.json")
        self.assertNotIn(again, (self.folder / "out" / "diagnosis.txt").read_text())
        self.diagnose(*SMALL, "--set", 'faults=[{"kind":"slow_pe","where":"pod.sip0.cube_0_0.pe0"}]')
        self.assertIn(again, (self.folder / "out" / "diagnosis.txt").read_text())

    @harness.exhaustive
    def test_it_says_how_long_it_may_take(self):
        _, found = self.diagnose(*SMALL, "--bytes", "4KiB", "--vcd", "w.vcd", "--vcd-window", "1:2", "--timeline",
                                 "t.json", "--timeline-scope", "*")
        self.assertEqual(found["verdict"], "healthy")
        self.assertEqual(found["not_tried"], [])
        self.assertLess(found["wall_s"], found["budget_s"])

    def test_it_looks_into_one_run_and_leaves_its_files(self):
        for wrong, says in ((("--algorithm", "all"), "all algorithms"), (("--bytes", "4KiB:16KiB"), "3 sizes"),
                            (("--algorithm", "ring_1d,intercube"), "2 algorithms")):
            done = self.run_pod(*SMALL, "--diagnose", *wrong, expect=2)
            self.assertIn(f"--diagnose: examines one run (value {says}", done.stderr)
        done = self.run_pod(*SMALL, "--diagnose", "--format", "csv", expect=2)
        self.assertIn("--format: is not available for a diagnosis (value csv; expected table, which is text, or json)", done.stderr)
        self.run_pod(*SMALL, "--diagnose", "--bytes", "4KiB")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["diagnosis"])
        found = json.loads((self.folder / "diagnosis" / "diagnosis.json").read_text())
        jobs = [w for e in found["experiments"] for w in e["command"].split() if "diagnosis_job" in w]
        self.assertTrue(jobs)
        for job in jobs:  # commands can be repeated from where the program was started
            self.assertTrue((self.folder / job).exists(), job)

    def test_a_command_line_may_have_files_and_is_told_that_they_are_left_out(self):
        done = self.run_pod(*SMALL, "--diagnose", "--bytes", "4KiB", "--vcd", "w.vcd", "--timeline", "t.json", "--record",
                            "r.txt", "--double-run")
        self.assertIn("--diagnose leaves out --vcd, --timeline, --record, --double-run", done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() ], ["diagnosis"])
        found = json.loads((self.folder / "diagnosis" / "diagnosis.json").read_text())
        self.assertEqual(found["verdict"], "healthy")
        self.assertNotIn("checksums see it", found["answers"])  # a healthy machine is asked nothing about faults

    def test_verdicts_that_cannot_be_written_cost_no_experiment(self):
        self.file("diagnosis", "notes")
        self.assertIn("--out diagnosis: cannot create this directory", self.run_pod(*SMALL, "--diagnose", expect=5).stderr)
        self.assertEqual((self.folder / "diagnosis").read_text(), "notes")

    def test_a_trace_on_stderr_is_no_complaint(self):
        os.environ["DIECAST_CCL_TRACE"] = "1"
        self.addCleanup(os.environ.pop, "DIECAST_CCL_TRACE")
        _, found = self.diagnose("--config", FAULTS / "bit_flip.json", *sets("comm.checksum=crc32c"))
        self.assertEqual(found["verdict"], "bit_flip")

    def test_interrupted_it_leaves_a_diagnosis_and_nothing_else(self):
        os.environ["TMPDIR"] = str(self.folder / "tmp")
        self.addCleanup(os.environ.pop, "TMPDIR")
        (self.folder / "tmp").mkdir()
        process = self.start(*self.command("--diagnose", "--out", "out", "--bytes", "1MiB", "--algorithm", "ring_1d",
                                           "--ranks", "pe", "--quiet"))
        while not list((self.folder / "tmp").glob("*/run0")):  # the first experiment, minutes long
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.terminate()
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 143)
        self.assertIn("interrupted: the diagnosis is of the experiments made until then", done.stderr)
        found = json.loads((self.folder / "out" / "diagnosis.json").read_text())
        self.assertEqual(found["verdict"], "interrupted")
        self.assertEqual([e["timed_out"] for e in found["experiments"]], [True])
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])


class Shipped(harness.Case):
    """Every machine that is shipped for this program is healthy, the seed machines with a rank per cube, and known to be
    so within the time."""

    @harness.exhaustive
    def test_every_config(self):
        others = {"hbm_reference", "noc_default", "noc_reference", "wormhole_noc"}  # of other programs
        configs = {c.stem: c for c in CONFIGS.glob("*.json")}
        self.assertLess(others, set(configs))
        for name, config in sorted((name, config) for name, config in configs.items() if name not in others):
            # Of the large ones one shows what a ring of all PEs takes; a rank of the rings of chips is a SIP.
            job = ["--ranks", "cube"] if name.startswith("seed_machine") else ["--ranks", "sip"] if "loudbox" in name else []
            done = self.run_pod("--config", config, *job, "--diagnose", "--format", "json", expect=None)
            found = json.loads(done.stdout)
            self.assertEqual((found["verdict"], done.code), ("healthy", 0), name)
            self.assertLess(found["wall_s"], 120, name)


class Healthy(harness.Case):
    @harness.exhaustive
    def test_workloads_and_barriers(self):
        workload = ROOT / "platforms" / "workloads" / "tensor_and_data_parallel.json"
        for job in (["--workload", workload], ["--collective", "barrier"]):
            done = self.run_pod(*SMALL, "--diagnose", *job, "--format", "json")
            found = json.loads(done.stdout)
            self.assertEqual((found["verdict"], found["healthy"]), ("healthy", True), done.stdout[:3000])
            for experiment in found["experiments"]:
                self.assertNotIn("--bytes", experiment["command"])

    @harness.exhaustive
    def test_small_packets_that_share_a_link_do_not_degrade_it(self):
        """Each of these was called degraded: two flits of data, and a token or a credit between them."""
        for job in (("gather", "linear", "1KiB"), ("gather", "linear", "256", "noc.flit_bytes=128"),
                    ("all_to_all", "direct", "512", "noc.flit_bytes=128"), ("all_to_all", "mesh_steps", "512"),
                    ("all_to_all", "mesh_steps", "1KiB", "ipcq.slot_bytes=1024"),
                    ("all_reduce", "direct_one_shot", "64", "ucie.modules=2"), ("reduce", "packed_trees", "128"),
                    ("all_reduce", "direct_two_shot", "2KiB", "noc.flit_bytes=128"),
                    ("reduce_scatter", "recursive_halving", "128", "noc.flit_bytes=128")):
            collective, algorithm, size, *keys = job
            found = self.result(*SMALL, "--collective", collective, "--algorithm", algorithm, "--bytes", size, *sets(*keys),
                                "--diagnose")
            self.assertEqual(found["verdict"], "healthy", f"{job}: {json.dumps(found['findings'], indent=1)[:3000]}")

    def test_a_cube_without_memory_channels_runs_no_barriers(self):
        """The diagnosis's own barriers need one; that says nothing about the job."""
        missing = sets('overrides=[{"match":"pod.sip0.cube_0_0.hbm*","set":{"enabled":false}}]')
        found = self.result(*SMALL, *missing, "--bytes", "1KiB", "--diagnose")
        self.assertEqual(found["verdict"], "healthy", json.dumps(found["findings"], indent=1)[:3000])

    @harness.exhaustive
    def test_ten_seeds(self):
        for seed in range(1, 11):
            done = self.run_pod(*SMALL, "--diagnose", "--seed", seed, "--bytes", "8KiB", "--format", "json")
            found = json.loads(done.stdout)
            self.assertEqual((found["verdict"], found["healthy"]), ("healthy", True), done.stdout[:3000])


IN_SHORT = {"bit_flip", "lost_credit", "dead_pe"}  # one of each outcome: wrong data, a credit less, a PE less


def add_class(name):
    def test(self):
        self.check(name)
    setattr(Diagnosis, f"test_class_{name}", test if name in IN_SHORT else harness.exhaustive(test))


for config in ("bit_flip", "bit_flip_chance", "bit_flip_ucie", "drop", "duplicate", "reorder", "lost_credit", "lost_credit_one",
               "late_credit", "link_down", "link_degraded", "token_before_data", "slow_pe", "dead_pe",
               "wrong_install", "wrong_install_first_match", "wrong_install_overlap", "sendrecv_alias",
               "dispatch_corruption", "dispatch_wrong_routine", "tag_list_race",
               "stale_cache_line", "signal_without_flush", "infinite_poll", "premature_barrier", "premature_barrier_link"):
    add_class(config)


if __name__ == "__main__":
    harness.main()
