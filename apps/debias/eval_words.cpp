#include "apps/debias/eval_words.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/evaluate/protocol_registry.h"

namespace debias {
namespace {

struct TypedProtocol {
  const ProtocolEntry* entry;
  RequestedProtocol& request;

  bool is_called(const std::string& name) const { return name == entry->name || name == request.name; }
  bool has_option(const std::string& key) const {
    return std::ranges::any_of(entry->options, [&](const OptionSpec& spec) { return spec.name == key; });
  }
};

std::vector<TypedProtocol> typed_protocols(std::vector<RequestedProtocol>& requested) {
  std::vector<TypedProtocol> typed;
  for (auto& request : requested) typed.push_back({&find_entry(protocol_registry(), request.name, "protocol", "eval: "), request});
  return typed;
}

}  // namespace

std::vector<RequestedProtocol> requested_protocols(const std::string& list) {
  std::vector<RequestedProtocol> requested;
  std::vector<const ProtocolEntry*> entries;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    if (word == "sentences") throw usage_error("eval: 'sentences' is a command of its own; write debias eval sentences RUN --root DIR");
    const auto* entry = &find_entry(protocol_registry(), word, "protocol", "eval: ");
    if (std::ranges::find(entries, entry) != entries.end()) {
      throw usage_error("eval: protocol '{}' is requested twice; give it once", entry->name);
    }
    entries.push_back(entry);
    requested.push_back({word, Config::map()});
    begin = end + 1;
  }
  return requested;
}

EvalWords sort_eval_words(const std::vector<std::string>& words, bool names_data, std::vector<RequestedProtocol>& requested) {
  const std::vector<TypedProtocol> typed = typed_protocols(requested);
  EvalWords sorted;
  for (const auto& word : words) {
    const std::string key = word.substr(0, word.find('='));
    const size_t dot = key.find('.');
    const std::string head = key.substr(0, dot);
    const auto owner = std::ranges::find_if(typed, [&](const TypedProtocol& protocol) { return protocol.is_called(head); });
    if (dot != std::string::npos && owner != typed.end()) {
      owner->request.options.assign(word.substr(dot + 1));
    } else if (dot != std::string::npos && head == "groups") {
      sorted.recipe.push_back("evaluate." + word);  // which bias labels are aligned is decided once, for every protocol
    } else if (dot != std::string::npos && head == "labels") {
      sorted.labels.push_back(word);
    } else if (dot != std::string::npos && (head == "data" || head == "views" || head == "evaluate")) {
      if (head == "data" && names_data) throw usage_error("eval: '{}' and --data exclude each other; give one", word);
      sorted.recipe.push_back(word);
    } else if (dot == std::string::npos && typed.size() == 1 && (typed[0].has_option(key) || !names_data)) {
      typed[0].request.options.assign(word);
    } else if (names_data) {
      sorted.data.push_back(word);
    } else {
      throw usage_error("eval: '{}' belongs to no requested protocol; write e.g. {}.{}=...", word, typed[0].request.name,
                        typed[0].entry->options.front().name);
    }
  }
  for (const TypedProtocol& protocol : typed) protocol.entry->read(protocol.request.options);
  return sorted;
}

std::optional<LabelColumns> label_columns(const std::string& file, const std::vector<std::string>& words) {
  if (file.empty()) {
    if (words.empty()) return std::nullopt;
    throw usage_error("eval: '{}' names a column of no file; add --labels FILE.csv", words.front());
  }
  Config asked = Config::map({{"labels", Config::map({{"file", Config::string(file)}})}});
  for (const auto& word : words) asked.assign(word);
  return LabelColumns::from_config(*asked.find("labels"), "eval: labels");
}

}  // namespace debias
