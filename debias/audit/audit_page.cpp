#include "debias/audit/audit_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "debias/audit/audit_summary.h"
#include "debias/audit/finding_evidence.h"
#include "debias/audit/finding_words.h"
#include "debias/data/shown_names.h"
#include "debias/report/pages/page.h"

namespace debias {
namespace {

constexpr size_t kShownFindings = 5, kShownImages = 6, kShownBars = 12, kShownBadFiles = 200, kShownOthers = 200;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string class_of(const AuditFinding& finding, const AuditResult& result) {
  return result.classes[static_cast<size_t>(finding.tested.label)];
}

std::string verdict_word(const AuditFinding& finding) {
  if (finding.names_classes) return "the label";
  if (finding.follows) return "with another";
  if (finding.expected) return "expected";
  return finding.verdict == AuditVerdict::kLook ? "worth a look" : std::string(enum_name(finding.verdict));
}

Table findings_table(const std::vector<const AuditFinding*>& findings, const AuditResult& result) {
  Table table;
  table.caption =
      "Shares are of groups; the effect is what goes beyond labels that are permuted among groups; p is adjusted for all properties.";
  for (const char* head : {"property", "kind", "verdict", "value", "class", "of the class", "of the others", "effect", "p"}) {
    table.head.push_back({plain(head), "", ""});
  }
  for (const AuditFinding* f : findings) {
    if (table.rows.size() == kShownOthers) break;
    table.rows.push_back({{{plain(plain_name(f->property)), "", ""},
                           {plain(enum_name(f->property.kind)), "", ""},
                           {plain(verdict_word(*f)), "", ""},
                           {plain(shown_value(f->class_value_text())), "text", ""},
                           {plain(class_of(*f, result)), "", ""},
                           {plain(percent(f->tested.in_class)), "n", ""},
                           {plain(percent(f->tested.elsewhere)), "n", ""},
                           {plain(fmt::format("{:.2f}", f->tested.effect)), "n", ""},
                           {plain(fmt::format("{:.3f}", f->tested.p_adjusted)), "n", ""}},
                          false});
  }
  return table;
}

// Its class first, then the others by share.
Html share_bars(const AuditFinding& finding, const FolderAudit& audit) {
  const std::vector<double> shares = class_shares(finding, audit.rows, audit.result.groups);
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto own = static_cast<size_t>(finding.tested.label);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return std::pair(a != own, -shares[a]) < std::pair(b != own, -shares[b]); });
  Html bars;
  for (size_t i = 0; i < order.size() && i < kShownBars; ++i) {
    const size_t k = order[i];
    bars += element("span", "", plain(audit.result.classes[k]));
    bars +=
        {fmt::format("<span class=\"track\"><i{} style=\"width:{:.1f}%\"></i></span>", k == own ? " class=\"own\"" : "", 100 * shares[k])};
    bars += element("span", "", plain(percent(shares[k])));
  }
  Html all = element("div", "shares", bars);
  if (order.size() > kShownBars) {
    all += element("p", "note",
                   plain(fmt::format("{} more classes, each at most {}.", order.size() - kShownBars, percent(shares[order[kShownBars]]))));
  }
  return all;
}

