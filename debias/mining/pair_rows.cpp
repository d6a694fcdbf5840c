#include "debias/mining/pair_rows.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/data/csv_text.h"
#include "debias/data/sample_table.h"
#include "debias/data/value_name.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/image/image_encode.h"
#include "debias/report/markup.h"
#include "debias/report/pages/page.h"

namespace debias {

std::string NamedRows::name(int64_t row) const { return names.empty() ? fmt::format("{}", row) : names[static_cast<size_t>(row)]; }

std::string NamedRows::class_of(int64_t row) const {
  const int64_t label = labels[static_cast<size_t>(row)];
  return label == kUnknown ? "" : value_name(classes, label);
}

std::vector<PairRow> pair_rows(const std::vector<MinedPair>& pairs, const NamedRows& first, const NamedRows& second) {
  std::vector<PairRow> rows;
  for (const MinedPair& pair : pairs) {
    const NamedRows& of_b = pair.kind == PairKind::kLeak ? second : first;
    PairRow row{first.name(pair.a), of_b.name(pair.b), pair, std::nullopt};
    const int64_t a = first.labels[static_cast<size_t>(pair.a)], b = of_b.labels[static_cast<size_t>(pair.b)];
    if (a != kUnknown && b != kUnknown) row.same_label = a == b;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string pairs_csv(const std::vector<PairRow>& rows) {
  std::string csv = "a,b,similarity,false_negative,gradient,same_label,kind\n";
  for (const PairRow& row : rows) {
    csv += csv_line({row.a, row.b, fmt::format("{:.6f}", row.pair.cosine), fmt::format("{:.6f}", row.pair.false_negative),
                     std::isnan(row.pair.gradient) ? "" : fmt::format("{:.6g}", row.pair.gradient),
                     row.same_label ? std::string(*row.same_label ? "1" : "0") : "", std::string(enum_name(row.pair.kind))});
  }
  return csv;
}

nlohmann::ordered_json to_json(const PairRow& row) {
  nlohmann::ordered_json json = {{"a", row.a}, {"b", row.b}, {"similarity", row.pair.cosine}, {"false_negative", row.pair.false_negative}};
  json["gradient"] = std::isnan(row.pair.gradient) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.pair.gradient);
  json["same_label"] = row.same_label ? nlohmann::ordered_json(*row.same_label) : nlohmann::ordered_json(nullptr);
  json["kind"] = enum_name(row.pair.kind);
  return json;
}

std::optional<double> same_label_share(const std::vector<PairRow>& rows, PairKind kind) {
  double known = 0, same = 0;
  for (const PairRow& row : rows) {
    if (row.pair.kind != kind || !row.same_label) continue;
    ++known;
    same += *row.same_label ? 1 : 0;
  }
  return known == 0 ? std::nullopt : std::optional(same / known);
}

namespace {

struct Votes {
  double right = 0, rows = 0;
  std::optional<double> accuracy() const { return rows == 0 ? std::nullopt : std::optional(right / rows); }
};

// Unknown of rows of zeros, which are near nothing.
std::vector<int64_t> labels_with_direction(const at::Tensor& values, std::vector<int64_t> labels) {
  const at::Tensor norms = values.square().sum(1).contiguous();
  for (size_t row = 0; row < labels.size(); ++row) {
    if (norms.const_data_ptr<float>()[row] == 0) labels[row] = kUnknown;
  }
  return labels;
}

}  // namespace

SplitLeaks split_leaks(const std::vector<MinedPair>& leaks, const at::Tensor& first_values, const NamedRows& first,
                       const at::Tensor& second_values, const NamedRows& second, double temperature) {
  std::set<int64_t> leaked;
  for (const MinedPair& pair : leaks) leaked.insert(pair.b);
  SplitLeaks found;
  found.leaked = std::ssize(leaked);
  found.rows = second_values.size(0);
  std::map<std::string, LeakedClass> classes;
  for (int64_t row = 0; row < found.rows; ++row) {
    const std::string name = second.class_of(row).empty() ? "unknown" : second.class_of(row);
    LeakedClass& of = classes[name];
    of.name = name;
    ++of.rows;
    of.leaked += leaked.contains(row) ? 1 : 0;
  }
  for (auto& [name, of] : classes) found.classes.push_back(std::move(of));
  const std::vector<int64_t> first_labels = labels_with_direction(first_values, first.labels);
  const std::vector<int64_t> second_labels = labels_with_direction(second_values, second.labels);
  const auto labelled = std::ranges::count_if(first_labels, [](int64_t label) { return label != kUnknown; });
  const bool any = std::ranges::any_of(second_labels, [](int64_t label) { return label != kUnknown; });
  if (labelled == 0 || !any) return found;
  const int64_t labels = std::max(*std::ranges::max_element(first_labels), *std::ranges::max_element(second_labels)) + 1;
  const KnnGallery gallery{first_values, first_labels, labels};
  const KnnResult result = knn(gallery, second_values, second_labels, resolve_k(KnnOptions(), labelled), temperature);
  Votes all, without;
  for (int64_t row = 0; row < found.rows; ++row) {
    const int64_t label = second_labels[static_cast<size_t>(row)];
    if (label == kUnknown) continue;
    const double right = result.predictions[static_cast<size_t>(row)] == label ? 1 : 0;
    ++all.rows;
    all.right += right;
    if (leaked.contains(row)) continue;
    ++without.rows;
    without.right += right;
  }
  found.accuracy = all.accuracy();
  found.accuracy_without = without.accuracy();
  return found;
}

namespace {

constexpr const char* kStyle = R"(
body{touch-action:manipulation}
#pair{display:flex;gap:.75rem;margin:.75rem 0}
#pair figure{flex:1 1 0;min-width:0}
#pair img{display:block;width:100%;max-height:55vh;object-fit:contain;image-rendering:pixelated;background:var(--raised)}
#pair .none{display:flex;align-items:center;justify-content:center;min-height:8rem;background:var(--raised);color:var(--muted)}
.answers{display:flex;flex-wrap:wrap;gap:.5rem;margin:.75rem 0}
.answers button,.answers a{flex:1 1 6rem;min-height:3rem;font:inherit;color:var(--ink);background:var(--raised);border:1px solid var(--rule);
border-radius:6px;cursor:pointer;text-align:center;text-decoration:none;line-height:3rem;padding:0}
.answers button:disabled{opacity:.45;cursor:default}
progress{width:100%;height:.6rem}
kbd{font:.8em ui-monospace,Menlo,Consolas,monospace;border:1px solid var(--rule);border-radius:3px;padding:0 .3em}
)";

constexpr const char* kScript = R"(
"use strict";
const data=JSON.parse(document.getElementById("data").textContent),pairs=data.pairs,answers=new Array(pairs.length).fill(null);
let at=0,unsaved=false;const done=[],by=id=>document.getElementById(id);
function side(i){const f=document.createElement("figure"),c=document.createElement("figcaption"),src=data.images[pairs[at].images[i]];
c.textContent=i?pairs[at].b:pairs[at].a;
if(src){const m=document.createElement("img");m.src=src;m.alt=c.textContent;f.append(m)}
else{const n=document.createElement("div");n.className="none";n.textContent="no image";f.append(n)}
f.append(c);return f}
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
for(const k of ["same","different","skip"])by(k).addEventListener("click",()=>answer(k));
by("undo").addEventListener("click",undo);by("save").addEventListener("click",save);
document.addEventListener("keydown",e=>{if(e.ctrlKey||e.metaKey||e.altKey||e.repeat)return;
const k={s:"same",d:"different"," ":"skip"}[e.key.toLowerCase()];
if(k){e.preventDefault();answer(k)}else if(e.key.toLowerCase()==="u"||e.key==="Backspace"){e.preventDefault();undo()}});
document.addEventListener("keyup",e=>{if(e.key===" ")e.preventDefault()});
addEventListener("beforeunload",e=>{if(unsaved)e.preventDefault()});
show();
)";

std::string data_uri(const Image& image) {
  const std::vector<uint8_t> png = encode_png(image);
  return png_data_uri(std::string_view(reinterpret_cast<const char*>(png.data()), png.size()));
}

std::string facts_of(const PairRow& row) {
  return fmt::format("{}, similarity {:.3f}, chance of one class {:.2f}", enum_name(row.pair.kind), row.pair.cosine,
                     row.pair.false_negative);
}

// A script element ends at the first "</", whatever the string is quoted by; names that are not UTF-8 are written with U+FFFD.
std::string for_script(const nlohmann::ordered_json& json) {
  std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

nlohmann::ordered_json page_data(const std::vector<PairRow>& rows, const std::string& download, const ShowPairImage& show) {
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array(), images = nlohmann::ordered_json::array();
  std::map<std::pair<bool, int64_t>, size_t> places;  // of images, each stored once
  const auto place_of = [&](int64_t row, bool of_second) {
    const auto [at, is_new] = places.emplace(std::pair(of_second, row), places.size());
    if (is_new) {
      const std::optional<Image> image = show(row, of_second);
      images.push_back(image ? nlohmann::ordered_json(data_uri(*image)) : nlohmann::ordered_json(nullptr));
    }
    return at->second;
  };
  for (const PairRow& row : rows) {
    const size_t a = place_of(row.pair.a, false), b = place_of(row.pair.b, row.pair.kind == PairKind::kLeak);
    pairs.push_back({{"a", row.a}, {"b", row.b}, {"kind", enum_name(row.pair.kind)}, {"facts", facts_of(row)}, {"images", {a, b}}});
  }
  return {{"download", download}, {"pairs", std::move(pairs)}, {"images", std::move(images)}};
}

}  // namespace

std::string pairs_page(const std::vector<PairRow>& rows, const std::string& title, const std::string& download, const ShowPairImage& show) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/><link rel=\"icon\" href=\"data:,\"/>"
      "<title>{0}</title>\n<style>\n{1}{2}</style></head>\n<body><main>\n<h1>{0}</h1>\n"
      "<p>Do both images show the same class? Keys: <kbd>s</kbd> same, <kbd>d</kbd> different, <kbd>space</kbd> skip, <kbd>u</kbd> "
      "undo.</p>\n"
      "<progress id=\"bar\" value=\"0\" max=\"1\"></progress>\n<p id=\"count\" class=\"note\" aria-live=\"polite\"></p>\n"
      "<div id=\"pair\"></div>\n<p id=\"facts\" class=\"note\"></p>\n"
      "<div class=\"answers\"><button id=\"same\">same</button><button id=\"different\">different</button><button id=\"skip\">skip</button>"
      "<button id=\"undo\">undo</button></div>\n<div class=\"answers\"><button id=\"save\">Download answers</button></div>\n"
      "<noscript><p class=\"warning\">This page needs JavaScript to take answers.</p></noscript>\n"
      "<script type=\"application/json\" id=\"data\">{3}</script>\n<script>{4}</script>\n</main></body></html>\n",
      escaped(title), style_sheet(), kStyle, for_script(page_data(rows, download, show)), kScript);
}

}  // namespace debias
