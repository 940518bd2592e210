import unittest

import stats


class Median(unittest.TestCase):
    def test_median(self):
        self.assertEqual(stats.median([9, 1, 5]), 5)
        self.assertEqual(stats.median([9, 1, 5, 3]), 4)
