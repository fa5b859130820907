# SPDX-License-Identifier: Apache-2.0
"""The documentation as text: every command is run or says why not, no page or picture is forgotten."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness

run_docs, docs = harness.script("run_docs"), harness.script("docs")

WRITTEN_BY_SCRIPTS = re.compile(r"<!-- (\w+):? begin.*?-->.*?<!-- \1:? end -->|<!-- ([\w-]+) -->.*?<!-- /\2 -->", re.DOTALL)


def counted(text):
    """The words of a page that people wrote, and those of them that are neither in a table nor in a block of code."""
    text = re.sub(r"(^```sh\n.*?^```\n+)```text\n.*?^```$", r"\1", WRITTEN_BY_SCRIPTS.sub("", text), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"<!--.*?-->|^ *\|.*?$", "", run_docs.BLOCK.sub("", text), flags=re.DOTALL | re.MULTILINE)
    return len(text.split()), len(prose.split())


def plan_source():
    return (harness.ROOT / "models" / "types" / "ids.cpp").read_text()


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        self.assertLessEqual({*run_docs.all_pages(), harness.ROOT / "CHANGELOG.md"}, {*docs.markdown_files()})
        self.assertEqual(docs.broken_links(), [])

    def test_links_that_lead_nowhere_are_found(self):
        self.assertEqual([docs.slug(h) for h in ("Tensors in HBM", "`ccl.errata`, again", "[A page](a.md): 2 + 2", "a_b (c-d)")],
                         ["tensors-in-hbm", "cclerrata-again", "a-page-2--2", "a_b-c-d"])
        with tempfile.TemporaryDirectory() as folder:
            page, other = pathlib.Path(folder, "a.md"), pathlib.Path(folder, "b.md")
            other.write_text("# One\n\n## Two\n\n## Two\n\n```sh\n# no heading\n```\n")
            page.write_text("# Top\n[](#top) [](b.md) [](b.md#two-1) [x](b.md#three) ![](c.png) [](b.md#no-heading) [](#two) "
                            "[](https://example.org/none) `[](none.md)`\n")
            self.assertEqual(list(docs.broken(page)), ["b.md#three: no such heading", "c.png: no such file",
                                                       "b.md#no-heading: no such heading", "#two: no such heading"])

    def test_every_page_is_reached(self):
        def targets(page):
            return {(page.parent / name.partition("#")[0]).resolve() for name in docs.links(page) if name.partition("#")[0]}

        start, decisions = harness.ROOT / "docs" / "README.md", harness.ROOT / "docs" / "adr" / "README.md"
        pages = set(run_docs.all_pages()) - {start}
        listed = {page for page in pages if page.parent == decisions.parent and page != decisions}
        self.assertGreater(len(listed), 30)
        self.assertEqual(sorted(pages - listed - targets(start)), [], "docs/README.md does not link to")
        self.assertEqual(sorted(listed - targets(decisions)), [], "docs/adr/README.md does not link to")
        for page in listed:
            sections = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
            self.assertEqual(sections, ["Context", "Decision", "Consequences"], page)

    def test_the_glossary_names_code_that_is_there(self):
        """Folders, and files without their suffix."""
        names = set(re.findall(r"`((?:models|hw|sw|platforms)/[\w/]+)`", (harness.ROOT / "docs" / "glossary.md").read_text()))
        self.assertGreater(len(names), 40)
        self.assertEqual([n for n in sorted(names) if not [*harness.ROOT.glob(n), *harness.ROOT.glob(f"{n}.*")]], [])

    def test_the_kernel_guide_spells_every_direction(self):
        """Each by its name in reports and in C++."""
        plan = (harness.ROOT / "models" / "types" / "ids.hpp").read_text()
        numbers = dict(re.findall(r"\b([a-z_]+) = (\d+)(?=[,;])", "".join(re.findall(r"constexpr direction ([^;]*;)", plan))))
        names = re.findall(r'"(\w+)"', re.search(r"names\{([^}]*)\}", plan_source())[1])
        self.assertGreaterEqual(min(len(names), len(numbers)), 11)
        page = (harness.ROOT / "docs" / "writing-a-kernel.md").read_text()
        for spelled, number in numbers.items():
            self.assertIn(f"comm::{spelled}", page)
            if int(number) < len(names):
                self.assertIn(f"`{names[int(number)]}`", page)

    def test_first_pages_build_one_binary(self):
        """Who follows a tutorial or adds a part need not build everything."""
        for name in ("tutorial.md", "writing-a-kernel.md", "adding-a-block.md"):
            text = (harness.ROOT / "docs" / name).read_text()
            self.assertEqual(re.findall(r"scripts/build(?! release \w)", re.sub("scripts/build_separately", "", text)), [], name)

    def test_pages_are_short_and_begin_with_their_question(self):
        """At most 1,500 words of prose each, 45,000 in all; not counted is what a binary, script or command printed."""
        self.assertEqual(counted("A.\n\n<!-- x begin -->\n| 1 |\n<!-- x end -->\n\n```sh\ny\n```\n\n```text\nz\n```\n\n| b |\n"), (7, 1))
        pages = {p: p.read_text() for p in run_docs.all_pages() if str(p.relative_to(harness.ROOT)) not in docs.GENERATED}
        decisions = [text for page, text in pages.items() if page.parent.name == "adr"]
        others = {page: text for page, text in pages.items() if page.parent.name != "adr"}
        self.assertLessEqual(sum(counted(text)[0] for text in others.values()), 45_000)
        self.assertLessEqual(sum(len(text.split()) for text in decisions), 15_000)
        self.assertLessEqual(len((harness.ROOT / "CHANGELOG.md").read_text().split()), 1_000)
        self.assertEqual([p.name for p, text in others.items() if counted(text)[1] > 1_500], [])
        first = {p.name: text.split("\n\n")[1] for p, text in others.items() if p != harness.ROOT / "README.md"}
        self.assertEqual([name for name, paragraph in first.items() if "?" not in paragraph], [])

    def test_the_changelog_ends_at_the_version(self):
        version = re.search(r"project\(diecast VERSION ([\d.]+)", (harness.ROOT / "CMakeLists.txt").read_text())[1]
        sections = re.findall(r"^## \[(.+?)\]( - \d{4}-\d\d-\d\d)?$", (harness.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual([name for name, _ in sections][:2], ["Unreleased", version])
        self.assertTrue(all(date for _, date in sections[1:]), sections)

    def test_pictures_are_shown(self):
        shown = {(page.parent / name).resolve() for page in run_docs.all_pages() for name in docs.links(page)}
        pictures = {file for file in (harness.ROOT / "docs" / "images").rglob("*") if file.is_file()}
        self.assertEqual(sorted(pictures - shown), [])


class Pictures(harness.Case):
    @harness.cases(("timeline.svg",), ())
    def test_pictures_are_what_their_pages_draw(self, pictures):
        """One of them in the short suite; without names, draw_docs checks all that take seconds."""
        done = subprocess.run([harness.ROOT / "scripts/draw_docs", "--check", "--bin", harness.BIN, *pictures],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Commands(harness.Case):
    def wrong(self, text):
        return [(line, what.split(":")[0]) for line, what in run_docs.not_run(text)]

    def test_every_command_of_the_pages_is_run(self):
        for page in run_docs.all_pages():
            self.assertEqual(run_docs.not_run(page.read_text()), [], page)

    def test_what_two_pages_show_is_the_same(self):
        """Six simulations of the default pod: one page runs them, the other one must say the same."""
        def shown(page):
            blocks = [block["body"] for block in run_docs.BLOCK.finditer((harness.ROOT / page).read_text())]
            at = next(n for n, body in enumerate(blocks) if body.startswith("scripts/degrade platforms/configs/pod_default.json"))
            return blocks[at:at + 2]
        self.assertEqual(shown("README.md"), shown("docs/degradation.md"))
        self.assertRegex(shown("README.md")[1], r"(?m)^unchanged: [\d,.]+ ns \(median of \d+ draws.*\); 256 PEs")

    def test_a_command_that_nobody_runs_is_found(self):
        command = "diecast-pod --bytes 4KiB\n"
        for line in (command, "build/bin/diecast-hbm --rate max\n", "$ diecast-noc -h\n", "scripts/report out\n"):
            self.assertEqual(len(run_docs.not_run(f"a\n\n```text\n{line}```\n")), 1, line)
        self.assertEqual(self.wrong(f"```\n{command}```\n"), [(1, "a block of language ''; expected sh, text, json, csv, cpp, cmake, py")])
        self.assertEqual(self.wrong(f"1. item\n\n   ```json\n   {command}   ```\n")[0][0], 3)
        for good in (f"```sh\n{command}```\n", "```text\ndiecast-pod 1.0\n```\n", f"```sh\nx\n```\n\n```text\n{command}```\n",
                     f"<!-- not run: takes a day -->\n\n```text\n{command}```\n"):
            self.assertEqual(run_docs.not_run(good), [], good)
        # A reason excuses the block behind it, not the next one, and must be one.
        twice = f"<!-- not run: takes a day -->\n\n```text\n{command}```\n\nand\n\n```text\n{command}```\n"
        self.assertEqual([line for line, _ in self.wrong(twice)], [9])
        self.assertEqual(len(self.wrong(f"<!-- not run:  -->\n\n```text\n{command}```\n")), 1)

    def test_dots_stand_for_lines(self):
        lines = ["a", "b", "c", "b"]
        for expected in (lines, ["..."], ["a", "..."], ["...", "b"], ["a", "...", "c", "..."], ["...", "c", "b", "..."]):
            self.assertTrue(run_docs.matches(expected, lines), expected)
        for expected in ([], ["a"], ["b", "..."], ["...", "c"], ["a", "...", "d", "..."], [*lines, "e"]):
            self.assertFalse(run_docs.matches(expected, lines), expected)
        self.assertTrue(run_docs.matches(["..."] * 40 + ["z"], ["a"] * 3000 + ["z"]))  # in no time

    def test_blocks_in_a_list_run_and_are_written_back(self):
        page = self.folder / "page.md"
        text = "1. item\n\n   ```sh\n   echo one; echo; echo two\n   ```\n\n   ```text\n   {}\n   ```\n"
        page.write_text(text.format("other"))
        read = run_docs.Page(page)
        self.assertEqual(read.check(self.folder), text.format("one\n\n   two"))
        self.assertEqual(len(read.problems), 1)
        page.write_text(text.format("one\n   ...\n   two"))
        self.assertEqual(run_docs.Page(page).check(self.folder), page.read_text())

    def test_what_a_failed_command_prints_is_not_written(self):
        page = self.file("page.md", "```sh\necho oops; false\n```\n\n```text\nfine\n```\n")
        read = run_docs.Page(page)
        self.assertEqual(read.check(self.folder), page.read_text())
        self.assertEqual([p.partition(" of")[0] for p in read.problems], ["exit 1"])


if __name__ == "__main__":
    harness.main()
