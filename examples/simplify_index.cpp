// Simplifies the index of a tiled loop as a code generator builds it.
#include <cstdio>

#include <touchstone/symbolic/node/node.h>

using namespace touchstone::symbolic;

int main() {
  const Node row = variable("row", 0, 63), lane = variable("lane", 0, 15);
  const Node flat = row * 16 + lane;

  // Back to row and lane: all divisions cancel.
  std::printf("%s\n", render(floor_div(flat, 16)).c_str());
  std::printf("%s\n", render(floor_mod(flat, 16)).c_str());

  // A guard of the last tile: all indices are below 1,024, so it is the constant 1.
  std::printf("%s\n", render(lt(flat, 1024)).c_str());

  // A fact known in one branch only.
  const Node known[] = {lt(row, 8)};
  std::printf("%s\n", render(simplify_under(floor_div(row, 8), known)).c_str());
}
