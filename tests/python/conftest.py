"""The module as it is built: PYTHONPATH names its folder."""
import pytest


@pytest.fixture
def rng():
    import numpy
    return numpy.random.default_rng(1)
