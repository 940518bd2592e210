"""The library exports what begins with stats_ and nothing else."""

import subprocess
import sys

out = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
names = [line.split()[-1] for line in out.splitlines()]
strange = [n for n in names if not n.startswith("stats_")]
print(len(names), "symbols", strange)
sys.exit(bool(strange) or not names)
