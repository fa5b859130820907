# SPDX-License-Identifier: Apache-2.0
"""Command lines of scripts, and the types of their flags."""
import argparse
import re

from diecast.inputs import sentence


class Parser(argparse.ArgumentParser):
    def _get_values(self, action, words):
        if action.option_strings and words == ["--"]:  # argparse makes an empty list of --flag=--
            raise argparse.ArgumentError(action, "'--'; expected a value")
        return super()._get_values(action, words)

    def error(self, message):
        super().error(sentence(message))


def parser_of(text, whole=False, **options):
    """A command line. text: the docstring of the script, of which --help shows the first line, or with `whole` all."""
    return Parser(description=text if whole else text.splitlines()[0], allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def like(pattern, expected, make=int, good=lambda value: True):
    """The type of a flag whose texts match the pattern. make: of the text; good(value): whether the value can be used."""
    def typed(text):
        value = make(text) if re.fullmatch(pattern, text, re.ASCII) else None
        if value is None or not good(value):
            raise argparse.ArgumentTypeError(f"{text!r}; expected {expected}")
        return value
    return typed


def number(expected, good, most=1e30):
    """The type of a flag that is a finite number."""
    form = r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?"
    return like(form, expected, float, lambda value: abs(value) <= most and good(value))


count = like(r"0*[1-9]\d{0,8}", "a count of at least 1")
