"""The command `lab`: copy the lessons to a folder, and open JupyterLab on a first page with an interactive picture and three
links.
"""

import importlib.util
import os
import sys
from pathlib import Path

from aclnn_viz.cli import start_page
from aclnn_viz.cli.checks import show
from aclnn_viz.errors import invalid
from aclnn_viz.storage.results import new_file, sweep
from aclnn_viz.words.messages import LANGUAGES, language, tr
from aclnn_viz.words.terms import glossary

PACKAGE = Path(__file__).parents[1]
LESSONS = PACKAGE / "lessons"
if not LESSONS.is_dir():  # only a clone has the folder; a wheel has none
    LESSONS = PACKAGE.parent / "notebooks"
EDITION = ("*.ipynb", "capsules/*.capsule", "capsules/cases.json", "cpp/*.cpp", "cpp/*.h")
# folder of each edition of the lessons
FOLDERS = {name: "" if name == LANGUAGES[0] else f"{name}/" for name in LANGUAGES}
START = "00_start_here.ipynb"
SETTINGS = Path(__file__).parent / "jupyter"


def lab(options) -> int:
    """Open JupyterLab on the start page of the lessons, in the language of the process. Lessons that the folder lacks are
    copied there first.

    What is in the folder already stays as it is; in a clone of the repository the lessons are opened where they are.
    JupyterLab follows its own settings (port, address, browser), such as those of jupyter_server_config.json.
    """
    if not options.copy and importlib.util.find_spec("jupyterlab") is None:
        raise invalid(
            "the lessons open in JupyterLab",
            "an environment without it",
            "pip install 'aclnn-viz[symbols,lab]', or only --copy them",
        )
    folder = Path(options.folder).resolve()
    page, copied = f"{FOLDERS[language()]}{START}", []
    if is_clone(folder):
        page = f"notebooks/{page}"
    else:
        copied = copy(folder)
    show(
        options,
        {"folder": str(folder), "start": page, "copied": copied},
        tr(
            "{folder}: {n} files copied, what was there is as it was; it begins with {page}",
            folder=folder,
            n=len(copied),
            page=page,
        ),
    )
    if not options.copy:
        open_in_jupyterlab(folder, page)
    return 0


def is_clone(folder: Path) -> bool:
    """Return whether the lessons of this kit are those in the folder itself."""
    there = folder / "notebooks" / START
    return there.is_file() and there.samefile(LESSONS / START)


def copy(folder: Path) -> list[str]:
    """Copy the lessons that a folder lacks, with the pages that they link to, and return their places in it."""
    pages = {f"docs/{below}glossary.md": f"```\n{glossary()}\n```\n" for below in FOLDERS.values()}
    pages["docs/tiles.md"] = (LESSONS.parent / "docs/tiles.md").read_text("utf-8")
    contents = {name: text.encode() for name, text in pages.items()} | {
        str(path.relative_to(LESSONS)): path.read_bytes()
        for below in FOLDERS.values()
        for pattern in EDITION
        for path in sorted(LESSONS.glob(f"{below}{pattern}"))
    }
    copied = []
    for name, content in contents.items():
        place = folder / name
        sweep(place)
        if not os.path.lexists(place):
            # here docs is inside the folder of lessons, not beside it
            with new_file(place) as file:
                file.write(content.replace(b"../docs/", b"docs/"))
            copied.append(name)
    return copied


def open_in_jupyterlab(folder: Path, page: str) -> None:
    """Replace this process by a JupyterLab on the folder, which starts with a moving picture and three links to the page."""
    from platformdirs import user_cache_path  # platformdirs comes with JupyterLab

    # JupyterLab serves the start page, /custom/start.html, from the folder `custom`
    lessons = page.removesuffix(START)
    custom = user_cache_path("aclnn-viz") / "start" / f"{language()}-{lessons.replace('/', '-')}"
    start_page.write(custom, lessons)
    # These settings, read before the user's, switch off the question about news, for this
    # JupyterLab only.
    searched = os.environ.get("JUPYTER_CONFIG_PATH")
    environment = os.environ | {
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, (str(SETTINGS), searched)))
    }
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    os.execve(
        sys.executable,
        [
            sys.executable,
            "-m",
            "jupyterlab",
            *root,
            f"--ServerApp.root_dir={folder}",
            "--LabApp.default_url=/custom/start.html",
            "--LabApp.custom_css=True",
            f"--ServerApp.tornado_settings=static_custom_path={custom}",
        ],
        environment,
    )
