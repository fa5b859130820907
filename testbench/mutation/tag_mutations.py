#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each of these one-line changes of the tag-matching unit or its shadow must be found by the suite's checks: by
the exploration of all small programs alone, and by the chosen and random programs alone.

Usage: tag_mutations.py COMPILER SOURCE_ROOT STEP; every STEP-th mutation is tried
"""
import pathlib
import subprocess
import sys
import tempfile

UNIT = "models/protocol/tag_unit.hpp"
SHADOW = "models/protocol/tag_shadow.hpp"

# (name, file, the line or the part of it that changes, what it changes to)
MUTATIONS = [
    ("entries may match at once", UNIT,
     "if (command.seen == unexpected_count_) make_all_eligible();", "make_all_eligible();"),
    ("the count does not wrap", UNIT,
     "unexpected_count_ = (unexpected_count_ + 1) % modulus_;", "unexpected_count_ = unexpected_count_ + 1;"),
    ("the mask is ignored", UNIT, "return ((other ^ tag) & mask) == 0;", "return (other ^ tag) == 0;"),
    ("new entries go to the front", UNIT,
     "list_.push_back({c.wanted, c.buffer, c.room, c.index, rule_ == eligibility::never_wait});",
     "list_.insert(list_.begin(), {c.wanted, c.buffer, c.room, c.index, rule_ == eligibility::never_wait});"),
    ("CONSUMED waits for the bytes", UNIT,
     "report({tag_completion::kind::consumed, true, v.index, 0, message}, nothing);",
     "landing_.push_back({{tag_completion::kind::consumed, true, v.index, 0, message}, v.ticket});"),
    ("a match stays in the list", UNIT,
     "    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(at));\n    if (whole)", "    if (whole)"),
    ("any entry is offloaded, whatever waits before it", SHADOW,
     "if (offloaded() + 1 < live_.size()) {", "if (false) {"),
    ("an index is free before its commands are answered", SHADOW,
     "return !occupied && !appending && !removing;", "return !occupied;"),
    ("a message matched in software is not counted", SHADOW,
     "    ++counts_.matched_in_software;\n    if (index == no_index) return;",
     "    seen_ = (seen_ + policy_.modulus - 1) % policy_.modulus;\n    if (index == no_index) return;"),
    ("the entry of a receive completed in software stays", SHADOW,
     "    indexes_[index].forced = true;\n    request_removal(index);", "    indexes_[index].forced = true;"),
    ("a receive being cancelled takes a message", SHADOW,
     "if (live_[i].cancelling || !live_[i].posted.wanted.accepts(tag)) continue;",
     "if (!live_[i].posted.wanted.accepts(tag)) continue;"),
    ("the unit is never told with a NOP", SHADOW,
     "if (reported_ == seen_ || offloaded() == 0) return;", "return;"),
    ("unexpected messages are kept newest first", SHADOW,
     "if (d.what == decision::kind::stored) unexpected_.push_back({id, tag});",
     "if (d.what == decision::kind::stored) unexpected_.insert(unexpected_.begin(), {id, tag});"),
    ("no command is due however many messages are unexpected", SHADOW,
     "% policy_.modulus >= policy_.command_interval)", "% policy_.modulus >= policy_.modulus)"),
]


PARTS = ("exploration", "programs")
FLAGS = ("-std=c++20", "-Og")  # most mutants fail at once: compiling is what takes time

# Of what the checks and the two headers include, all that no mutation changes.
SHARED = "".join(f"#include <{name}>\n" for name in (
    "algorithm", "array", "compare", "cstdint", "cstdio", "map", "optional", "random", "set", "stdexcept", "string",
    "string_view", "utility", "vector")) + "#define XXH_INLINE_ALL\n#include <xxhash.h>\n"


def precompile(compiler, folder):
    """The shared headers, for all mutants; the file to include."""
    header = folder / "shared.hpp"
    header.write_text(SHARED)
    subprocess.run([compiler, *FLAGS, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
    return header


def changed(root, change, header):
    """The header's text with the change, which fits one place of its header."""
    text = (root / header).read_text()
    if not change or change[1] != header:
        return text
    if text.count(change[2]) != 1:
        raise SystemExit(f"mutation '{change[0]}': {text.count(change[2])} places in {header} read {change[2]!r}; expected one")
    return text.replace(change[2], change[3])


def outcome(compiler, root, folder, shared, change):
    """The exit code and the output of each part of the checks, built with one change or with none."""
    folder.mkdir()
    for header in (UNIT, SHADOW):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(changed(root, change, header))
    program = folder / "check"
    built = subprocess.run([compiler, *FLAGS, "-include", str(shared), f"-I{folder}", f"-I{root}", f"-I{root}/testbench",
                            str(root / "testbench/mutation/tag_check.cpp"), "-o", str(program)],
                           capture_output=True, text=True)
    if built.returncode != 0:
        raise SystemExit(f"{change[0] if change else 'no change'}: does not compile\n{built.stderr}")
    runs = [subprocess.run([str(program), part], capture_output=True, text=True, timeout=300) for part in PARTS]
    return [(run.returncode, run.stdout.strip()) for run in runs]


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    step = int(sys.argv[3])
    bad = 0
    for change in MUTATIONS:  # also those that this step leaves out
        changed(root, change, change[1])
    with tempfile.TemporaryDirectory() as scratch:
        shared = precompile(compiler, pathlib.Path(scratch))
        for i, change in enumerate([None] + MUTATIONS[::step]):
            results = outcome(compiler, root, pathlib.Path(scratch) / str(i), shared, change)
            for part, (code, text) in zip(PARTS, results):
                right = code == (1 if change else 0)
                bad += not right
                print(f"{'ok ' if right else 'BAD'}  {change[0] if change else 'no change'}; {part}: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
