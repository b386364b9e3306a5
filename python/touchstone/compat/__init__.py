"""Interfaces of other libraries on top of this one: touchstone.compat.tinygrad."""
