#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include of the tree and fails on a wrong door.

Rooms open one way: models <- {sw, hw} <- platforms <- testbench. sw and hw never include each other; models and sw know no
SystemC; models knows neither JSON nor files; platforms reads no sentence that is made for people. Folders of a room include
each other one way, too, and hold at most 40 .cpp and .hpp files; a folder of testbench/unit has the name of the folder that it
tests. The table of docs/architecture.md names places that are there. Each include of a file of the tree is taken for that file,
however it is written. Before all that it tests itself: each rule can fail.
"""
import collections
import functools
import pathlib
import posixpath
import re
import sys

ROOMS = ("models", "sw", "hw", "platforms", "testbench")
ALLOWED = {
    "models": {"models"},
    "sw": {"sw", "models"},
    "hw": {"hw", "models"},
    "platforms": {"platforms", "hw", "sw", "models"},
    "testbench": {"testbench", "platforms", "hw", "sw", "models"},
}
SYSTEMC = re.compile(r"^(systemc|tlm|sysc/|tlm_)")
FORBIDDEN = {
    "models": re.compile(r"^(nlohmann/|fstream$|filesystem$|pugixml|boost/program_options)"),
    "sw": re.compile(r"^(nlohmann/|fstream$|filesystem$|pugixml|boost/program_options)"),
    "hw": re.compile(r"^(nlohmann/|fstream$|filesystem$|pugixml|boost/program_options|boost/context)"),
}
# The diagnosis knows a machine only by its behavior: it must see no config and so no fault.
DIAGNOSIS = "platforms/diagnose"
# The oracle of tag matching would be worth nothing if it shared code with what it judges.
ORACLE = "testbench/support/abstract_matcher.hpp"
MOST_FILES = 40  # of a folder
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def resolved(path, name, exists):
    """The file of the tree that an include names, as the compiler finds it: beside the includer, from the root, from
    testbench; None when there is none. exists: whether a path, relative to the root, is a file."""
    for folder in (path.parent, pathlib.PurePath(), pathlib.PurePath("testbench")):
        found = pathlib.PurePath(posixpath.normpath((folder / name).as_posix()))
        if exists(found):
            return found
    return None


def problems(path, text, exists):
    room = path.parts[0]
    if room == "sw" and ".extra[" in text:
        yield f"{path}: numbered words of a kernel; its parameters are a struct (kernel_parameters)"
    for number, kind, name in includes(text):
        where = f"{path}:{number}: includes {name}"
        file = resolved(path, name, exists)
        if file is None and kind == '"':
            yield f"{where}; no such file beside it, in the root or in testbench"
        if room in ("models", "sw") and SYSTEMC.match(name):
            yield f"{where}; {room} knows no SystemC"
        if name.startswith("boost/math/") and "promote_double<false>" not in text:
            yield f"{where}; without promote_double<false> its tables overflow under Valgrind and no program starts"
        if room in FORBIDDEN and FORBIDDEN[room].match(name):
            yield f"{where}; {room} has no files, formats or command lines"
        if file is None:
            continue
        if path.as_posix().startswith(DIAGNOSIS + "/") and not file.as_posix().startswith(DIAGNOSIS + "/"):
            yield f"{where}; {DIAGNOSIS} may include nothing but itself"
        if path.as_posix() == ORACLE:
            yield f"{where}; the abstract matcher may include the standard library alone"
        if file.parts[0] not in ALLOWED[room]:
            yield f"{where}; {room} may include {', '.join(sorted(ALLOWED[room]))}"


# Results are data: no code of platforms may learn anything from a sentence made for people. Words of the command line and
# parts of paths have no two words and no colon within them; what other programs print is theirs.
SENTENCE = re.compile(r"\b(?:find|rfind|starts_with|ends_with|contains|compare)\(\s*R?\"[^\"]*(?:[A-Za-z][ :] *[A-Za-z]|[A-Za-z]: )[^\"]*\"")
FOREIGN = {"platforms/app/options.cpp", "platforms/run/processes.cpp"}  # user input; launchers
# Nor does it ask which kind a job is: what kinds differ in they implement (platforms/job).
JOB_KIND = re.compile(r'(?<!op\.)\b(?:collective|job|kind|name)\s*[!=]=\s*"(?:barrier|collective|program|workload)"|\bdynamic_cast<const \w+_run\b')


def read_sentences(path, text):
    """Where a file of platforms reads sentences: regular expressions, searches for words."""
    if not path.as_posix().startswith("platforms/") or path.as_posix() in FOREIGN:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if "<regex>" in line or "std::regex" in line:
            yield f"{path}:{number}: a regular expression; results are records ({line.strip()})"
        if SENTENCE.search(line):
            yield f"{path}:{number}: searches a sentence; results are records ({line.strip()})"
        if JOB_KIND.search(line) and path.parts[1] != "diagnose":  # which knows nothing but command lines
            yield f"{path}:{number}: asks for the kind of a job ({line.strip()})"


def cycle(graph):
    """A cycle of files that include each other, or None."""
    state = {}

    def visit(node, trail):
        state[node] = 1
        for other in graph.get(node, ()):
            if state.get(other) == 1:
                return trail[trail.index(other):] + [other] if other in trail else [node, other]
            if other not in state:
                hit = visit(other, trail + [other])
                if hit:
                    return hit
        state[node] = 2
        return None

    for start in sorted(graph):
        if start not in state:
            hit = visit(start, [start])
            if hit:
                return hit
    return None


def folders_of(graph):
    """The same graph between folders of the product."""
    folders = {}
    for name, others in graph.items():
        place = posixpath.dirname(name)
        if not name.startswith("testbench/"):
            folders.setdefault(place, set()).update(p for p in map(posixpath.dirname, others) if p != place)
    return {place: sorted(others) for place, others in folders.items()}


def crowded(names):
    """Folders with more files than a reader finds their way in."""
    count = collections.Counter(map(posixpath.dirname, names))
    return [f"{place}: {n} files; at most {MOST_FILES}" for place, n in sorted(count.items()) if n > MOST_FILES]


def lost_places(page, root):
    """Rows of the page's table whose name is not in the code that they name, or whose place of tests has none."""
    section = page.partition("## Where things are\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    if len(rows) < 5:
        yield f"docs/architecture.md: {len(rows)} rows under 'Where things are'; expected 5 or more"
    for what, *cells in rows:
        name = re.search("`([^`]+)`", what)
        for cell, wanted in zip(cells, (name and name[1], "TEST_CASE"), strict=True):
            place = root / cell.strip(" `")
            files = [place] if place.is_file() else sorted(place.glob("*.[ch]pp"))
            if not wanted or not any(re.search(rf"\b{wanted}\b", f.read_text()) for f in files):
                yield f"docs/architecture.md: {wanted} is not in {cell.strip(' `')}"


def stray_tests(folders, commands, is_source):
    """Folders of testbench/unit that no program compiles (commands: testbench/CMakeLists.txt), or that are named as no folder of
    the product."""
    compiled = [word for words in re.findall(r"FOLDERS ([^)]*)", commands) for word in words.split()]
    for folder in folders:
        if not is_source(folder):
            yield f"testbench/unit/{folder}: there is no folder {folder}"
        if not any(f"{folder}/".startswith(f"{name}/") for name in compiled):
            yield f"testbench/unit/{folder}: no diecast_test() in testbench/CMakeLists.txt compiles it"


def refused(path, text, there=True):
    """Whether that line is, in a tree that has (or has not) each file it can mean in the place it is said to be."""
    path = pathlib.PurePath(path)
    (_, _, name), = includes(text)
    first = name.split("/")[0]
    base = pathlib.PurePath() if first in ROOMS else pathlib.PurePath("testbench") if first == "support" else path.parent
    file = pathlib.PurePath(posixpath.normpath((base / name).as_posix()))
    known = {file} if there and file.suffix == ".hpp" else set()
    return list(problems(path, text, known.__contains__))


def self_test():
    bad = [
        ("models/abi/x.hpp", '#include <systemc>'),
        ("platforms/diagnose/x.cpp", '#include "models/config/machine_config.hpp"'),
        ("platforms/diagnose/x.cpp", '#include "platforms/run/prepare.hpp"'),
        ("models/abi/x.hpp", '#include "hw/base/time.hpp"'),
        ("models/config/x.cpp", '#include <nlohmann/json.hpp>'),
        ("sw/runtime/x.cpp", '#include "hw/pe/pe.hpp"'),
        ("sw/runtime/x.cpp", '#include <tlm>'),
        ("hw/pe/x.cpp", '#include "sw/runtime/pe_context.hpp"'),
        ("hw/pe/x.cpp", '#include "platforms/app/app.hpp"'),
        ("platforms/app/x.cpp", '#include "testbench/support/test.hpp"'),
        (ORACLE, '#include "models/protocol/tag_unit.hpp"'),
        (ORACLE, '#include "tag_world.hpp"'),
        ("models/abi/x.hpp", '#include <hw/base/time.hpp>'),
        ("hw/pe/x.cpp", '#include "../../sw/runtime/pe_context.hpp"'),
        ("hw/pe/x.cpp", '#include "support/test.hpp"'),
        ("models/timing/x.cpp", '#include <boost/math/distributions/normal.hpp>'),
    ]
    for path, text in bad:
        if not refused(path, text):
            sys.exit(f"self-test: {text} in {path} was not refused")
    if not list(problems(pathlib.PurePath("sw/collectives/rings/x.cpp"), "  a.extra[rank] = 1;", lambda _: True)):
        sys.exit("self-test: numbered words of a kernel are not found")
    unknown = '#include "pe_contexts.hpp"'
    if not refused("sw/runtime/x.cpp", unknown, there=False) or refused("sw/runtime/x.cpp", unknown):
        sys.exit("self-test: includes of files that are not there are not found")
    if refused("testbench/unit/hw/pe/x.cpp", '#include "support/test.hpp"') or refused("models/abi/x.hpp", '#include <vector>'):
        sys.exit("self-test: a right door was refused")
    if not cycle({"a": ["b"], "b": ["a"]}) or cycle({"a": ["b"], "b": []}):
        sys.exit("self-test: cycles are not found")
    knot = {"hw/pe/a.hpp": ["hw/ipcq/b.hpp"], "hw/ipcq/c.hpp": ["hw/pe/d.hpp"], "hw/pe/d.hpp": [], "hw/ipcq/b.hpp": []}
    if cycle(knot) or not cycle(folders_of(knot)):
        sys.exit("self-test: a circle of folders is not found")
    if not crowded([f"hw/pe/{i}.hpp" for i in range(41)]) or crowded([f"hw/pe/{i}.hpp" for i in range(40)]):
        sys.exit("self-test: folders with too many files are not found")
    here = pathlib.Path(__file__).resolve().parents[2]
    for name, count in (("credit", 0), ("no_such_name", 5)):
        row = f"| `{name}` | `hw/noc/switch_credits.cpp` | `testbench/unit/hw/noc/credits_test.cpp` |\n"
        if len(list(lost_places("## Where things are\n\n| what | code | test |\n|---|---|---|\n" + row * 5, here))) != count:
            sys.exit("self-test: places of code are not checked")
    if list(stray_tests(["hw/pe"], "diecast_test(pe FOLDERS hw/pe LIBRARIES x)", lambda _: True)) or \
            len(list(stray_tests(["hw/pe"], "diecast_test(pe FOLDERS hw/p)", lambda _: False))) != 2:
        sys.exit("self-test: tests that nothing compiles are not found")
    diagnosis = pathlib.PurePath("platforms/diagnose/findings.cpp")
    for mutant in ('  if (o.errors.find("checksum mismatch") != npos)', '  return reason.starts_with("auto: ");',
                   '#include <regex>', r'  std::regex a(R"(token for .*)");'):
        if not list(read_sentences(diagnosis, mutant)):
            sys.exit(f"self-test: {mutant} was not found")
    for mutant in ('  if (o.collective == "barrier") return;', '  if (dynamic_cast<const barrier_run*>(&run) != nullptr)'):
        if not list(read_sentences(pathlib.PurePath("platforms/run/simulate.cpp"), mutant)):
            sys.exit(f"self-test: {mutant} was not found")
    if list(read_sentences(diagnosis, '  if (word.starts_with("--") || place.find("-sip") == npos) return kind == "drop";')):
        sys.exit("self-test: words of a command line or a path were taken for a sentence")


def main():
    self_test()
    root = pathlib.Path(__file__).resolve().parents[2]
    found, files, graph, seen_oracle = [], 0, {}, False

    @functools.cache
    def exists(path):
        return (root / path).is_file()

    for room in ROOMS:
        for path in sorted((root / room).rglob("*.[ch]pp")):
            files += 1
            text, relative = path.read_text(), path.relative_to(root)
            found += problems(relative, text, exists)
            found += read_sentences(relative, text)
            seen_oracle = seen_oracle or relative.as_posix() == ORACLE
            named = (resolved(relative, name, exists) for _, _, name in includes(text))
            graph[relative.as_posix()] = [file.as_posix() for file in named if file]
    if files == 0:
        sys.exit("no sources found")
    if not seen_oracle:
        found.append(f"{ORACLE}: is not there")
    if hit := cycle(graph):
        found.append("include cycle: " + " -> ".join(hit))
    if hit := cycle(folders_of(graph)):
        found.append("circle of folders: " + " -> ".join(hit))
    found += crowded(name for name in graph if not name.startswith("testbench/"))
    unit = root / "testbench/unit"
    found += stray_tests(sorted({p.parent.relative_to(unit).as_posix() for p in unit.rglob("*.cpp")}),
                         (root / "testbench/CMakeLists.txt").read_text(), lambda folder: (root / folder).is_dir())
    found += lost_places((root / "docs/architecture.md").read_text(), root)
    if found:
        sys.exit("\n".join(found))
    print(f"{files} files, no wrong door")


main()
