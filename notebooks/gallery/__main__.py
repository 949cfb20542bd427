"""`python -m notebooks.gallery`: write the pictures that README shows."""

from notebooks.gallery import pictures

print(*pictures.write(), sep="\n")
