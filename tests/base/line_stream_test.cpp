#include "touchstone/base/line_stream.h"

#include <gtest/gtest.h>

#include <string>

namespace touchstone {
namespace {

struct Echo {
  std::string written;
  LineStream stream{[](std::string_view line) { return "<" + std::string(line) + ">"; },
                    [this](std::string_view text) { written += text; }};
};

TEST(LineStream, AnswersEachLineAsSoonAsItIsComplete) {
  Echo echo;
  echo.stream.take("a");
  EXPECT_EQ(echo.written, "");
  echo.stream.take("b\nc\nd");
  EXPECT_EQ(echo.written, "<ab>\n<c>\n");
  echo.stream.finish();
  EXPECT_EQ(echo.written, "<ab>\n<c>\n<d>\n");
  echo.stream.finish();
  EXPECT_EQ(echo.written, "<ab>\n<c>\n<d>\n");
}

TEST(LineStream, BlankLinesHaveNoAnswer) {
  Echo echo;
  echo.stream.take("\n \t\r\n\nx\n");
  echo.stream.finish();
  EXPECT_EQ(echo.written, "<x>\n");
}

TEST(LineStream, BlankLinesAreAnsweredWhereAsManyAnswersAsLinesAreWanted) {
  std::string written;
  LineStream stream([](std::string_view line) { return "<" + std::string(line) + ">"; },
                    [&](std::string_view text) { written += text; }, LineStream::Blank::Answered);
  stream.take("\n \nx\n");
  stream.finish();
  EXPECT_EQ(written, "<>\n< >\n<x>\n");
}

TEST(LineStream, ALineTooLongIsNotKeptAndTheNextIsAnswered) {
  Echo echo;
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 65; ++i) echo.stream.take(mebibyte);
  echo.stream.take("\nshort\n");
  EXPECT_EQ(echo.written, "{\"error\":\"a line of more than 64 MiB\"}\n<short>\n");
}

}  // namespace
}  // namespace touchstone
