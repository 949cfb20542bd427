"""Read stored test cases from a folder or an archive, whole and unaltered, or name the damage."""

import os
import struct
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path

from aclnn_viz.errors import problem
from aclnn_viz.storage.readers import (
    AlteredError,
    FileKindError,
    ForeignError,
    StoredError,
    TooLargeError,
    read_file,
    regular,
)

_ENCRYPTED = 1  # flag bit of an encrypted archive member


class Source(ABC):
    """The place from which stored cases are read; its errors say what it requires (`asked`) and the remedy (`fix`)."""

    asked: str
    fix: str
    name: str

    def read(self, member: str, limit: int) -> bytes:
        """Return a member of at most `limit` bytes; raise a StoredError if that fails."""
        try:
            return self._content(member, limit)
        except FileNotFoundError:
            raise self.broken(AlteredError, f"no {member}") from None
        except StoredError as error:
            raise self.broken(type(error), str(error)) from None
        except Exception as error:  # a damaged file may make a parser raise anything
            raise self.broken(AlteredError, f"{member}: {type(error).__name__}: {error}") from None

    def broken(self, kind: type[StoredError], why: str) -> StoredError:
        return kind(problem(self.asked, why, self.fix))

    @abstractmethod
    def _content(self, member: str, limit: int) -> bytes:
        """Return at most `limit` bytes of a member; raise FileNotFoundError if there is none."""


class Folder(Source):
    """A folder of stored cases, as a source of files."""

    fix = "write the cases again"

    def __init__(self, path: Path):
        self.path, self.name = path, str(path)
        self.asked = "a dump, as `aclnn-viz check OP --write` makes it, holds cases.json and every input unaltered"

    def broken(self, kind, why):
        return super().broken(kind, f"{self.name}: {why}")

    def _content(self, member, limit):
        return read_file(self.path / member, limit, follow=False)


class Archive(Source):
    """Uncompressed members of one zip file, such as a capsule's cases."""

    def __init__(
        self, path: Path, asked: str = "", fix: str = "copy it again from where it was recorded"
    ):
        self.path, self.name, self.fix = path, path.name, fix
        self.asked = asked or f"{path.name} must be a whole, unaltered capsule"
        try:
            with regular(path) as file, zipfile.ZipFile(file) as archive:
                listed = archive.infolist()
        except (FileKindError, FileNotFoundError) as error:
            raise self.broken(FileKindError, str(error)) from None
        except Exception as error:  # the file is no archive, or damaged
            raise self.broken(ForeignError, f"{type(error).__name__}: {error}") from None
        self.members = {info.filename: info for info in listed}
        if len(self.members) != len(listed):
            raise self.broken(AlteredError, "members of the same name")

    def _content(self, member, limit):
        if member not in self.members:
            raise FileNotFoundError
        info = self.members[member]
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
            raise AlteredError(f"{member} is compressed or encrypted")
        if info.file_size > limit:
            raise TooLargeError(
                f"{member} with {info.file_size} bytes, where at most {limit} are expected"
            )
        with regular(self.path) as file:
            file.seek(info.header_offset)
            # the content follows the name and the extra field
            file.seek(sum(struct.unpack("<26x2H", file.read(30))), os.SEEK_CUR)
            return file.read(info.file_size)
