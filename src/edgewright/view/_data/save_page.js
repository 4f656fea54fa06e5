// Saves a page that opens as the graph is drawn now: with its positions and open groups.

// In parts: whole, they would begin and end elements where this script stands in a page.
const START = `${"<"}script type="application/json" id="embedded">`;
const END = `${"<"}/script>`;

/** Puts positions into an exported page and hands it to the browser as a file. */
export async function savePage(page, model, graph, stored, title) {
  const start = page.indexOf(START) + START.length;
  const end = page.indexOf(END, start);
  const content = JSON.parse(page.slice(start, end));
  content.documents[model].graphs[graph].stored = roundNumbers(stored);
  // No name of a model may end the element.
  const text = JSON.stringify(content).replaceAll("<", "\\u003c");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([page.slice(0, start), text, page.slice(end)], { type: "text/html" }));
  link.download = `${title.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 80)}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function roundNumbers(value) {
  return JSON.parse(JSON.stringify(value, (_, item) => (typeof item === "number" ? Math.round(item * 10) / 10 : item)));
}
