"""Recipes draw the same cases with the same identity everywhere; names of cases are read lazily."""

import json

import numpy as np
import pytest
from machine import SOAK, sampled

import aclnn_viz as av
from aclnn_viz.cases.suites import recipes
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.sweeps.recipes import draw, hashed, mode, recipe, source

GIVEN = {
    "operator": "hardswish",
    "shape": (3,),
    "dtype": "bfloat16",
    "seed": 7,
    "gradOutput": 1.5,
    "self": np.array([-3, np.nan, 2.0]).astype(BFLOAT16.numpy),
}
TEXT = (
    '{"dtype":"bfloat16","gradOutput":1.5,"operator":"hardswish","seed":7,"self":{"array":"bfloat16",'
    '"shape":[3],"values":[-3.0,NaN,2.0]},"shape":[3]}'
)
IDENTITY = "736784417ecce50579f94c00b7b072be"


def same(one, other):
    assert one.operator is other.operator and (one.dtype, one.seed) == (other.dtype, other.seed)
    assert one.inputs.keys() == other.inputs.keys()
    for name, value in one.inputs.items():
        found = other.inputs[name]
        if isinstance(value, np.ndarray):
            assert (found.dtype, found.shape, found.tobytes()) == (
                value.dtype,
                value.shape,
                value.tobytes(),
            ), name
        else:
            assert type(value) is type(found) and value == found, name


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(4)
def test_a_suite_drawn_from_recipes_is_the_suite(op):
    found, own = list(source("suite", op)), list(recipes(op))
    assert source("suite", op).count == len(found) == len(set(found)) == len(own)
    for number in range(0, len(own), 1 if SOAK else 9):
        kind, drawn = draw(found[number])
        same(own[number].case(number), drawn)
        assert kind.strided == own[number].strided


def test_a_recipe_has_one_text_and_one_identity_on_every_platform():
    """Both were written down from another process: no order, address or byte order of a machine is in them."""
    assert recipe(GIVEN) == TEXT and hashed(TEXT) == IDENTITY
    for other in (
        dict(reversed(GIVEN.items())),
        GIVEN | {"shape": [np.int64(3)]},
        GIVEN | {"gradOutput": np.float32(1.5)},
    ):
        assert recipe(other) == TEXT
    little, big = (GIVEN | {"self": np.array([1, 2, 3], f"{order}f4")} for order in "<>")
    assert recipe(big) == recipe(little)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"gradOutput": 1},
        {"shape": (3, 1)},
        {"strided": True},
        {"self": GIVEN["self"][::-1]},
        {"operator": "rms_norm"},
    ],
)
def test_another_recipe_has_another_identity(change):
    assert hashed(recipe(GIVEN | change)) != IDENTITY


def test_a_list_of_recipes_is_a_file_or_a_text(tmp_path):
    text = json.dumps(
        [{"operator": "hardswish", "shape": [4]}, {"operator": "rms_norm", "seed": 3}]
    )
    (tmp_path / "own.json").write_text(text)
    for name in (tmp_path / "own.json", text):
        assert list(source(name)) == [
            '{"operator":"hardswish","seed":0,"shape":[4]}',
            '{"operator":"rms_norm","seed":3}',
        ]
        assert len(list(source(name, "rms_norm"))) == 1


def test_a_mode_is_what_the_operator_declares_as_worth_trying():
    assert mode(av.case("rms_norm")) == ""
    assert (
        mode(av.case("grid_sampler_2d", paddingMode=2))
        == "interpolationMode=0, paddingMode=2, alignCorners=False"
    )


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (
            lambda: recipe({"shape": (3,)}),
            "a recipe is an object of JSON with the keywords of av.case: got dict",
        ),
        (lambda: recipe({"operator": "nope"}), "no such operator: got 'nope'; use one of"),
        (
            lambda: recipe({"operator": "rms_norm", "x": object()}),
            "a recipe holds numbers, texts, lists and arrays: got",
        ),
        (
            lambda: draw(TEXT.replace("[-3.0,NaN,2.0]", "[-3.0,2.0]")),
            "an array of a recipe has array, shape and values: got cannot reshape",
        ),
        (lambda: source("[1]"), "recipes is a list of dict: got list [1]; pass such a list"),
        *(
            (
                lambda shape=shape: source(f'[{{"operator": "tanh", "shape": {shape}}}]'),
                "shape is a tuple of lengths: got",
            )
            for shape in ("[NaN]", "[1e3]", '["4"]', "[true]", '"4"')
        ),
        (
            lambda: source('[{"operator": "tanh", "seed": 1, "seed": 2}]'),
            'or a JSON list of recipes: got [{"operator": "tanh", "seed": 1, "seed": 2}]: \'seed\' twice in one object; choose',
        ),
        (lambda: source("[{"), "or a JSON list of recipes: got [{: Expecting"),
        (
            lambda: source("nowhere.json"),
            "cases are suite, standard, or a JSON list of recipes: got nowhere.json: No such file",
        ),
        (lambda: source("suite", seeds=0), "seeds is a number from 1 on: got 0"),
    ],
)
def test_what_is_no_recipe_is_refused_in_three_parts(call, part):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert part in str(error.value)
