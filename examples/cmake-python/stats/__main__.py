"""python3 -m stats NUMBER... prints mean and median."""

import sys

from stats import mean, median


def main(args):
    try:
        values = [float(a) for a in args]
    except ValueError as e:
        print(f"stats: {e}", file=sys.stderr)
        return 2
    print(f"mean {mean(values):g}, median {median(values):g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
