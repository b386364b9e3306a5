// Run by mpi_test under mpirun: programs SEED COUNT. Random programs sharded over the ranks;
// compares each rank's values with one device's. Prints failing cases with their relation.
#include <cstdlib>
#include <iostream>

#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/areas/multi_check.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/mpi/mpi_world.h"

namespace touchstone {
namespace {

int run(std::uint64_t seed, std::uint64_t count) {
  register_interpreted_device();
  register_clang_device();
  MpiWorld world;
  const fuzz::MultiDevices on{"CPU", world.devices("CPU")};
  const auto definition = make_interpreted_device("DEFINITION", 1);
  std::uint64_t wrong = 0;
  std::string text;
  try {
    for (std::uint64_t i = 0; i < count; ++i) {
      fuzz::RandomChooser chooser(seed, i);
      text = fuzz::draw_program(chooser, {});
      const fuzz::TensorProgram program = fuzz::TensorProgram::parse(text);
      const std::string right = fuzz::by_definition(program, *definition);
      definition->forget_runners();
      if (const auto differs = fuzz::multi_differs(program, text, right, on, true)) {
        ++wrong;
        std::cout << "rank " << world.rank()
                  << " WRONG " + differs->failure.detail + " in " + text + "\n";
      }
    }
  } catch (const Error& e) {
    std::cout << "rank " << world.rank() << " ERROR " + std::string(e.what()) + " in " + text + "\n"
              << std::flush;
    world.fail(e.what());
    return 1;
  }
  std::cout << "rank " << world.rank() << (wrong == 0 ? " ok " : " WRONG ") << count
            << " programs of seed " << seed << "\n"
            << std::flush;
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  return argc == 3 ? touchstone::run(std::strtoull(argv[1], nullptr, 10),
                                     std::strtoull(argv[2], nullptr, 10))
                   : 2;
}
