"""Read stored bytes from a folder or from an archive: what kind of file it is and how long, before anything is read."""

import os
import stat
import struct
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO

from aclnn_viz.errors import problem
from aclnn_viz.storage.damage import AlteredError, FileKindError, ForeignError, StoredError, TooLargeError


def regular(path: Path, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; with `follow` a link to one is taken, too.

    Raises FileNotFoundError, and FileKindError for all else that may lie there, without waiting for it.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link where none may be, a socket, a file where a folder is expected
        raise FileKindError(f"{path.name}, which is no readable file ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileKindError(f"{path.name}, which is no regular file")
    return os.fdopen(handle, "rb")


def read_file(path: Path, limit: int, follow: bool = True) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; raises as `regular`, and TooLargeError."""
    with regular(path, follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise TooLargeError(f"{path.name} with {size} bytes, where at most {limit} are expected")
        return file.read(limit)


_ENCRYPTED = 1  # a bit of the flags of a member


class Source(ABC):
    """Where stored cases lie; `asked` and `fix` are the parts of its messages."""

    asked: str
    fix: str
    name: str

    def read(self, member: str, limit: int) -> bytes:
        """Return a member of at most `limit` bytes; raises a StoredError when that cannot be."""
        try:
            return self._content(member, limit)
        except FileNotFoundError:
            raise self.broken(AlteredError, f"no {member}") from None
        except StoredError as error:
            raise self.broken(type(error), str(error)) from None
        except Exception as error:  # what is damaged may make a parser raise anything
            raise self.broken(AlteredError, f"{member}: {type(error).__name__}: {error}") from None

    def broken(self, kind: type[StoredError], why: str) -> StoredError:
        return kind(problem(self.asked, why, self.fix))

    @abstractmethod
    def _content(self, member: str, limit: int) -> bytes:
        """The bytes of a member, at most `limit`; FileNotFoundError where there is none."""


class Folder(Source):
    """Cases in a folder."""

    fix = "write the cases again"

    def __init__(self, path: Path):
        self.path, self.name = path, str(path)
        self.asked = "a dump, as `aclnn-viz check OP --write` makes it, holds cases.json and every input unaltered"

    def broken(self, kind, why):
        return super().broken(kind, f"{self.name}: {why}")

    def _content(self, member, limit):
        return read_file(self.path / member, limit, follow=False)


class Archive(Source):
    """Cases in one zip file without compression."""

    fix = "copy it again from where it was recorded"

    def __init__(self, path: Path):
        self.path, self.name = path, path.name
        self.asked = f"{path.name} must be a whole, unaltered capsule"
        try:
            with regular(path) as file, zipfile.ZipFile(file) as archive:
                listed = archive.infolist()
        except (FileKindError, FileNotFoundError) as error:
            raise self.broken(FileKindError, str(error)) from None
        except Exception as error:  # of a file that is no archive, or a damaged one
            raise self.broken(ForeignError, f"{type(error).__name__}: {error}") from None
        self._members = {info.filename: info for info in listed}
        if len(self._members) != len(listed):
            raise self.broken(AlteredError, "members of the same name")

    def _content(self, member, limit):
        if member not in self._members:
            raise FileNotFoundError
        info = self._members[member]
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
            raise AlteredError(f"{member} is compressed or encrypted")
        if info.file_size > limit:
            raise TooLargeError(f"{member} with {info.file_size} bytes, where at most {limit} are expected")
        with regular(self.path) as file:
            file.seek(info.header_offset)
            file.seek(sum(struct.unpack("<26x2H", file.read(30))), os.SEEK_CUR)  # behind the name and the extra field
            return file.read(info.file_size)
