import subprocess
import sys
import unittest


class Command(unittest.TestCase):
    def run_it(self, *args):
        return subprocess.run([sys.executable, "-m", "stats", *args], capture_output=True, text=True)

    def test_numbers(self):
        self.assertEqual(self.run_it("1", "2", "6").stdout, "mean 3, median 2\n")

    def test_rubbish(self):
        self.assertEqual(self.run_it("x").returncode, 2)
