"""Uses the built module, whose folder PYTHONPATH names."""
import pytest


@pytest.fixture
def rng():
    import numpy
    return numpy.random.default_rng(1)
