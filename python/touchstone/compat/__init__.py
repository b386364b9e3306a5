"""Other libraries' names over this one: touchstone.compat.tinygrad."""
