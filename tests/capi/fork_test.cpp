#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <touchstone.h>
#include <unistd.h>

// The library in a forked child: it works, or refuses at once.

namespace {

constexpr std::size_t kElements = std::size_t{1} << 18;  // enough for several threads
constexpr unsigned kPatience = 60;                       // seconds a child may take

class Forks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(touchstone_kernel_formula("exp(x[262144])", &kernel_), TOUCHSTONE_STATUS_OK);
  }
  void TearDown() override { touchstone_kernel_free(kernel_); }

  // True if this call's output equals the first one's.
  touchstone_status eval(std::vector<float>& output) {
    output.assign(kElements, 0);
    void* const buffers[] = {output.data(), input_.data()};
    const std::size_t sizes[] = {kElements * sizeof(float), kElements * sizeof(float)};
    return touchstone_eval(kernel_, buffers, sizes, 2);
  }

  // 0: it worked, 1: it refused; anything else is a failure.
  int in_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kPatience);
      std::vector<float> output;
      const touchstone_status status = eval(output);
      if (status == TOUCHSTONE_STATUS_OK) std::_Exit(output == wanted_ ? 0 : 2);
      const bool clear =
          std::strstr(touchstone_error(), "was forked while another thread") != nullptr;
      std::_Exit(status == TOUCHSTONE_STATUS_SYSTEM && clear ? 1 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  touchstone_kernel* kernel_ = nullptr;
  std::vector<float> input_ = std::vector<float>(kElements, 0.5F), wanted_;
};

TEST_F(Forks, AChildOfAProcessThatUsedThreadsWorks) {
  EXPECT_EQ(in_child(), 2) << "before any use, with no output to compare";
  ASSERT_EQ(eval(wanted_), TOUCHSTONE_STATUS_OK);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(in_child(), 0);
}

TEST_F(Forks, AChildOfAProcessAtWorkRefusesAtOnce) {
  ASSERT_EQ(eval(wanted_), TOUCHSTONE_STATUS_OK);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      std::vector<float> output;
      while (!stop) eval(output);
    });
  int refused = 0;
  for (int i = 0; i < 30; ++i) {
    const int code = in_child();
    EXPECT_LE(code, 1);
    refused += code == 1 ? 1 : 0;
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(in_child(), 0) << "no call is running any more";
}

}  // namespace
