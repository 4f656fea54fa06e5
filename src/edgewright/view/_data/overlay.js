// Colours boxes by a number: the ramp, the threshold, and the nodes beyond it.
import { listInside } from "./graph.js";
import { spellNumber } from "./elements.js";

const RAMP = ["#f5c84c", "#f39b2d", "#ea6a24", "#d43d2f", "#a8194e"];

/** One overlay of a graph with a threshold. */
export class OverlayView {
  constructor(prepared, overlay) {
    this.prepared = prepared;
    this.overlay = overlay;
    this.values = overlay.values;
    const known = this.values.filter((value) => value !== null).sort((a, b) => a - b);
    this.low = known[0];
    this.high = known[known.length - 1];
    this.isEven = this.low === this.high;
    // Work and bytes spread over many powers of ten.
    this.isLogarithmic = this.low > 0 && this.high / this.low > 1000;
    const worst = overlay.isLowWorse ? known[Math.floor(known.length / 10)] : known[Math.ceil((known.length * 9) / 10) - 1];
    this.threshold = overlay.threshold ?? worst ?? this.low;
    this.inside = new Map();
  }

  /** Where a value stands between the best (0) and the worst (1). */
  position(value) {
    if (this.isEven) return 1;
    const map = this.isLogarithmic ? Math.log : (number) => number;
    const place = (map(value) - map(this.low)) / (map(this.high) - map(this.low));
    return this.overlay.isLowWorse ? 1 - place : place;
  }

  /** The value at a position: what the slider stands on. */
  valueAt(position) {
    const place = this.overlay.isLowWorse ? 1 - position : position;
    if (this.isLogarithmic) return this.low * (this.high / this.low) ** place;
    return this.low + (this.high - this.low) * place;
  }

  isBeyond(value) {
    if (value === null || value === undefined) return false;
    return this.overlay.isLowWorse ? value <= this.threshold : value >= this.threshold;
  }

  /** The worst value inside a box. */
  worst(box) {
    if (box >= 0) return this.values[box];
    if (!this.inside.has(box)) {
      const known = listInside(this.prepared, box).map((node) => this.values[node]).filter((value) => value !== null);
      const choose = this.overlay.isLowWorse ? Math.min : Math.max;
      this.inside.set(box, known.length ? known.reduce((a, b) => choose(a, b)) : null);
    }
    return this.inside.get(box);
  }

  colour(value) {
    const place = Math.min(1, Math.max(0, this.position(value)));
    return RAMP[Math.min(RAMP.length - 1, Math.floor(place * RAMP.length))];
  }

  isMarked(box) {
    return this.isBeyond(this.worst(box));
  }

  rings(box) {
    const value = this.worst(box);
    return this.isBeyond(value) ? [this.colour(value)] : [];
  }

  describe(box) {
    const value = this.worst(box);
    if (value === null || value === undefined) return "";
    return this.overlay.title.length > 14 ? this.spell(value) : `${this.overlay.title}: ${this.spell(value)}`;
  }

  spell(value) {
    return spellNumber(value, this.overlay.unit);
  }

  /** The nodes beyond the threshold in the order in which they run. */
  listBeyond() {
    return this.values.map((value, node) => (this.isBeyond(value) ? node : -1)).filter((node) => node >= 0);
  }
}

// The borders of a comparison: accuracy inside, performance around it.
const DIFF_PARTS = { diff_accuracy: { colour: "#d43d2f", title: "Accuracy", word: "error" }, diff_performance: { colour: "#f0a020", title: "Performance", word: "time" } };

/** The differences of two runs: a border for each kind of difference that is above its threshold. */
export class DiffView {
  constructor(prepared, overlays) {
    this.parts = overlays
      .filter((overlay) => overlay.key in DIFF_PARTS)
      .map((overlay) => ({ ...DIFF_PARTS[overlay.key], view: new OverlayView(prepared, overlay) }));
  }

  listParts(box) {
    return this.parts.filter(({ view }) => (view.worst(box) ?? 0) > view.threshold);
  }

  isMarked(box) {
    return this.listParts(box).length > 0;
  }

  rings(box) {
    return this.listParts(box).map((part) => part.colour);
  }

  describe(box) {
    const texts = this.parts.map(({ view, word }) => [view.worst(box), word]);
    return texts.filter(([value]) => value !== null && value !== undefined).map(([value, word]) => `${spellShare(value)} ${word}`).join(", ");
  }

  listBeyond() {
    const { values } = this.parts[0].view;
    return values.map((_, node) => node).filter((node) => this.isMarked(node));
  }
}

function spellShare(value) {
  return `${Number((100 * value).toPrecision(2))} %`;
}
