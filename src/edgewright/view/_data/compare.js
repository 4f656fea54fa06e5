// The second model of a comparison: it follows the selection of the first, and the first follows its own.
import { OverlayView } from "./overlay.js";
import { make } from "./elements.js";

export class SecondSide {
  constructor(app, canvas, comparison) {
    this.app = app;
    this.canvas = canvas;
    this.there = new Map(comparison.pairs);
    this.back = new Map(comparison.pairs.map(([left, right]) => [right, left]));
    this.differences = comparison.differences;
  }

  async open() {
    await this.canvas.show("second", this.document.graphs[0]);
    this.canvas.canvas.setAttribute("aria-label", `Graph of ${this.document.title}`);
  }

  /** Colours the same overlay with the same threshold, where the second model has it. */
  showOverlay(shown) {
    if (!this.canvas.prepared) return;
    const overlay = shown && this.document.graphs[0].overlays.find((one) => one.key === shown.overlay.key);
    const view = overlay ? new OverlayView(this.canvas.prepared, overlay) : null;
    if (view) view.threshold = shown.threshold;
    const { look } = this.canvas;
    look.rings = view && ((box) => view.rings(box));
    look.describe = view && ((box) => view.describe(box));
    look.isDim = view && ((box) => !view.isMarked(box));
    this.canvas.draw();
  }

  /** Shows the partner of what is selected in the first model. */
  follow(box) {
    const partner = box === null || box < 0 ? undefined : this.there.get(box);
    if (partner === undefined) this.canvas.select(null, true);
    else if (this.canvas.prepared) this.canvas.reveal(partner, true);
  }

  onSelect(box) {
    const partner = box === null || box < 0 ? undefined : this.back.get(box);
    if (partner !== undefined) this.app.go(partner);
    else if (box !== null && box >= 0) this.tellAlone(box);
  }

  /** A node that only the second model has. */
  tellAlone(box) {
    const node = this.canvas.prepared.graph.nodes[box];
    this.app.canvas.select(null, true);
    document.getElementById("panel").replaceChildren(
      make("h2", {}, node.type),
      make("p", { class: "name" }, node.source || node.name),
      make("p", { class: "note" }, `only in ${this.document.title}`),
    );
  }

  /** What differs between a node and its partner, for the panel. */
  describe(number) {
    const title = make("h3", {}, "Differences");
    if (!this.there.has(number)) return [title, make("p", { class: "note" }, `only in ${this.app.document.title}`)];
    const rows = this.differences[String(number)] || [];
    if (!rows.length) return [title, make("p", { class: "soft" }, "none")];
    const body = make("tbody");
    for (const [what, left, right] of rows) {
      body.append(make("tr", {}, make("th", { scope: "row" }, what), make("td", {}, left), make("td", {}, right)));
    }
    return [title, make("table", { class: "both" }, body)];
  }
}
