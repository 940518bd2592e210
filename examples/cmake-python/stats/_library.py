"""The C library, found by STATS_LIBRARY or beside this file."""

import ctypes
import os
import pathlib

_path = os.environ.get("STATS_LIBRARY") or str(pathlib.Path(__file__).with_name("libstats.so"))
_c = ctypes.CDLL(_path)
_values = ctypes.POINTER(ctypes.c_double)
for _f in (_c.stats_mean, _c.stats_median):
    _f.argtypes, _f.restype = [_values, ctypes.c_size_t], ctypes.c_double
_c.stats_histogram.argtypes = [
    _values, ctypes.c_size_t, ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_size_t), ctypes.c_size_t,
]
_c.stats_histogram.restype = ctypes.c_size_t


def _array(values):
    values = list(values)
    return (ctypes.c_double * len(values))(*values), len(values)


def mean(values):
    """The mean of values; 0.0 for none."""
    return _c.stats_mean(*_array(values))


def median(values):
    """The median of values; 0.0 for none."""
    return _c.stats_median(*_array(values))


def histogram(values, low, high, buckets):
    """How many values fall into each of the buckets from low to high."""
    counts = (ctypes.c_size_t * buckets)()
    _c.stats_histogram(*_array(values), low, high, counts, buckets)
    return list(counts)