Html image_html(const EvidenceImage& image, const std::string& alt) {
  const std::string_view bytes(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
  Html html{fmt::format("<img{} src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\" loading=\"lazy\"/>", image.is_png ? " class=\"tiny\"" : "",
                        image.is_png ? png_data_uri(bytes) : jpeg_data_uri(bytes), image.width, image.height, escaped(alt))};
  if (image.box) {
    html += {fmt::format("<i class=\"box\" style=\"left:{:.2f}%;top:{:.2f}%;width:{:.2f}%;height:{:.2f}%\"></i>", 100 * image.box->x,
                         100 * image.box->y, 100 * image.box->width, 100 * image.box->height)};
  }
  return element("span", "sight", html);
}

// The value of a row, where there are more than that it is there or not.
std::string own_value(const AuditFinding& finding, size_t row) {
  const Property& property = finding.property;
  if (property.ordered || property.count() < 2) return "";
  const std::string& value = property.value_names[static_cast<size_t>(property.values[row])];
  if (property.kind == PropertyKind::kScene && value != "none") return "background " + value;
  return value == "present" || value == "absent" ? "" : value;
}

Html sights(const AuditFinding& finding, const FolderAudit& audit, const std::vector<size_t>& rows,
            const std::vector<std::optional<RowEvidence>>& images) {
  Html items;
  for (size_t i = 0; i < rows.size(); ++i) {
    const PictureFile& file = audit.folder.files[static_cast<size_t>(audit.files[rows[i]])];
    Html item;
    if (!images.empty() && images[i]) {
      item += image_html(images[i]->whole, file.source);
      if (images[i]->part) item += image_html(*images[i]->part, fmt::format("part of {}", file.source));
    } else if (!images.empty()) {
      item += element("span", "missing", plain("cannot be read any more"));
    }
    item += element("span", "", plain(audit.rows.classes[static_cast<size_t>(audit.rows.labels[rows[i]])]));
    if (const std::string value = own_value(finding, rows[i]); !value.empty()) item += element("span", "small", plain(shown_value(value)));
    if (images.empty()) item += element("span", "small", plain(file.source));
    items += element("li", "", item);
  }
  return items.source.empty() ? element("p", "missing", plain("none")) : element("ul", "sights", items);
}

Html evidence(const AuditFinding& finding, const FolderAudit& audit) {
  const std::vector<size_t> with = evidence_rows(finding, audit, true, kShownImages),
                            without = evidence_rows(finding, audit, false, kShownImages);
  const bool has_images = !audit.rows.pictures.empty();
  const FindingImages images = has_images ? finding_images(finding, audit, with, without) : FindingImages{};
  const std::string rows = has_images ? "images" : "rows";
  const auto has_part = [](const std::optional<RowEvidence>& row) { return row && row->part; };
  const bool parts = std::ranges::any_of(images.with, has_part);
  const char* part =
      finding.property.kind == PropertyKind::kEdge ? "; below each, 40 pixels of its edge" : "; below each, a part of it at full size";
  Html html = element("p", "rowhead", plain(fmt::format("{} {} that {}{}", with.size(), rows, value_phrase(finding), parts ? part : "")));
  html += sights(finding, audit, with, images.with);
  html += element("p", "rowhead", plain(fmt::format("{} {} without it", without.size(), rows)));
  html += sights(finding, audit, without, images.without);
  return html;
}

Html heat_map_html(const AuditFinding& finding, const FolderAudit& audit) {
  const std::optional<HeatMap> map = heat_map(finding, audit.rows, audit.result.groups);
  if (!map) return {};
  const std::string who =
      map->within_class ? "images of one class that have it and that have it not" : "images that have it and that have it not";
  const std::string caption =
      map->largest == 0 ? fmt::format("The mean of all images. At no place do {} differ beyond chance.", who)
                        : fmt::format("Where {} differ, from violet (a little) to yellow (most), on the mean of all images.{}", who,
                                      map->within_class ? "" : " No class has enough of both, so that what the classes show is seen, too.");
  return {fmt::format("<figure class=\"heatmap\">{}<figcaption>{}</figcaption></figure>",
                      image_html(map->image, "where in the image the finding shows").source, escaped(caption))};
}

std::string with_it_text(const AuditFinding& finding, const AuditResult& result) {
  std::vector<std::string> names;
  for (const std::string& name : finding.with_it) {
    const auto same = std::ranges::find_if(result.findings, [&](const AuditFinding& other) { return other.property.name == name; });
    names.push_back(same == result.findings.end() ? name : plain_name(same->property));
  }
  const std::string text = fmt::format("The same, seen otherwise: {}", shown_names(names, 6));
  return text.ends_with("...") ? text : text + ".";
}

Html finding_html(const AuditFinding& finding, const FolderAudit& audit, size_t number) {
  const AuditResult& result = audit.result;
  Html tags;
  if (finding.verdict == AuditVerdict::kLook) tags += element("span", "tag", plain("worth a look"));
  if (finding.expected) tags += element("span", "tag", plain("expected"));
  if (finding.property.exact) tags += element("span", "tag", plain("read, not measured"));
  Html html = element("h3", "", plain(fmt::format("{}. {}", number, plain_name(finding.property))) + tags);
  html += element("p", "says", strong(shares_text(finding, result) + "."));
  if (const std::string what = meaning(finding.property); !what.empty()) html += element("p", "note", plain(what));
  html += share_bars(finding, audit);
  html += evidence(finding, audit);
  Html notes;
  if (!finding.with_it.empty()) notes += element("p", "note", plain(with_it_text(finding, result)));
  notes += element("p", "note",
                   plain(fmt::format("Effect {:.2f} (0: chance, 1: all of the class and nothing else), p {:.3f}.", finding.tested.effect,
                                     finding.tested.p_adjusted)));
  html += element("div", "beside", heat_map_html(finding, audit) + element("div", "", notes));
  return element("section", "finding", html);
}

}  // namespace

