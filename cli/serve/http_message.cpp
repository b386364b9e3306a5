#include "touchstone/cli/serve/http_message.h"

#include <algorithm>

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

// The only file that includes Boost.Beast, which is large.

namespace touchstone::cli {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::uint32_t kMostHead = 16 << 10;
// The limit on bytes outside a body: a head, a chunk's head, trailers.
constexpr std::size_t kMostPending = std::size_t{128} << 10;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

template <class Body>
http::response<Body> response_of(const HttpHead& head) {
  http::response<Body> response(static_cast<http::status>(head.status), 11);
  response.set(http::field::content_type,
               beast::string_view(head.content_type.data(), head.content_type.size()));
  if (!head.allow.empty())
    response.set(http::field::allow, beast::string_view(head.allow.data(), head.allow.size()));
  if (head.status == 401) response.set(http::field::www_authenticate, "Bearer");
  response.keep_alive(head.keeps_alive);
  return response;
}

// Writes up to the end of the head, or everything.
template <class Body>
std::string bytes_of(http::response<Body>& response, bool head_alone) {
  http::response_serializer<Body> serializer(response);
  serializer.split(head_alone);
  std::string text;
  while (head_alone ? !serializer.is_header_done() : !serializer.is_done()) {
    beast::error_code error;
    serializer.next(error, [&](beast::error_code&, const auto& buffers) {
      const std::string part = beast::buffers_to_string(buffers);
      text += part;
      serializer.consume(part.size());
    });
    if (error) break;  // a string body reports none
  }
  return text;
}

}  // namespace

struct HttpReader::Parser {
  http::request_parser<http::string_body> http;
};

HttpReader::HttpReader(std::uint64_t most_body) : most_body_(most_body) { next(); }
HttpReader::~HttpReader() = default;

void HttpReader::next() {
  parser_ = std::make_unique<Parser>();
  parser_->http.header_limit(kMostHead);
  parser_->http.body_limit(most_body_);
  head_was_said_ = false;
  request_ = {};
}

bool HttpReader::has_begun() const { return parser_->http.got_some() || used_ < pending_.size(); }

const std::string& HttpReader::body() const { return parser_->http.get().body(); }

HttpReader::Found HttpReader::refuse(int status, std::string reason) {
  status_ = status;
  reason_ = std::move(reason);
  return Found::Bad;
}

void HttpReader::finish() {
  if (parser_->http.is_done() || !has_begun()) return;
  refuse(400, "the request is incomplete");
}

HttpReader::Found HttpReader::look() {
  auto& parser = parser_->http;
  beast::error_code error;
  while (status_ == 0 && !parser.is_done()) {
    const bool had_head = parser.is_header_done();
    // Beast 1.74 asserts that a chunk's head is at least as long as the last chunk.
    const std::size_t least = had_head && parser.chunked() ? kLastChunk.size() : 1;
    if (pending_.size() - used_ < least) return Found::Nothing;
    used_ += parser.put(boost::asio::buffer(pending_) + used_, error);
    if (error == http::error::need_more) {
      if (pending_.size() - used_ > kMostPending)
        return refuse(431, "the head of the request, or of a chunk, is too long");
      return Found::Nothing;
    }
    if (error == http::error::body_limit)
      return refuse(413, fmt::format("the body exceeds {} MiB (--max-body)", most_body_ >> 20));
    if (error == http::error::header_limit)
      return refuse(431, fmt::format("the head of the request exceeds {} KiB", kMostHead >> 10));
    if (error) return refuse(400, "not HTTP/1.1: " + error.message());
    if (!had_head && parser.is_header_done()) {
      head_was_said_ = true;
      return understand_head();
    }
  }
  if (status_ != 0) return Found::Bad;
  if (!head_was_said_) {
    head_was_said_ = true;
    return understand_head();
  }
  return Found::Whole;
}

HttpReader::Found HttpReader::understand_head() {
  const auto& message = parser_->http.get();
  const auto field = [&](http::field name) { return text_of(message[name]); };
  request_.method = text_of(message.method_string());
  request_.path = text_of(message.target());
  request_.path.resize(std::min(request_.path.size(), request_.path.find('?')));
  request_.host = field(http::field::host);
  request_.origin = field(http::field::origin);
  request_.authorization = field(http::field::authorization);
  request_.has_origin = message.count(http::field::origin) != 0;
  request_.content_type = field(http::field::content_type);
  request_.encoding = field(http::field::content_encoding);
  request_.keeps_alive = message.keep_alive();
  request_.takes_chunks = message.version() >= 11;
  request_.waits_for_100 = beast::iequals(message[http::field::expect], "100-continue");
  for (const http::field once :
       {http::field::host, http::field::origin, http::field::authorization})
    if (message.count(once) > 1)
      return refuse(400, fmt::format("two {} headers", text_of(http::to_string(once))));
  // A server in front of us could take another coding, or a length beside it, for another end of
  // the body, and what follows for the next request.
  if (const auto codings = message.count(http::field::transfer_encoding); codings != 0) {
    if (codings > 1 || field(http::field::transfer_encoding) != "chunked" || message.version() < 11)
      return refuse(400, "Transfer-Encoding must be a single 'chunked', in HTTP/1.1");
    if (message.count(http::field::content_length) != 0)
      return refuse(400, "both Transfer-Encoding and Content-Length are present; send one");
  }
  if (request_.host.empty() && request_.takes_chunks)
    return refuse(400, "the Host header is missing");
  return Found::Head;
}

std::string http_answer(const HttpHead& head, const std::string& body, bool head_alone) {
  auto response = response_of<http::string_body>(head);
  response.body() = body;
  response.prepare_payload();
  return bytes_of(response, head_alone);
}

std::string http_head(const HttpHead& head, bool chunked) {
  auto response = response_of<http::empty_body>(head);
  if (chunked) response.chunked(true);
  return bytes_of(response, true);
}

std::string http_chunk(std::string_view bytes) {
  return beast::buffers_to_string(
      http::make_chunk(boost::asio::const_buffer(bytes.data(), bytes.size())));
}

}  // namespace touchstone::cli
