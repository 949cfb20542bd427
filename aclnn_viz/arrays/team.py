"""A team of threads that wait in compiled code for parts of a loop, so that a call is shared among them within a microsecond.

A helper looks for work for SPINS turns after its last part, then reads from a pipe, in which a call puts a byte to wake it: it
never comes back to Python, whose lock it would wait for. All that threads share of a call lies in a row of words: how many parts
are left, beside the number of the call, so that taking a part is one exchange that fails where another thread, or another call,
came first. Whoever calls works, too, and waits only for parts that somebody has begun. It takes the first parts, helpers the last
ones: so each finds in its caches what it worked on in the call before.
"""

import atexit
import os
import signal
import threading
import time
from contextlib import suppress
from functools import cache

import numpy as np

from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import problem

#: The storage that tells loops the two formats of 16 bits, which numba does not know.
BITS = {BFLOAT16.numpy: np.dtype(np.uint16), np.dtype(np.float16): np.dtype(np.int16)}
SPINS = 400_000  # turns of half a nanosecond and more: some tenths of a millisecond
WORDS = 80
# in bytes, each in a line of the cache of its own
LEFT, DONE, TASK, TABLE, PARTS, LAST, BUSY, ASLEEP, BYTES, PIPE = (8 * 8 * k for k in range(10))


@cache
def native():
    """(start, serve): functions of numba that share a call, and that help until there has been nothing to do for a while."""
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    word, plain = ir.IntType(64), ir.IntType(64).as_pointer()

    def atomic(count, build):
        def typed(typing, *given):
            return types.int64(*(types.int64,) * count), lambda context, b, signature, args: build(
                b, b.inttoptr(args[0], plain), *args[1:]
            )

        return typed

    def exchanged(b, at, old, new):
        return b.zext(b.extract_value(b.cmpxchg(at, old, new, "seq_cst", "seq_cst"), 1), word)

    def stored(b, at, value):
        b.store_atomic(value, at, "seq_cst", 8)
        return value

    def called(b, at, table, part):
        task = b.bitcast(at, ir.FunctionType(ir.VoidType(), (word, word)).as_pointer())
        b.call(task, (table, part))
        return part

    def of_system(name, result, *kinds):
        def build(b, at, *given):
            function = b.module.globals.get(name) or ir.Function(
                b.module, ir.FunctionType(result, kinds), name
            )
            given = (
                [b.trunc(given[0], kinds[0]), b.bitcast(at, kinds[1]), given[1]] if kinds else ()
            )
            return b.sext(b.call(function, given), word)

        return build

    one, two, three = (
        atomic(1, lambda b, at: b.load_atomic(at, "seq_cst", 8)),
        atomic(2, stored),
        atomic(3, exchanged),
    )
    add, run = atomic(2, lambda b, at, n: b.atomic_rmw("add", at, n, "seq_cst")), atomic(3, called)
    number, moved = ir.IntType(32), (ir.IntType(32), ir.IntType(8).as_pointer(), word)
    give_way = atomic(1, of_system("sched_yield", number))
    sleep, wake = (atomic(3, of_system(name, word, *moved)) for name in ("read", "write"))
    load = intrinsic(lambda typing, at: one(typing))
    store = intrinsic(lambda typing, at, value: two(typing))
    exchange = intrinsic(lambda typing, at, old, new: three(typing))
    count_up = intrinsic(lambda typing, at, n: add(typing))
    call = intrinsic(lambda typing, task, table, part: run(typing))
    rest = intrinsic(lambda typing, at: give_way(typing))
    get = intrinsic(lambda typing, at, pipe, count: sleep(typing))
    put = intrinsic(lambda typing, at, pipe, count: wake(typing))

    @njit(nogil=True)
    def serve(team, spins, pipe):
        idle, awake = 0, True
        while awake:
            left = load(team + LEFT)
            idle += 1
            if left & 0xFFFFFFFF and exchange(team + LEFT, left, left - 1):
                call(
                    load(team + TASK),
                    load(team + TABLE),
                    load(team + PARTS) + 24 * count_up(team + LAST, -1),
                )
                count_up(team + DONE, 1)
                idle = 0
            elif idle > spins:
                # a call that came before has seen no sleeper: it does its parts itself
                count_up(team + ASLEEP, 1)
                awake, idle = get(team + BYTES, pipe, 1) == 1, 0

    @njit(nogil=True)
    def start(team, task, table, parts, count):
        own = turns = 0
        # where another thread of the caller's uses the team, too
        if count == 1 or not exchange(team + BUSY, 0, 1):
            for own in range(count):
                call(task, table, parts + 24 * own)
            return
        store(team + TASK, task)
        store(team + TABLE, table)
        store(team + PARTS, parts)
        store(team + LAST, count - 1)
        store(team + DONE, 0)
        store(team + LEFT, (((load(team + LEFT) >> 32) + 1) << 32) + count)
        asleep = load(team + ASLEEP)
        woken = min(asleep, count - 1)
        if woken and exchange(team + ASLEEP, asleep, asleep - woken):
            put(team + BYTES, load(team + PIPE), woken)
        while load(team + LEFT) & 0xFFFFFFFF:
            left = load(team + LEFT)
            if left & 0xFFFFFFFF and exchange(team + LEFT, left, left - 1):
                call(task, table, parts + 24 * own)
                own += 1
        while load(team + DONE) != count - own:
            turns += 1
            if turns > SPINS:
                rest(team)
        store(team + BUSY, 0)

    return start, serve


