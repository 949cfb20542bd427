"""Plans, and judges of bounds under them: a plan's outputs beside truths from outside the kit."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import Fixed, fixed, rounded

from aclnn_viz import operator
from aclnn_viz.accuracy.envelopes import Envelope, envelope
from aclnn_viz.arrays.plan import HOST, Plan
from aclnn_viz.operators import plans

PLANS = {
    "host": lambda name: HOST,
    "float32": lambda name: Plan(),
    "sequential": lambda name: Plan(
        order="sequential", leading="shuffled", cores=3, scatter="shuffled"
    ),
    "all float16": lambda name: Plan(
        compute="float16", accumulate="float16", order="blocked", tile=16, cores=2
    ),
    "all bfloat16": lambda name: Plan(
        storage="bfloat16", compute="bfloat16", accumulate="float32", atomics="bfloat16"
    ),
    "A2": lambda name: plans.preset(name, "Ascend910B2", "9.0"),
    "910": lambda name: plans.preset(name, "Ascend910A", "9.1"),
    "950": lambda name: plans.preset(name, "Ascend950PR_9579", "9.1"),
}


class Judged(NamedTuple):
    """One output beside its truth: |error|, the envelope, and the decided elements for which the bound holds."""

    error: np.ndarray
    envelope: Envelope
    claims: np.ndarray

    @property
    def missed(self):
        """Return indices of claimed elements that the bound does not cover."""
        # plus the cut of the truth
        return np.argwhere(self.claims & ~(self.error <= self.envelope.bound + 2.0**-250))

    @property
    def ratio(self):
        """Return bound / error of the claimed elements with an error."""
        wrong = self.claims & (self.error > 2.0**-250) & np.isfinite(self.envelope.bound)
        return self.envelope.bound[wrong] / self.error[wrong]


def planned(name, plan, inputs):
    """Return the outputs and envelopes of the documented formula under a plan."""
    plan = replace(plan, page=plan.intended or plan.page)
    return plans.run(operator(name), plan, **inputs), envelope(operator(name), plan, **inputs)


def against(actual, env, right):
    """Return an output beside its truth in whole numbers."""
    # An overflowing element has no finite bound, and the envelope claims nothing for it.
    finite = np.isfinite(actual)
    apart = np.abs(
        fixed(np.where(finite, actual, 0.0), right.bits).n - right.n.reshape(actual.shape)
    )
    return Judged(
        np.where(finite, rounded(Fixed(apart, right.bits)), np.inf),
        env,
        ~env.undecided & (finite | np.isfinite(env.bound)),
    )


def judged(name, plan, inputs):
    """Return {output: Judged} for the outputs of a plan."""
    out, envelopes = planned(name, plan, inputs)
    verdicts = {}
    for output, right in TRUTHS[name](**inputs).items():
        actual = out[output].astype(np.float64)
        # The bound is about these values.
        assert np.array_equal(envelopes[output].value.astype(np.float64), actual, equal_nan=True)
        verdicts[output] = against(actual, envelopes[output], right)
    return verdicts
