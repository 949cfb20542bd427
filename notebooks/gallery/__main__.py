"""`python -m notebooks.gallery`: write the pictures of README, and the lessons and the API as pages in build/gallery."""

from notebooks.gallery import pages, pictures, reference

GALLERY = pictures.ROOT / "build" / "gallery"
lessons = [path for language in pages.LANGUAGES for path in pages.lessons(language)]
made = pictures.write() + pages.write(GALLERY, lessons) + reference.write((GALLERY / pages.REFERENCE).parent)[:1]
print(*made, sep="\n")
