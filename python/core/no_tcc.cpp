// Replaces lib/tcc: Debian's libtcc cannot be linked into a shared library.
#include "touchstone/base/error.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone {

bool has_tcc() { return false; }

std::unique_ptr<Device> make_tcc_device(std::string name, const CodegenOptions& /*codegen*/,
                                        Fault /*fault*/, int /*parts*/) {
  throw Error(name + ": the Python module has no libtcc; use the device CLANG");
}

}  // namespace touchstone
