"""The site, which `make site` builds with Sphinx: lessons, guides and reference; the Chinese edition where ACLNN_VIZ_LANG is zh.

The pages are those of the repository, so its own links lead from one to another.
"""

import os
import sys

# jsonschema builds its grammar for a second and a half; no notebook needs it
sys.modules.setdefault("rfc3987_syntax", None)
chinese = os.environ.get("ACLNN_VIZ_LANG") == "zh"
language, root_doc = ("zh_CN", "docs/zh/index") if chinese else ("en", "docs/index")
# else the kit takes that of the locale, here and in the pages that are computed
os.environ["ACLNN_VIZ_LANG"] = language[:2]
os.environ["TQDM_DISABLE"] = "1"  # nobody watches a bar in the pages that are computed

project, author = "aclnn-viz", "the aclnn-viz authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "notebooks.gallery.site"]
include_patterns = (
    ["docs/zh/*.md", "notebooks/zh/*.ipynb"]
    if chinese
    else ["docs/*.md", "notebooks/*.ipynb", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
exclude_patterns = [".*", "build", "tests", "aclnn_viz", "derivations"]

myst_enable_extensions, myst_heading_anchors = ["dollarmath"], 4
nb_custom_formats = {".ipynb": "notebooks.gallery.site.lesson"}
# lessons keep the outputs they are committed with
nb_execution_mode, nb_execution_raise_on_error, nb_merge_streams = "off", True, True
nb_execution_timeout = -1  # no limit: a slow machine ends no build
nb_render_markdown_format = "myst"  # with formulas
nb_code_prompt_show, nb_code_prompt_hide = (
    ("显示输出", "收起输出") if chinese else ("Show the {type}", "Hide the {type}")
)
default_role, autodoc_default_options, autodoc_typehints = "code", {"members": True}, "none"
napoleon_use_ivar = True  # attributes that are members, too, are described once

html_theme, html_title = "furo", "aclnn-viz"
html_show_sphinx, html_show_copyright, html_copy_source = False, False, False
html_show_search_summary = False  # it would be fetched, which a file cannot
html_search_scorer = os.path.join(os.path.dirname(__file__), "site", "scorer.js")
html_math_renderer = "mathml"
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"
templates_path, html_static_path, html_css_files, html_js_files = (
    ["site/templates"],
    ["site/static"],
    ["site.css"],
    ["site.js"],
)
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "edition.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_additional_pages = {} if chinese else {"index": "to_docs.html"}