@cache
def shared(loop, *kinds: tuple | type):
    """share(team, parts, *arguments), which runs a compiled loop over parts and says whether all are done; (place, storage) of arguments of 16 bits.

    `kinds` are (dtype, axes), or a type, of each argument; the loop sees an array of (dtype, axes, 1) as one of a single axis.
    """
    from numba import carray, cfunc, from_dtype, njit, typeof, types
    from numba.extending import intrinsic

    def pointer(dtype):
        @intrinsic
        def pointed(typing, address):
            result = types.CPointer(from_dtype(dtype))
            return result(types.int64), lambda context, b, signature, args: b.inttoptr(
                args[0], context.get_value_type(result)
            )

        return pointed

    def array(dtype, axes):  # one that may be written fits, too
        return types.Array(from_dtype(dtype), axes, "C", readonly=True)

    narrow = [
        (k, BITS[kind[0]])
        for k, kind in enumerate(kinds)
        if isinstance(kind, tuple) and kind[0] in BITS
    ]
    kinds = [
        (BITS.get(kind[0], kind[0]), *kind[1:]) if isinstance(kind, tuple) else kind
        for kind in kinds
    ]
    at, known = (
        0,
        {
            "np": np,
            "carray": carray,
            "loop": loop,
            "start": native()[0],
            "integers": pointer(np.dtype(np.int64)),
            "reals": pointer(np.dtype(np.float64)),
        },
    )
    put, taken, names, given = (
        "",
        "",
        [f"a{k}" for k in range(len(kinds))],
        [types.int64, array(np.dtype(np.int64), 2)],
    )
    for name, kind in zip(names, kinds):
        if isinstance(kind, tuple):
            known[f"{name}_at"] = pointer(kind[0])
            lengths = (
                [f"{name}.size"] if kind[2:] else [f"{name}.shape[{k}]" for k in range(kind[1])]
            )
            put += "".join(
                f"    table[{at + k}] = {one}\n"
                for k, one in enumerate((f"{name}.ctypes.data", *lengths))
            )
            taken += f"carray({name}_at(table[{at}]), ({''.join(f'table[{at + 1 + k}], ' for k in range(len(lengths)))})), "
            given.append(array(*kind[:2]))
            at += 1 + len(lengths)
        else:
            put += f"    {'reals' if kind is float else 'table'}[{at}] = {name}\n"
            taken += {
                float: f"numbers[{at}], ",
                bool: f"table[{at}] != 0, ",
                int: f"table[{at}], ",
            }[kind]
            given.append(typeof(kind()))
            at += 1
    text = (
        f"def task(place, part):\n    cut, numbers = carray(integers(part), (3,)), carray(reals(place), ({at},))\n"
        f"    table = carray(integers(place), ({at + 1} + cut[0],))\n    loop(cut[0], cut[1], cut[2], {taken})\n    table[{at} + cut[0]] = 1\n"
        f"def share(team, parts, {', '.join(names)}):\n    table, good = np.zeros({at} + parts.shape[0], np.int64), 0\n"
        f"    reals = table.view(np.float64)\n{put}    start(team, address, table.ctypes.data, parts.ctypes.data, parts.shape[0])\n"
        f"    for part in table[{at}:]:\n        good += part\n    return good == parts.shape[0]\n"
    )
    exec(text, known)
    compiled = cfunc(types.void(types.int64, types.int64))(known["task"])
    known["address"] = compiled.address
    share = njit(types.boolean(*given), nogil=True)(known["share"])
    share.kept = compiled  # its address must not outlive it
    return share, narrow


class Team:
    """So many threads, or as many as the system gives, of which one is whoever calls.

    An interrupt may come between any two steps of a caller's Python: what is taken and given back there would stay taken.
    """

    def __init__(self, count: int):
        self._words, self._helpers = np.zeros(WORDS, np.int64), 0
        self._place = self._words.ctypes.data
        pipe, self._words[PIPE // 8] = os.pipe()
        with suppress(RuntimeError):
            while self._helpers < count - 1:
                threading.Thread(target=self._help, args=(pipe,), name="loops", daemon=True).start()
                self._helpers += 1
        atexit.register(self._rest, os.getpid())

    @property
    def asleep(self) -> int:
        """How many helpers sleep."""
        return int(self._words[ASLEEP // 8])

    def _rest(self, process):
        """Wait until all sleep: Python, while it ends, gives up the code that they run."""
        for _ in range(10_000):  # one that has failed never sleeps
            if process != os.getpid() or self.asleep == self._helpers:
                break
            time.sleep(1e-4)

    def _help(self, pipe):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # none ends its sleep
        native()[1](self._place, SPINS, pipe)

    def run(self, sharing: tuple, parts: np.ndarray, arguments: tuple) -> None:
        """Run what `shared` returned over (part, first, last) of each row of `parts`; an array of 16 bits is passed as its storage in BITS."""
        share, narrow = sharing
        if narrow:
            arguments = [*arguments]
            for k, bits in narrow:
                arguments[k] = arguments[k].view(bits)
        try:
            done = share(self._place, parts, *arguments)
        except TypeError:
            raise ValueError(
                problem(
                    "a loop takes arrays whose elements lie in order",
                    "one with gaps, or turned",
                    "copy it first",
                )
            ) from None
        if not done:
            raise MemoryError(
                problem(
                    "a loop gets the memory that it works in",
                    "an error, which is printed above",
                    "use smaller shapes",
                )
            )


team = cache(Team)
if hasattr(os, "register_at_fork"):
    # a forked process has no copies of the threads
    os.register_at_fork(after_in_child=team.cache_clear)
