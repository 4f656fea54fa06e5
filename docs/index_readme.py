"""README as a package index shows it: other pages are named, not linked, until the project has an address.

A package index resolves no relative link and shows no relative picture; setup.py hands it this text.
"""

import re

# Where the repository can be read, such as 'https://.../blob/main/'. Nothing is published yet.
ADDRESS = ""
PICTURE = re.compile(r"^\[?!\[[^\]]*\]\((?!https?:)[^)]*\)(?:\]\([^)]*\))?\n\n?", re.MULTILINE)
# A link in parentheses says nothing once it is a word: 'measured ([table](docs/...))'.
ASIDE = re.compile(r"\s\(\[[^\]]+\]\((?!https?:)[^)]+\)(?:, \[[^\]]+\]\((?!https?:)[^)]+\))*\)")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)")
NOT_RUN = re.compile(r"^<!-- not run: [^\n]*-->\n", re.MULTILINE)


def make_index_readme(text: str, address: str = ADDRESS) -> str:
    """The text of README with links that work anywhere."""
    text = NOT_RUN.sub("", text)
    if address:
        return re.sub(r"(\]\()(?!https?:|#)", rf"\g<1>{address}", text)
    return LINK.sub(r"\1", ASIDE.sub("", PICTURE.sub("", text)))
