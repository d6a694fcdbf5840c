#include "debias/mining/pairs_page.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "debias/image/image_encode.h"
#include "debias/report/markup.h"
#include "debias/report/pages/page.h"

namespace debias {
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
