"""The grid-sampler explorer, whose picture is drawn by scripts of its own."""

from aclnn_viz.explorers.grid_sampler_2d_data import OP, Data, State, compute, inputs
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.grid_sampler_2d import figure
from aclnn_viz.pictures.grid_sampler_2d_text import corners, describe, headline
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.text import number

SCRIPTS = ("grid_sampler_2d_map.js", "grid_sampler_2d_panels.js", "grid_sampler_2d_hand.js", "grid_sampler_2d.js")


def picture(data: Data) -> tuple[dict, dict]:
    """Return the arrays and the words that the front end draws."""
    maps = {"inputGrad": scale(data.inputGrad), "outs": ("grey", min(0.0, float(data.outs.min())),
                                                         max(1.0, float(data.outs.max())))}
    arrays = {name: getattr(data, name) for name in ("surround", "pixels", "outs", "inputGrad", "gridGrad", "sources",
                                                     "taps", "breaks", "coordinates", "slopes", "kinks")}
    here = (data.state.sample, data.state.channel, *data.chosen)
    return arrays | {"grid": data.inputs["grid"][data.state.sample]}, {
        "margin": list(data.margin), "maps": {name: list(of) for name, of in maps.items()},
        "upstream": float(data.inputs["gradOutput"][here]), "headline": headline(data), "corners": corners(data),
        "errors": [number(e) for e in data.errors], "notices": list(data.notices), "text": describe(data)}


class Drawn(Subject):
    """Its picture is drawn by scripts of its own."""

    scripts = SCRIPTS

    def picture(self, data):
        return picture(data)

    def figure(self, data):
        return figure(data)


def subject():
    return Drawn(OP.name, lambda state: OP, State, inputs, compute, None)
