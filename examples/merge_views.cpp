// When is a chain of movement operations one strided view, and why not otherwise?
#include <cstdio>
#include <vector>

#include <touchstone/shapetracker/ask/reason.h>
#include <touchstone/shapetracker/merge/simplify.h>

using namespace touchstone;

int main() {
  const std::vector<int> swap{1, 0};
  const ShapeTracker transposed = ShapeTracker::contiguous({4, 6}).permute(swap);

  // Splitting an axis and joining it again: one view.
  const ShapeTracker tiled = transposed.reshape({3, 2, 4}).reshape({6, 4});
  std::printf("%s\n", simplify(tiled).str().c_str());

  // Joining the axes of a transposed matrix: two views, and indices that demonstrate it.
  const ShapeTracker flat = simplify(transposed.reshape({24}));
  std::printf("%zu views: %s\n", flat.views().size(),
              shapetracker::reason(flat.views()).text.c_str());
}
