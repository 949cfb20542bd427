"""The one form of every message about bad input: what was asked, what was got, what to do."""


def problem(asked: str, got: str, fix: str) -> str:
    """Join the three parts of a message.

    >>> problem("dtype must be a floating format", "'int8'", "pass one of float16, bfloat16, float32, float64")
    "dtype must be a floating format: got 'int8'; pass one of float16, bfloat16, float32, float64"
    """
    return f"{asked}: got {got}; {fix}"


class NotSupported(NotImplementedError):
    """What a kernel raises for a call that it does not support; `check` counts such calls apart from wrong ones."""
