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
