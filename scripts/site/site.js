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

document.addEventListener("DOMContentLoaded", renderFormulas);
document.addEventListener("DOMContentLoaded", keepTogether);
