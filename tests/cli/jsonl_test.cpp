#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

// Verbs that answer lines, as seen by a program that talks to them through two pipes.

namespace touchstone {
namespace {

using testing::HasSubstr;

/// The command, with pipes to its standard input and output.
class Peer {
 public:
  template <class... Word>
  explicit Peer(Word... words) {
    std::array<int, 2> in{}, out{};
    EXPECT_EQ(::pipe(in.data()), 0);
    EXPECT_EQ(::pipe(out.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
      ::execl(TOUCHSTONE_COMMAND, "touchstone", words..., nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  ~Peer() {
    if (to_) std::fclose(to_);
    std::fclose(from_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void write(const std::string& text) {
    std::fputs(text.c_str(), to_);
    std::fflush(to_);
  }
  std::string read_line() {
    std::string line;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_))
      line += static_cast<char>(c);
    return line;
  }
  /// Ends the input; returns the command's exit code.
  int finish() {
    std::fclose(to_);
    to_ = nullptr;
    int status = 0;
    ::waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = 0;
  FILE *to_ = nullptr, *from_ = nullptr;
};

TEST(SimplifyJsonl, AnswersEachQuestionBeforeTheNextIsAsked) {
  Peer peer("simplify", "--jsonl");
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    peer.write(R"({"vars":{"a":[0,8]},"in":"a*4//4 + )" + n + "\"}\n");
    EXPECT_THAT(peer.read_line(), HasSubstr("{\"out\":\"a + " + n + "\",\"size\":3,\"min\":" + n));
  }
  peer.write("what?\n");
  EXPECT_THAT(peer.read_line(), HasSubstr("{\"error\":\"column 1"));
  peer.write("{\"in\":\"5\"}");  // no line end
  EXPECT_EQ(peer.finish(), 2) << "an invalid line";
  EXPECT_THAT(peer.read_line(), HasSubstr("{\"out\":\"5\""));
  EXPECT_EQ(peer.read_line(), "");
}

TEST(SimplifyJsonl, EndsQuietlyOnNoInput) {
  Peer peer("simplify", "--jsonl");
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_EQ(peer.read_line(), "");
}

TEST(SimplifyJsonl, TakesNoExpressionBesides) {
  const std::string command = TOUCHSTONE_COMMAND;
  EXPECT_EQ(WEXITSTATUS(std::system(
                (command + " simplify --jsonl 'a' </dev/null 2>&1 >/dev/null").c_str())),
            2);
  EXPECT_EQ(WEXITSTATUS(std::system((command + " simplify </dev/null >/dev/null 2>&1").c_str())),
            2);
}

TEST(SimplifyJsonl, SaysThatItsOutputIsFull) {
  const std::string line =
      "echo '{\"in\":\"1\"}' | " TOUCHSTONE_COMMAND " simplify --jsonl >/dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
}

TEST(Bits, AnswersEachLineBeforeTheNextAndGoesOnAfterAnError) {
  Peer peer("bits");
  peer.write("sin\tfloat32\t3f800000\n");
  EXPECT_EQ(peer.read_line(), "3f576aa4");
  peer.write("sine\tfloat32\t3f800000\ndiv\tint32\t1,0\r\n");
  EXPECT_THAT(peer.read_line(), HasSubstr("error: there is no operation 'sine'"));
  EXPECT_EQ(peer.read_line(), "undef");
  EXPECT_EQ(peer.finish(), 2);
}

TEST(KernelsJsonl, EveryLineGetsAnAnswer) {
  for (const char* scheduler : {"lazy", "kernelize"}) {
    Peer peer("kernels", "--jsonl", "--scheduler", scheduler, "--program", "-");
    const auto answer = [&](const std::string& line) {
      peer.write(line + "\n");
      return peer.read_line();
    };
    const std::string one = R"({"kernels":1,"copies":0,"loads":1,"stores":1,"flops":4})";
    EXPECT_EQ(answer(R"({"program":"float32 4: 1 2 3 4; neg %0"})"), one) << scheduler;
    EXPECT_THAT(answer(""), HasSubstr("not valid JSON from byte 1 on"));
    EXPECT_THAT(answer("[1]"), HasSubstr("a line must be an object with a string"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; foo %0"})"), HasSubstr("'foo'"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; neg %0","other":1})"), HasSubstr("'other'"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; neg %0","options":{"NOPE":1}})"),
                HasSubstr("no option 'NOPE'"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; neg %0","options":{"FUSE_ARANGE":"x"}})"),
                HasSubstr("not an integer"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; neg %0","options":{"LAZY":0}})"),
                HasSubstr("no option 'LAZY'"));
    EXPECT_THAT(answer(R"({"program":"float32 4: 1; neg %0","options":{"MAX_KERNEL_BUFFERS":2}})"),
                HasSubstr("give 0 or a number from 3"));
    // No elements, assigned to a value without memory.
    const std::string none = R"({"kernels":0,"copies":0,"loads":0,"stores":0,"flops":0})";
    EXPECT_EQ(answer(R"({"program":"int32 2,0: 1; div %0 %0; assign %0 %1"})"), none) << scheduler;
    EXPECT_THAT(answer(R"({"program":"bool 4,0: 1; pad %0 0:0,2:1; assign %1 %1"})"),
                HasSubstr("\"kernels\":"));
    EXPECT_EQ(answer(R"({"program":"float32 4: 1 2 3 4; neg %0"})"), one) << scheduler;
    EXPECT_EQ(peer.finish(), 2);
  }
}

// The exit code of a verb fed by a shell command.
int code_of(const std::string& printed, const std::string& verb) {
  const std::string line = printed + " | " TOUCHSTONE_COMMAND " " + verb + " >/dev/null 2>&1";
  return WEXITSTATUS(std::system(line.c_str()));
}

TEST(JsonLines, TheExitCodeSaysWhetherEachLineWasAQuestion) {
  const std::pair<const char*, std::string> verbs[] = {
      {"simplify --jsonl", R"({"in":"5"})"},
      {"view --jsonl", R"({"base":[3,2],"ops":[["permute",[1,0]]]})"},
      {"kernels --jsonl --program -", R"({"program":"float32 4: 1 2 3 4; neg %0"})"}};
  for (const auto& [verb, question] : verbs) {
    const std::string asks = "echo '" + question + "'; ";
    EXPECT_EQ(code_of("(" + asks + asks + ")", verb), 0) << verb;
    EXPECT_EQ(code_of("(" + asks + "echo '{}'; " + asks + ")", verb), 2) << verb;
    EXPECT_EQ(code_of("(head -c 67108865 /dev/zero | tr '\\0' x; echo; " + asks + ")", verb), 2)
        << verb;
  }
}

TEST(JsonLines, AVerifiedStreamWithUnansweredQuestionsIsNotAllRight) {
  const auto verified = [](const std::string& questions) {
    return code_of("(" + questions + ") | " TOUCHSTONE_COMMAND " simplify --jsonl --certify",
                   "verify");
  };
  const std::string good = R"(echo '{"in":"a + 0","vars":{"a":[0,8]}}'; )", bad = "echo what?; ";
  EXPECT_EQ(verified(good), 0);
  EXPECT_EQ(verified(good + bad), 2);
  EXPECT_EQ(verified(bad + good), 2);
  EXPECT_EQ(verified(bad), 4) << "nothing was checked";
}

}  // namespace
}  // namespace touchstone
