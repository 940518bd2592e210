"""The version is the same in CMake, in C and in Python."""

import pathlib
import re
import sys

places = {
    "CMakeLists.txt": r"VERSION (\d+\.\d+\.\d+)",
    "include/stats/export.h": r'STATS_VERSION "(.*)"',
    "stats/__init__.py": r'__version__ = "(.*)"',
}
found = {path: re.search(pattern, pathlib.Path(path).read_text()).group(1) for path, pattern in places.items()}
print(found)
sys.exit(len(set(found.values())) != 1)
