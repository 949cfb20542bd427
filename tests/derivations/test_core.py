"""Substitution, ranges, normal form, derivatives, cells, evaluation and notation, each tested separately."""

import mpmath
import numpy as np
import pytest
from sympy import (
    ConditionSet,
    Derivative,
    Dummy,
    Function,
    IndexedBase,
    Integral,
    KroneckerDelta,
    Lambda,
    Max,
    Min,
    Piecewise,
    Product,
    Rational,
    Subs,
    Sum,
    Symbol,
    erf,
    exp,
    floor,
    log,
    symbols,
    tanh,
)
from sympy.core.function import AppliedUndef

from derivations import evaluate
from derivations.cells import Cell, cells, left_derivative, limit_at, right_derivative, slope
from derivations.prover.expressions import NotUnderstood, freshen, insert, substitute
from derivations.prover.gradient import gradient
from derivations.prover.normal_form import normal_form
from derivations.prover.notation import latex, notated, readable
from derivations.prover.ranges import Ranges, is_nonnegative
from derivations.prover.tape import Tape

n, m = symbols("n m", integer=True, positive=True)
i, j, k = symbols("i j k", integer=True)
x, A = IndexedBase("x", real=True), IndexedBase("A", real=True)
v = Symbol("v", real=True)


def test_substitution_does_not_capture():
    moved = substitute(Sum(A[i, j], (j, 0, n)), {i: j})
    assert moved.function.indices[0] == j and moved.function.indices[1] != j


def test_substitution_leaves_bound_indices_and_array_names():
    assert substitute(Sum(x[i], (i, 0, n)), {i: k}).free_symbols.isdisjoint({k})
    named = Symbol("x", real=True)
    assert substitute(x[i] * named, {named: v}) == x[i] * v


def test_substitution_follows_the_scope_of_limits():
    moved = substitute(Sum(x[i], (i, 0, i)), {i: k})
    assert moved.limits[0][2] == k and moved.function != x[k]


@pytest.mark.parametrize(
    "binder",
    [
        lambda e: Sum(e, (j, 0, n)),
        lambda e: Product(e, (j, 0, n)),
        lambda e: Integral(e, (j, 0, n)),
        lambda e: Lambda(j, e),
        lambda e: Subs(Derivative(e, j), j, n),
        lambda e: Subs(e, j, n),
    ],
    ids=("Sum", "Product", "Integral", "Lambda", "Subs of Derivative", "Subs"),
)
def test_no_binder_captures(binder):
    wrapped = Piecewise((binder(Function("f")(i, j)), v > 0), (0, True))
    moved = substitute(wrapped, {i: j})
    assert j in moved.free_symbols and moved.atoms(AppliedUndef).isdisjoint({Function("f")(j, j)})
    assert substitute(binder(Function("f")(j)), {j: k}).free_symbols.isdisjoint({k, j})
    there, back = (
        e.replace(Function("f"), lambda a, b: a * b**2).doit()
        for e in (wrapped, substitute(moved, {j: i}))
    )
    assert there == back or there.has(Lambda)


def test_a_derivative_moves_with_its_variable_or_not_at_all():
    f = Function("f")
    assert substitute(Derivative(f(i, j), j), {i: n, j: k}) == Derivative(f(n, k), k)
    for mapping in ({i: j}, {j: i}, {j: n + 1}, {j: 0}):
        with pytest.raises(NotUnderstood, match="a derivative at a value"):
            substitute(Derivative(f(i, j), j), mapping)


def test_what_binds_in_an_unknown_way_is_refused():
    with pytest.raises(NotUnderstood, match="ConditionSet binds"):
        substitute(Function("f")(ConditionSet(i, i > j)), {j: i})
    with pytest.raises(NotUnderstood, match="Integral without limits"):
        substitute(Integral(v, v), {v: k})


