// Puts a drawing into the page around it: unpacked and drawn when it comes into view, in a frame of its own.
(() => {
  const packed = document.currentScript.previousElementSibling;
  const place = packed.previousElementSibling;
  const root = document.documentElement;
  const height = "min(76vh, 700px)";
  // From the start: what is below does not move when the frame comes.
  place.style.minHeight = height;
  let frame = null;

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const send = (message) => frame.contentWindow.postMessage(message, "*");
  const sendTheme = () => frame && send({ theme: root.dataset.theme || "" });

  /** The frame, once it has drawn. */
  const open = async () => {
    if (typeof DecompressionStream === "undefined") {
      place.textContent = "This browser is too old to draw the graph.";
      return new Promise(() => {});
    }
    const page = await unpack();
    frame = document.createElement("iframe");
    frame.title = place.getAttribute("aria-label");
    frame.style.cssText = `display:block;width:100%;height:${height};border:1px solid #8886;border-radius:10px`;
    const isReady = new Promise((done) => {
      addEventListener("message", (event) => event.source === frame.contentWindow && event.data === "drawn" && done());
    });
    frame.srcdoc = page;
    place.replaceChildren(frame);
    await isReady;
    sendTheme();
  };
  let opened = null;
  const show = () => (opened ??= open());

  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    show();
  }, { rootMargin: "300px" });
  watcher.observe(place);
  new MutationObserver(sendTheme).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("[data-graph-node]");
    if (!link) return;
    event.preventDefault();
    place.scrollIntoView({ block: "center" });
    await show();
    send({ go: link.dataset.graphNode });
  });
})();
