"""Roots of the stand-in, each built once a session: `from standin.fixtures import roots`."""

import pytest

from standin.build import build


@pytest.fixture(scope="session")
def roots(tmp_path_factory):
    """Return build() without its first argument: `roots("8.x")`, `roots(stubs=True)`; one layout is "9.x"."""
    built = {}

    def root(layout="9.x", **variants):
        key = repr((layout, sorted(variants.items())))
        if key not in built:
            built[key] = build(tmp_path_factory.mktemp("standin") / "root", layout, **variants)
        return built[key]

    return root
