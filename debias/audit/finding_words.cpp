#include "debias/audit/finding_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "debias/core/printable.h"

namespace debias {
namespace {

// What is said of a description: of a number, how images are called that have much and little of it; of clusters `much` alone.
struct DescriptionWords {
  std::string_view name, plain, much, little, meaning;
};

constexpr size_t kLongestValue = 60;  // bytes; comments of files can have thousands

constexpr std::array kDescriptions = {
    DescriptionWords{"brightness", "brightness", "bright", "dark", ""},
    DescriptionWords{"contrast", "contrast", "rich in contrast", "poor in contrast", "How far light and dark parts are apart."},
    DescriptionWords{"chroma", "strength of colour", "strongly coloured", "weakly coloured", "How far pixels are from grey."},
    DescriptionWords{"colour cast (red)", "red tint", "tinted towards red", "tinted away from red", "The colour of the light."},
    DescriptionWords{"colour cast (blue)", "blue tint", "tinted towards blue", "tinted away from blue", "The colour of the light."},
    DescriptionWords{"gradient energy", "amount of detail", "rich in detail", "poor in detail", "How much neighbouring pixels differ."},
    DescriptionWords{"sharpness", "sharpness", "sharp", "blurred", "Focus, resizing and filters change it."},
    DescriptionWords{"noise", "noise", "noisy", "free of noise",
                     "Grain in the smoothest parts: sensors, scanners and filters differ in it."},
    DescriptionWords{"blockiness", "JPEG blocks", "blocky", "free of blocks", "Steps every 8 pixels, which JPEG compression leaves."},
    DescriptionWords{"tones", "distribution of brightness", "brightness", "", "How often each brightness of red, green and blue occurs."},
    DescriptionWords{"frequencies", "coarse and fine detail", "coarse and fine detail", "",
                     "How strong detail of each fineness is: compression, resizing and filters change it."},
    DescriptionWords{"lines", "lines across the image", "lines across the image", "", "Thin rows and columns that stand out."},
    DescriptionWords{"tone curve", "exposure", "exposure and contrast", "", "How dark the darkest and how light the lightest parts are."},
    DescriptionWords{"level use", "gaps between brightness levels", "the brightness levels that they use", "",
                     "Levels that no pixel has: the trace of a program that changed brightness or colours."},
    DescriptionWords{"colours", "colour mixture", "how red, green and blue go together", "", "How red, green and blue go together."},
    DescriptionWords{"fringes", "colour fringes", "their colour fringes", "",
                     "Red, green and blue that are shifted or blurred against each other, as lenses and cameras do it."},
    DescriptionWords{"step pairs", "texture from pixel to pixel", "texture from pixel to pixel", "",
                     "How one small step of brightness follows another: sharpening, resizing and noise change it."},
    DescriptionWords{"stripes", "faint stripes", "faint rows and columns", "",
                     "Rows and columns that are a little lighter or darker over most of their length: seams, rulers, screens."},
    DescriptionWords{"shading", "light and shade", "where they are light and where dark", "",
                     "Gradual changes of brightness over the image: dark edges, light from one side."},
};

const DescriptionWords* description_of(const Property& property) {
  const auto found = std::ranges::find(kDescriptions, property.name, &DescriptionWords::name);
  return found == kDescriptions.end() ? nullptr : &*found;
}

// "255,255,255 (white)" of "255,255,255"; other texts as they are.
std::string colour_words(const std::string& numbers) {
  int r = 0, g = 0, b = 0;
  char rest = 0;
  if (std::sscanf(numbers.c_str(), "%d,%d,%d%c", &r, &g, &b, &rest) != 3) return numbers;
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  std::string_view word;
  if (most - least < 24) {
    word = most < 40 ? "black" : least > 232 ? "white" : most < 100 ? "dark grey" : least > 170 ? "light grey" : "grey";
  } else {
    const double spread = most - least;
    const double hue = most == r ? 60 * (g - b) / spread : most == g ? 120 + 60 * (b - r) / spread : 240 + 60 * (r - g) / spread;
    const double turned = hue < 0 ? hue + 360 : hue;
    constexpr std::array<std::pair<double, std::string_view>, 9> kHues = {{{15, "red"},
                                                                           {45, "orange"},
                                                                           {70, "yellow"},
                                                                           {165, "green"},
                                                                           {195, "turquoise"},
                                                                           {255, "blue"},
                                                                           {290, "violet"},
                                                                           {345, "pink"},
                                                                           {361, "red"}}};
    word = std::ranges::find_if(kHues, [&](const auto& entry) { return turned < entry.first; })->second;
    if (word == "orange" && most < 170) word = "brown";
  }
  return fmt::format("{} ({})", numbers, word);
}

// "at least 3.5", "below 3.5".
std::string bound(const AuditFinding& finding) {
  return fmt::format("{} {}", finding.tested.above ? "at least" : "below",
                     finding.property.value_names[static_cast<size_t>(finding.tested.value) - 1]);
}

std::string_view after(std::string_view text, std::string_view beginning) {
  return text.starts_with(beginning) ? text.substr(beginning.size()) : text;
}

std::string file_phrase(const AuditFinding& finding, const std::string& value) {
  const std::string& name = finding.property.name;
  if (finding.property.ordered) {
    const std::string& edge = finding.property.value_names[static_cast<size_t>(finding.tested.value) - 1];
    const char* side = finding.tested.above ? "at least" : "less than";
    if (name == "aspect ratio") return fmt::format("are {} {} times as wide as high", side, edge);
    if (name == "number of pixels") return fmt::format("have {} {} pixels", side, edge);
    return fmt::format("have {} {} {}", side, edge, name);
  }
  if (value == "no value") return fmt::format("have no {}", name);
  if (value == "other values") return fmt::format("have a rare {}", name);
  if (name == "image size") {
    const size_t x = value.find('x');
    return x == std::string::npos ? "are " + value : fmt::format("are {} x {}", value.substr(0, x), value.substr(x + 1));
  }
  if (name == "grey or colour") return fmt::format("are {} images", value);
  if (name == "file format") return fmt::format("are {} files", value);
  if (name == "EXIF camera") return fmt::format("were taken with {}", value);
  if (name == "EXIF month") return fmt::format("were taken in {}", value);
  if (name == "EXIF software") return fmt::format("were written by {}", value);
  if (name == "sub-folder") return fmt::format("lie in the sub-folder {}", value);
  if (name == "name prefix") return fmt::format("have names that begin with {}", value);
  if (name == "name suffix") return fmt::format("have names that end with {}", value);
  if (name == "name pattern") return fmt::format("have names like {}", value);
  if (name == "name month") return fmt::format("have {} in their names", value);
  return fmt::format("have the {} {}", name, value);
}

std::string_view edge_part(const Property& property) {
  return after(after(after(property.name, "mean "), "colour of the "), "strip at the ");
}

std::string edge_phrase(const Property& property, const std::string& value) {
  const std::string part(edge_part(property));
  if (value == "not plain" || value == "another" || value == "other values") return fmt::format("have no {} of one such colour", part);
  return fmt::format("have a {} of colour {}", part, colour_words(value));
}

std::string mark_phrase(const Property& property, const std::string& value) {
  std::string place(after(property.name, "mark, "));
  if (const size_t number = place.find(" ("); number != std::string::npos) place.resize(number);
  const std::string where = place == "middle" ? "in the middle" : fmt::format("at the {}", place);
  if (value == "absent") return fmt::format("have no mark {}", where);
  if (value.starts_with("colour ")) return fmt::format("have a mark of colour {} {}", colour_words(value.substr(7)), where);
  return value == "present" ? fmt::format("have a mark {}", where) : fmt::format("have the mark {} {}", value, where);
}

std::string detail_phrase(const AuditFinding& finding, const std::string& value) {
  if (!finding.property.ordered) return value == "absent" ? "do not show this detail" : "show this detail";
  double share = 0;
  const std::string& edge = finding.property.value_names[static_cast<size_t>(finding.tested.value) - 1];
  if (std::sscanf(edge.c_str(), "%lf", &share) != 1) return fmt::format("have {} of it", bound(finding));
  return fmt::format("have {} {:.2g} % of their area in this colour", finding.tested.above ? "at least" : "less than", 100 * share);
}

std::string description_phrase(const AuditFinding& finding, const std::string& value) {
  const Property& property = finding.property;
  const DescriptionWords* words = description_of(property);
  if (property.ordered) {
    const std::string number = fmt::format("{} {}", property.name, bound(finding));
    return words == nullptr ? "have " + number : fmt::format("are {} ({})", finding.tested.above ? words->much : words->little, number);
  }
  return fmt::format("are of one kind in {} ({})", words == nullptr ? std::string_view(property.name) : words->much, value);
}

std::string phrase_of(const AuditFinding& finding, const std::string& value) {
  const Property& property = finding.property;
  switch (property.kind) {
    case PropertyKind::kFile:
      return file_phrase(finding, value);
    case PropertyKind::kColumn: {
      const std::string_view column = after(property.name, "column ");
      if (property.ordered) return fmt::format("have {} in column {}", bound(finding), column);
      if (value == "no value") return fmt::format("have no value in column {}", column);
      return fmt::format("have {} in column {}", value == "other values" ? "a rare value" : value, column);
    }
    case PropertyKind::kEdge:
      return edge_phrase(property, value);
    case PropertyKind::kCorners:
      return value == "absent" ? "have no dark corners" : "have dark corners";
    case PropertyKind::kScene:
      return value == "none" ? "show none of the backgrounds that recur"
                             : fmt::format("show one and the same background (number {})", value);
    case PropertyKind::kMark:
      return mark_phrase(property, value);
    case PropertyKind::kDetail:
      return detail_phrase(finding, value);
    case PropertyKind::kDescription:
      return description_phrase(finding, value);
    default:
      return property.ordered ? fmt::format("lie {} along it", bound(finding)) : fmt::format("are in {}", value);
  }
}

// What all values that are there say together: the opposite of one that says that it is not.
std::string presence_phrase(const Property& property) {
  switch (property.kind) {
    case PropertyKind::kEdge:
      return fmt::format("have a {} of one colour", edge_part(property));
    case PropertyKind::kCorners:
      return "have dark corners";
    case PropertyKind::kScene:
      return "show one of the backgrounds that recur";
    case PropertyKind::kMark:
      return mark_phrase(property, "present");
    case PropertyKind::kDetail:
      return "show this detail";
    case PropertyKind::kColumn:
      return fmt::format("have a frequent value in {}", property.name);
    default:
      return fmt::format("have a frequent {}", property.name);
  }
}

}  // namespace

std::string plain_name(const Property& property) {
  if (const DescriptionWords* words = description_of(property); words != nullptr && words->plain != words->name) {
    return fmt::format("{} ({})", words->plain, words->name);
  }
  constexpr std::string_view kPatches = "patches of colour ";
  if (property.name.starts_with(kPatches)) return std::string(kPatches) + colour_words(property.name.substr(kPatches.size()));
  if (property.name == "clusters") return "similar features (clusters)";
  if (property.name.starts_with("direction ")) return property.name + " of the features";
  return property.name;
}

std::string meaning(const Property& property) {
  if (const DescriptionWords* words = description_of(property)) return std::string(words->meaning);
  const std::string& name = property.name;
  switch (property.kind) {
    case PropertyKind::kFile:
      if (name == "JPEG quantisation") return "The tables by which a JPEG was compressed: programs and cameras differ in them.";
      if (name == "bytes per pixel") return "How much a file is compressed.";
      return name == "file encoding" ? "How the file stores its pixels." : "";
    case PropertyKind::kEdge:
      if (name.find("border") != std::string::npos) return "The outer 3 % of the image, where they are of one colour.";
      if (name.starts_with("mean ")) return "The outer 3 % of the image, on average.";
      return "The outermost pixels, where they are of one colour.";
    case PropertyKind::kCorners:
      return "Corners that are darker than the sides, as of a lens or a microscope.";
    case PropertyKind::kScene:
      return "The outer part of the image is the same in several images: one place, one studio, one camera.";
    case PropertyKind::kMark:
      return "A region that is nearly the same in many images and ends sharply: a sticker, a logo, a stamp.";
    case PropertyKind::kDetail:
      return property.ordered ? "How much of an image small areas of this colour cover."
                              : "A small detail that is the same in many images, at any place: a logo, a text, a tag.";
    case PropertyKind::kDirection:
      return property.ordered ? "One of the directions in which the features vary most." : "Rows whose features are alike.";
    default:
      return "";
  }
}

std::string shown_value(const std::string& value) {
  if (value.size() <= kLongestValue) return value;
  return value.substr(0, utf8_length(std::string_view(value).substr(0, kLongestValue))) + "...";
}

std::string value_phrase(const AuditFinding& finding) {
  if (finding.property.says_absent(finding.tested.value)) return presence_phrase(finding.property);
  if (finding.property.ordered) return phrase_of(finding, "");
  const std::string& value = finding.property.value_names[static_cast<size_t>(finding.tested.value)];
  return phrase_of(finding, shown_value(value));
}

std::string shares_text(const AuditFinding& finding, const AuditResult& result) {
  const std::string& name = result.classes[static_cast<size_t>(finding.tested.label)];
  const std::string phrase = value_phrase(finding);
  if (finding.property.says_absent(finding.tested.value)) {
    return fmt::format("{:.0f} % of {} {}, {:.0f} % of the others", 100 * (1 - finding.tested.in_class), name, phrase,
                       100 * (1 - finding.tested.elsewhere));
  }
  return fmt::format("{:.0f} % of {} {}, {:.0f} % of the others", 100 * finding.tested.in_class, name, phrase,
                     100 * finding.tested.elsewhere);
}

}  // namespace debias
