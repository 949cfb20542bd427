"""What the theorems cost: all of them proved and all of their mutants refused, in one process on one core.

    python benchmarks/theorems.py

Prints processor times, which other programs disturb little (but for a core that two threads share).
"""

import sys
import time

LIMIT = 12.0  # seconds of one core


def main() -> int:
    start = time.process_time()
    from derivations import theorems
    text = list(theorems())
    claims = [claim for theorem in text for claim in (theorem, *theorem.mutants)]
    imported = time.process_time()
    equations = sum(len(claim.equations()) for claim in claims)
    built = time.process_time()
    wrong = [claim.name for claim in claims if claim.prove().holds != (claim in text)]
    end = time.process_time()
    print(f"{len(text)} theorems, {len(claims) - len(text)} mutants, {equations} equations")
    for name, seconds in (("import", imported - start), ("write down", built - imported), ("prove or refuse", end - built)):
        print(f"{name:<16} {seconds:6.2f} s")
    held = not wrong and end - start <= LIMIT
    print(f"{'in all':<16} {end - start:6.2f} s, limit {LIMIT:g} s: {'held' if held else 'NOT HELD'}{wrong or ''}")
    return not held


if __name__ == "__main__":
    sys.exit(main())
