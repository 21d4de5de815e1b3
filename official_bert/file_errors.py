"""Errors of the file system and of memory as one line: which file, what happened, what to do."""

from __future__ import annotations

import errno
import io
import os
import re
import sys

from official_bert.atomic import visible_name

_REMEDIES = {
    errno.EPERM: "the system forbids it there: choose another place",
    errno.EACCES: "change the permissions, or choose another place",
    errno.EROFS: "choose a place on a disk that can be written",
    errno.ENOSPC: "free space on that disk, or choose another one",
    errno.EDQUOT: "delete something, ask for a larger quota, or choose another disk",
    errno.EFBIG: "files there have a limit of size: see `ulimit -f`, or choose another disk",
    errno.ENOTDIR: "a part of this path is a file where a folder is wanted: correct the path",
    errno.EISDIR: "name a file, this is a folder",
    errno.ENOENT: "check the name",
    errno.EEXIST: "something else has this name: choose another",
    errno.ENOTEMPTY: "remove what is in it, or choose another name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "the links on this path lead in a circle: correct them",
    errno.EINVAL: "this place does not take such files: choose another",
    errno.EXDEV: "it spans two disks: choose a name on one of them",
    errno.EBUSY: "something else has it: wait, or choose another name",
    errno.ETXTBSY: "a running program has it: wait, or choose another name",
    errno.EIO: "the disk or the way to it fails: check it, or choose another",
    errno.ENXIO: "the device is not there: choose another place",
    errno.ENODEV: "the device is not there: choose another place",
    errno.ESTALE: "the network drive has lost it: mount the drive again, or choose another place",
    errno.ENOTCONN: "the network drive is not connected: mount it again, or choose another place",
    errno.ETIMEDOUT: "what was asked does not answer: try again later, or choose another place",
    errno.EOPNOTSUPP: "the disk there cannot do this: choose another",
    errno.ENOLCK: "the disk there has no locks left: choose another",
    errno.EMFILE: "raise the limit: `ulimit -n`",
    errno.ENFILE: "the system has too many files open: close other programs",
    errno.EPIPE: "the program that reads it has ended: see why",
}
_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
_NO_FOLDER = "make the folder first, or correct the path"
_NO_MEMORY = "do less at once (a smaller batch, shorter text, fewer workers), or add memory"
# What TensorFlow says: "/disk/model_temp; No space left on device", with the op around it.
_TENSORFLOW = re.compile(
    r"(?P<path>[^;\n]+); (?P<reason>"
    + "|".join(re.escape(os.strerror(number)) for number in _REMEDIES)
    + ")"
)
_TENSORFLOW_FOLDER = re.compile(r"(?P<path>\S[^;\n]*) is not a directory")
# An object store's own words, which name what was asked for.
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s;]+")
_URL_REMEDY = "check the name, the rights and the credentials, or try again later"
_BY_REASON = {os.strerror(number): number for number in _REMEDIES}


def explain(error: BaseException) -> str | None:
    """One line on an error that a user can mend outside of this program.

        OSError(ENOSPC, …, "/disk/vocab.txt") ->
            "/disk/vocab.txt: No space left on device: free space on that disk, or choose …"

    Args:
        error: an `OSError`, a `MemoryError` or, without loading it, an error of TensorFlow's.

    Returns:
        The line; None for every other error: a fault of ours, whose traceback is wanted.
    """
    if isinstance(error, MemoryError):
        detail = f" ({error})" if str(error) else ""
        return f"the memory does not suffice{detail}: {_NO_MEMORY}"
    if isinstance(error, io.UnsupportedOperation):
        return None
    if isinstance(error, OSError):
        return _explain_os_error(error)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and isinstance(error, tensorflow.errors.OpError):
        return _explain_tensorflow(error)
    return None


def _explain_os_error(error: OSError) -> str | None:
    if error.errno is None:  # A library's own text, such as "Not a gzipped file (b'ab')".
        return str(error) or None
    # A copy that does not fit fails with both names, the source's first.
    filename = (error.errno in _WRITING and error.filename2) or error.filename
    named = isinstance(filename, str | bytes | os.PathLike)
    if error.errno == errno.ENOMEM:
        return f"the memory does not suffice: {_NO_MEMORY}"
    if not named and error.errno not in _REMEDIES:
        return None
    name = visible_name(os.fsdecode(filename)) if named else "a file"
    return _line(name, error.errno, error.strerror or os.strerror(error.errno))


def _explain_tensorflow(error: Exception) -> str | None:
    text = str(error).rpartition("}} ")[2]  # Before it stands the op: "{{function_node …}} ".
    if found := _TENSORFLOW.search(text):
        reason = found["reason"]
        return _line(visible_name(found["path"]), _BY_REASON[reason], reason)
    if found := _TENSORFLOW_FOLDER.search(text):
        reason = os.strerror(errno.ENOTDIR)
        return _line(visible_name(found["path"]), errno.ENOTDIR, reason)
    if found := _URL.search(text):
        return f"{found[0]}: {text.splitlines()[0]}: {_URL_REMEDY}"
    if "OOM when allocating" in text:
        return f"the device's memory does not suffice: {_NO_MEMORY}"
    return None


def _line(name: str, number: int, reason: str) -> str:
    remedy = _REMEDIES.get(number, "choose another place, or see what the system says of this one")
    if number == errno.ENOENT and not _folder_is_there(name):
        remedy = _NO_FOLDER
    return f"{name}: {reason}: {remedy}"


def _folder_is_there(name: str) -> bool:
    return os.path.isdir(os.path.dirname(name) or ".")
