"""Refuses tabs, trailing spaces and lines over 120 columns in the files named."""

import sys

bad = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            text = line.rstrip("\n")
            if "\t" in text or text != text.rstrip() or len(text) > 120:
                print(f"{path}:{n}: tab, trailing space or more than 120 columns")
                bad += 1
sys.exit(bad > 0)
