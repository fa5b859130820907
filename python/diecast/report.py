# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page about a run: no script, no outside resource, readable on paper."""
import collections
import itertools
import shlex

from diecast import fabric_picture, timeline_picture
from diecast.axes import byte_text
from diecast.compare import path_links
from diecast.energy import Account, accounted, per_bit_text
from diecast.inputs import check, need
from diecast.results import SIZES, BadResults, need_collectives
from diecast.svg import Picture, bars_picture, colors_of, escape, plot, stacked_bars, steps, text_width

MOST_BARS = 128
MOST_OPS = 40
# What a report reads beside what all scripts do.
RESULT = {"machine": {"sips": "any", "pes": "any"}, "argv": ["text"], "config_sha256": "text", "seed": "any", "version": "any",
          "status": "text"}
ROW = {"dtype": "text", "op": "text", "verified": "bool|null", "time_ns": "number|null", "algbw_gbytes_s": "number|null",
       "busbw_gbytes_s": "number|null"}
STREAM = {"name": "text", "ranks": "number", "repeat": "number", "ops": "number", "start_ns": "number", "end_ns": "number|null",
          "time_ns": "number|null", "finished": "bool", "verified": "bool|null", "isolated_ns": "number|null",
          "slowdown": "number|null", "not_isolated": "text"}
OP = {"id": "text", "stream": "text", "op": "text", "algorithm": "text", "iteration": "number", "ranks": "number", "bytes": "number",
      "start_ns": "number", "end_ns": "number|null", "finished": "bool", "verified": "bool|null"}
HEAD = "<!doctype html><html lang=en><head><meta charset=utf-8><title>Diecast report</title>"
STYLE = """
body { font: 14px/1.45 sans-serif; color: #222; max-width: 66em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 0.7em 0; } th, td { padding: 0.15em 0.5em; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #888; font-weight: 600; } td:first-child, th:first-child { text-align: left; }
th, td:first-child { white-space: normal; } td:first-child { min-width: 9em; overflow-wrap: anywhere; } td.text { white-space: normal; min-width: 10em; } .wide { overflow-x: auto; }
tr:nth-child(even) td { background: #f6f6f6; } code, pre { font-size: 0.92em; } pre { overflow-x: auto; } .note { color: #555; }
svg { max-width: 100%; height: auto; } .key { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.5em; } .bad { color: #b00020; font-weight: 600; }
* { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@media print { body { margin: 0; max-width: none; font-size: 11px; } h2 { break-after: avoid; }
  svg, table { break-inside: avoid; } .wide { overflow-x: visible; } }
"""


def html_table(head, rows, colors=None):
    """colors: one per row, shown as a key in its first cell. Columns without any text are left out."""
    filled = [n == 0 or not rows or any(row[n] not in ("", "-") for row in rows) for n in range(len(head))]
    head, *rows = [list(itertools.compress(row, filled)) for row in (head, *rows)]
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    keys = [f'<i class=key style="background:{color}"></i>' for color in colors] if colors else [""] * len(rows)
    body = "".join("<tr>" + "".join(f"<td{' class=text' if n > 0 and len(str(c)) > 32 else ''}>{key if n == 0 else ''}{escape(c)}</td>"
                                    for n, c in enumerate(row)) + "</tr>"
                   for key, row in zip(keys, rows))
    return f"<div class=wide><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"


def verdict(row):
    if row["verified"] is None:
        return "not checked"
    return "yes" if row["verified"] else f"NO: {row.get('wrong_elements')} wrong"


def name_of(row):
    team = row.get("team")
    return f"{row['collective']} {row['algorithm']}" + (f" of team {team}" if team else "")


def size_of(row):
    """A barrier has no size."""
    return "" if row["collective"] == "barrier" else byte_text(row["bytes"])


def title_of(row):
    return ", ".join(filter(None, (name_of(row), size_of(row))))


