"""The gradients that an explorer shows: those of the chosen device, or in float64, which no device takes, of the kit's own kernel."""

from aclnn_viz.explorers.state import StateError
from aclnn_viz.operators.plans import preset, run
from aclnn_viz.words.messages import message


def gradients(op, state, inputs: dict, backward) -> tuple[dict, tuple[str, ...]]:
    """Return (outputs, notices) of `backward(state, inputs)`; in float64 those of the kit's own kernel.

    For operators that take FLOAT16, BFLOAT16 and FLOAT32. Raises StateError where float64 is to run on a device.
    """
    if state.dtype != "float64":
        return backward(state, inputs)
    if state.device != "host" or state.plan == "device":
        raise StateError("dtype", message("{name} takes float16, bfloat16 and float32", name=op.aclnn_name), "float64",
                         message("choose one of them, or device host and precision documented"))
    return op.backward(**inputs), (message("No product takes float64 for {name}: shown is this kit's own kernel.", name=op.aclnn_name),)


def further(op, state, inputs: dict, backward) -> dict:
    """Return the outputs for more inputs of a state whose own were accepted: to judge them again takes the host longer
    than to compute them."""
    if state.device != "host":
        return backward(state, inputs)[0]
    if state.plan == "device":
        return run(op, preset(op, state.soc, state.cann), **inputs)
    return op.backward(**inputs)


def computed_by(state) -> str:
    """Return who computed what is shown, in a few words."""
    if state.dtype == "float64":
        return message("this kit's kernel in float64")
    if state.device != "host":
        return message("the {device} device", device=state.device)
    if state.plan == "documented":
        return message("the host as {soc}, CANN {cann}, precision as documented", soc=state.soc, cann=state.cann)
    return message("the host as {soc}, CANN {cann}, precision predicted for the product", soc=state.soc, cann=state.cann)
