function renderFormulas() {
  document.querySelectorAll(".arithmatex").forEach(function (element) {
    renderMathInElement(element, {
      delimiters: [{left: "\\(", right: "\\)", display: false}, {left: "\\[", right: "\\]", display: true}],
      throwOnError: false,
    });
  });
}

// Names and options break at hyphens and numbers at the minus of an exponent, unless they are marked for site.css.
function keepTogether() {
  document.querySelectorAll(".md-content code").forEach(function (code) {
    const length = code.textContent.length;
    if (!code.closest("pre") && length <= 40) code.classList.add(length <= 24 ? "short" : "medium");
  });
  document.querySelectorAll(".md-content td").forEach(function (cell) {
    if (/^[-+−]?\d[\d.,e ±*%-]{0,20}$/.test(cell.textContent)) cell.classList.add("number");
  });
}

// What the theme leaves without a name or out of the keyboard's reach.
function makeReachable() {
  document.querySelectorAll(".md-content pre > code, .md-content .md-typeset__scrollwrap").forEach(function (box) { box.tabIndex = 0; });
  document.querySelectorAll(".md-search[role=dialog]").forEach(function (search) { search.setAttribute("aria-label", "Search"); });
  document.querySelectorAll("nav.md-nav[data-md-level]").forEach(function (list, number) {
    list.removeAttribute("aria-labelledby");  // some name an empty title
    list.setAttribute("aria-label", "Pages, list " + (number + 1));
  });
}

document.addEventListener("DOMContentLoaded", makeReachable);
document.addEventListener("DOMContentLoaded", renderFormulas);
document.addEventListener("DOMContentLoaded", keepTogether);
