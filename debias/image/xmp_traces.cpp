#include "debias/image/xmp_traces.h"

#include <algorithm>

namespace debias {
namespace {

constexpr size_t kLongestPacket = 65'536, kMostProperties = 64;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_property(std::string_view name) {
  return name.find(':') != std::string_view::npos && !name.starts_with("xmlns:") && !name.starts_with("rdf:") && !name.starts_with("x:") &&
         !name.starts_with("xml:");
}

class Properties {
 public:
  explicit Properties(FileTraces& traces) : traces_(traces) {}

  void add(std::string_view name, std::string_view value) {
    if (name.empty() || value.empty() || count_ == kMostProperties) return;
    ++count_;
    add_text_trace("XMP " + trace_key(name), std::string(value), traces_);
  }

 private:
  FileTraces& traces_;
  size_t count_ = 0;
};

// Of the inside of a tag: NAME="VALUE" or NAME='VALUE'.
void add_attributes(std::string_view tag, Properties& properties) {
  for (size_t equals = tag.find('='); equals != std::string_view::npos && equals + 1 < tag.size(); equals = tag.find('=', equals)) {
    const char quote = tag[equals + 1];
    const size_t end = quote == '"' || quote == '\'' ? tag.find(quote, equals + 2) : std::string_view::npos;
    if (end == std::string_view::npos) return;
    const size_t blank = tag.find_last_of(" \n\r\t", equals);
    const std::string_view name = tag.substr(blank == std::string_view::npos ? 0 : blank + 1, equals - blank - 1);
    if (is_property(name)) properties.add(name, tag.substr(equals + 2, end - equals - 2));
    equals = end + 1;
  }
}

}  // namespace

void add_xmp_traces(std::span<const uint8_t> packet, FileTraces& traces) {
  const std::string_view text(reinterpret_cast<const char*>(packet.data()), std::min(packet.size(), kLongestPacket));
  Properties properties(traces);
  std::string_view owner;  // the property whose element is open
  for (size_t open = text.find('<'); open != std::string_view::npos;) {
    const size_t close = text.find('>', open);
    if (close == std::string_view::npos) return;
    const std::string_view tag = text.substr(open + 1, close - open - 1);
    const std::string_view name = tag.substr(0, tag.find_first_of(" \n\r\t/"));
    if (is_property(name)) owner = name;
    add_attributes(tag, properties);
    open = text.find('<', close);
    const bool is_start = !tag.empty() && tag.front() != '/' && tag.back() != '/' && tag.back() != '?';
    if (is_start && open != std::string_view::npos) properties.add(owner, trimmed(text.substr(close + 1, open - close - 1)));
  }
}

}  // namespace debias
