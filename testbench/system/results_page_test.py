# SPDX-License-Identifier: Apache-2.0
"""docs/results.md names every field and column of result files, and no other."""
import csv
import json
import re
import sys

import harness

sys.path.insert(0, str(harness.ROOT / "python"))
from diecast.results import COLUMNS  # noqa: E402

PAGE = harness.ROOT / "docs" / "results.md"
NETWORK = harness.sets("noc.multicast=true", "noc.reduce=true")
WORKLOADS = harness.ROOT / "platforms" / "workloads"
FAULTS = harness.CONFIGS / "faults"
# What a reader of result files may run, so that every field is there at least once: arguments, exit code.
RUNS = {
    "plain": ([*harness.SMALL, "--bytes", "4KiB"], 0),
    "jitter": ([*harness.SMALL, "--bytes", "4KiB", "--jitter", "3"], 0),
    "barrier": ([*harness.SMALL, "--collective", "barrier", "--ranks", "cube"], 0),
    "in_network": ([*harness.SMALL, *NETWORK, "--algorithm", "in_network", "--bytes", "4KiB"], 0),
    "workload": ([*harness.SMALL, "--workload", WORKLOADS / "overlapping_teams.json"], 0),
    "hang": (["--config", FAULTS / "drop.json"], 3),
    "lost_credit": (["--config", FAULTS / "lost_credit_one.json"], 0),
    "bit_errors": (["--config", FAULTS / "bit_flip_ucie.json"], 0),
    "late_credits": ([*harness.SMALL, "--algorithm", "ring_1d", *harness.sets(
        'faults=[{"kind":"late_credit","where":"pod.sip0.cube_0_0.ucie_east","after":2,"delay_ns":20000}]')], 0),
    # What UCIe frames carry has a CRC of its own, so the flip is on a SIP link.
    "checksums": ([*harness.SMALL, "--algorithm", "ring_1d", *harness.sets(
        "comm.checksum=crc32c", 'faults=[{"kind":"bit_flip","where":"pod.sip0.sip_port_e","after":3}]')], 4),
    "order": ([*harness.SMALL, "--algorithm", "ring_1d", *harness.sets(
        "comm.checksum=crc32c",
        'faults=[{"kind":"reorder","where":"pod.sip0.cube_0_0.ucie_east","after":4,"delay_ns":300}]')], 4),
    "token": (["--config", FAULTS / "drop.json", *harness.sets("ipcq.slot_bytes=1024")], 4),
    "unmet": ([*harness.SMALL, "--bytes", "1KiB", "--set", 'faults=[{"kind":"drop","where":"*ucie_east","after":1000000}]'], 0),
}
CSV_FILES = ("links.csv", "ipcq.csv", "waits.csv", "hbm.csv", "health.csv")


def sections():
    """{heading: [names]} of the first columns of a section's tables."""
    found, heading = {}, None
    for line in PAGE.read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
            found[heading] = []
        elif line.startswith("| "):
            found[heading] += re.findall(r"`([^`]+)`", line.split(" | ")[0])
    return found


class ResultsPage(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.page = sections()

    def setUp(self):
        super().setUp()
        for name, (arguments, code) in RUNS.items():
            self.run_pod(*arguments, "--quiet", "--out", name, expect=code)
        self.results = [json.loads((self.folder / name / "result.json").read_text()) for name in RUNS]
        self.rows = [row for result in self.results for row in result["runs"]]

    def held(self, heading, objects, more=()):
        """The page's names under `heading` are the keys of `objects`, taken together."""
        objects = list(objects)
        self.assertTrue(objects, heading)
        self.assertEqual(set(self.page[heading]), set().union(*objects, more), heading)

    def test_page_and_files(self):
        self.held("result.json", self.results)
        self.held("sim", [result["sim"] for result in self.results])
        self.held("A run", self.rows)
        nested = {name for row in self.rows for name, value in row.items() if isinstance(value, (dict, list))}
        self.assertEqual(set(self.page["A run"]) - nested, set(COLUMNS), "what scripts/sweep takes for columns")
        self.held("stats", [row["stats"] for row in self.rows])
        self.held("A stream", [stream for row in self.rows for stream in row.get("streams", ())])
        self.held("An op", [op for row in self.rows for op in row.get("ops", ())])
        self.held("A fault", [fault for row in self.rows for fault in row.get("faults_met", ())])
        self.held("A detected fault", [row["fault"] for row in self.rows if "fault" in row])
        for name in CSV_FILES:
            tables = [(self.folder / run / name).read_text().splitlines() for run in RUNS]
            columns = {table[0] for table in tables}
            self.assertEqual(len(columns), 1, name)
            measured = {row["measure"] for table in tables for row in csv.DictReader(table)} if name == "health.csv" else ()
            self.held(name, [columns.pop().split(",")], measured)
        written = {re.sub(r"_\d+\.", ".", file.name) for run in RUNS for file in (self.folder / run).iterdir()}
        self.held("Files", [written])

    def test_energy_is_on_its_page(self):
        page = (harness.ROOT / "docs" / "energy.md").read_text()
        self.assertEqual({name for row in self.rows for name in row["energy"] if f"`{name}`" not in page}, set())


if __name__ == "__main__":
    harness.main()
