#include "debias/report/pages/page.h"

namespace debias {

std::string_view style_sheet() {
  return R"(:root{color-scheme:light dark;--ground:#fff;--raised:#f6f6f4;--ink:#1b1d20;--muted:#5c6167;--rule:#d9dade;--faint:#e8e9eb;
--accent:#0067a8;--mark:#b3261e;--heat:0,103,168;
--s0:#0067a8;--s1:#d1560a;--s2:#563129;--s3:#8c1aff;--s4:#bd758d;--s5:#4112a1;--s6:#9580ff;--s7:#802a00;--s8:#12a159;--s9:#4c3267}
@media (prefers-color-scheme:dark){:root{--ground:#16181c;--raised:#1f2227;--ink:#e7e8ea;--muted:#a3a8af;--rule:#3a3e45;--faint:#2a2d33;
--accent:#7cc0f5;--mark:#ff8a80;--heat:92,179,240;
--s0:#5cb3f0;--s1:#ff9248;--s2:#e2e6cb;--s3:#a64dff;--s4:#e61980;--s5:#ffd400;--s6:#ac8053;--s7:#9df28c;--s8:#a9bfd6;--s9:#8270db}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:76rem;margin:0 auto;padding:1.25rem 1rem 4rem}
h1,h2,h3{line-height:1.25;font-weight:600;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:.5rem 0 .75rem}
h2{font-size:1.2rem;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0;max-width:48rem;overflow-wrap:anywhere}
.note{color:var(--muted);font-size:.875rem}
.missing{color:var(--muted);font-size:.875rem;border-left:3px solid var(--rule);padding-left:.75rem}
.warning{border-left:3px solid var(--mark);padding-left:.75rem}
a{color:var(--accent)}
code,pre{font:max(.85em,12px)/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--raised);padding:.75rem;white-space:pre-wrap;overflow-wrap:anywhere;border-radius:4px;margin:.5rem 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;padding:0;margin:.75rem 0;font-size:.9rem}
.scroll{overflow-x:auto;margin:.75rem 0;max-width:100%;background:linear-gradient(to left,var(--ground) 30%,transparent) right/3rem 100% no-repeat local,
linear-gradient(to left,var(--rule),transparent) right/1.1rem 100% no-repeat scroll}
.lead{font-size:1.2rem;line-height:1.35;font-weight:600;margin:.5rem 0 1rem;max-width:none;border-left:5px solid var(--accent);padding-left:.75rem}
.lead.alarm{border-color:var(--mark)}
.first{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));grid-template-rows:auto 1fr;gap:.5rem 2.5rem;align-items:start;margin:.5rem 0}
.first>*{min-width:0}.first>.seen{grid-column:2;grid-row:1/3}
.first .figures{margin:0;display:block}.first .caption{margin-top:0}.first .scroll{margin-top:0;max-height:34rem;overflow:auto}
@media (max-width:52rem){.first{display:block}.first>*{margin-bottom:1rem}}
.examples{border-collapse:collapse;font-size:.8125rem;line-height:1.25;width:100%;table-layout:fixed;margin:0 0 .6rem}
.examples caption{text-align:left;font-weight:600;padding:0 0 .2rem}
.examples tr>:first-child{width:24%}
.examples th{font-weight:400;color:var(--muted);overflow-wrap:anywhere;padding:.1rem .3rem .1rem 0;border:0}
.examples td{overflow-wrap:anywhere;padding:.1rem .3rem .1rem 0;border:0}
.examples img{display:block;width:100%;max-width:4.5rem;aspect-ratio:1;object-fit:contain;image-rendering:pixelated;background:var(--raised)}
.wrong{color:var(--mark);font-weight:600}
.command{display:flex;gap:.5rem;align-items:stretch;margin:.35rem 0;max-width:60rem}
.command code{flex:1;min-width:0;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--raised);padding:.5rem .75rem;border-radius:4px;user-select:all}
.whole{white-space:nowrap}
.command button{align-self:flex-start;padding:.4rem .9rem;font:inherit;font-size:.875rem;color:var(--ink);background:var(--raised);border:1px solid var(--muted);border-radius:4px;cursor:pointer}
@media (scripting:none){.command button{display:none}}
.section{margin:0;border-top:1px solid var(--rule);padding:.15rem 0}
.section>summary{padding:.4rem 0;color:var(--ink)}
.section>summary h2{display:inline;font-size:1.05rem;margin:0;padding:0;border:0;color:var(--accent)}
.section[open]{padding-bottom:1.5rem}
.verdict{list-style:none;padding:0;margin:.75rem 0}
.verdict>li{max-width:48rem;padding:.1rem 0 .1rem .75rem;margin:.75rem 0;border-left:4px solid var(--muted);overflow-wrap:anywhere}
.verdict>.used,.verdict>.used_little,.verdict>.over_corrected{border-color:var(--mark)}
.verdict>.not_used,.verdict>.better,.verdict>.better_on_images{border-color:var(--accent)}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
.caption{color:var(--muted);font-size:.875rem;margin:.75rem 0 0}
.caption+.scroll{margin-top:.25rem}
th,td{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint)}
th:last-child,td:last-child{padding-right:.25rem}
thead th{border-bottom:1px solid var(--muted);font-weight:600;vertical-align:bottom}
tbody th{font-weight:400}
.numbers tbody th{min-width:8.5rem}
.numbers thead th{white-space:nowrap}
.numbers tr>th:first-child,.heat tr>th:first-child{position:sticky;left:0;background:var(--ground)}
tr.group th{font-weight:600;padding-top:.9rem;border-bottom:1px solid var(--rule)}
.n{text-align:right;white-space:nowrap}
.small{color:var(--muted);font-size:.8125rem;white-space:nowrap}
.below{display:block}
.statements tbody th{min-width:0}
.statements .small{white-space:normal}
.text{min-width:12rem;max-width:28rem;overflow-wrap:anywhere}
.config td{overflow-wrap:anywhere;min-width:7rem;max-width:20rem}
.heat td{-webkit-print-color-adjust:exact;print-color-adjust:exact;text-align:right;padding:.2rem .45rem;border:1px solid var(--ground);background:rgba(var(--heat),calc(var(--v)*.55))}
.heat th{padding:.2rem .5rem;white-space:nowrap}
.heat thead th:not(:first-child){text-align:right}
.heat .small{display:block;color:inherit;opacity:.75;font-size:.75rem}
.heat .own{outline:2px solid var(--muted);outline-offset:-2px}
.heat .least{outline:2px solid var(--mark);outline-offset:-2px}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));gap:1.25rem 1.5rem;margin:1rem 0;align-items:start}
figure{margin:0;min-width:0}
figcaption{font-size:.8125rem;color:var(--muted);overflow-wrap:anywhere;margin-top:.25rem}
figcaption code{color:var(--ink);display:block;overflow-wrap:anywhere}
details{margin:.75rem 0}
summary{cursor:pointer;color:var(--accent);overflow-wrap:anywhere}
.chart{display:block;width:100%;max-width:28rem;height:auto;font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.chart text{fill:var(--ink)}
.chart .title{font-size:14px;font-weight:600}
.chart .muted{fill:var(--muted)}
.chart .halo{paint-order:stroke;stroke:var(--ground);stroke-width:5px}
.grid{fill:none;stroke:var(--faint)}
.axis{fill:none;stroke:var(--muted)}
.line,.step{fill:none;stroke:var(--c);stroke-width:1.7;stroke-linejoin:round}
.step{fill:var(--c);fill-opacity:.08}
.mark{fill:var(--c);stroke:var(--ground);stroke-width:.6}
.band{fill:var(--c);fill-opacity:.18}
.bar{fill:var(--c);fill-opacity:.3}
.whisker{fill:none;stroke:var(--c);stroke-width:1.4}
.ring{fill:var(--ground);stroke:var(--c);stroke-width:2}
.bond{stroke:var(--c);stroke-width:4;stroke-opacity:.35}
.reference{stroke:var(--muted);stroke-width:1.2;stroke-dasharray:4 3}
.chart .best{font-weight:600}
.spot{fill:none;stroke:var(--c);stroke-width:1.3}
.s0{stroke-width:3.6;stroke-linecap:round}.s1{stroke-width:3.2;stroke-linecap:square}.s7{stroke-width:2}
.d1{stroke-dasharray:5 2.5}.d2{stroke-dasharray:1.8 1.8}.d3{stroke-dasharray:8 2.5 1.8 2.5}
.c0{--c:var(--s0)}.c1{--c:var(--s1)}.c2{--c:var(--s2)}.c3{--c:var(--s3)}.c4{--c:var(--s4)}
.cm{--c:var(--muted)}.c5{--c:var(--s5)}.c6{--c:var(--s6)}.c7{--c:var(--s7)}.c8{--c:var(--s8)}.c9{--c:var(--s9)}
@media (max-width:40rem){h1{font-size:1.3rem;margin-top:0}.lead{font-size:1.05rem;margin-bottom:.5rem}main{padding-top:.75rem}.numbers tbody th{min-width:6rem}.numbers .n .small{display:block}.numbers thead th{white-space:normal;overflow-wrap:anywhere;min-width:5rem}
.scroll th,.scroll td{padding-right:.5rem}}
.near{list-style:none;padding:0;margin:.75rem 0}
.near>li{display:flex;flex-wrap:wrap;gap:.6rem;padding:.5rem 0;border-bottom:1px solid var(--faint)}
.thumb{flex:0 0 5.25rem;font-size:.75rem;line-height:1.3}
.thumb img{display:block;width:5.25rem;height:5.25rem;object-fit:contain;image-rendering:pixelated;border:3px solid transparent;background:var(--raised)}
.thumb img{margin-bottom:.2rem}
.query{margin-right:.5rem}
.query img{border-color:var(--rule)}
.otherbias img{border:3px dotted var(--muted)}
.otherclass img{border:3px solid var(--mark)}
.otherclass .why{color:var(--mark);font-weight:600}
.why{display:block}
.film{display:grid;grid-template-columns:repeat(auto-fill,minmax(7rem,1fr));gap:.75rem;margin:.75rem 0;max-width:54rem}
.film img{display:block;width:100%;height:auto;background:var(--raised)}
.finding{border-top:1px solid var(--rule);margin:1.5rem 0 0;padding-top:.25rem}h2+.finding{border:0;margin:0}
.finding h3{margin:.75rem 0 .25rem;font-size:1.15rem}
.tag{font-size:.75rem;font-weight:400;color:var(--muted);border:1px solid var(--rule);border-radius:1rem;padding:.05rem .5rem;margin-left:.5rem;white-space:nowrap}
.says{max-width:60rem;font-size:1.05rem}
.shares{display:grid;grid-template-columns:minmax(4rem,max-content) minmax(4rem,22rem) max-content;gap:.25rem .75rem;align-items:center;font-size:.9rem;margin:.5rem 0}
.shares>span{overflow-wrap:anywhere;min-width:0}
.track{background:var(--faint);height:.9rem;border-radius:2px;-webkit-print-color-adjust:exact;print-color-adjust:exact}
.track>i{display:block;height:100%;border-radius:2px;background:var(--muted);-webkit-print-color-adjust:exact;print-color-adjust:exact}
.track>.own{background:var(--mark)}
.sights{list-style:none;padding:0;margin:.75rem 0;display:grid;grid-template-columns:repeat(6,minmax(0,1fr));gap:.6rem}
.sights>li{font-size:.8rem;line-height:1.3;overflow-wrap:anywhere;min-width:0}
.sights .small{white-space:normal;display:block}
.sight{position:relative;display:block;margin-bottom:.25rem;background:var(--raised);border:1px solid var(--rule)}
.heatmap .sight{border:0}
.sight img,.heatmap img{display:block;width:100%;height:auto}
.sight .tiny,.heatmap .tiny{image-rendering:pixelated}
.box{position:absolute;border:2px solid #e0201a;outline:1px solid #fff;box-sizing:content-box;margin:-3px;padding:1px}
.rowhead{font-weight:600;margin:.75rem 0 .25rem}
.heatmap{flex:0 1 400px;max-width:400px;margin:.75rem 0}
.beside{display:flex;flex-wrap:wrap;gap:0 1.5rem}
.beside>div{flex:1 1 16rem;min-width:0;margin:.5rem 0}
@media (max-width:40rem){.sights{grid-template-columns:repeat(3,minmax(0,1fr))}}
@media print{.heatmap{flex-basis:14rem;max-width:14rem}.sights>li,.beside,.shares{break-inside:avoid}h2,h3,.rowhead,.section>summary,.caption{break-after:avoid}
details>*{display:block}details::details-content{content-visibility:visible;display:block;block-size:auto}.command button,nav{display:none}main{max-width:none;padding:0}figure,.near>li,tr{break-inside:avoid}.scroll,.first .scroll{overflow:visible;max-height:none;background:none}}
)";
}

}  // namespace debias
