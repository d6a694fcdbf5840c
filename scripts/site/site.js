function renderFormulas() {
  document.querySelectorAll(".arithmatex").forEach(function (element) {
    renderMathInElement(element, {
      delimiters: [{left: "\\(", right: "\\)", display: false}, {left: "\\[", right: "\\]", display: true}],
      throwOnError: false,
    });
  });
}
document.addEventListener("DOMContentLoaded", renderFormulas);
