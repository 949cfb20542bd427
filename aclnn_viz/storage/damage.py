"""What may be wrong with stored cases: one exception for each kind of damage, all of them ValueError."""


class StoredError(ValueError):
    """Stored cases that cannot be used."""


class ForeignError(StoredError):
    """These are no stored cases, or those of another version."""


class AlteredError(StoredError):
    """The bytes are not those that were written: cut, changed, appended to, exchanged or missing."""


class TooLargeError(StoredError):
    """More is claimed, or is there, than may be read."""


class FileKindError(StoredError):
    """This is no regular file: a folder, a pipe, a device or a link in its place."""
