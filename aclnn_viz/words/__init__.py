"""What people read: the terms of the field in English and in the vendor's Chinese."""

from aclnn_viz.words.terms import Glossary, Term, glossary

__all__ = ["Glossary", "Term", "glossary"]
