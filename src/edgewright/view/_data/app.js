// The page: models, overlays, panel, outline, search and keys around one canvas, or two side by side.
import { GraphCanvas, LayoutService } from "./canvas.js";
import { DiffView, OverlayView } from "./overlay.js";
import { openDiffForm } from "./diff_form.js";
import { savePage } from "./save_page.js";
import { find, make, spellNumber } from "./elements.js";
import { showPanel } from "./panel.js";
import { showOutline } from "./outline.js";
import { SecondSide } from "./compare.js";
import { watchSearch } from "./search.js";
import { openSource } from "./source.js";

// Whether this page is a part of another one, such as a report.
const isFramed = window !== window.parent;

class App {
  constructor() {
    this.source = openSource();
    this.service = new LayoutService(this.source.makeWorker());
    this.canvas = new GraphCanvas(find("graph"), this.service, {
      onSelect: (box) => this.onSelect(box),
      onChange: () => (find("wait").hidden = true),
      // On a narrow screen the panel lies over the picture.
      countCovered: () => countCovered(find("graph")),
    });
    this.overlay = null;
    this.documents = new Map();
  }

  async start() {
    this.listed = await this.source.list();
    fillChoices(find("model"), this.listed.models.map((item) => item.title));
    find("model").hidden = this.listed.models.length < 2;
    find("open").hidden = !this.source.send || Boolean(this.listed.comparison);
    find("diff-button").hidden = !this.listed.hasForm || Boolean(this.listed.comparison);
    this.watch();
    try {
      if (this.listed.comparison) await this.openComparison(this.listed.comparison);
      else await this.openModel(0);
      requestAnimationFrame(() => performance.mark("first-drawing"));
    } finally {
      document.body.dataset.ready = "yes";
      if (isFramed) parent.postMessage("drawn", "*");
    }
  }

  async openModel(number) {
    this.number = number;
    if (!this.documents.has(number)) this.documents.set(number, await this.source.load(number));
    // Another model may have been chosen while this one was on its way.
    if (this.number !== number) return;
    this.document = this.documents.get(number);
    find("model").value = String(number);
    find("title").textContent = this.document.title;
    find("format").textContent = this.document.format;
    document.title = `${this.document.title} – Edgewright view`;
    fillChoices(find("graphs"), this.document.graphs.map((graph) => graph.name));
    find("graphs").hidden = this.document.graphs.length < 2;
    await this.openGraph(0);
  }

  /** Two models side by side: what is selected in one is shown in the other. */
  async openComparison(comparison) {
    find("second").hidden = false;
    find("stage").classList.add("two");
    find("model").hidden = true;
    this.second = new SecondSide(this, new GraphCanvas(find("second"), this.service, { onSelect: (box) => this.second.onSelect(box) }), comparison);
    this.second.document = await this.source.load(1);
    await this.openModel(0);
    await this.second.open();
    find("format").textContent = `beside ${this.second.document.title}`;
    this.showOverlay();
  }

  async openGraph(number) {
    this.graphNumber = number;
    const graph = this.document.graphs[number];
    showWait("Laying out the graph …");
    this.canvas.canvas.setAttribute("aria-label", `Graph ${graph.name} of ${this.document.title}, ${graph.nodes.length} nodes`);
    if (!(await this.canvas.show(`${this.number}/${number}`, graph, graph.stored))) return;
    this.prepared = this.canvas.prepared;
    showOutline(find("tree"), this.prepared, (box) => this.go(box));
    this.listOverlays(graph);
    this.onSelect(null);
  }

  listOverlays(graph) {
    const choice = find("overlay");
    fillChoices(choice, ["nothing", ...graph.overlays.map((overlay) => overlay.title), ...(graph.diff ? ["both differences"] : [])]);
    find("overlay-bar").hidden = !graph.overlays.length;
    const first = graph.diff ? graph.overlays.length + 1 : graph.overlayAtFirst + 1;
    choice.value = String(first);
    this.chooseOverlay(first);
  }

  chooseOverlay(place) {
    const graph = this.document.graphs[this.graphNumber];
    const overlay = graph.overlays[place - 1];
    const isDiff = graph.diff && place === graph.overlays.length + 1;
    this.overlay = overlay ? new OverlayView(this.prepared, overlay) : isDiff ? new DiffView(this.prepared, graph.overlays) : null;
    find("overlay-controls").hidden = !this.overlay;
    for (const id of ["threshold", "threshold-text"]) find(id).hidden = !overlay;
    find("diff-controls").hidden = !isDiff;
    if (isDiff) this.showThresholds();
    else if (this.overlay && !this.overlay.isEven) find("threshold").value = String(Math.round(1000 * this.overlay.position(this.overlay.threshold)));
    this.showOverlay();
  }

