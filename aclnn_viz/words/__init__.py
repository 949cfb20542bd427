"""Texts for people: the language of texts and explorers, and the glossary of the field in English and Chinese."""

from aclnn_viz.words.messages import language
from aclnn_viz.words.terms import Glossary, Term, glossary

__all__ = ["Glossary", "Term", "glossary", "language"]
