// Where documents come from: the server that shows this page, or the page itself.

/** The documents embedded in an exported page, or those of the server. */
export function openSource() {
  const embedded = document.getElementById("embedded");
  return embedded ? new EmbeddedSource(JSON.parse(embedded.textContent)) : new ServerSource();
}

// The page as it came, before anything was drawn into it.
const writtenPage = `<!doctype html>\n${document.documentElement.outerHTML}`;

class EmbeddedSource {
  constructor(content) {
    this.content = content;
    this.hasHistograms = content.histograms !== null;
  }

  async list() {
    return { models: this.content.documents.map((item) => ({ title: item.title, format: item.format })), comparison: this.content.comparison };
  }

  async load(number) {
    return this.content.documents[number];
  }

  async loadPage() {
    return writtenPage;
  }

  async loadHistogram(number, graph, tensor) {
    const found = this.content.histograms[`${number}/${graph}/${tensor}`];
    if (!found) throw new Error("this page was written without the histogram of this tensor");
    return found;
  }

  makeWorker() {
    const text = document.getElementById("worker").textContent;
    return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }
}

class ServerSource {
  constructor() {
    this.hasHistograms = true;
    // Each model is saved as a page of its own.
    this.isAlone = true;
  }

  ask(path) {
    return this.fetchJson(path, {});
  }

  /** Sends a file, or an object as JSON. */
  send(path, content) {
    const body = content instanceof Blob ? content : JSON.stringify(content);
    return this.fetchJson(`api/${path}`, { method: "POST", body });
  }

  async loadPage(number) {
    const answer = await fetch(`api/models/${number}/page`, { cache: "no-store" });
    if (!answer.ok) throw new Error("the page could not be written");
    return answer.text();
  }

  async fetchJson(path, options) {
    const answer = await fetch(path, { cache: "no-store", ...options });
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.problem || `the server answered ${answer.status}`);
    return content;
  }

  list() {
    return this.ask("api/models");
  }

  load(number) {
    return this.ask(`api/models/${number}`);
  }

  loadHistogram(number, graph, tensor) {
    return this.ask(`api/models/${number}/histograms/${graph}/${tensor}`);
  }

  makeWorker() {
    return new Worker("worker.js");
  }
}
