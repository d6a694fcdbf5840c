#include "debias/data/readers/class_selection.h"

#include <algorithm>
#include <sstream>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

// Bahng et al.'s nine super-classes of ImageNet.
constexpr std::string_view kImageNet9 =
    "dog: n02085620 n02099601 n02106550 n02106662 n02110958\n"
    "cat: n02123045 n02123159 n02123394 n02123597 n02124075\n"
    "frog: n01641577 n01644373 n01644900\n"
    "turtle: n01664065 n01665541 n01667114 n01667778 n01669191\n"
    "bird: n01819313 n01820546 n01833805 n01843383 n01847000\n"
    "monkey: n02486410 n02487347 n02488291 n02488702 n02492035\n"
    "fish: n02607072 n02640242 n02641379 n02643566 n02655020\n"
    "crab: n01978287 n01978455 n01980166 n01981276\n"
    "insect: n02174001 n02177972 n02190166 n02206856 n02219486\n";

// Two pairs of classes that are easily confused: a class has 0.25 of the images, so that false negatives are 2.5 times as frequent as among ten.
constexpr std::string_view kCifar4 = "cat\ndog\nship\ntruck\n";

// The hundred classes of Tian et al., "Contrastive multiview coding".
constexpr std::string_view kImageNet100 =
    "n01558993 n01692333 n01729322 n01735189 n01749939 n01773797 n01820546 n01855672 n01978455 n01980166 n01983481 n02009229\n"
    "n02018207 n02085620 n02086240 n02086910 n02087046 n02089867 n02089973 n02090622 n02091831 n02093428 n02099849 n02100583\n"
    "n02104029 n02105505 n02106550 n02107142 n02108089 n02109047 n02113799 n02113978 n02114855 n02116738 n02119022 n02123045\n"
    "n02138441 n02172182 n02231487 n02259212 n02326432 n02396427 n02483362 n02488291 n02701002 n02788148 n02804414 n02859443\n"
    "n02869837 n02877765 n02974003 n03017168 n03032252 n03062245 n03085013 n03259280 n03379051 n03424325 n03492542 n03494278\n"
    "n03530642 n03584829 n03594734 n03637318 n03642806 n03764736 n03775546 n03777754 n03785016 n03787032 n03794056 n03837869\n"
    "n03891251 n03903868 n03930630 n03947888 n04026417 n04067472 n04099969 n04111531 n04127249 n04136333 n04229816 n04238763\n"
    "n04336792 n04418357 n04429376 n04435653 n04485082 n04493381 n04517823 n04589890 n04592741 n07714571 n07715103 n07753275\n"
    "n07831146 n07836838 n13037406 n13040303\n";

void add(ClassSelection& selection, const std::string& where, const std::string& folder, int64_t label) {
  if (!selection.label_of.emplace(folder, label).second) throw FileError(where, fmt::format("folder {} is given twice", folder));
}

ClassSelection parse(std::string_view text, const std::string& where) {
  ClassSelection selection;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    const size_t colon = line.find(':');
    std::istringstream words(colon == std::string::npos ? line : line.substr(colon + 1));
    if (colon != std::string::npos) {
      std::istringstream name(line.substr(0, colon));
      std::string first, more;
      if (!(name >> first) || name >> more) throw FileError(where, fmt::format("expected CLASS: FOLDER ..., found '{}'", line));
      selection.class_names.push_back(first);
    }
    for (std::string folder; words >> folder;) {
      if (colon == std::string::npos) selection.class_names.push_back(folder);
      add(selection, where, folder, static_cast<int64_t>(selection.class_names.size()) - 1);
    }
  }
  if (selection.class_names.empty()) throw FileError(where, "names no class");
  std::vector<std::string> sorted = selection.class_names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw FileError(where, fmt::format("class {} is given twice", *twice));
  return selection;
}

}  // namespace

ClassSelection read_class_selection(const std::string& choice) {
  if (choice == "cifar4") return parse(kCifar4, choice);
  if (choice == "imagenet9") return parse(kImageNet9, choice);
  if (choice == "imagenet100") return parse(kImageNet100, choice);
  constexpr int64_t kLargest = 1 << 20;
  const std::vector<uint8_t> bytes = read_file_bytes(choice, kLargest);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (utf8_length(text) < text.size()) throw FileError(choice, "is not UTF-8; save it as UTF-8");
  return parse(text, choice);
}

}  // namespace debias
