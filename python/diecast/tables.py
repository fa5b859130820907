# SPDX-License-Identifier: Apache-2.0
"""Tables as text, CSV and Markdown."""
import csv
import io


def aligned(rows, left=1, indent=""):
    """Rows of cells as lines; columns from number `left` on are aligned right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ("  ".join(c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths))).rstrip() for row in cells)
    return "".join(f"{indent}{line}\n" for line in lines)


def text_table(head, rows):
    """With four digits of numbers that are not whole, and nothing for None."""
    return aligned([head, *[["" if c is None else f"{c:.4g}" if isinstance(c, float) else c for c in row] for row in rows]])


def csv_text(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def markdown_table(head, lines, right=()):
    """right: numbers of the columns that are aligned right."""
    marks = ["---:" if n in right else "---" for n in range(len(head))]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'|'.join(marks)}|", *(f"| {' | '.join(map(str, line))} |" for line in lines)])
