"""tinygrad.shape: symbolic, view, shapetracker."""
