# SPDX-License-Identifier: Apache-2.0
"""What every script imports first: it finds the package diecast, and from then on a signal ends the script as it ends a
platform."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from diecast.endings import end_with  # noqa: E402, F401
from diecast.arguments import parser_of  # noqa: E402, F401
