"""Views of buffers: map an index to an element and its validity.

>>> v = ShapeTracker.from_shape((2, 3)).permute((1, 0)).reshape((6,))
>>> len(v.views), v.at((1,))
(2, 3)
>>> print(*map(str, v.expr_idxs()), sep=" if ")
idx0*3 - idx0//2*5 if 1
>>> ShapeTracker.from_shape((4,)).pad([(1, 1)]).real_strides(ignore_valid=True)
(1,)
"""
from ._core.view import ShapeTracker, View, get_contraction

__all__ = ["ShapeTracker", "View", "get_contraction"]

_CELL, _MOST = 34, 4096


def _svg(view):
    """A grid of the elements read, row by row; padding is grey."""
    shape = view.shape
    if not all(isinstance(n, int) for n in shape):
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="20"><text y="15">{view}</text></svg>'
    columns = shape[-1] if shape else 1
    rows = 1
    for n in shape[:-1]:
        rows *= n
    if rows * columns > _MOST:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="20"><text y="15">{shape}</text></svg>'
    cells = []
    for flat in range(rows * columns):
        index, rest = [], flat
        for n in reversed(shape):
            index.insert(0, rest % n)
            rest //= n
        element = view.at(index)
        x, y = flat % columns * _CELL, flat // columns * _CELL
        fill = "#ddd" if element is None else "#fff"
        text = "" if element is None else element
        cells.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}" stroke="#888"/>'
                     f'<text x="{x + _CELL/2}" y="{y + _CELL/2 + 4}" text-anchor="middle">{text}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns*_CELL + 2}" height="{rows*_CELL + 2}" '
            f'font-family="monospace" font-size="12">{"".join(cells)}</svg>')


View._repr_svg_ = ShapeTracker._repr_svg_ = _svg  # type: ignore[attr-defined]
