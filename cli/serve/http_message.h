#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// HTTP/1.1 as bytes: reads requests and writes answers with Boost.Beast.

namespace touchstone::cli {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  std::string host, origin, authorization, content_type, encoding;
  bool has_origin = false;
  bool keeps_alive = false;
  bool takes_chunks = false;   // HTTP/1.1
  bool waits_for_100 = false;  // Expect: 100-continue
  bool is_head() const { return method == "HEAD"; }
};

/// Reads consecutive requests from bytes that arrive in pieces of any length.
class HttpReader {
 public:
  /// most_body: the body's limit in bytes, announced or chunked.
  explicit HttpReader(std::uint64_t most_body);
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  enum class Found : std::uint8_t {
    Nothing,  // more bytes are needed
    Head,     // `request` is complete, the body not yet; reported once
    Whole,    // `body` is complete too
    Bad,      // `status` and `reason` say why; reading stops
  };
  void take(std::string_view bytes) {
    pending_.erase(0, std::exchange(used_, 0));
    pending_ += bytes;
  }
  /// Ends the input.
  void finish();
  Found look();
  /// After Whole: continues with the next request.
  void next();
  /// Whether part of an incomplete request has arrived.
  bool has_begun() const;

  const HttpRequest& request() const { return request_; }
  const std::string& body() const;
  int status() const { return status_; }
  const std::string& reason() const { return reason_; }

 private:
  struct Parser;
  Found refuse(int status, std::string reason);
  Found understand_head();

  std::uint64_t most_body_;
  std::string pending_;
  std::size_t used_ = 0;  // bytes consumed; avoids moving the rest for each small chunk
  std::unique_ptr<Parser> parser_;
  bool head_was_said_ = false;
  HttpRequest request_;
  int status_ = 0;
  std::string reason_;
};

/// The head of an answer.
struct HttpHead {
  int status = 200;
  std::string_view content_type;
  bool keeps_alive = false;
  std::string_view allow = {};  // the allowed methods, if one was refused
};
/// Head and body; for HEAD the head only.
std::string http_answer(const HttpHead& head, const std::string& body, bool head_alone = false);
/// The head of a streamed body: chunked, or until the connection ends.
std::string http_head(const HttpHead& head, bool chunked);
std::string http_chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace touchstone::cli
