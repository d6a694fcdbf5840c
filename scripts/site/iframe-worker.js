// A browser starts no worker for a page that was opened as a file, so search runs in a hidden frame there.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.answer = data => this.dispatchEvent(new MessageEvent("message", {data}));
    document.body.appendChild(this.frame);
    const inner = this.frame.contentDocument;
    this.loaded = new Promise(resolve => { this.frame.ready = resolve; });
    inner.open();
    inner.write("<body><script>postMessage = data => frameElement.answer(data)<\/script>" +
                `<script src="${url}" onload="frameElement.ready()"><\/script>`);
    inner.close();
  }
  postMessage(data) {
    this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
  }
  terminate() { this.frame.remove(); }
}
if (location.protocol === "file:") window.Worker = IFrameWorker;
