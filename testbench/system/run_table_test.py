# SPDX-License-Identifier: Apache-2.0
"""Picoseconds, fingerprints and exit codes of run_table.csv: jobs of every kind on fixed machines. With --write: made anew."""
import csv
import json
import shlex
import sys

import harness

TABLE = harness.PROGRAMS / "run_table.csv"
MEASURED = ("exit", "time_ns", "fingerprint")


class RunTable(harness.Case):
    def command(self, *arguments):
        return [harness.binary(arguments[0]), *map(str, arguments[1:])]

    def measured(self, row):
        out = self.folder / row["job"].replace(" ", "_")
        words = shlex.split(row["command"].replace("{root}", str(harness.ROOT)))
        code = self.run_pod(*words, "--out", out, "--quiet", expect=None).code
        result = out / "result.json"
        runs = json.loads(result.read_text())["runs"] if result.exists() else []
        return {"exit": str(code), **{key: " ".join(str(r.get(key, "")) for r in runs) for key in MEASURED[1:]}}

    @harness.cases(short=6, long=1)
    def test_runs_are_those_of_the_table(self, every):
        with TABLE.open(newline="") as file:
            rows = list(csv.DictReader(file))[::every]
        self.assertGreater(len(rows), 10)
        for row in rows:
            with self.subTest(row["job"]):
                self.assertEqual(self.measured(row), {key: row[key] for key in MEASURED})

    def write(self):
        with TABLE.open(newline="") as file:
            rows = [{**row, **self.measured(row)} for row in csv.DictReader(file)]
        with TABLE.open("w", newline="") as file:
            table = csv.DictWriter(file, ["job", "command", *MEASURED], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        case = RunTable()
        case.setUp()
        case.write()
        case.doCleanups()
    else:
        harness.main()
