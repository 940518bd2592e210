import unittest

import stats


class Mean(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(stats.mean([1, 2, 6]), 3)
        self.assertEqual(stats.mean([]), 0)
