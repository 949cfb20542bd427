"""The build step that puts the lessons, which lie in notebooks/, into a wheel as aclnn_viz/lessons, and a page that they link to."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EDITION = (
    "*.ipynb",
    "capsules/*.capsule",
    "capsules/cases.json",
    "cpp/*.cpp",
    "cpp/*.h",
    "../docs/tiles.md",
)


class WithLessons(build_py):
    def run(self):
        super().run()
        for edition in () if self.editable_mode else (Path("notebooks"), Path("notebooks/zh")):
            for path in (path for pattern in EDITION for path in edition.glob(pattern)):
                place = Path(self.build_lib, "aclnn_viz/lessons", path.relative_to("notebooks"))
                self.mkpath(str(place.parent))
                self.copy_file(str(path), str(place))


setup(cmdclass={"build_py": WithLessons})
