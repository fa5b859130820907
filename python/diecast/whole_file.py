# SPDX-License-Identifier: Apache-2.0
"""Writes files completely or not at all; records the files that a script reads and writes, as none may be both."""
import errno
import os
import pathlib
import secrets
import stat

OPEN_FILES = ("/dev", "/dev/fd", "/proc/self/fd")  # names in these folders are devices or open files of a process
HEAD = 12  # bytes at the beginning of a file by which its kind is known

_inputs, _folders, _outputs = {}, {}, []  # name by identity; name by identity; (path, flag)


class Clash(Exception):
    """A file to be written is one that the script reads, or writes already."""
    exit_code = 2


class NotWritten(OSError):
    """A file that cannot be written, or not to its end: filename and strerror, flag that named it, hint: an action that may help."""
    exit_code = 5

    def __init__(self, path, why, hint="a file that can be written"):
        super().__init__(None, why, str(path))
        self.flag, self.hint = next((flag for known, flag in _outputs if str(known) == str(path)), ""), hint

    def __str__(self):
        return f"{self.flag + ' ' if self.flag else ''}{self.filename}: {self.strerror}; expected {self.hint}"


def _identity(path):
    """Of the file or folder that a path leads to; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return _identity_of(status)


def _identity_of(status):
    """None for devices and pipes, which are not lost by being written."""
    kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return (status.st_dev, status.st_ino) if kept else None


def _same(path, other):
    mine = _identity(path)
    return os.path.realpath(path) == os.path.realpath(other) if mine is None else mine == _identity(other)


def reads(path, status=None):
    """Notes an input file."""
    identity = _identity(path) if status is None else _identity_of(status)
    if identity is not None:
        _inputs[identity] = str(path)
        for output, flag in _outputs:
            _check(output, flag)


def reads_folder(path):
    """Notes a folder all of whose files are inputs."""
    if (identity := _identity(path)) is not None:
        _folders[identity] = str(path)


def writes(path, flag):
    """Notes a file that will be written, and which flag names it; refused now rather than after the runs when it is an input."""
    path = pathlib.Path(path)
    for other, its in _outputs if str(path.parent) not in OPEN_FILES else ():
        if _same(path, other):
            raise Clash(f"{flag} {path}: {its} names the same file; expected another")
    _check(path, flag)
    _outputs.append((path, flag))
    if why := why_not_writable(path):
        raise NotWritten(path, why)
    return path


def output(flag):
    """The type of a flag that names a file to write, for argparse."""
    return lambda text: writes(text, flag)


def why_not_writable(path):
    """Why a file cannot be written, or an empty text."""
    if os.path.isdir(path):
        return "is a folder"
    if not os.path.isdir(path.parent):
        return f"there is no folder {path.parent}"
    return "" if os.access(path if os.path.exists(path) else path.parent, os.W_OK) else "not permitted"


def _check(path, flag=""):
    name = _inputs.get(_identity(path))
    if name is not None:
        raise Clash(f"{flag + ' ' if flag else ''}{path}: is an input of this command ({name}); expected another file")


def claim(path, *heads):
    """Refuses a non-empty file in a folder of results that does not begin like this kind: it is a user's."""
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            begin = file.read(max(map(len, heads))) or heads[0]
    except OSError as error:
        raise Clash(f"{path}: {error.strerror}; expected a file that can be read, or another folder") from None
    if not begin.startswith(heads):
        raise Clash(f"{path}: holds something else than what is written there; expected another folder")


def _check_folder(path, data, head):
    """In a folder that is an input only files of the kind of the new one are replaced."""
    folder = _folders.get(_identity(pathlib.Path(os.path.realpath(path)).parent))
    if folder is None or not path.is_file():
        return
    with open(path, "rb") as file:
        if file.read(head) != data[:head]:
            raise Clash(f"{path}: is a file of the input {folder}, and no earlier one of this kind; expected another file")


def only_in_place(path):
    """Whether the path must not be replaced by another file: a device, a pipe, a folder (which cannot be written at all), a
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
    except BaseException:  # removes the temporary file, on Ctrl-C too
        beside.unlink(missing_ok=True)
        raise


def write_whole(path, content, *, head=HEAD, over_input=False):
    """Writes a text (as UTF-8) or bytes to a file; its old content is replaced when all is written. A symbolic link stays a link.

    head: number of bytes that identify the kind of file; over_input: the file is an input and meant to be changed. Raises Clash,
    and NotWritten with the path, when a device or a pipe may have got a part."""
    path = pathlib.Path(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        if not over_input:
            _check(path)
            _check_folder(path, data, head)
        target = os.path.realpath(path)
        if os.path.islink(target):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if only_in_place(path):
            path.write_bytes(data)
        else:
            replace(pathlib.Path(target), data)
    except OSError as error:
        raise NotWritten(path, error.strerror) from None
    except ValueError as error:  # a name with a NUL
        raise NotWritten(path, error) from None


def make_folder(path):
    """Raises NotWritten."""
    try:
        pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(path, error.strerror, "a folder that can be made") from None