def question(results):
    machine, first = results.result["machine"], results.runs[0]
    what = " and ".join(sorted({name_of(row) for row in results.runs}))
    config = results.config
    words = "" if first["collective"] in ("workload", "barrier") else f"{first['dtype']}, {first['op']}; "
    return (f"<p>How long does <b>{escape(what)}</b> take on {escape(machine['sips'])} SIPs of {config['sip']['columns']} x "
            f"{config['sip']['rows']} cubes with {config['cube']['pes']} PEs each, and where does the time go?</p>"
            f"<p class=note><code>{escape(shlex.join(results.result['argv']))}</code><br>"
            f"{escape(words)}config {escape(results.result['config_sha256'][:12])}, seed "
            f"{escape(results.result['seed'])}, {escape(results.platform)} {escape(results.result['version'])}</p>")


def figure(value, form):
    """An empty text for a value that a run lacks: it has not ended, or moves no vector (a barrier)."""
    return "" if value is None else format(value, form)


def results_table(runs):
    # A barrier has no efficiency; in results of 0.2.0 a run without bandwidth has 0 as its bandwidth.
    columns = {"collective": name_of, "size": size_of, "ranks": lambda r: f"{r['ranks']} {r['rank_set']}",
               "time ns": lambda r: figure(r["time_ns"], ",.1f")}
    if any(row.get("bound_ns") for row in runs):
        columns |= {"bound ns": lambda r: figure(r.get("bound_ns"), ",.1f"), "bound by": lambda r: r.get("bound_kind", ""),
                    "efficiency": lambda r: figure(None if r["collective"] == "barrier" else r.get("efficiency"), ".1%")}
    columns |= {f"{name} GB/s": lambda r, key=f"{name}_gbytes_s": figure(r[key] or None, ".3f") for name in ("algbw", "busbw")}
    if accounted(runs):
        columns["pJ/bit"] = per_bit_text
    columns |= {"verified": verdict, "status": lambda r: r["status"]}
    return html_table(columns, [[cell(row) for cell in columns.values()] for row in runs])


def curves(runs):
    """Latency and bandwidth over size, when there is more than one size."""
    if len({row["bytes"] for row in runs}) < 2:
        return ""
    times, rates, bounds = (collections.defaultdict(list) for _ in range(3))
    for row in runs:
        name = name_of(row)
        # Of a run that came to no end only the bound is drawn.
        times[name] += [] if row["time_ns"] is None else [(row["bytes"], row["time_ns"] / 1e3)]
        rates[name] += [] if row["busbw_gbytes_s"] is None else [(row["bytes"], row["busbw_gbytes_s"])]
        if row.get("bound_ns"):
            bounds[name].append((row["bytes"], row["bound_ns"] / 1e3))
    names = {row["bytes"]: byte_text(row["bytes"]) for row in runs}
    colors = colors_of(times)
    return (plot("Time", "bytes", "us", times, colors, names, bounds) + plot("Bus bandwidth", "bytes", "GB/s", rates, colors, names))


def heat_section(results, run):
    links = results.rows("links.csv", run)
    if not links:
        return ""
    carried = [link for link in links if not link["link"].endswith((".inject", ".eject"))]
    busiest = sorted(carried, key=lambda l: (-l["busy_fraction"], l["link"]))[:12]
    text = "<h2>Links</h2>" + fabric_picture.draw(results.config, links)
    for title, shown in (("The busiest links", busiest), ("Links between SIPs", fabric_picture.between_sips(links))):
        rows = [[l["link"], f"{l['bytes']:,}", f"{l['busy_fraction']:.1%}", figure(l.get("stall_ns"), ",.0f")] for l in shown]
        if rows or shown is busiest:
            text += f"<p>{title}:</p>" + html_table(["link", "bytes", "busy", "stalls ns"], rows)
    return text


def energy_section(runs):
    """The parts of the energy of every run that has an account."""
    runs = accounted(runs)
    if not runs:
        return ""
    shown, cut = runs[:MOST_BARS], f" (the first {MOST_BARS} of {len(runs)} runs)" if len(runs) > MOST_BARS else ""
    account = Account(shown)
    return (f"<h2>Energy of a launch{cut}</h2><p class=note>Microjoules of all parts of the machine, idle power over the "
            "simulated time included; per bit that had to be combined, for collectives that reduce.</p>" +
            stacked_bars("Energy of a launch", "uJ", account.names, account.bars(title_of), left=260) + html_table(*account.table(title_of)))