  showOverlay() {
    const { look } = this.canvas;
    const shown = this.overlay;
    look.rings = shown && ((box) => shown.rings(box));
    look.describe = shown && ((box) => shown.describe(box));
    look.isDim = shown && ((box) => !shown.isMarked(box));
    if (shown) {
      const count = shown.listBeyond().length;
      find("beyond").textContent = `${count} ${count === 1 ? "node" : "nodes"}`;
    }
    if (shown?.overlay) {
      const word = shown.overlay.isLowWorse ? "≤" : "≥";
      find("threshold-text").textContent = `${word} ${shown.spell(shown.threshold)}`;
    }
    this.canvas.draw();
    this.second?.showOverlay(shown);
  }

  /** A field for the threshold of each kind of difference, beside the colour of its border. */
  showThresholds() {
    const fields = this.overlay.parts.map(({ view, title, colour }) => {
      const field = make("input", { type: "number", min: 0, step: "any", value: view.threshold });
      field.addEventListener("input", () => {
        view.threshold = Math.max(0, Number(field.value) || 0);
        this.showOverlay();
      });
      const sign = make("i", { class: "sign" });
      sign.style.borderColor = colour;
      return make("label", {}, sign, `${title} above `, field);
    });
    find("diff-controls").replaceChildren(...fields);
  }

  setThreshold(position) {
    this.overlay.threshold = this.overlay.valueAt(position);
    this.showOverlay();
  }

  /** Goes to the next node beyond the threshold, in the order in which nodes run. */
  goToDifference(step) {
    if (!this.overlay) return;
    const nodes = this.overlay.listBeyond();
    if (!nodes.length) return;
    const { selected } = this.canvas.look;
    const here = selected === null || selected < 0 ? -1 : selected;
    const after = step > 0 ? nodes.find((node) => node > here) : nodes.findLast((node) => here < 0 || node < here);
    this.go(after ?? (step > 0 ? nodes[0] : nodes[nodes.length - 1]));
  }

  async go(box) {
    await this.canvas.reveal(box);
  }

  onSelect(box) {
    showPanel(find("panel"), this.document, this.prepared, box, {
      go: (node) => this.go(node),
      toggle: (group) => this.canvas.toggle(group),
      measure: (one) => this.measure(one),
      describeDifference: (node) => (this.second ? this.second.describe(node) : []),
      diff: this.document.graphs[this.graphNumber].diff,
      loadHistogram: this.source.hasHistograms && ((tensor) => this.source.loadHistogram(this.number, this.graphNumber, tensor)),
    });
    find("panel").classList.toggle("open", box !== null);
    find("live").textContent = box === null ? "" : this.announce(box);
    this.second?.follow(box);
  }

  measure(box) {
    const { overlays } = this.document.graphs[this.graphNumber];
    const views = overlays.map((overlay) => [overlay, box >= 0 ? overlay.values[box] : new OverlayView(this.prepared, overlay).worst(box)]);
    const word = box < 0 ? " (worst)" : "";
    return views.filter(([, value]) => value !== null).map(([overlay, value]) => [overlay.title + word, spellNumber(value, overlay.unit)]);
  }

  announce(box) {
    if (box < 0) return `group ${this.prepared.graph.groups[-box].name}, ${this.prepared.sizes[-box]} ops`;
    const node = this.prepared.graph.nodes[box];
    return `${node.type} ${(node.source || node.name).slice(0, 200)} ${this.overlay ? this.overlay.describe(box) : ""}`;
  }

