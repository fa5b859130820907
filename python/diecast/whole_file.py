# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all, also when the disk is full or the writer is interrupted."""
import os
import pathlib
import secrets
import stat

OPEN_FILES = ("/dev", "/dev/fd", "/proc/self/fd")  # names there are devices, or of files that somebody has open


def only_in_place(path):
    """Whether nothing may take the place of what is there: a device, a pipe, a folder (which cannot be written at all), a
    file that may not be written, or one in a folder that takes no other."""
    if str(path.parent) in OPEN_FILES:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) and os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK))


def replace(target, data):
    """Writes a temporary file beside the target, gives it the target's permissions and then its name."""
    beside = target.parent / f".diecast-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with open(beside, "xb") as file:
            file.write(data)
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:  # Ctrl-C, too, leaves nothing
        beside.unlink(missing_ok=True)
        raise


def write_whole(path, content):
    """Writes a text (as UTF-8) or bytes to a file; what the file held before stays until all is written. A link stays one.
    Raises OSError of the path, whose strerror says why; a device or a pipe may have got a part by then."""
    path = pathlib.Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if only_in_place(path):
            path.write_bytes(data)
        else:
            replace(pathlib.Path(os.path.realpath(path)), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
