// A property of a backend, over all kernels there are: no answer is one that a conforming device
// could not give.
#include <rapidcheck.h>

#include "touchstone/fuzz/rapidcheck/generators.h"
#include "touchstone/interp/device/interpreted.h"

int main() {
  const auto mine = touchstone::make_interpreted_device("MINE", 1);  // in its place yours
  const bool legal =
      rc::check("my backend is legal", [&](const touchstone::testing::Kernel& kernel) {
        const touchstone::HostArray answer = touchstone::fuzz::answer_of(kernel, *mine);
        RC_ASSERT(kernel.judge(answer).outcome != touchstone::Outcome::Fail);
      });
  return legal ? 0 : 1;
}
