# SPDX-License-Identifier: Apache-2.0
"""Generated parts of the pages of the documentation, each between two marks."""
from diecast.inputs import BadInput
from diecast.whole_file import write_whole


def between(page, begin, end):
    """What stands between the marks of a page, and what before and behind."""
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or end not in text[text.index(begin):]:
        raise BadInput(f"{page}: lacks the marks '{begin.strip()}' and '{end.strip()}'")
    at = text.index(begin) + len(begin)
    return text[:at], text[at:text.index(end, at)], text[text.index(end, at):]


def put(page, begin, end, part):
    """Writes a part between its marks."""
    before, _, behind = between(page, begin, end)
    write_whole(page, before + part + behind)