std::string audit_page(const FolderAudit& audit, const std::string& name, const std::vector<std::string>& commands) {
  Page page("Audit of " + last_part(name));
  const AuditResult& result = audit.result;
  const bool alarm = std::ranges::any_of(result.findings, &AuditFinding::is_alarm);
  const std::string rows = audit.rows.embeddings.empty() ? "images" : "rows";
  page.lead(element("p", alarm ? "lead alarm" : "lead", plain(verdict_line(result, rows) + ".")));
  page.lead(element("p", "note", plain(audited_line(result, rows) + ".")));
  const auto shortcuts = result.of(AuditVerdict::kShortcut), looks = result.of(AuditVerdict::kLook);
  std::vector<const AuditFinding*> shown;
  if (!shortcuts.empty()) page.heading(2, shortcuts.size() == 1 ? "Shortcut" : "Shortcuts");
  for (const auto* findings : {&shortcuts, &looks}) {
    for (const AuditFinding* finding : *findings) {
      if (shown.size() == kShownFindings) break;
      if (finding->verdict == AuditVerdict::kLook && (shown.empty() || shown.back()->verdict != AuditVerdict::kLook)) {
        page.heading(2, "Worth a look");
        page.paragraph(plain("No shortcuts by themselves: they may be what the classes are about. Only you can know."), "note");
      }
      shown.push_back(finding);
      page.add(finding_html(*finding, audit, shown.size()));
    }
  }
  std::vector<const AuditFinding*> others;
  for (const AuditFinding& finding : result.findings) {
    if (std::ranges::find(shown, &finding) == shown.end()) others.push_back(&finding);
  }
  if (!others.empty()) {
    const size_t more = shortcuts.size() - std::min(shortcuts.size(), kShownFindings);
    page.folded(more == 0 ? fmt::format("{} weaker propert{}", others.size(), others.size() == 1 ? "y" : "ies")
                          : fmt::format("{} more properties, {} of them shortcut{}", others.size(), more, more == 1 ? "" : "s"),
                table_in_scroller(findings_table(others, result)));
  }
  page.heading(2, "Next");
  for (const std::string& command : commands) page.command(command);
  if (!result.notes.empty() || !audit.bad.empty()) {
    page.heading(2, "Notes");
    for (const std::string& note : result.notes) page.paragraph(plain(note));
    Html list;
    for (size_t i = 0; i < audit.bad.size() && i < kShownBadFiles; ++i) {
      list += element("li", "", plain(fmt::format("{}: {}", audit.bad[i].path, audit.bad[i].reason)));
    }
    if (!audit.bad.empty()) {
      const std::string beyond = audit.bad.size() > kShownBadFiles ? fmt::format("; the first {}", kShownBadFiles) : "";
      page.folded(fmt::format("{} image{} cannot be read{}", audit.bad.size(), audit.bad.size() == 1 ? "" : "s", beyond),
                  element("ul", "", list));
    }
  }
  page.heading(2, "What could not have been found");
  Html list;
  for (const std::string& kind : not_detectable(result)) list += element("li", "", plain(kind));
  page.add(element("ul", "", list));
  return page.html();
}

}  // namespace debias