WAITS = (("data_ns", "a message"), ("credit_ns", "a free slot"), ("dma_ns", "the DMA engine to read"),
         ("memory_ns", "a copy"), ("message_ns", "the tag-matching unit"), ("error_ns", "an error"),
         ("poll_ns", "the next look"), ("never_ended_ns", "what never came"))


def waits_section(results, run):
    """Waits by cause of every core that waited at all."""
    cores = [(row["pe"].removeprefix("pod."), [row[key] for key, _ in WAITS]) for row in results.rows("waits.csv", run)]
    cores = [(pe, values) for pe, values in cores if sum(values) > 0]
    if not cores:
        return ""
    kept = {pe for pe, _ in sorted(cores, key=lambda c: -sum(c[1]))[:MOST_BARS]}
    shown = [core for core in cores if core[0] in kept]
    cut = f" (the {len(shown)} that waited most of {len(cores)})" if len(shown) < len(cores) else ""
    causes = [n for n in range(len(WAITS)) if any(values[n] for _, values in cores)]
    rows = [(pe, [values[n] for n in causes]) for pe, values in shown]
    total = sum(sum(values) for _, values in cores)
    table = [[WAITS[n][1], f"{sum(values[n] for _, values in cores):,.1f}",
              f"{sum(values[n] for _, values in cores) / total:.1%}"] for n in causes]
    return (f"<h2>Waits per PE{cut}</h2><p class=note>How long each core waited over all launches, by what it waited "
            "for. A core waits for one thing at a time.</p>" + stacked_bars("Waits for", "ns", [WAITS[n][1] for n in causes], rows) +
            html_table(["waits for", "ns, all PEs", "share"], table))


def hbm_section(results, run):
    channels = results.rows("hbm.csv", run)
    if not channels:
        return ""
    limits = [key for key in channels[0] if key.startswith("lost_")]
    names = ["busy"] + [key[len("lost_"):-len("_share")] for key in limits]
    rows = [(c["channel"].removeprefix("pod."), [100 * c["busy_share"]] + [100 * c[key] for key in limits])
            for c in channels[:MOST_BARS]]
    return ("<h2>HBM: where the time of the data buses went</h2>" +
            stacked_bars("Share of the channel's peak over the whole run", "%", names, rows))


def path_bar(causes, colors, total):
    picture = Picture(900, 46, "Critical path by cause")
    x = 0.0
    for cause in causes:
        width = cause["time_ns"] / total * 900
        picture.rectangle(x, 4, width, 26, fill=colors[cause["cause"]],
                          tip=f"{cause['cause']}: {cause['time_ns']:,.1f} ns, {cause['share']:.1%}")
        if text_width(cause["cause"], 10) + 8 <= width:  # the table below names them all
            picture.label(x + 4, 21, cause["cause"], size=10, fill="#fff")
        x += width
    return picture.text()


def path_picture(path, colors):
    """The path through the PEs: time to the right, a row per PE in the order of the first visit."""
    order = list(dict.fromkeys(e["pe"] for e in path["edges"]))
    height = 8 if len(order) > 40 else 14
    picture = Picture(900, 30 + height * len(order), "Critical path through the PEs")
    for n, pe in enumerate(order):
        if height > 8 or n % 4 == 0:
            picture.label(165, 14 + n * height + 8, pe.removeprefix("pod."), size=9, anchor="end")
    scale = 720 / path["time_ns"]
    for e in path["edges"]:
        x1, x2 = 170 + e["from_ns"] * scale, 170 + e["to_ns"] * scale
        y1 = 14 + order.index(e["pe"]) * height + height / 2
        y2 = 14 + order.index(e["to_pe"]) * height + height / 2 if e.get("to_pe") in order else y1
        picture.line(x1, y1, x2, y2, stroke=colors[e["cause"]], width=3,
                     tip=f"{e['cause']} {e['pe']} {e.get('step', '')}: {e['to_ns'] - e['from_ns']:,.1f} ns")
    return picture.text()


