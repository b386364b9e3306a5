#include "touchstone/base/json_members.h"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

namespace touchstone {

namespace {

using nlohmann::json;

// json::parse with a callback would rescan all values at the end of each object.
class Finder final : public nlohmann::json_sax<json> {
 public:
  explicit Finder(Objects objects) : objects_(objects) {}
  std::optional<std::string> twice;

  bool key(std::string& name) override {
    if (objects_ == Objects::Outermost && open_.size() > 1) return true;
    if (open_.back().insert(name).second) return true;
    twice = name;
    return false;
  }
  bool start_object(std::size_t) override { return open_.emplace_back(), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool start_array(std::size_t) override { return start_object(0); }
  bool end_array() override { return end_object(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  Objects objects_;
  std::vector<std::set<std::string>> open_;  // names in each open object; unused for arrays
};

}  // namespace

std::optional<std::string> member_twice(std::string_view text, Objects objects) {
  Finder finder(objects);
  json::sax_parse(text, &finder);
  return finder.twice;
}

}  // namespace touchstone
