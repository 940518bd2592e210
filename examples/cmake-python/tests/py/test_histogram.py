import unittest

import stats


class Histogram(unittest.TestCase):
    def test_buckets(self):
        self.assertEqual(stats.histogram([0, 0.5, 1, 1.9, 2, -1], 0, 2, 2), [2, 2])
