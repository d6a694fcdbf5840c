#include "debias/audit/audit_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "debias/audit/audit_summary.h"
#include "debias/core/error.h"
#include "debias/data/shown_names.h"
#include "debias/image/geometry.h"
#include "debias/image/image_encode.h"
#include "debias/report/pages/page.h"

namespace debias {
namespace {

constexpr int kThumbnailSide = 96;
constexpr size_t kSheetImages = 6;

std::optional<Image> thumbnail_or_none(const PictureFile& file, int side) {
  try {
    return read_thumbnail(file, side);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

Html image_html(const Image& image, const std::string& alt) {
  const std::vector<uint8_t> png = encode_png(image);
  const std::string_view bytes(reinterpret_cast<const char*>(png.data()), png.size());
  return {fmt::format("<img src=\"{}\" alt=\"{}\" loading=\"lazy\"/>", png_data_uri(bytes), escaped(alt))};
}

const PictureFile& file_of(const FolderAudit& audit, size_t row) { return audit.folder.files[static_cast<size_t>(audit.files[row])]; }

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

Table findings_table(const AuditResult& result) {
  constexpr size_t kShown = 40;
  Table table;
  table.caption =
      "Properties, shortcuts first. Shares are of groups; the effect is what goes beyond labels that are permuted among groups; p is "
      "adjusted "
      "for all properties.";
  for (const char* head : {"property", "kind", "verdict", "value", "class", "of the class", "of the others", "effect", "p"}) {
    table.head.push_back({plain(head), "", ""});
  }
  for (const AuditFinding& f : result.findings) {
    if (table.rows.size() == kShown) break;
    const std::string verdict = f.names_classes ? "the label"
                                : f.follows     ? "with another"
                                : f.expected    ? "expected"
                                                : std::string(enum_name(f.verdict));
    table.rows.push_back({{{plain(f.property.name), "", ""},
                           {plain(enum_name(f.property.kind)), "", ""},
                           {plain(verdict), "", ""},
                           {plain(f.class_value_text()), "", ""},
                           {plain(result.classes[static_cast<size_t>(f.tested.label)]), "", ""},
                           {plain(percent(f.tested.in_class)), "n", ""},
                           {plain(percent(f.tested.elsewhere)), "n", ""},
                           {plain(fmt::format("{:.2f}", f.tested.effect)), "n", ""},
                           {plain(fmt::format("{:.3f}", f.tested.p_adjusted)), "n", ""}},
                          false});
  }
  return table;
}

// A thumbnail with the place of the finding framed in red.
void frame_place(Image& image, const ImagePlace& place) {
  const auto pixel = [](double share, int extent) { return std::clamp(static_cast<int>(share * extent), 0, extent - 1); };
  const int left = pixel(place.x, image.width), right = pixel(place.x + place.width, image.width);
  const int top = pixel(place.y, image.height), bottom = pixel(place.y + place.height, image.height);
  const auto mark = [&](int y, int x) {
    uint8_t* p = image.pixels.data() + 3 * (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x));
    p[0] = 220;
    p[1] = 30;
    p[2] = 20;
  };
  for (int x = left; x <= right; ++x) {
    mark(top, x);
    mark(bottom, x);
  }
  for (int y = top; y <= bottom; ++y) {
    mark(y, left);
    mark(y, right);
  }
}

// Rows that have, or have not, the value, of different groups first.
Html contact_sheet(const FolderAudit& audit, const AuditFinding& finding, bool with) {
  Html items;
  std::set<int32_t> groups;
  size_t shown = 0;
  for (size_t row = 0; row < finding.property.values.size() && shown < kSheetImages; ++row) {
    const int32_t value = finding.property.values[row];
    const bool has = !finding.property.ordered ? value == finding.tested.value
                     : finding.tested.above    ? value >= finding.tested.value
                                               : value < finding.tested.value;
    if (has != with || !groups.insert(audit.result.groups.of_row[row]).second) continue;
    auto image = thumbnail_or_none(file_of(audit, row), kThumbnailSide);
    if (!image) continue;
    if (finding.property.place && with && finding.property.kind != PropertyKind::kDetail) frame_place(*image, *finding.property.place);
    items += element("div", "thumb", image_html(*image, file_of(audit, row).source));
    ++shown;
  }
  if (items.source.empty()) items = element("div", "missing", plain("none"));
  return items;
}

void add_finding(const FolderAudit& audit, const AuditFinding& finding, Page& page) {
  page.heading(3, finding.property.name);
  page.paragraph(plain(shares_text(finding, audit.result) + "."));
  if (!finding.with_it.empty()) page.paragraph(plain(fmt::format("With it: {}.", fmt::join(finding.with_it, ", "))), "note");
  if (audit.rows.pictures.empty()) return;
  Html list;
  for (const bool with : {true, false}) {
    const std::string title = with ? finding.class_value_text() : "others";
    list += element("li", "", element("div", "thumb", plain(title)) + contact_sheet(audit, finding, with));
  }
  page.add(element("ul", "near", list));
}

}  // namespace

std::string audit_page(const FolderAudit& audit, const std::string& name, const std::vector<std::string>& commands) {
  Page page("Audit of " + name);
  const AuditResult& result = audit.result;
  page.paragraph(strong(verdict_line(result, audit.rows.embeddings.empty() ? "images" : "rows") + "."));
  const auto shortcuts = result.of(AuditVerdict::kShortcut), looks = result.of(AuditVerdict::kLook);
  for (const AuditFinding* finding : shortcuts) add_finding(audit, *finding, page);
  for (const std::string& note : result.notes) page.paragraph(plain(note), "note");
  for (const BadFile& bad : audit.bad) page.paragraph(plain(fmt::format("not read: {}: {}", bad.path, bad.reason)), "warning");
  page.heading(2, "Worth a look");
  page.paragraph(plain(looks.empty() ? "Nothing else goes with the class." : "These may be what the classes are about."), "note");
  for (const AuditFinding* finding : looks) add_finding(audit, *finding, page);
  page.heading(2, "Next");
  for (const std::string& command : commands) page.preformatted(command);
  page.heading(2, "All properties");
  page.paragraph(plain(fmt::format("{} of {} classes: {}.", result.images, result.classes.size(), shown_names(result.classes))));
  page.folded("The table of properties", table_in_scroller(findings_table(result)));
  page.heading(2, "What could not have been found");
  Html list;
  for (const std::string& kind : not_detectable(result)) list += element("li", "", plain(kind));
  page.add(element("ul", "", list));
  return page.html();
}

}  // namespace debias
