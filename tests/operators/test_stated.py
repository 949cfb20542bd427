"""The tables of an operator from outside: each is read, counts as its source, and is refused in three parts where it says nothing that can be made."""

import shutil

import pytest
from machine import ROOT

from aclnn_viz.operators import operator, registry
from aclnn_viz.operators.faults import _of, faults
from aclnn_viz.verification.conventions import conventions, recompute
from aclnn_viz.verification.errata import errata

TABLES = {
    "errata": (
        '[sources]\nTEXT = "a text"\n[[erratum]]\nid = "one"\nkind = "contract"\ntitle = "t"\ndocument = "3"\ndocument_source = "$TEXT, 2"\n'
        'truth = "2"\nwhat = "a sum"\nobserve = "1 + 1"\ndocumented = "3"\nfound = "2"\n'
    ),
    "conventions": '[[convention]]\ntopic = "kink"\nwhere = "at 1"\nseen = "2 * 1"\nreturns = 2\npublished = "p"\nwhy = "w"\n',
    "faults": '[[fault]]\nname = "sign"\nstory = "s"\nexposed_by = "e"\nchanges = [["gradOutput *", "-gradOutput *"]]\nhidden = ["of 0", "{\'self\': 0.0}"]\n',
}
READ = {
    "errata": lambda op: [
        (one.document_source, one.recompute().holds) for one in errata() if one.operator == op.name
    ],
    "conventions": lambda op: (
        [(row.where, row.holds) for row in recompute([op])] + [len(conventions(op))]
    ),
    "faults": lambda op: [(one.name, one.hidden) for one in faults(op)][0],
}
EXPECTED = {
    "errata": [("a text, 2", True)],
    "conventions": [("at 1", True), 1],
    "faults": ("sign", ("of 0", {"self": 0.0})),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_read_or_refused(kind, tmp_path):
    folder = shutil.copytree(
        ROOT / "tests" / "elsewhere" / "my_silu", tmp_path / f"silu_with_{kind}"
    )
    declaration = folder / "declaration.py"
    declaration.write_text(declaration.read_text().replace('"my_silu"', repr(folder.name)))
    op = operator(folder)
    before, table = registry.sources(op.name), folder / f"{kind}.toml"
    try:
        table.write_text(TABLES[kind])
        assert (
            READ[kind](op) == EXPECTED[kind]
            and registry.file(kind, op.name) == table
            and registry.sources(op.name) != before
        )
        _of.cache_clear()
        table.write_text(TABLES[kind].rpartition(" =")[0])
        with pytest.raises(
            ValueError, match=rf"{kind}.toml must load before it is used: got .*; mend that file"
        ):
            READ[kind](op)
    finally:
        registry.forget(op.name)
