"""A stand-in for tinygrad 0.8, which is not installed: the part of its interface that touchstone.tinygrad uses,
following its documentation, over NumPy. It records calls (device.asked)."""
