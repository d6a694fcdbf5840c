#!/usr/bin/env python3
"""scripts/check_report.py PAGE.html [PAGE.html ...] [--shots DIR] [--axe axe.min.js]: opens pages of debias in headless Chromium.

Each page is opened at 390 and 1280 pixels, light and dark. It must ask for nothing beyond itself, write nothing to the console, be no wider
than its window, show every image, have text of 12 pixels or more in its charts, folded ones too, and show where the focus is on whatever Tab reaches.
With --axe (PyPI's axe-playwright-python has the file) it must keep axe's rules for WCAG 2 A and AA, and its best practices. Pictures of it go to DIR.
Needs only Python and Chromium (`apt-get install chromium`, or CHROMIUM=PATH); speaks the DevTools protocol over a pipe. Ends with 1 where something
is amiss.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
TALLEST = 16000  # pixels of a picture
PROBE = """(() => {
  const folded = [...document.querySelectorAll('details:not([open])')];
  for (const each of folded) each.open = true;
  const charts = [...document.querySelectorAll('svg.chart')];
  const heights = charts.flatMap(c => [...c.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize) * c.getBoundingClientRect().width / 360));
  const outside = charts.filter(c => [...c.querySelectorAll('text')].some(t => {
    const a = t.getBoundingClientRect(), b = c.getBoundingClientRect();
    return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1; })).map(c => c.querySelector('title').textContent);
  for (const i of document.images) i.loading = 'eager';
  const width = document.documentElement.scrollWidth;
  for (const each of folded) each.open = false;
  return JSON.stringify({
    width: width, height: document.documentElement.scrollHeight,
    broken: [...document.images].filter(i => i.complete && !i.naturalWidth).length,
    unnamed: charts.filter(c => !c.querySelector('title') || !c.querySelector('desc')).length + [...document.images].filter(i => !i.alt).length,
    smallest: heights.length ? Math.min(...heights) : 99, outside: outside, charts: charts.length});
})()"""


# What the keyboard is to reach, and what it is on.
STOPS = """(() => { for (const each of document.querySelectorAll('details')) each.open = false;
  return [...document.querySelectorAll('summary,button:enabled')].filter(e => e.checkVisibility()).length; })()"""
FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e), b = e.getBoundingClientRect();
  return JSON.stringify({name: e === document.body ? '' : e.tagName, text: e.textContent.slice(0, 40),
    seen: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && b.width > 0}); })()"""
AXE = """(async () => { for (const each of document.querySelectorAll('details')) each.open = true;
  const found = await axe.run({runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}});
  return JSON.stringify(found.violations.map(v => `${v.id} of ${v.nodes.length} places, the first is ${v.nodes[0].html.slice(0, 120)}`)); })()"""


class Browser:
    """One Chromium; messages go out on its descriptor 3 and come back on 4, each ended by a zero byte."""

    def __init__(self, binary, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def descriptors():  # 3 and 4 may be taken by the pipes themselves
            high_in, high_out = os.dup(to_read), os.dup(from_write)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        words = [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(words, preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest, self.number, self.events = b"", 0, []

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.from_read, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, session, expression):
        return self.call("Runtime.evaluate", session, expression=expression, awaitPromise=True)["result"].get("value")

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def close(self):
        self.call("Browser.close")
        self.process.wait(timeout=30)


def objections(events, address):
    """What the page asked for beyond itself, and what it wrote to the console."""
    for event in events:
        method, what = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            asked = what["request"]["url"]
            if asked != address and not asked.startswith("data:"):
                yield f"asks for {asked}"
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            yield f"console: {json.dumps(what)[:200]}"


def keyboard_faults(browser, session):
    stops, reached = browser.value(session, STOPS), 0
    for _ in range(1000):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", session, type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        on = json.loads(browser.value(session, FOCUS))
        if not on["name"]:
            break
        reached += on["name"] in ("SUMMARY", "BUTTON")
        if not on["seen"]:
            yield f"does not show the focus on '{on['text']}'"
    if reached != stops:
        yield f"lets Tab reach {reached} of {stops} folds and buttons"


def check(browser, page, width, scheme, shots, axe):
    address = page.resolve().as_uri()
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Network", "Log"):
        browser.call(f"{domain}.enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=844, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.call("Page.navigate", session, url=address)
    browser.wait_for("Page.loadEventFired")
    found = json.loads(browser.value(session, PROBE))
    faults = list(objections(browser.events, address))
    if found["width"] > width:
        faults.append(f"is {found['width']} pixels wide")
    if found["broken"] or found["unnamed"]:
        faults.append(f"has {found['broken']} broken images, {found['unnamed']} charts or images without words")
    if found["smallest"] < 12:
        faults.append(f"has text of {found['smallest']:.1f} pixels in a chart")
    if found["outside"]:
        faults.append(f"has text beyond the edge of: {', '.join(found['outside'][:5])}")
    if shots:
        clip = {"x": 0, "y": 0, "width": width, "height": min(found["height"], TALLEST), "scale": 1}
        picture = browser.call("Page.captureScreenshot", session, format="png", clip=clip, captureBeyondViewport=True)["data"]
        (shots / f"{page.resolve().parent.name}-{page.stem}-{width}-{scheme}.png").write_bytes(base64.b64decode(picture))
    if width == WIDTHS[-1]:
        faults += keyboard_faults(browser, session)
    if axe:
        browser.value(session, axe)
        faults += [f"breaks {rule}" for rule in json.loads(browser.value(session, AXE))]
    browser.call("Target.closeTarget", targetId=target)
    return [f"{page} at {width} pixels, {scheme}: {fault}" for fault in faults], found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path)
    parser.add_argument("--axe", type=pathlib.Path, help="axe-core's axe.min.js, whose rules the pages are to keep")
    arguments = parser.parse_args()
    axe = arguments.axe.read_text(encoding="utf-8") if arguments.axe else ""
    binary = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not binary:
        sys.exit("check_report: no Chromium here; apt-get install chromium, or set CHROMIUM")
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(binary, profile)
        for page in arguments.pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    more, found = check(browser, page, width, scheme, arguments.shots, axe)
                    faults += more
            print(f"{page}: {page.stat().st_size / 1e6:.2f} MB, {found['charts']} charts")
        browser.close()
    print("\n".join(faults) if faults else "check_report: no request, no console message, nothing beyond the edges")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
