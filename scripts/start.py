# SPDX-License-Identifier: Apache-2.0
"""Imported by every script before all else: makes a signal end the script as it ends a platform, from its first line on, and finds
the package diecast."""
from _signal import SIG_IGN, SIG_UNBLOCK, SIGHUP, SIGINT, SIGTERM, getsignal, pthread_sigmask, signal  # signal imports others first
import os
import sys


def end(number, frame):
    """Ends the script during its imports, when there is no run to end."""
    try:
        os.write(2, f"scripts/{os.path.basename(sys.argv[0])}: interrupted\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(128 + number)


if os.path.dirname(os.path.realpath(sys.argv[0])) == os.path.dirname(os.path.realpath(__file__)):  # no test imports the script
    for n in (SIGINT, SIGTERM, SIGHUP):
        if n != SIGHUP or getsignal(n) != SIG_IGN:  # keeps the setting of nohup
            signal(n, end)
    pthread_sigmask(SIG_UNBLOCK, (SIGINT, SIGTERM, SIGHUP))  # the first line of each script blocks them

import pathlib  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from diecast.endings import end_with  # noqa: E402, F401
from diecast.arguments import parser_of  # noqa: E402, F401
