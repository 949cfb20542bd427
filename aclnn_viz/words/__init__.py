"""What people read: the language in which explorers speak, and the glossary of the field in English and Chinese."""

from aclnn_viz.words.speech import language
from aclnn_viz.words.terms import Glossary, Term, glossary

__all__ = ["Glossary", "Term", "glossary", "language"]
