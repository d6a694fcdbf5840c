#!/usr/bin/env bash
# scripts/build_site.sh: builds the site into build/site, with every link checked. mkdocs-material comes from PyPI, into an environment
# below build/; KaTeX from the package libjs-katex. Doxygen, where it is installed, adds the C++ API; a report in runs/demo (or the file that
# EXAMPLE_REPORT names) becomes the example report. The site loads nothing from elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
material=9.8.2
env=build/site-env

stop() { printf 'build-site: %s\n' "$*" >&2; exit 1; }

katex=/usr/share/javascript/katex
[ -f "$katex/katex.min.js" ] || stop "KaTeX is not installed; scripts/bootstrap.sh --site installs libjs-katex"
mkdir -p build
rm -rf build/katex
mkdir -p build/katex/fonts
cp -L "$katex"/katex.min.js "$katex"/katex.min.css build/katex/
cp -L "$katex"/contrib/auto-render.js build/katex/
cp -L "$katex"/fonts/* build/katex/fonts/

if ! "$env/bin/python" -c "import importlib.metadata as m; assert m.version('mkdocs-material') == '$material'" 2>/dev/null; then
  python3 -m venv "$env" || stop "python3 -m venv failed; scripts/bootstrap.sh --site installs what it needs"
  "$env/bin/python" -m pip --disable-pip-version-check install -q "mkdocs-material==$material" || stop "mkdocs-material cannot be installed"
fi

rm -rf build/doxygen
if command -v doxygen >/dev/null; then
  mkdir -p build/doxygen
  doxygen scripts/site/Doxyfile >build/doxygen/log 2>&1 || { tail -n 5 build/doxygen/log >&2; stop "doxygen failed"; }
else
  echo "build-site: doxygen is not installed; the site has no C++ API (scripts/bootstrap.sh --site installs it)"
fi

KATEX=build/katex "$env/bin/python" -B scripts/site_pages.py build/site-pages build/mkdocs.yml
# Without --quiet, which hides warnings from --strict as well.
NO_MKDOCS_2_WARNING=1 "$env/bin/mkdocs" build --strict --clean -f build/mkdocs.yml >build/site.log 2>&1 ||
  { grep -vE '^INFO' build/site.log >&2; stop "the site has faults (above)"; }
[ ! -d build/doxygen/html ] || cp -r build/doxygen/html build/site/cpp
echo "build-site: $(find build/site -name '*.html' | wc -l) pages, $(du -sh build/site | cut -f 1); open build/site/index.html"