  watch() {
    const act = (id, action) => find(id).addEventListener("click", action);
    act("fold", () => this.canvas.foldAll());
    act("unfold", () => this.canvas.expandAll());
    act("smaller", () => this.canvas.zoom(0.8));
    act("larger", () => this.canvas.zoom(1.25));
    act("fit", () => this.canvas.fitWhole());
    act("theme", () => this.switchTheme());
    act("outline-button", () => this.switchOutline());
    act("save", () => this.save());
    find("problem").querySelector("button").addEventListener("click", () => (find("problem").hidden = true));
    act("open", () => find("file").click());
    act("diff-button", () => this.openDiff());
    find("file").addEventListener("change", () => this.openFile(find("file").files[0]));
    this.watchDrop();
    act("help-button", () => find("help").showModal());
    act("next", () => this.goToDifference(1));
    act("previous", () => this.goToDifference(-1));
    find("model").addEventListener("change", (event) => this.openModel(Number(event.target.value)).catch(showProblem));
    find("graphs").addEventListener("change", (event) => this.openGraph(Number(event.target.value)).catch(showProblem));
    find("overlay").addEventListener("change", (event) => this.chooseOverlay(Number(event.target.value)));
    find("threshold").addEventListener("input", (event) => this.setThreshold(Number(event.target.value) / 1000));
    watchSearch(find("search"), find("results"), () => this.prepared, (node) => this.go(node));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.canvas.recolour());
    document.addEventListener("keydown", (event) => this.onKey(event));
    if (isFramed) addEventListener("message", (event) => event.source === parent && this.onMessage(event.data));
  }

  /** What the page around a frame asks for: its own theme, or a node by the name of what it makes. */
  onMessage({ theme, go }) {
    if (theme !== undefined) this.setTheme(theme);
    if (go === undefined) return;
    const { tensors, nodes } = this.prepared.graph;
    const isNamed = (item) => item && (item.name === go || item.source === go);
    const node = nodes.findIndex((one) => one.outputs.some((place) => isNamed(tensors[place])) || isNamed(one));
    if (node >= 0) this.go(node);
  }

  /** A file that is dropped on the page is opened. */
  watchDrop() {
    if (find("open").hidden) return;
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.openFile(event.dataTransfer.files[0]);
    });
  }

  async openFile(file) {
    if (!file) return;
    showWait(`Opening ${file.name} …`);
    try {
      const { model } = await this.source.send(`files?name=${encodeURIComponent(file.name)}`, file);
      await this.showAdded(model);
    } catch (problem) {
      showProblem(problem);
    }
    find("file").value = "";
  }

  /** Shows a model that the server did not list before. */
  async showAdded(number) {
    this.listed = await this.source.list();
    fillChoices(find("model"), this.listed.models.map((item) => item.title));
    find("model").hidden = this.listed.models.length < 2;
    await this.openModel(number);
  }

  async openDiff() {
    try {
      await openDiffForm(find("diff"), this.source, (number) => this.showAdded(number));
    } catch (problem) {
      showProblem(problem);
    }
  }

  /** Writes the shown model as one page that opens as it is drawn now. */
  async save() {
    try {
      const stored = { expanded: [...this.canvas.expanded], picture: this.canvas.picture };
      await savePage(await this.source.loadPage(this.number), this.source.isAlone ? 0 : this.number, this.graphNumber, stored, this.document.title);
    } catch (problem) {
      showProblem(problem);
    }
  }

  /** The keys of the menu of other viewers; whether it was one of them. */
  onMenuKey(event) {
    const isOpen = event.key === "o" && !find("open").hidden;
    const isSave = event.shiftKey && event.key.toLowerCase() === "e";
    if (isOpen) find("file").click();
    if (isSave) this.save();
    return isOpen || isSave;
  }

  onKey(event) {
    if (event.ctrlKey && this.onMenuKey(event)) event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches?.("input, select, textarea, dialog *, [role=treeitem]")) return;
    const actions = {
      "/": () => find("search").focus(),
      e: () => this.canvas.expandAll(),
      f: () => this.canvas.foldAll(),
      o: () => this.switchOutline(),
      t: () => this.switchTheme(),
      n: () => this.goToDifference(1),
      p: () => this.goToDifference(-1),
      s: () => this.save(),
      d: () => find("diff-button").hidden || this.openDiff(),
      "?": () => find("help").showModal(),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  switchTheme() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(isDark ? "light" : "dark");
  }

  /** An empty theme is the system's. */
  setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    this.canvas.recolour();
    this.second?.canvas.recolour();
  }

  switchOutline() {
    const outline = find("outline");
    outline.hidden = !outline.hidden;
    find("outline-button").setAttribute("aria-pressed", String(!outline.hidden));
  }
}

function countCovered(canvas) {
  const panel = find("panel");
  if (getComputedStyle(panel).position !== "absolute" || !panel.offsetHeight) return 0;
  return Math.max(0, canvas.getBoundingClientRect().bottom - panel.getBoundingClientRect().top);
}

function fillChoices(select, titles) {
  select.replaceChildren(...titles.map((title, place) => make("option", { value: place }, title.length > 60 ? `${title.slice(0, 60)}…` : title)));
}

function showWait(text) {
  find("problem").hidden = true;
  find("wait").hidden = false;
  find("wait").textContent = text;
}

/** Says why a model is not shown; what was shown before stays usable. */
function showProblem(problem) {
  find("wait").hidden = true;
  find("problem").hidden = false;
  find("problem").querySelector("p").textContent = String(problem.message || problem);
}

document.documentElement.classList.toggle("framed", isFramed);
const app = new App();
window.edgewrightView = app;
app.start().catch(showProblem);
