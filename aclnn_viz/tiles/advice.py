"""Advise on a kernel after a run: the share of the Unified Buffer that its tiles take, and unnecessary waits."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

from aclnn_viz.operators.products import PRODUCTS
from aclnn_viz.tiles.memory import UnifiedBuffer
from aclnn_viz.tiles.platforms import BLOCK
from aclnn_viz.tiles.program import Run
from aclnn_viz.words.messages import Message, linked, message

SECONDS = 20.0  # time limit, in seconds, of the runs that each leave out one wait


def advice(launched: Callable[..., Run], run: Run) -> Iterator[Message]:
    """Yield advice on a run, from further runs of the kernel by `launched(without=..., sync=...)`."""
    if any(run.buffers):
        yield _memory(run)
    if not run.hazards and (lines := _spare(launched, run)):
        yield message(
            "no order needs these waits: lines {lines}",
            lines=linked("{some}, {more}", map(str, lines)),
        )


def _memory(run: Run) -> Message:
    """Return in words the bytes of each buffer, the products whose Unified Buffer holds them, and the longest tile."""
    blocks = max(run.buffers, key=len)
    taken = sum(block.length for block in blocks)
    each = Counter((str(block.name), block.length) for block in blocks)
    parts = [
        message("{name} {n} x {size:,}", name=name, n=n, size=size)
        for (name, size), n in each.items()
    ]
    fitting = [
        str(one.name) for one in PRODUCTS if one.unified_buffer and taken <= one.unified_buffer
    ]
    said = message(
        "Unified Buffer: {parts}: {taken:,} of {size:,} bytes; fits {products}",
        parts=linked("{some} + {more}", parts),
        taken=taken,
        size=run.platform.unified_buffer,
        products=linked("{some}, {more}", fitting or [message("no product")]),
    )
    if longest := _longest(run, blocks, taken):
        said = message("{said}; {longest}", said=said, longest=longest)
    return said


def _longest(run: Run, blocks, taken: int) -> Message | None:
    """Return the longest tile that fits, if buffers that hold a whole tile grow with it and the others do not."""
    copies = [
        span.length
        for one in run.trace or ()
        for memory, span in (*one.reads, *one.writes)
        if isinstance(memory, UnifiedBuffer) and one.name.startswith("DataCopy")
    ]
    commonest = Counter(block.length for block in blocks).most_common(1)[0][0]
    # a run may stop before its first copy
    tile = -(-max(copies, default=commonest) // BLOCK) * BLOCK
    growing = sum(block.length for block in blocks if block.length >= tile)
    if not growing:
        return None
    most = int((run.platform.unified_buffer - taken + growing) * tile / growing) // BLOCK * BLOCK
    return message(
        "tiles of {tile:,} bytes, of which {most:,} would fit", tile=tile, most=max(most, 0)
    )


def _spare(launched: Callable[..., Run], run: Run) -> list[int]:
    """Return the lines of waits that can be omitted together; each wait is tried in turn."""
    end, spare = time.monotonic() + SECONDS, []
    sync = "auto" if launched(sync="strict").hazards else "strict"
    for line in run.waits_of_its_own:
        if time.monotonic() > end:
            break
        if not launched(without=frozenset([*spare, line]), sync=sync).hazards:
            spare.append(line)
    return spare
