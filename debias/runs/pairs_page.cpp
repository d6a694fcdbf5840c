#include "debias/runs/pairs_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "debias/image/image_encode.h"
#include "debias/report/markup.h"
#include "debias/report/pages/page.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBytesForMarkup = 150'000;  // besides images and names of pairs
constexpr size_t kBytesForCopies = 500'000;
constexpr int kCopySide = 96, kLeastSide = 96, kJpegQuality = 80;
constexpr size_t kShownCopies = 8, kOpenGroups = 10, kShownGroups = 60, kClassesOfPage = 50;
constexpr size_t kTriedSizes = 12;  // for the size at which all fit
constexpr size_t kPairBytes = 250;  // of a pair besides its images and names

constexpr const char* kPairsStyle = R"(
body{touch-action:manipulation}
#pair{display:flex;gap:.75rem;margin:.75rem 0;min-height:6rem}
#pair figure{flex:0 1 auto;max-width:20rem;min-width:0}
#pair img,.one img{display:block;max-width:100%;height:auto;outline:1px solid var(--rule)}
#pair .none,.one .none{display:flex;align-items:center;justify-content:center;width:6rem;height:6rem;background:var(--raised);color:var(--muted);
font-size:.8125rem}
.answers{display:flex;flex-wrap:wrap;gap:.5rem;margin:.75rem 0;max-width:40.75rem}
.answers button{flex:1 1 4.5rem;min-height:3rem;font:inherit;color:var(--ink);background:var(--raised);border:1px solid var(--rule);border-radius:6px;
cursor:pointer}
.answers button:disabled{opacity:.45;cursor:default}
@media (scripting:none){.answers,#pair,progress{display:none}}
progress{width:100%;max-width:40.75rem;height:.6rem;accent-color:var(--accent)}
kbd{font:.8em ui-monospace,Menlo,Consolas,monospace;border:1px solid var(--rule);border-radius:3px;padding:0 .3em}
.remarks{padding-left:1.1rem;max-width:48rem;overflow-wrap:anywhere}
.one{border-bottom:1px solid var(--faint);padding:.6rem 0}
.one p{margin:0 0 .4rem;font-size:.9375rem}
@media (min-width:56rem){.one{display:grid;grid-template-columns:15rem 1fr;gap:1rem}}
.shown{display:flex;flex-wrap:wrap;gap:.6rem;align-items:flex-start}
.shown figure{width:6rem}
.shown figcaption{font-size:.75rem;line-height:1.3}
.name{font-size:.875rem;overflow-wrap:anywhere}
.rest{align-self:center;color:var(--muted);font-size:.875rem}
)";

constexpr const char* kPairsScript = R"(
"use strict";
const data=JSON.parse(document.getElementById("data").textContent),pairs=data.pairs,answers=new Array(pairs.length).fill(null);
let at=0,unsaved=false;const done=[],by=id=>document.getElementById(id);
function picture(src,alt){if(src){const m=document.createElement("img");m.src=src;m.alt=alt;return m}
const n=document.createElement("div");n.className="none";n.textContent="no image";return n}
function side(i){const f=document.createElement("figure"),c=document.createElement("figcaption");
c.textContent=i?pairs[at].b:pairs[at].a;f.append(picture(data.images[pairs[at].images[i]],c.textContent),c);return f}
function show(){const end=at>=pairs.length;by("pair").replaceChildren(...(end?[]:[side(0),side(1)]));
by("facts").textContent=end?"All pairs are answered. Download the answers.":pairs[at].facts;
by("bar").max=Math.max(1,pairs.length);by("bar").value=done.length;
const n=k=>answers.filter(x=>x===k).length;
by("count").textContent=done.length+" of "+pairs.length+" answered: "+n("same")+" same, "+n("different")+" different, "+n("skip")+" skipped";
for(const k of ["same","different","skip"])by(k).disabled=end;by("undo").disabled=!done.length;by("save").disabled=!done.length}
function answer(k){if(at>=pairs.length)return;answers[at]=k;done.push(at);at++;unsaved=true;show()}
function undo(){if(!done.length)return;at=done.pop();answers[at]=null;unsaved=done.length>0;show()}
const field=t=>/[",\r\n]/.test(t)?'"'+t.replaceAll('"','""')+'"':t;
function csv(){let t="a,b,answer,kind\n";
for(let i=0;i<pairs.length;i++)if(answers[i])t+=field(pairs[i].a)+","+field(pairs[i].b)+","+answers[i]+","+pairs[i].kind+"\n";return t}
function save(){const a=document.createElement("a"),u=URL.createObjectURL(new Blob([csv()],{type:"text/csv"}));
a.href=u;a.download=data.download;document.body.append(a);a.click();a.remove();setTimeout(()=>URL.revokeObjectURL(u),1000);unsaved=false}
if(pairs.length){
for(const k of ["same","different","skip"])by(k).addEventListener("click",()=>answer(k));
by("undo").addEventListener("click",undo);by("save").addEventListener("click",save);
document.addEventListener("keydown",e=>{if(e.ctrlKey||e.metaKey||e.altKey||e.repeat)return;
if(e.key===" "&&e.target.closest("button,summary,a"))return;
const k={s:"same",d:"different"," ":"skip"}[e.key.toLowerCase()];
if(k){e.preventDefault();answer(k)}else if(e.key.toLowerCase()==="u"||e.key==="Backspace"){e.preventDefault();undo()}});
document.addEventListener("keyup",e=>{if(e.key===" "&&!e.target.closest("button,summary,a"))e.preventDefault()});
addEventListener("beforeunload",e=>{if(unsaved)e.preventDefault()});
show()}
)";

