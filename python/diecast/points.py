# SPDX-License-Identifier: Apache-2.0
"""Points of a study: runs of which each leaves a record, so that none is run twice and any host may run it."""
import concurrent.futures
import hashlib
import json
import os
import types

from diecast import launchers
from diecast.inputs import BadInput, check, data_of, json_of, parsed
from diecast.machine import NOT_OF_MACHINE, command_of, run
from diecast.processes import finished
from diecast.whole_file import claim, make_folder, write_whole

FILES = ("workload", "verify", "ccl.tuner")  # flags and keys that name a file every run reads
OUTPUTS = ("out", "vcd", "vcd-scope", "vcd-window", "timeline", "timeline-scope", "record")  # flags with a value


class NoResult(Exception):
    """Points have no result after all tasks have ended."""
    exit_code, lines = 1, True


def without_outputs(words):
    """Arguments without output files, with which --dump-config has no meaning."""
    kept, value = [], False
    for word in words:
        value = value and not word.startswith("--")
        name = word.removeprefix("--") if word.startswith("--") else ""
        if not value and name not in (*OUTPUTS, "ccl-trace"):
            kept.append(word)
        value = name in OUTPUTS
    return kept


def dump(binary, words):
    """The result of --dump-config of a run: the effective config, or the reason why there is none."""
    return finished([binary, *without_outputs(words), "--dump-config"])


def digest(binary, words, files, dumped):
    """Input of a result: command, effective config (of dump()), binary, contents of `files` and of the config's ccl.tuner."""
    # A config that is refused has no effective one: the reason replaces it.
    config = dumped.stdout if dumped.code == 0 else f"exit {dumped.code}\n{dumped.stderr}"
    tuner = parsed(config, "--dump-config").get("ccl", {}).get("tuner", "") if dumped.code == 0 else ""
    contents = [hashlib.sha256(data_of(file)).hexdigest() if os.path.isfile(file) else "absent"
                for file in [*files, *([tuner] if tuner else [])]]
    return sha256(*words, config, str(os.stat(binary).st_mtime_ns), *contents)


def sha256(*texts):
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def file_name(number, text):
    """A name of a point for files."""
    safe = "".join(c if c.isascii() and c.isalnum() or c in "._=,+-" else "_" for c in text)
    return f"{number:04}-{safe}"[:150].rstrip("-")


class Points:
    """points: each has number (its place) and name, digest() and make(), which runs it and returns its record, a JSON object (with
    "kept": False one that is not to be kept). out: the folder in which records are kept; None: they are not."""

    def __init__(self, out, points):
        self.points, self.records = points, out and out / "records"

    def digest(self, point):
        return point.digest()

    def make(self, point):
        return point.make()

    def holds(self, point, known):
        """Whether there is a record of the point with this digest."""
        return True

    def record(self, point):
        """How the point ended; None when it has to run (again). Raises Clash where a user's file has the record's name."""
        if self.records is None:
            return None
        claim(path := self.records / f"{point.name}.json", b'{\n "digest": "')
        try:
            known = json_of(path, noted=False)
            check(known, {"digest": "text"}, point.name)
        except BadInput:
            return None
        return known if known.pop("digest") == self._sealed(point, known) and self.holds(point, known) else None

    def _sealed(self, point, record):
        """The digest that a record of the point has; one that has been damaged has another."""
        return sha256(self.digest(point), json.dumps(record, sort_keys=True))

    def run_point(self, point):
        """Runs one point and writes its record last, so that an interrupted one runs again."""
        record = self.make(point)
        if self.records is not None and record.get("kept", True):
            sealed = {"digest": self._sealed(point, record), **record}
            write_whole(self.records / f"{point.name}.json", json.dumps(sealed, indent=1) + "\n")
        return record

    def share(self, task=None):
        """All points, or those of task (index, count)."""
        return [p for p in self.points if task is None or p.number % task[1] == task[0]]

    def missing(self, task=None):
        return [p for p in self.share(task) if self.record(p) is None]

    def run(self, options, report):
        """Runs what has no record yet, here or by --launcher; of --task only its share. report(point, record, new) is called for
        every point that has a record then. new: this command ran it."""
        if self.records is not None:
            make_folder(self.records)
        share = self.share(options.task)

        def waiting():
            records = ((point.number, self.record(point)) for point in share)
            return [n for n, record in records if record is None or record.get("exit_code") in NOT_OF_MACHINE]

        before = set(waiting())
        if options.cluster:
            launchers.launch(options, waiting, len(self.points))
            os.listdir(self.records)  # opening the folder makes NFS forget which names it lacked
        for point in share:
            if (options.cluster or point.number not in before) and (record := self.record(point)) is not None:
                report(point, record, point.number in before)
        if not options.cluster:
            self._run_here([p for p in share if p.number in before], options.jobs or os.cpu_count(), report)

    def _run_here(self, points, jobs, report):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(self.run_point, point): point for point in points}
            try:
                for future in concurrent.futures.as_completed(running):
                    report(running[future], future.result(), True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def all(self, options, report=lambda point, record: None):
        """Runs the points and returns their records in their order, in which report(point, record) is called as early as possible.
        A --task ends the script after its share. Raises NoResult."""
        done, shown = {}, 0

        def note(point, record, new):
            nonlocal shown
            done[point.number] = record
            while shown in done:
                report(self.points[shown], done[shown])
                shown += 1

        self.run(options, note)
        if options.task:
            raise SystemExit(0)
        missing = [f"no result of {p.name}{launchers.why(options, p.number, len(self.points))}" for p in self.points
                   if p.number not in done]
        if missing:
            raise NoResult("\n".join([*missing, "the same command continues from here"]))
        return [done[point.number] for point in self.points]


class Item:
    """make(): runs it and returns its record."""

    def __init__(self, number, text, digest, make):
        self.number, self.name, self.digest, self.make = number, file_name(number, text), digest, make


class Study:
    """Runs of one job on one machine and on changed ones. options: of command_line.parse()."""

    def __init__(self, options):
        self.options, self._digest = options, None

    def run(self, config=None, sets=()):
        """Results of the job; config: in place of the study's and its --set."""
        o = self.options
        return run(config or o.machine, platform=o.platform, sets={} if config else {**o.sets, **dict(sets)}, **o.flags)

    def digest(self, item):
        """Input on which the record of an item depends."""
        if self._digest is None:
            o = self.options
            binary, *words = command_of(o.platform, o.machine, o.sets, o.flags)
            files = [given[name] for given in (o.flags, o.sets) for name in FILES if name in given]
            self._digest = digest(binary, words, files, dump(binary, words))
        return sha256(self._digest, json.dumps(item))

    def each(self, make, items, name):
        """make(item) of every item, a JSON object, in their order. items: JSON that says all that make() depends on."""
        points = [Item(n, name(item), lambda item=item: self.digest(item), lambda item=item: make(item)) for n, item in enumerate(items)]
        return Points(self.options.out, points).all(self.options)

    def unchanged(self, record_of):
        """record_of(Results of the unchanged machine), as attributes. It runs here, before all others."""
        point = Item(0, "unchanged", lambda: self.digest("unchanged"), lambda: record_of(self.run()))
        points = Points(self.options.out, [point])
        if self.options.out:
            make_folder(points.records)
        return types.SimpleNamespace(**(points.record(point) or points.run_point(point)))
