"""A stand-in for tinygrad 0.8, which is not there: as much of its interface as touchstone.adapters.tinygrad asks for, after
its documentation, over NumPy. It records what is asked of it (device.asked)."""
