"""The parts of an interactive picture (explorer): a movable state, and functions from state to data, and from data to
picture.
"""

from collections.abc import Callable
from dataclasses import dataclass

from aclnn_viz.explorers import lift
from aclnn_viz.explorers.state import controls, worded
from aclnn_viz.pictures import fonts
from aclnn_viz.pictures.panels import described
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import unmarked
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import tr


@dataclass(frozen=True)
class Subject:
    """The parts of an explorer, which the widget only connects.

    An operator's own explorer is a file whose function `subject()` returns them.

    >>> from aclnn_viz.explorers import subject_of
    >>> hardswish = subject_of("hardswish")
    >>> data = hardswish.compute(hardswish.state())
    >>> [panel.name for panel in hardswish.panels(data) if not panel.more]
    ['forward', 'beside', 'slope', 'share']
    >>> hardswish.show(data).headline[0].partition(":")[0]
    'On the kink there is no derivative'
    """

    name: str  # name that `explore` takes
    operator: Callable  # makes an Operator from a state
    state: type
    inputs: Callable  # makes the inputs of the operator's backward from a state
    compute: Callable  # makes data from (state, backward); data.state is the state
    panels: Callable
    # makes the sentences beside the caption, from data; may be slower than `panels`, as `text`
    headline: Callable | None
    # makes the lines before and after the panels in words, from data
    around: Callable
    test: Callable = lift.pytest_case  # makes a test module from (subject, state)
    notices: Callable = lambda data: map(tr, data.notices)  # makes the small print from data
    # Describes the view in one to three sentences, from data. "[3:word]" has the colour of the
    # marks of kind 3, "[b:word]" is bold.
    caption: Callable = None
    plays: Callable = lambda data: ()
    # (gathered, data): functions that are traced for a web page, which then computes the picture
    # without Python; empty for a picture that cannot be traced
    live: tuple = ()
    # Returns {name: tensor} for a state: random tensors, which a web page takes as constants
    drawn_of: Callable = lambda state: {}
    kept: tuple[str, ...] = ()  # fields of the state that a web page does not change
    # For pictures that cannot be traced: {field: its values, or () for all of them}. The web page
    # stores a picture for each combination of values.
    recorded: tuple[dict, ...] = ()

    def drawn(self, data) -> tuple[dict, list[dict]]:
        """Return the browser's picture: the arrays by name, and the panels."""
        return described(self.panels(data))

    def words(self, data) -> dict:
        """Return all words of a picture that the browser shows."""
        return {
            "caption": self.said(data),
            "headline": self.told(data),
            "text": self.text(data),
            "notices": list(self.notices(data)),
        }

    def said(self, data):
        """Return the caption of the main picture: by default the first sentence."""
        return self.caption(data) if self.caption else self.headline(data)[0]

    def text(self, data) -> str:
        """Return the whole picture in words."""
        before, after = self.around(data)
        return "\n".join([*before, *in_words(self.panels(data)), *after])

    def told(self, data) -> list:
        """Return the sentences beside the caption."""
        return list(self.headline(data)) if self.headline else []

    def show(self, data) -> Picture:
        """Return panels and words as one picture."""
        return Picture(
            tuple(self.told(data)) or (unmarked(self.said(data)),),
            tuple(self.panels(data)),
            self.text(data),
            tuple(self.notices(data)),
        )

    def controls(self) -> list[dict]:
        """Return the controls of the state, in the language of the kit."""
        return worded(controls(self.state))

    def figure(self, data):
        """Return the picture as a Matplotlib Figure; in English if no font has another language's glyphs."""
        return fonts.legible(self.show)(data).figure()