def test_bound_indices_are_integers_only_where_their_limits_are():
    u = Symbol("u")
    assert freshen(Sum(floor(u), (u, 0, n))).function.is_Symbol
    assert freshen(Sum(floor(u), (u, Rational(1, 2), Rational(5, 2)))).function.has(floor)
    assert freshen(Integral(floor(u), (u, 0, n))).function.has(floor)


def test_values_are_inserted_only_where_nothing_divides_by_zero():
    assert insert(1 / (i + 1), {i: 0}) == 1
    for e in (
        1 / i,
        Max(1 / i, v),
        1 / (1 + 1 / i),
        log(i) + 1,
        v**-i / (i - j + j),
        1 / x[i] ** (-i) / i,
    ):
        with pytest.raises(NotUnderstood, match="a pole"):
            insert(e, {i: 0})


def test_ranges_enclose_affine_indices():
    ranges = Ranges({i: (0, n - 1)})
    assert ranges.contains(0, n - 1, i, {}) and ranges.contains(1, n, i + 1, {})
    assert ranges.contains(0, n - 1, n - 1 - i, {})
    assert not ranges.contains(0, n - 1, i + 1, {}) and not ranges.contains(0, n - 1, j, {})
    assert not ranges.contains(0, 2 * n, i + Rational(1, 2), {})


def test_nonnegative_follows_from_positive_integers_alone():
    assert is_nonnegative(n + m - 2) and is_nonnegative(n * m - 1)
    assert not is_nonnegative(n - 2) and not is_nonnegative(n - m) and not is_nonnegative(i)


def test_normal_form_separates_sums_that_share_no_index():
    assert normal_form(Sum(x[i] * x[j], (i, 0, n - 1), (j, 0, m - 1))).count(Sum) == 2


def test_gradient_of_an_entry_is_a_delta():
    assert gradient(Sum(x[j] ** 2, (j, 0, n - 1)), x[i]).has(KroneckerDelta)
    assert (
        normal_form(gradient(Sum(x[j] ** 2, (j, 0, n - 1)), x[j]), Ranges({j: (0, n - 1)}))
        == 2 * x[j]
    )


@pytest.mark.parametrize(
    "e",
    [
        exp(v**2),
        log(v**2 + 1),
        v**3 / (1 + exp(-v)),
        (v**2 + 1) ** Rational(-3, 2),
        tanh(v**2),
        erf(3 * v),
    ],
)
def test_gradient_agrees_with_differences(e):
    h = 1e-6
    at = float(e.subs(v, 0.7 + h) - e.subs(v, 0.7 - h)) / (2 * h)
    assert abs(float(gradient(e, v).subs(v, 0.7)) - at) < 1e-8  # h^2 and 1e-16 / h


def test_gradient_refuses_kinks():
    for e in (Max(v, 0), Piecewise((v, v > 0), (0, True)), Function("f")(v)):
        with pytest.raises(NotUnderstood):
            gradient(e, v)


def test_cells_cover_the_line_between_kinks():
    assert [(cell.low, cell.high) for cell in cells(-1, 2)][1] == (-1, 2)
    assert slope(abs, Cell(*map(Rational, (0, 5)))) == 1
    assert (left_derivative(abs, 0), right_derivative(abs, 0)) == (-1, 1)


def test_one_sided_limits_of_a_parabola():
    cell = cells(-3, 3)[1]
    assert [limit_at(slope(lambda u: u**2, cell), cell, end) for end in ("low", "high")] == [-6, 6]


def test_an_infinite_limit_is_refused():
    cell = cells(0)[1]
    with pytest.raises(ValueError, match="infinite limit"):
        limit_at(1 / cell.point, cell, "low")