def path_section(results, run):
    path = results.critical_path(run)
    if path is None:
        return ""
    rows = [[c["cause"], f"{c['time_ns']:,.3f}", f"{c['share']:.1%}"] for c in path["causes"]]
    crossed, time_on = path_links(path), collections.Counter()
    for e in path["edges"]:
        for link in e.get("links", ()):
            time_on[link] += e["to_ns"] - e["from_ns"]
    links = sorted(crossed, key=lambda l: (-crossed[l], l))[:12]
    longest = sorted(path["edges"], key=lambda e: -e["time_fs"])[:12]
    text = (f"<h2>Critical path</h2><p>{len(path['edges'])} edges, each with what the next one had to wait for, from "
            f"the common start to the end of {escape(path['ends_at'])}; they sum to {path['time_ns']:,.3f} ns.</p>")
    colors = colors_of(cause["cause"] for cause in path["causes"])
    text += path_bar(path["causes"], colors, path["time_ns"])
    text += html_table(["cause", "ns", "share"], rows, list(colors.values()))
    if len(path["edges"]) <= 20000:
        text += path_picture(path, colors)
    text += "<p>The longest edges:</p>" + html_table(["cause", "ns", "from ns", "PE", "to", "step"],
        [[e["cause"], f"{e['to_ns'] - e['from_ns']:,.1f}", f"{e['from_ns']:,.1f}", e["pe"].removeprefix("pod."),
          e.get("to_pe", "").removeprefix("pod."), e.get("step", "")] for e in longest])
    if links:
        text += "<p>The links it crosses most often:</p>" + html_table(["link", "crossings", "ns of fabric edges over it"],
            [[l, crossed[l], f"{time_on[l]:,.1f}"] for l in links])
    return text


def beside(op, ops):
    """(id, ns) of the three ops that ran longest at the same time as this one, the longest first."""
    shared = [(o["id"], min(o["end_ns"], op["end_ns"]) - max(o["start_ns"], op["start_ns"])) for o in ops if o is not op]
    return sorted(((id, ns) for id, ns in shared if ns > 0), key=lambda s: (-s[1], s[0]))[:3]


def op_name(op, repeated):
    return f"{op['id']} #{op['iteration']}" if repeated else op["id"]


def op_chart(ops, colors, repeated):
    """A bar per op from its first member's start to its last one's end, in the color of its stream."""
    row, left = 14, 200
    marks = steps(max(op["end_ns"] for op in ops) or 1)
    picture, x_of = bars_picture("Ops of the workload", (), 38 + row * len(ops), marks, "ns from the common start", 900, left)
    for n, op in enumerate(ops):
        name = op_name(op, repeated)
        picture.label(left - 6, 48 + row * n, name if text_width(name, 9) < left - 8 else f"{name[:30]}..", size=9, anchor="end")
        picture.rectangle(x_of(op["start_ns"]), 40 + row * n, max(1, x_of(op["end_ns"]) - x_of(op["start_ns"])), row - 4,
                          fill=colors[op["stream"]], tip=f"{name}: {op['start_ns']:,.1f} to {op['end_ns']:,.1f} ns")
    return picture.text()


