"""Mean, median and histogram, computed in C."""

from stats._library import histogram, mean, median

__version__ = "1.2.0"
__all__ = ["histogram", "mean", "median"]