Image in_rgb(const Image& image) {
  if (image.channels != 1) return image;
  Image out{image.height, image.width, 3, {}};
  for (const uint8_t value : image.pixels) out.pixels.insert(out.pixels.end(), 3, value);
  return out;
}

Image enlarged(const Image& image, int factor) {
  Image out{image.height * factor, image.width * factor, image.channels, {}};
  out.pixels.reserve(image.pixels.size() * static_cast<size_t>(factor) * static_cast<size_t>(factor));
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const auto at = (static_cast<size_t>(y / factor) * static_cast<size_t>(image.width) + static_cast<size_t>(x / factor)) *
                      static_cast<size_t>(image.channels);
      out.pixels.insert(out.pixels.end(), image.pixels.begin() + static_cast<std::ptrdiff_t>(at),
                        image.pixels.begin() + static_cast<std::ptrdiff_t>(at) + image.channels);
    }
  }
  return out;
}

std::string data_uri(const char* type, const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kPng = "data:image/png";
  return type + png_data_uri({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).substr(kPng.size());
}

// As shown, with a longer side of at most `side`.
std::string shown_image(const Image& image, int side) {
  const int longest = std::max(image.height, image.width), factor = std::max(1, kLeastSide / longest);
  const Image shown = in_rgb(factor > 1 ? enlarged(image, factor) : thumbnail(image, side));
  const std::string png = longest <= kLeastSide || shown.channels != 3 ? data_uri("data:image/png", encode_png(shown)) : "";
  if (shown.channels != 3) return png;
  std::string jpeg = data_uri("data:image/jpeg", encode_jpeg(shown, kJpegQuality));
  return png.empty() || jpeg.size() < png.size() ? jpeg : png;
}

// The images of a page, each stored once at one size.
class StoredImages {
 public:
  explicit StoredImages(const PairSource& source) : source_(source) {}

  std::string encoded(int64_t row, int side) const {
    if (!has_image(row)) return "";
    try {
      return shown_image(source_.image(row), side);
    } catch (const Error&) {  // named where copies were looked for
      return "";
    }
  }

  bool has_image(int64_t row) const {
    return row < source_.first.values.size(0) ? source_.first.image != nullptr : source_.second->image != nullptr;
  }

  // For an image that is shown once, without the script; nothing where there is no room.
  Html shown(int64_t row, int side, const std::string& alt, size_t most_bytes) {
    const std::string image = encoded(row, side);
    if (bytes_ + image.size() > most_bytes) return {};
    bytes_ += image.size();
    if (image.empty()) return element("div", "none", plain("no image"));
    return {fmt::format("<img src=\"{}\" alt=\"{}\"/>", image, escaped(alt))};
  }

  // Its place; nullopt where there is no room.
  std::optional<size_t> place_of(int64_t row, int side, size_t most_bytes) {
    if (const auto found = places_.find({row, side}); found != places_.end()) return found->second;
    std::string image = encoded(row, side);
    if (bytes_ + image.size() > most_bytes) return std::nullopt;
    bytes_ += image.size();
    json_.push_back(image.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(std::move(image)));
    return places_[{row, side}] = json_.size() - 1;
  }

  size_t bytes() const { return bytes_; }
  nlohmann::ordered_json json() { return std::move(json_); }

 private:
  const PairSource& source_;
  size_t bytes_ = 0;
  std::map<std::pair<int64_t, int>, size_t> places_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
};

// One row of the page for an image.
Html copies_row(const CopiedImage& image, const PairSource& source, StoredImages& images) {
  const std::string facts = fmt::format("{} images are one image", image.rows.size());
  const std::string labels = counted_labels(source, image.rows);
  const Html head = strong(facts) + plain(fmt::format("{}{}", labels == fmt::format("unknown {}", image.rows.size()) ? "" : ": " + labels,
                                                      source.second ? "; " + counted_splits(source, image.rows) : ""));
  Html shown;
  // Of different labels, and of both splits, the first of each come first.
  std::vector<int64_t> order = image.rows;
  std::map<std::pair<std::string, std::string>, int64_t> earlier;
  std::map<int64_t, int64_t> rank;
  for (const int64_t row : order) {
    const RowWords words = row_words(source, row);
    rank[row] = earlier[{words.label, words.split}]++;
  }
  std::ranges::stable_sort(order, {}, [&](int64_t row) { return rank.at(row); });
  size_t count = 0;
  for (const int64_t row : order) {
    if (count == kShownCopies) break;
    const RowWords words = row_words(source, row);
    if (!images.has_image(row)) {
      shown += element("span", "name", plain(words.path + (image.labels_conflict ? " (" + words.label + ")" : "")));
      ++count;
      continue;
    }
    const std::string name = fs::path(words.path).filename().string();
    const Html caption = element("figcaption", "", plain(name + (image.labels_conflict ? " (" + words.label + ")" : "")));
    shown += {fmt::format("<figure title=\"{}\">{}{}</figure>", escaped(words.path),
                          images.shown(row, kCopySide, name, kBytesForCopies).source, caption.source)};
    ++count;
  }
  if (order.size() > count) shown += element("span", "rest", plain(fmt::format("and {} more", order.size() - count)));
  return element("div", "one", element("p", "", head) + element("div", "shown", shown));
}

void add_copies(Page& page, const FoundPairs& found, const PairSource& source, StoredImages& images) {
  const auto conflicts = static_cast<size_t>(found.conflicts());
  const auto section = [&](const char* heading, const char* what, size_t begin, size_t end) {
    if (begin == end) return;
    page.heading(2, heading);
    page.paragraph(plain(what));
    const size_t shown = std::min(end, begin + kShownGroups);
    Html open, folded;
    for (size_t i = begin; i < shown; ++i) (i < begin + kOpenGroups ? open : folded) += copies_row(found.copies[i], source, images);
    page.add(open);
    if (!folded.source.empty()) page.folded(fmt::format("{} more images with copies", shown - begin - kOpenGroups), folded);
    if (shown < end)
      page.paragraph(plain(fmt::format("{} more images have copies: --json and --groups-out list all.", end - shown)), "note");
  };
  section("Copies with different labels", "One image has several labels: correct them before training.", 0, conflicts);
  section("Copies", "Each row is one image. Keep one of each, or keep them together with --groups-out groups.csv.", conflicts,
          found.copies.size());
}

void add_leaks(Page& page, const FoundPairs& found, const PairSource& source) {
  if (!found.leaks || found.leaks->leaked == 0) return;
  const SplitLeaks& leaks = *found.leaks;
  page.heading(2, "In both splits");
  page.paragraph(plain(
      fmt::format("{} of {} rows of {}: {} are copies of rows of {}{}.{}", leaks.leaked, leaks.rows, source.second->rows.split,
                  leaks.copies, source.first.rows.split,
                  leaks.leaked == leaks.copies ? "" : fmt::format(", {} of groups that it has too", leaks.leaked - leaks.copies),
                  leaks.accuracy && leaks.accuracy_without
                      ? fmt::format(" kNN accuracy {:.2f} %, {:.2f} % without them.", 100 * *leaks.accuracy, 100 * *leaks.accuracy_without)
                      : "")));
  Table table{.caption = "",
              .css_class = "numbers",
              .head = {{plain("class"), "", ""}, {plain("in both"), "n", ""}, {plain("rows"), "n", ""}},
              .rows = {}};
  for (const LeakedClass& of : leaks.classes) {
    if (of.leaked == 0 || table.rows.size() == kClassesOfPage) continue;
    table.rows.push_back(
        {{{plain(of.name), "", ""}, {plain(fmt::format("{}", of.leaked)), "n", ""}, {plain(fmt::format("{}", of.rows)), "n", ""}}});
  }
  page.add(table_in_scroller(table));
}

std::string facts_of(const PairRow& row) {
  return fmt::format("{}, similarity {:.3f}, chance of one class {:.2f}",
                     row.pair.kind == PairKind::kRandom ? "random pair" : "likely false negative", row.pair.cosine,
                     row.pair.false_negative);
}

// The largest at which the rows fit.
int side_for(const std::vector<int64_t>& rows, const StoredImages& images, size_t most_bytes) {
  for (const int side : {320, 256, 192, 144, 120}) {
    size_t bytes = 0, tried = 0;
    for (size_t i = 0; i < rows.size(); i += std::max<size_t>(1, rows.size() / kTriedSizes)) {
      bytes += images.encoded(rows[i], side).size();
      ++tried;
    }
    if (tried == 0 || 1.15 * static_cast<double>(bytes) / static_cast<double>(tried) * static_cast<double>(rows.size()) <=
                          static_cast<double>(most_bytes))
      return side;
  }
  return kLeastSide;
}

// A script element ends at the first "</", whatever the string is quoted by; names that are not UTF-8 are written with U+FFFD.
std::string for_script(const nlohmann::ordered_json& json) {
  std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

// Pairs to mark, as many as have room.
nlohmann::ordered_json pairs_to_mark(const std::vector<PairRow>& rows, StoredImages& images, size_t most_bytes) {
  std::map<int64_t, size_t> needed;
  size_t names = 0;
  for (const PairRow& row : rows) {
    needed.try_emplace(row.pair.a, needed.size());
    needed.try_emplace(row.pair.b, needed.size());
    names += kPairBytes + row.a.size() + row.b.size();
  }
  std::vector<int64_t> distinct;
  for (const auto& [row, number] : needed) distinct.push_back(row);
  const size_t for_images = most_bytes > images.bytes() + names ? most_bytes - images.bytes() - names : 0;
  const int side = side_for(distinct, images, for_images);
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  size_t texts = 0;
  for (const PairRow& row : rows) {
    texts += kPairBytes + row.a.size() + row.b.size();
    if (texts >= most_bytes) break;
    const auto a = images.place_of(row.pair.a, side, most_bytes - texts), b = images.place_of(row.pair.b, side, most_bytes - texts);
    if (!a || !b) break;
    pairs.push_back({{"a", row.a}, {"b", row.b}, {"kind", enum_name(row.pair.kind)}, {"facts", facts_of(row)}, {"images", {*a, *b}}});
  }
  return pairs;
}

}  // namespace

std::string pairs_page(const FoundPairs& found, const PairSource& source, const std::string& title) {
  Page page(title);
  StoredImages images(source);
  std::string verdict = found.verdict;
  if (!verdict.empty() && verdict[0] >= 'a' && verdict[0] <= 'z') verdict[0] = static_cast<char>(verdict[0] - 'a' + 'A');
  page.lead(element("p", found.conflicts() > 0 || (found.leaks && found.leaks->leaked > 0) ? "lead alarm" : "lead", plain(verdict + ".")));
  add_copies(page, found, source, images);
  add_leaks(page, found, source);
  std::vector<PairRow> to_mark;
  std::ranges::copy_if(found.rows, std::back_inserter(to_mark),
                       [](const PairRow& row) { return row.pair.kind == PairKind::kFalseNegative || row.pair.kind == PairKind::kRandom; });
  const nlohmann::ordered_json pairs = pairs_to_mark(to_mark, images, kPageBytes - kBytesForMarkup);
  if (!pairs.empty()) {
    page.heading(2, "Mark pairs");
    page.add({"<noscript><p class=\"warning\">Pairs are shown and marked with JavaScript.</p></noscript>\n"});
    page.paragraph(
        {"Do both images show the same class? Keys: <kbd>s</kbd> same, <kbd>d</kbd> different, <kbd>space</kbd> skip, <kbd>u</kbd> undo."});
    if (pairs.size() < to_mark.size())
      page.paragraph(
          plain(fmt::format("The first {} of {} pairs, as many as fit into this page; --out lists all.", pairs.size(), to_mark.size())),
          "note");
    page.add(
        {"<progress id=\"bar\" value=\"0\" max=\"1\"></progress>\n<p id=\"count\" class=\"note\" aria-live=\"polite\"></p>\n"
         "<div id=\"pair\"></div>\n<p id=\"facts\" class=\"note\"></p>\n"
         "<div class=\"answers\"><button id=\"same\">same</button><button id=\"different\">different</button><button "
         "id=\"skip\">skip</button>"
         "<button id=\"undo\">undo</button></div>\n<div class=\"answers\"><button id=\"save\">Download answers</button></div>\n"});
  }
  if (!found.notes.empty()) {
    page.heading(2, "Notes");
    Html notes;
    for (const auto& note : found.notes) notes += element("li", "", plain(note));
    page.add(element("ul", "remarks", notes));
  }
  nlohmann::ordered_json data = {{"download", "answers.csv"}, {"pairs", pairs}, {"images", images.json()}};
  page.add(
      {fmt::format("<style>{}</style>\n"
                   "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n",
                   kPairsStyle, for_script(data), kPairsScript)});
  return page.html();
}

}  // namespace debias