def workload_section(row):
    """Streams and ops of a workload; nothing for other runs."""
    streams, ops = row.get("streams") or [], row.get("ops") or []
    if not streams:
        return ""
    colors = colors_of(stream["name"] for stream in streams)
    isolated = any(stream["isolated_ns"] is not None or stream["not_isolated"] for stream in streams)
    head = ["stream", "ranks", "ops", "start ns", "end ns", "time ns", *(["alone ns", "slowdown"] if isolated else []), "verified"]
    rows = []
    for s in streams:
        alone = [figure(s["isolated_ns"], ",.1f") or s["not_isolated"], figure(s["slowdown"], ".2f")] if isolated else []
        rows.append([s["name"], s["ranks"], s["ops"] * s["repeat"], f"{s['start_ns']:,.1f}", figure(s["end_ns"], ",.1f"),
                     figure(s["time_ns"], ",.1f"), *alone, op_verdict(s)])
    text = "<h2>Streams</h2>" + html_table(head, rows, [colors[s["name"]] for s in streams])
    if not isolated:
        text += "<p class=note>With <code>--isolate</code> each stream also runs alone, and its slowdown stands here.</p>"
    ended = [op for op in ops if op["end_ns"] is not None]
    repeated = any(op["iteration"] for op in ops)
    shown = sorted(ops, key=lambda op: (op["end_ns"] is not None, (op["start_ns"] - (op["end_ns"] or 0)), op["id"]))[:MOST_OPS]
    rows = [[op_name(op, repeated), op["op"], op["algorithm"], byte_text(op["bytes"]) if op["bytes"] else "", op["ranks"],
             f"{op['start_ns']:,.1f}", figure(op["end_ns"], ",.1f"),
             figure(None if op["end_ns"] is None else op["end_ns"] - op["start_ns"], ",.1f"),
             ", ".join(f"{id} {ns:,.0f}" for id, ns in (beside(op, ended) if op["end_ns"] is not None else ())), op_verdict(op)]
            for op in shown]
    drawn = sorted((op for op in shown if op["end_ns"] is not None), key=lambda op: (op["start_ns"], op["id"]))
    text += "<h2>Ops</h2>" + (op_chart(drawn, colors, repeated) if drawn else "")
    text += ("<p class=note>From the first member's start to the last one's end. The core of a PE takes turns among ops that run at "
             "one time, and they share its links: what runs beside an op makes it last longer"
             f"{f' (the {MOST_OPS} longest of {len(ops)} ops)' if len(ops) > len(shown) else ''}.</p>")
    return text + html_table(["op", "kind", "algorithm", "size", "ranks", "start ns", "end ns", "time ns", "beside, ns", "verified"], rows)


def op_verdict(row):
    if not row["finished"]:
        return "unfinished"
    return "" if row["verified"] is None else "yes" if row["verified"] else "NO"


def page(results, timeline=None):
    """The report as HTML text; timeline: a file of the same run, or None. Raises BadResults for results of another kind."""
    need_collectives(results, "a report is")
    where = results.folder / "result.json"
    need(results.runs, where, "holds no run", BadResults)
    check(results.result, RESULT, f"{where}: result", BadResults)
    check(results.config, SIZES, f"{results.folder / 'config.json'}: config", BadResults)
    for n, row in enumerate(results.runs):
        check(row, ROW, f"{where}: runs[{n}]", BadResults)
        for name, fields in (("streams", STREAM), ("ops", OP)):
            for k, part in enumerate(row.get(name) or ()):
                check(part, fields, f"{where}: runs[{n}].{name}[{k}]", BadResults)
    # A run that went wrong comes first, then the longest.
    slowest = max(range(len(results.runs)), key=lambda n: (results.runs[n]["status"] != "ok", results.runs[n]["time_ns"] or 0))
    row = results.runs[slowest]
    parts = [f"<h1>{escape(name_of(row))} on {escape(results.result['machine']['pes'])} PEs</h1>", question(results)]
    if results.result["status"] != "ok":
        parts.append(f"<p class=bad>Status: {escape(results.result['status'])}</p><pre>{escape(row.get('message', ''))}</pre>")
    parts += ["<h2>Results</h2>", results_table(results.runs), curves(results.runs), energy_section(results.runs)]
    if len(results.runs) > 1:
        parts.append(f"<p class=note>What follows is about {escape(title_of(row))}: the "
                     f"{'longest run' if row['status'] == 'ok' else 'run that did not end well'}.</p>")
    if timeline is not None:
        parts.append("<h2>Timeline</h2>" + timeline_picture.draw(timeline))
    parts += [workload_section(row), path_section(results, slowest), heat_section(results, slowest), waits_section(results, slowest),
              hbm_section(results, slowest)]
    return (f"{HEAD}<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n")
