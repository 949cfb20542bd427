"""Lists of cases: the standard one, and those that a JSON file describes."""

import json
from pathlib import Path

from aclnn_viz.cases.case import Case, case, stated
from aclnn_viz.errors import problem
from aclnn_viz.operators import operators, registry
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.damage import StoredError
from aclnn_viz.storage.reading import read_file

STANDARD = "standard"


def load(source: str) -> list[Case]:
    """Return the cases of a list: "standard", or a JSON file with a list of objects as `av.case` takes them.

    An object names its "operator"; all else is passed on: `{"operator": "rms_norm", "dtype": "bfloat16", "shape":
    [4, 16], "seed": 3}`. Raises ValueError for a file that holds no such list.

    >>> {one.dtype for one in load("standard")} == {"float32", "float16", "bfloat16"}
    True
    """
    if source == STANDARD:
        return [case(op, dtype=dtype, seed=seed, **given) for op in operators()
                for seed, given in enumerate(registry.own("cases", op.name, "STANDARD", op.modes))
                for dtype in ("float32", "float16", "bfloat16")]
    try:
        listed = json.loads(read_file(Path(source), LONGEST_INDEX))
        if not isinstance(listed, list):
            raise TypeError(f"a {type(listed).__name__}")
        return [stated(entry["operator"], **{key: _plain(value) for key, value in entry.items() if key != "operator"})
                for entry in listed]
    except (OSError, StoredError, json.JSONDecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError,
            AttributeError, ArithmeticError) as error:
        raise ValueError(problem(f'cases come from "{STANDARD}" or a JSON file with a list of objects',
                                 f"{source}: {type(error).__name__} {error}",
                                 'write such as [{"operator": NAME, "shape": [4, 16]}]')) from error


def _plain(value):
    return tuple(value) if isinstance(value, list) else value