def test_evaluate_sums_gathers_and_cases():
    t = IndexedBase("t", integer=True)
    values = {"x": [1.0, 2.0, 4.0], "t": [2, 0], "n": 3}
    assert evaluate(Sum(x[k], (k, 0, n - 1)) * x[t[i]], values, {i: 2}).tolist() == [28.0, 7.0]
    assert evaluate(Piecewise((x[i], x[i] > 1), (-1, True)), values, {i: 3}).tolist() == [
        -1.0,
        2.0,
        4.0,
    ]
    assert evaluate(KroneckerDelta(i, t[j]), values, {j: 2, i: 3}).tolist() == [
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert evaluate(Min(x[i], 3) + Max(x[i], 2), values, {i: 3}).tolist() == [3.0, 4.0, 7.0]


def test_evaluate_keeps_inner_and_outer_indices_of_one_name_apart():
    e = x[i] * Sum(x[i], (i, 0, n - 1))
    assert evaluate(e, {"x": [1.0, 2.0], "n": 2}, {i: 2}).tolist() == [3.0, 6.0]


def test_evaluate_with_digits_is_exact_to_these_digits():
    value = evaluate(exp(x[i]) ** Rational(1, 3), {"x": [1.0]}, {i: 1}, digits=50)[0]
    with mpmath.workdps(50):
        assert abs(value - mpmath.exp(mpmath.mpf(1) / 3)) < mpmath.mpf(10) ** -48


def test_evaluate_computes_a_sum_that_is_a_number_to_all_digits():
    e = exp(Sum(1 / (k + 1), (k, 0, 4)))
    assert np.isclose(evaluate(e, {}), np.exp(137 / 60), rtol=1e-14, atol=0)  # a dozen roundings
    with mpmath.workdps(50):
        off = evaluate(e, {}, digits=50).item() - mpmath.exp(mpmath.mpf(137) / 60)
        assert abs(off) < mpmath.mpf(10) ** -47


def test_evaluate_with_digits_takes_and_gives_numbers_of_mpmath():
    with mpmath.workdps(50):
        given = [mpmath.mpf(-1) / 3, mpmath.mpf(2) ** -1100, mpmath.inf, mpmath.nan]
        third, small, infinite, unknown = evaluate(3 * x[i] - 1, {"x": given}, {i: 4}, digits=50)
        assert (
            abs(third + 2) < 1e-49
            and small == -1
            and infinite == mpmath.inf
            and mpmath.isnan(unknown)
        )
        assert evaluate(x[i] * exp(-x[i]), {"x": [mpmath.mpf(9999)]}, {i: 1}, digits=50)[0] > 0
    with pytest.raises(ZeroDivisionError):
        evaluate(1 / x[i], {"x": [0.0]}, {i: 1}, digits=50)


def test_evaluate_refuses_what_it_cannot_know():
    with pytest.raises(KeyError):
        evaluate(x[i], {}, {i: 1})
    with pytest.raises(IndexError, match="axis 0 of x"):
        evaluate(x[i + 1], {"x": [1.0]}, {i: 1})
    with pytest.raises(KeyError, match="got the function f"):
        evaluate(Function("f")(v), {"v": 1.0})


def test_bound_indices_get_letters():
    hidden = Dummy("b0", integer=True)
    assert readable(Sum(x[hidden] * x[j], (hidden, 0, n - 1)), {n: [j, k]}).variables == [k]
    assert latex(Sum(x[hidden], (hidden, 0, n - 1))) == r"\sum_{j=0}^{n - 1} {x}_{j}"


def test_names_as_in_print():
    names = {
        "xhat": r"\hat{x}",
        "rhobar": r"\bar{\rho}",
        "gamma": r"\gamma",
        "dy": r"\mathit{dy}",
        "rowbar": r"\overline{\mathrm{row}}",
    }
    assert {name: notated(name) for name in names} == names


def test_the_tape_sums_over_all_uses():
    tape = Tape()
    w = tape.input("w", {i: n})
    u = tape.define("u", {i: n}, w[i] ** 2, "square")
    tape.define("s", {i: n}, u[i] * w[i], "times w")
    tape.backward("s", x[i], ["w"], {"s": "given", "u": "use", "w": "both uses"})
    assert normal_form(tape.inline(tape.adjoint("w")) - 3 * w[i] ** 2 * x[i]) == 0
