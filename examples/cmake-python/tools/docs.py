"""Writes a page of the C functions, from the comments in the headers."""

import pathlib
import re
import sys

page = "# stats\n"
for header in sorted(pathlib.Path("include/stats").glob("*.h")):
    for comment, signature in re.findall(r"/\* (.*?) \*/\nSTATS_API (.*?);", header.read_text(), re.S):
        page += f"\n## `{signature}`\n\n{comment}\n"
out = pathlib.Path(sys.argv[1])
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text(page)
