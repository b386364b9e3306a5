// Tests a backend on random kernels: each result must be one that a conforming device could give.
#include <rapidcheck.h>

#include "touchstone/fuzz/rapidcheck/generators.h"
#include "touchstone/interp/device/interpreted.h"

int main() {
  const auto mine = touchstone::make_interpreted_device("MINE", 1);  // put your backend here
  const bool legal =
      rc::check("my backend is legal", [&](const touchstone::testing::Kernel& kernel) {
        const touchstone::HostArray answer = touchstone::fuzz::answer_of(kernel, *mine);
        RC_ASSERT(kernel.judge(answer).outcome != touchstone::Outcome::Fail);
      });
  return legal ? 0 : 1;
}
