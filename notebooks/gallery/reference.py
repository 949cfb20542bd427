"""The API reference: what the documented modules say of themselves, as static pages made by pdoc."""

import warnings
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from pygments.formatters import HtmlFormatter

#: What people outside the kit import; everything else is its inside.
MODULES = ("aclnn_viz", "aclnn_viz.accuracy", "aclnn_viz.arrays.plan", "aclnn_viz.cases", "aclnn_viz.checking",
           "aclnn_viz.checking.puzzles", "aclnn_viz.devices", "aclnn_viz.dtypes", "aclnn_viz.explorers",
           "aclnn_viz.devices.cpp", "aclnn_viz.operators.faults", "aclnn_viz.operators", "aclnn_viz.operators.operator",
           "aclnn_viz.operators.plans", "aclnn_viz.pictures", "aclnn_viz.operators.products", "aclnn_viz.tiles",
           "aclnn_viz.verification.conventions", "aclnn_viz.verification.errata", "aclnn_viz.words", "derivations")

STYLE = ((Path(__file__).parent / "reference.css").read_text(encoding="utf-8") + "@media (prefers-color-scheme: dark) {\n"
         + HtmlFormatter(style="github-dark").get_style_defs(".pdoc-code") + "\n.pdoc .pdoc-code, .pdoc .attr .pdoc-code { background: inherit; }}\n")


def write(folder: Path, modules=MODULES) -> list[Path]:
    """Write the reference of the modules into a folder, and return its pages; they need no network to be read."""
    import pdoc
    from pdoc import render

    folder.mkdir(parents=True, exist_ok=True)
    for module in map(import_module, modules):  # pdoc sees what is loaded
        for name in getattr(module, "__all__", ()):
            getattr(module, name)
    with warnings.catch_warnings(), TemporaryDirectory() as templates:
        (Path(templates) / "custom.css").write_text(STYLE, encoding="utf-8")
        render.configure(docformat="markdown", show_source=False, search=False, footer_text="aclnn-viz",
                         template_directory=Path(templates))
        warnings.simplefilter("ignore")  # of modules that are named, and reached from another one, too
        pdoc.pdoc(*modules, output_directory=folder)
    return sorted(folder.rglob("*.html"))
