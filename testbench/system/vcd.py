# SPDX-License-Identifier: Apache-2.0
"""Reads a VCD file strictly: what a waveform viewer would stumble over is an error here."""


class BadVcd(Exception):
    pass


class Vcd:
    """scopes: dotted paths; widths: variable path -> bits; changes: path -> [(time, value)]."""

    def __init__(self, text):
        self.scopes, self.widths, self.changes = set(), {}, {}
        self.timescale = None
        self._by_code, self._width = {}, {}
        self._words = iter(text.split())
        self._header()
        self._body()

    def _until_end(self):
        words = []
        for word in self._words:
            if word == "$end":
                return words
            words.append(word)
        raise BadVcd("a section without $end")

    def _header(self):
        path = []
        for word in self._words:
            section = self._until_end()
            if word == "$enddefinitions":
                if path:
                    raise BadVcd(f"scope {path} is left open")
                return
            if word == "$scope":
                path.append(section[1])
                self.scopes.add(".".join(path))
            elif word == "$upscope":
                path.pop()
            elif word == "$timescale":
                self.timescale = " ".join(section)
            elif word == "$var":
                self._declare(".".join(path), section)
            elif word not in ("$version", "$date", "$comment"):
                raise BadVcd(f"unknown section {word}")
        raise BadVcd("no $enddefinitions")

    def _declare(self, scope, section):
        _, width, code, name = section[:4]
        path = f"{scope}.{name}"
        if path in self.widths:
            raise BadVcd(f"{path} is declared twice")
        if self._width.setdefault(code, int(width)) != int(width):
            raise BadVcd(f"identifier {code} has two widths")
        self.widths[path] = int(width)
        self.changes[path] = []
        self._by_code.setdefault(code, []).append(path)

    def _body(self):
        now = None
        for word in self._words:
            if word[0] == "#":
                time = int(word[1:])
                if now is not None and time <= now:
                    raise BadVcd(f"time {time} after {now}")
                now = time
            elif word[0] in "bB":
                self._change(now, next(self._words), word[1:])
            elif word[0] in "01xXzZ":
                self._change(now, word[1:], word[0])
            elif word not in ("$dumpvars", "$end"):
                raise BadVcd(f"unknown word {word}")
        self.end = now

    def _change(self, now, code, value):
        if code not in self._by_code:
            raise BadVcd(f"identifier {code} was never declared")
        if len(value) > self._width[code]:
            raise BadVcd(f"{value} in {self._width[code]} bits")
        for path in self._by_code[code]:
            self.changes[path].append((now, value))
