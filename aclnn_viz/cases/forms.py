"""The two forms of test lists: ATK's JSON, a list of cases with named inputs, and TTK's CSV, a row of literals a case."""

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from aclnn_viz.errors import problem

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "double": "float64",
          "float": "float32", "int": "int64"}
SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
LOST_ATK = ("align_32B", "outlier_values")
COLUMNS = ("testcase_name network_name op_name input_shapes input_dtypes input_formats output_shapes output_dtypes "
           "output_formats input_ori_shapes input_ori_formats output_ori_shapes output_ori_formats attributes "
           "input_data_ranges precision_tolerances absolute_precision output_inplace_indexes "
           "output_shape_unknown_indexes is_enabled remark soc_series priority dump_file_prefix manual_input_binaries "
           "manual_golden_binaries").split()
NEEDED = ("testcase_name", "op_name", "input_shapes", "input_dtypes")


class Values(NamedTuple):
    """What a list tells of one tensor: shape (None: not given), dtype, and uniform in a range or normal."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    low: float
    high: float
    normal: bool = False  # then `low` is the mean, `high` the deviation


class Listed(NamedTuple):
    """A case as a list tells it: tensors in their order, attributes by the names of the file."""

    name: str
    operator: str
    tensors: tuple[Values, ...]
    attributes: dict


def _wrong(where: str, asked: str, got, fix: str = "mend it") -> ValueError:
    text = repr(got)
    return ValueError(problem(f"{where}: {asked}", text if len(text) < 80 else f"{text[:77]}...", fix))


def shape_of(where: str, value) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(type(n) is int for n in value):
        raise _wrong(where, "a shape is a list of lengths", value)
    return tuple(value)


def range_of(where: str, value) -> tuple[float, float]:
    try:
        low, high = value
        if any(isinstance(end, (bool, str)) for end in (low, high)):
            raise TypeError
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(where, "a range is [low, high]", value) from None


def _dtype(where: str, value) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "a dtype is a name such as fp32", value)
    return DTYPES.get(value.lower(), value.lower())


class Atk:
    """ATK: a list of objects, each with `inputs` of type tensor, attr or attr_tuple."""

    @staticmethod
    def read(text: str, note: Callable[[str], None]) -> Iterator:
        try:
            cases = json.loads(text)
        except ValueError as error:
            raise _wrong("a list of ATK is JSON", "it must be whole", str(error), "write it again") from None
        if not isinstance(cases, list):
            raise _wrong("a list of ATK", "a list of cases", cases)
        for number, one in enumerate(cases):
            where = f"case {number}"
            if not isinstance(one, dict) or not isinstance(one.get("inputs"), list):
                raise _wrong(where, "an object with a list of inputs", one)
            where = f"case {one.get('id', number)!r}"
            name = one.get("aclnn_name", one.get("name"))
            if not isinstance(name, str):
                raise _wrong(where, "aclnn_name is a text", name)
            if "standard" in one:
                note("the file's own standard of accuracy is not used: cases are judged by what rounding explains")
            tensors, attributes = [], {}
            for entry in one["inputs"]:
                kind = entry.get("type") if isinstance(entry, dict) else None
                if kind not in ("tensor", "attr", "attr_tuple") or not isinstance(entry.get("name"), str):
                    raise _wrong(where, "an input has a name and the type tensor, attr or attr_tuple", entry)
                if kind == "tensor":
                    tensors.append(Atk._tensor(f"{where}, {entry['name']}", entry, note))
                else:
                    attributes[entry["name"]] = Atk._attribute(f"{where}, {entry['name']}", entry)
            yield Listed(f"{one.get('name', name)} {one.get('id', number)}", name, tuple(tensors), attributes)

    @staticmethod
    def _tensor(where: str, entry: dict, note):
        for lost in LOST_ATK:
            if entry.get(lost):
                note(f"{lost} is not used")
        shape, values = shape_of(where, entry.get("shape")), entry.get("range_values", [-1, 1])
        dtype = _dtype(where, entry.get("dtype", "")) if shape is not None else ""
        if isinstance(values, dict):
            if values.get("name") != "nd":
                raise _wrong(where, "a distribution is {name: nd, mean, std}", values)
            note("mean and deviation of a normal tensor are the middle of their ranges")
            (a, b), (c, d) = range_of(where, values.get("mean")), range_of(where, values.get("std"))
            return Values(entry["name"], shape, dtype, (a + b) / 2, (c + d) / 2, True)
        return Values(entry["name"], shape, dtype, *range_of(where, values))

    @staticmethod
    def _attribute(where: str, entry: dict):
        value = entry.get("range_values")
        if isinstance(value, dict):
            raise _wrong(where, "an attribute is a value or a list", value)
        return value

    @staticmethod
    def write(listed, cases) -> str:
        found = []
        for number, one in enumerate(listed):
            inputs = [{"name": part.name, "type": "tensor", "required": part.shape is not None,
                       "dtype": SHORT.get(part.dtype, part.dtype or "fp32"),
                       "shape": None if part.shape is None else list(part.shape),
                       "range_values": [part.low, part.high]} for part in one.tensors]
            for name, value in one.attributes.items():
                first = value[0] if isinstance(value, tuple) and value else value
                inputs.append({"name": name, "type": "attr_tuple" if isinstance(value, tuple) else "attr",
                               "required": True, "shape": None,
                               "dtype": {bool: "bool", int: "int", float: "float"}.get(type(first), "string"),
                               "range_values": list(value) if isinstance(value, tuple) else value})
            name = one.operator.removeprefix("aclnn")
            api = re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", one.operator).lower()
            found.append({"id": number, "name": name, "aclnn_name": name, "api_type": api,
                          "standard": {"acc": "single_bm", "perf": "not_key"}, "inputs": inputs})
        return json.dumps(found, indent=1, allow_nan=False)


class Ttk:
    """TTK: a table of 26 columns whose cells are Python literals; tensors stand in the order of the operator."""

    @staticmethod
    def read(text: str, note: Callable[[str], None]) -> Iterator:
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise _wrong("a list of TTK is CSV", "it must be whole", str(error), "write it again") from None
        missing = [name for name in NEEDED if not rows or name not in rows[0]]
        if missing:
            raise _wrong("a list of TTK", f"a row of names with {', '.join(NEEDED)}, and cases",
                         f"none of {', '.join(missing)}", "write it again")
        for number, row in enumerate(rows, 2):
            where = f"line {number}"
            if None in row.values() or None in row:
                raise _wrong(where, f"as many cells as names, {len(rows[0]) - (None in rows[0])}", "another number", "mend it")
            if row.get("is_enabled", "").strip() in ("0", "False"):
                note("rows that are not enabled are left out")
                continue
            for name in ("precision_tolerances", "absolute_precision"):
                if row.get(name, "").strip():
                    note(f"{name} is not used: cases are judged by what rounding explains")
            for name in ("manual_input_binaries", "manual_golden_binaries"):
                if row.get(name, "").strip() not in ("", "()", "None"):
                    note(f"{name} is not read: values are drawn from their ranges")
            shapes, dtypes = (Ttk._cells(where, row, name) for name in ("input_shapes", "input_dtypes"))
            ranges = Ttk._cells(where, row, "input_data_ranges", ((-1, 1),) * len(shapes))
            if not len(shapes) == len(dtypes) == len(ranges):
                raise _wrong(where, "as many shapes as dtypes and ranges", f"{len(shapes)}, {len(dtypes)}, {len(ranges)}")
            tensors = []
            for shape, dtype, values in zip(shapes, dtypes, ranges):
                shape = shape_of(where, shape)
                ends = (0.0, 0.0) if shape is None or values is None else range_of(where, values)
                tensors.append(Values("", shape, _dtype(where, dtype) if shape is not None else "", *ends))
            attributes = Ttk._cells(where, row, "attributes", {}, dict)
            if not all(isinstance(name, str) for name in attributes):
                raise _wrong(where, "attributes are named by texts", attributes)
            yield Listed(row["testcase_name"], row["op_name"], tuple(tensors), attributes)

    @staticmethod
    def _cells(where: str, row: dict, name: str, default=None, kind=(tuple, list)):
        text = (row.get(name) or "").strip()
        if not text and default is not None:
            return default
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise _wrong(where, f"{name} is a literal of Python", text) from None
        if not isinstance(value, kind):
            raise _wrong(where, f"{name} is a {'dict' if kind is dict else 'tuple'}", value)
        return value

    @staticmethod
    def write(listed, cases) -> str:
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for one, made in zip(listed, cases):
            op, tensors = made.operator, one.tensors
            results = op.arrange_backward(**op.bind(made.inputs)).results.values()
            shapes = tuple(part.shape for part in tensors)
            outputs = tuple(result.documented_shape for result in results)
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", one.operator.removeprefix("aclnn").replace("Backward", "Grad")).lower()
            table.writerow({
                "testcase_name": one.name, "network_name": "UNKNOWN", "op_name": name,
                "input_shapes": shapes, "input_dtypes": tuple(part.dtype or None for part in tensors),
                "input_formats": ("ND",) * len(tensors), "output_shapes": outputs,
                "output_dtypes": tuple(result.format.name for result in results),
                "output_formats": ("ND",) * len(outputs), "input_ori_shapes": shapes,
                "input_ori_formats": ("ND",) * len(tensors), "attributes": one.attributes,
                "input_data_ranges": [None if part.shape is None else (part.low, part.high) for part in tensors],
                "output_inplace_indexes": (), "output_shape_unknown_indexes": (), "is_enabled": 1,
                "manual_input_binaries": (), "manual_golden_binaries": ()})
        return text.getvalue()


FORMS = {".json": Atk, ".csv": Ttk}
