// A strict reading of a page: every element closed in its order, attributes quoted and given once, only entities that XML knows.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace debias {

struct Element {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;

  std::string attribute(std::string_view name) const {
    for (const auto& [key, value] : attributes) {
      if (key == name) return value;
    }
    return "";
  }
};

struct WellFormed {
  std::string fault;  // "" when there is none
  std::vector<Element> elements;

  size_t count(std::string_view tag) const {
    size_t found = 0;
    for (const auto& element : elements) found += element.tag == tag;
    return found;
  }
};

namespace well_formed_detail {

inline bool good_entities(std::string_view text) {
  for (size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at);
    bool known = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) known = known || rest.starts_with(entity);
    if (!known) return false;
  }
  return true;
}

// "a b="c" d="e"" of a tag without its brackets and closing slash; false when it is not of that form.
inline bool read_tag(std::string_view text, Element& element) {
  const auto name_end = [](std::string_view in) {
    size_t end = 0;
    while (end < in.size() && (std::isalnum(static_cast<unsigned char>(in[end])) != 0 || in[end] == '-')) ++end;
    return end;
  };
  size_t end = name_end(text);
  element.tag = text.substr(0, end);
  text.remove_prefix(end);
  std::set<std::string> given;
  while (!text.empty()) {
    if (text[0] != ' ' || text.size() < 2) return false;
    text.remove_prefix(1);
    end = name_end(text);
    const std::string name(text.substr(0, end));
    text.remove_prefix(end);
    if (name.empty() || !text.starts_with("=\"") || !given.insert(name).second) return false;
    const size_t close = text.find('"', 2);
    if (close == std::string_view::npos) return false;
    const std::string_view value = text.substr(2, close - 2);
    if (value.find('<') != std::string_view::npos || !good_entities(value)) return false;
    element.attributes.emplace_back(name, value);
    text.remove_prefix(close + 1);
  }
  return !element.tag.empty();
}

}  // namespace well_formed_detail

inline WellFormed well_formed(std::string_view page) {
  using well_formed_detail::good_entities;
  WellFormed result;
  std::vector<std::string> open;
  if (page.starts_with("<!DOCTYPE html>")) page.remove_prefix(15);
  while (!page.empty()) {
    const size_t bracket = page.find('<');
    const std::string_view text = page.substr(0, bracket);
    const bool style = !open.empty() && open.back() == "style";
    if (!good_entities(text) || (!style && text.find('>') != std::string_view::npos)) {
      result.fault = "text with a bare & or >: " + std::string(text.substr(0, 60));
      return result;
    }
    if (bracket == std::string_view::npos) break;
    page.remove_prefix(bracket);
    const size_t end = page.find('>');
    const std::string_view whole = page.substr(0, end == std::string_view::npos ? page.size() : end + 1);
    if (end == std::string_view::npos) {
      result.fault = "a tag without an end: " + std::string(whole.substr(0, 60));
      return result;
    }
    page.remove_prefix(end + 1);
    std::string_view inner = whole.substr(1, whole.size() - 2);
    if (inner.starts_with("/")) {
      if (open.empty() || open.back() != inner.substr(1)) {
        result.fault = std::string(whole) + " closes " + (open.empty() ? "nothing" : "<" + open.back() + ">");
        return result;
      }
      open.pop_back();
      continue;
    }
    const bool empty = inner.ends_with("/");
    if (empty) inner.remove_suffix(1);
    Element element;
    if (!well_formed_detail::read_tag(inner, element)) {
      result.fault = "not a tag: " + std::string(whole.substr(0, 80));
      return result;
    }
    if (!empty) open.push_back(element.tag);
    result.elements.push_back(std::move(element));
  }
  if (!open.empty()) result.fault = "<" + open.back() + "> is never closed";
  return result;
}

// The value of attribute `name` of each element that has it.
inline std::vector<std::string> attributes(const WellFormed& page, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& element : page.elements) {
    for (const auto& [key, value] : element.attributes) {
      if (key == name) values.push_back(value);
    }
  }
  return values;
}

}  // namespace debias
