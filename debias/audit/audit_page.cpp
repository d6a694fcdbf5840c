#include "debias/audit/audit_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/shown_names.h"
#include "debias/image/geometry.h"
#include "debias/image/image_encode.h"
#include "debias/report/pages/page.h"

namespace debias {
namespace {

constexpr int kMeanSide = 160, kThumbnailSide = 64;
constexpr int64_t kMeanImages = 400;
constexpr size_t kSheetImages = 16, kSheets = 3;

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

Image mean_image(const FolderAudit& audit) {
  std::vector<double> sum(static_cast<size_t>(kMeanSide) * kMeanSide * 3);
  double count = 0;
  for (size_t row = 0; row < audit.files.size() && row < kMeanImages; ++row) {  // rows are shuffled
    const auto image = thumbnail_or_none(file_of(audit, row), kMeanSide);
    if (!image) continue;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += image->pixels[i];
    ++count;
  }
  Image mean{kMeanSide, kMeanSide, 3, std::vector<uint8_t>(sum.size())};
  for (size_t i = 0; i < sum.size(); ++i) mean.pixels[i] = static_cast<uint8_t>(count > 0 ? sum[i] / count : 0);
  return mean;
}

// Red laid over the mean image's grey, in proportion to a cell's accuracy between chance and 1.
Image heat_map(const FolderAudit& audit) {
  Image image = mean_image(audit);
  for (int y = 0; y < kMeanSide; ++y) {
    for (int x = 0; x < kMeanSide; ++x) {
      const int cell = y * kFineGrid / kMeanSide * kFineGrid + x * kFineGrid / kMeanSide;
      const double chance = audit.result.chance;
      const double heat = std::clamp((audit.result.fine_cells[static_cast<size_t>(cell)] - chance) / (1 - chance), 0.0, 1.0);
      uint8_t* pixel = image.pixels.data() + 3 * (static_cast<size_t>(y) * kMeanSide + static_cast<size_t>(x));
      const double grey = (pixel[0] + pixel[1] + pixel[2]) / 3.0;
      const std::array<double, 3> red = {220, 30, 20};
      for (size_t c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>((1 - heat) * grey + heat * red[c]);
    }
  }
  return image;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Table findings_table(const AuditResult& result) {
  Table table;
  table.caption =
      fmt::format("Candidates, shortcuts first. Accuracy is balanced and cross-validated; chance is {}.", percent(result.chance));
  for (const char* head : {"candidate", "kind", "verdict", "accuracy", "reference", "p (adjusted)", "bias labels for", "note"}) {
    table.head.push_back({plain(head), "", ""});
  }
  for (const AuditFinding& f : result.findings) {
    table.rows.push_back({{{plain(f.candidate.name), "", ""},
                           {plain(enum_name(f.candidate.kind)), "", ""},
                           {plain(enum_name(f.verdict)), "", ""},
                           {plain(percent(f.accuracy)), "n", ""},
                           {plain(percent(f.reference)), "n", ""},
                           {plain(fmt::format("{:.3f}", f.p_adjusted)), "n", ""},
                           {plain(f.assignable ? percent(f.confident_share) : "none"), "n", ""},
                           {plain(note_of(f)), "", ""}},
                          false});
  }
  return table;
}

// Rows of a class whose value is, or is not, the class's own.
std::vector<size_t> rows_of(const FolderAudit& audit, const AuditFinding& finding, int32_t label, bool with) {
  std::vector<size_t> rows;
  for (size_t row = 0; row < finding.values.size() && rows.size() < kSheetImages; ++row) {
    if (audit.rows.labels[row] != label || !finding.values[row].confident) continue;
    if ((finding.values[row].value == label) == with) rows.push_back(row);
  }
  return rows;
}

Html contact_sheet(const FolderAudit& audit, const std::vector<size_t>& rows) {
  Html items;
  for (const size_t row : rows) {
    const PictureFile& file = file_of(audit, row);
    const auto image = thumbnail_or_none(file, kThumbnailSide);
    if (image) items += element("div", "thumb", image_html(*image, file.source));
  }
  if (items.source.empty()) items = element("div", "missing", plain("none"));
  return items;
}

void add_sheets(const FolderAudit& audit, const AuditFinding& finding, Page& page) {
  constexpr size_t kClasses = 10;
  page.heading(3, finding.candidate.name);
  if (finding.values.empty()) {
    page.paragraph(plain("No bias labels can be given for this candidate, so its images cannot be sorted."), "note");
    return;
  }
  Html list;
  for (size_t c = 0; c < audit.result.classes.size() && c < kClasses; ++c) {
    for (const bool with : {true, false}) {
      const std::string title = fmt::format("{}: {}", audit.result.classes[c], with ? "aligned" : "conflicting");
      list += element("li", "",
                      element("div", "thumb", plain(title)) + contact_sheet(audit, rows_of(audit, finding, static_cast<int32_t>(c), with)));
    }
  }
  page.add(element("ul", "near", list));
}

std::string verdict_text(const AuditResult& result) {
  const auto shortcuts = std::ranges::count(result.findings, AuditVerdict::kShortcut, &AuditFinding::verdict);
  if (shortcuts == 0) return "No shortcut was found among the candidates that were searched.";
  const AuditFinding& first = result.findings.front();
  return fmt::format(
      "{} likely {}. The strongest, {}, predicts the class of {} of the images of a class; a legitimate sign would reach {}.", shortcuts,
      shortcuts == 1 ? "shortcut" : "shortcuts", first.candidate.name, percent(first.accuracy), percent(first.reference));
}

}  // namespace

std::string audit_page(const FolderAudit& audit, const std::string& name, const std::vector<std::string>& commands) {
  Page page("Audit of " + name);
  page.paragraph(strong(verdict_text(audit.result)));
  page.paragraph(plain(
      fmt::format("{} images of {} classes: {}.", audit.result.images, audit.result.classes.size(), shown_names(audit.result.classes))));
  for (const std::string& remark : audit.result.remarks) page.paragraph(plain(remark), "note");
  for (const BadFile& bad : audit.bad) page.paragraph(plain(fmt::format("not read: {}: {}", bad.path, bad.reason)), "warning");
  page.heading(2, "Next");
  for (const std::string& command : commands) page.preformatted(command);
  page.heading(2, "Candidates");
  page.table(findings_table(audit.result));
  if (!audit.result.fine_cells.empty()) {
    page.heading(2, "Where images predict the class");
    page.paragraph(
        plain("Each cell of a 16 x 16 grid by itself, over the mean image: the redder a cell, the better its colours predict the class."));
    page.add(element("figure", "", image_html(heat_map(audit), "accuracy of each cell over the mean image")));
  }
  page.heading(2, "Aligned and conflicting images");
  size_t sheets = 0;
  for (const AuditFinding& finding : audit.result.findings) {
    if (finding.verdict == AuditVerdict::kShortcut && sheets++ < kSheets) add_sheets(audit, finding, page);
  }
  if (sheets == 0) page.paragraph(plain("There is no shortcut to sort them by."), "note");
  page.heading(2, "What could not have been found");
  Html list;
  for (const std::string& kind : not_detectable(audit.result)) list += element("li", "", plain(kind));
  page.add(element("ul", "", list));
  return page.html();
}

}  // namespace debias
