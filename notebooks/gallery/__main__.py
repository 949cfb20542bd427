"""`python -m notebooks.gallery`: write the pictures of README, and the lessons as pages in build/gallery."""

from notebooks.gallery import pages, pictures

made = pictures.write() + pages.write(pictures.ROOT / "build" / "gallery", pages.lessons())
print(*made, sep="\n")
