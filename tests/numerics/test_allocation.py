"""Memory between evaluations."""

import os
import subprocess
import sys

import pytest

#: Pages of 200 x 200 matrices that are taken anew in each round, with what gpclass sets, in a process of its own.
PROGRAM = """
import resource
import numpy as np
import gpclass.numerics.linalg

def work():
    held = [np.ones((200, 200)) for _ in range(10)]

for _ in range(5):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    work()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 50)
"""


@pytest.mark.parametrize("environment", [{}, {"MALLOC_TRIM_THRESHOLD_": "65536"}], ids=["alone", "in a Dask worker"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about the C library of Linux")
def test_freed_matrices_are_used_again(environment):
    # Ten matrices have 780 pages.
    others = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=others | environment)
    assert float(told.stdout) < 20.0
