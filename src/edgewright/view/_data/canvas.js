// One canvas with a graph: layout by the worker, pan, zoom, selection, keyboard.
import { chooseExpanded, findVisible, labelBox, listAncestors, prepareGraph } from "./graph.js";
import { measureBox } from "./layout.js";
import { clearPicture, drawScene, findBox, prepareScene, readColours } from "./drawing.js";

const MOST_AT_FIRST = 120;
const SMALLEST = 0.02;
const LARGEST = 4;

/** Asks the worker for pictures; answers come by number. */
export class LayoutService {
  constructor(worker) {
    this.worker = worker;
    this.waiting = new Map();
    this.number = 0;
    worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.number);
      this.waiting.delete(data.number);
      if (data.problem) reject(new Error(data.problem));
      else resolve(data.picture);
    };
    this.known = new Set();
  }

  arrange(key, graph, expanded) {
    this.number += 1;
    const message = { number: this.number, key, expanded: [...expanded] };
    if (!this.known.has(key)) message.graph = graph;
    this.known.add(key);
    this.worker.postMessage(message);
    return new Promise((resolve, reject) => this.waiting.set(message.number, { resolve, reject }));
  }
}

/** A drawn graph. Calls onSelect(box) when the selection changes, onChange() after each new picture. */
export class GraphCanvas {
  constructor(canvas, service, handlers) {
    this.canvas = canvas;
    this.service = service;
    this.handlers = handlers;
    this.context = canvas.getContext("2d", { alpha: false });
    this.view = { x: 0, y: 0, k: 1 };
    this.look = { selected: null, nameGroup: (box) => this.prepared.graph.groups[-box].name };
    this.scene = null;
    this.expanded = new Set();
    this.isWaiting = false;
    this.pointers = new Map();
    this.watchPointers();
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** Shows another graph; whether it is still the wanted one when its picture is there. */
  async show(key, graph, stored) {
    this.key = key;
    // The picture of one graph is never drawn with the names and colours of another.
    this.scene = null;
    Object.assign(this.look, { rings: null, describe: null, isDim: null });
    this.prepared = prepareGraph(graph);
    this.expanded = stored ? new Set(stored.expanded) : chooseExpanded(this.prepared, MOST_AT_FIRST);
    this.look.selected = null;
    const isWanted = await this.arrange(stored && stored.picture);
    if (isWanted) this.fit();
    return isWanted;
  }

  /** Draws what is expanded; whether no later wish came in between. */
  async arrange(stored) {
    const ticket = (this.ticket = (this.ticket || 0) + 1);
    const picture = stored || (await this.service.arrange(this.key, this.describe(), this.expanded));
    if (ticket !== this.ticket) return false;
    this.picture = picture;
    this.scene = prepareScene(this.prepared, picture);
    this.draw();
    this.handlers.onChange?.();
    return true;
  }

  /** The graph as the worker needs it: sizes, members, edges. */
  describe() {
    const { graph, parents, groupParents, edges } = this.prepared;
    const fonts = ["600 13px ", "11px ", "11px "];
    const family = getComputedStyle(this.canvas).fontFamily;
    const measure = (line, index) => {
      this.context.font = fonts[index] + family;
      return this.context.measureText(line.slice(0, 60)).width;
    };
    return {
      groups: graph.groups.map((group) => ({ members: group.members })),
      widths: graph.nodes.map((_, number) => measureBox(labelBox(this.prepared, number), measure)),
      groupWidths: graph.groups.map((_, number) => (number ? measureBox(labelBox(this.prepared, -number), measure) + 16 : 0)),
      parents,
      groupParents,
      edges,
    };
  }

  async toggle(box) {
    if (box >= 0) return;
    const before = this.scene.places.get(box);
    if (this.expanded.has(-box)) this.expanded.delete(-box);
    else this.expanded.add(-box);
    if (!(await this.arrange())) return;
    const after = this.scene.places.get(box);
    // What was clicked stays under the pointer.
    if (before && after) {
      this.view.x += (before.x - after.x) * this.view.k;
      this.view.y += (before.y - after.y) * this.view.k;
    }
    this.draw();
  }

  async expandAll() {
    this.prepared.graph.groups.forEach((_, number) => number && this.expanded.add(number));
    await this.arrange();
    this.fit();
  }

  async foldAll() {
    this.expanded.clear();
    await this.arrange();
    this.fit();
  }

  /** Opens the groups around a box, selects it and brings it to the middle. */
  async reveal(box, isQuiet = false) {
    const closed = listAncestors(this.prepared, box).filter((group) => !this.expanded.has(group));
    if (closed.length) {
      for (const group of closed) this.expanded.add(group);
      if (!(await this.arrange())) return;
    }
    this.select(box, isQuiet);
    this.center(box);
  }

  select(box, isQuiet = false) {
    this.look.selected = box;
    this.draw();
    if (!isQuiet) this.handlers.onSelect?.(box);
  }

  center(box) {
    const spot = this.scene?.places.get(findVisible(this.prepared, this.expanded, box));
    if (!spot) return;
    const k = Math.max(this.view.k, 0.8);
    this.view = {
      k,
      x: this.canvas.clientWidth / 2 - (spot.x + spot.w / 2) * k,
      y: (this.canvas.clientHeight - (this.handlers.countCovered?.() ?? 0)) / 2 - (spot.y + Math.min(spot.h, 120) / 2) * k,
    };
    this.draw();
  }

  /** The whole picture where it can be read, its beginning otherwise. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.scene || !width) return;
    const whole = Math.min((width - 48) / this.scene.width, (height - 48) / this.scene.height, 1.2);
    const across = Math.min((width - 32) / this.scene.width, 1);
    const k = whole >= 0.45 ? whole : Math.max(across, 0.4);
    const isWhole = k === whole;
    const first = this.scene.boxes.reduce((top, box) => (top && top.y <= box.y ? top : box), null);
    const middle = isWhole || k === across || !first ? this.scene.width / 2 : first.x + first.w / 2;
    this.view = { k, x: width / 2 - middle * k, y: isWhole ? (height - this.scene.height * k) / 2 : 24 };
    this.draw();
  }

  fitWhole() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const k = Math.min((width - 32) / this.scene.width, (height - 32) / this.scene.height, 1.2);
    this.view = { k, x: (width - this.scene.width * k) / 2, y: (height - this.scene.height * k) / 2 };
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const k = Math.min(LARGEST, Math.max(SMALLEST, this.view.k * factor));
    const change = k / this.view.k;
    this.view = { k, x: x - (x - this.view.x) * change, y: y - (y - this.view.y) * change };
    this.draw();
    this.handlers.onMove?.(this);
  }

  pan(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.draw();
    this.handlers.onMove?.(this);
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const wasEmpty = !this.size;
    this.size = { width, height, ratio };
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (wasEmpty) this.fit();
    this.drawNow();
  }

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.size) return;
    this.colours ??= readColours(this.canvas);
    // An opaque canvas is black until something is drawn.
    if (!this.scene) clearPicture(this.context, this.size, this.colours);
    else drawScene(this.context, this.scene, this.view, this.size, this.colours, this.look);
  }

  recolour() {
    this.colours = null;
    this.draw();
  }

  toScene(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    return { x, y, sceneX: (x - this.view.x) / this.view.k, sceneY: (y - this.view.y) / this.view.k };
  }

  watchPointers() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => this.onPointerMove(event));
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => {
        const isClick = name === "pointerup" && this.pointers.size === 1 && this.moved < 5;
        this.pointers.delete(event.pointerId);
        if (isClick) this.onClick(event);
      });
    }
    canvas.addEventListener("dblclick", (event) => {
      const { sceneX, sceneY } = this.toScene(event);
      const box = this.scene && findBox(this.scene, sceneX, sceneY);
      if (box !== null && box < 0) this.toggle(box);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // A page around this one scrolls on, until the picture is clicked.
        if (window !== window.parent && !event.ctrlKey && document.activeElement !== canvas) return;
        event.preventDefault();
        const { x, y } = this.toScene(event);
        if (event.shiftKey) this.pan(-event.deltaY, 0);
        else this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
      },
      { passive: false },
    );
  }

  onPointerMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    this.moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (this.pointers.size === 1) {
      this.pan(now.x - before.x, now.y - before.y);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const spread = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      const frame = this.canvas.getBoundingClientRect();
      this.zoom(spread(now) / spread(before), (now.x + other.x) / 2 - frame.left, (now.y + other.y) / 2 - frame.top);
    }
    this.pointers.set(event.pointerId, now);
  }

  onClick(event) {
    if (!this.scene) return;
    const { sceneX, sceneY } = this.toScene(event);
    const box = findBox(this.scene, sceneX, sceneY);
    this.select(box);
    // The title of an open group, and the sign of a folded one, are switches.
    if (box !== null && box < 0) {
      const spot = this.scene.places.get(box);
      if (sceneX < spot.x + 30) this.toggle(box);
    }
  }

  onKey(event) {
    const steps = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    if (event.key in steps && event.shiftKey) {
      const [x, y] = { up: [0, 80], down: [0, -80], left: [80, 0], right: [-80, 0] }[steps[event.key]];
      this.pan(x, y);
    } else if (event.key in steps) this.step(steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      if (this.look.selected !== null && this.look.selected < 0) this.toggle(this.look.selected);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape") this.select(null);
    else return;
    event.preventDefault();
  }

  /** Moves the selection along the lines, or to the nearest box beside. */
  step(way) {
    const { selected } = this.look;
    if (selected === null || !this.scene.places.has(selected)) {
      if (this.scene.boxes.length) this.goTo(this.scene.boxes[0].box);
      return;
    }
    const here = this.scene.places.get(selected);
    const linked = this.scene.lines
      .filter((line) => (way === "down" ? line.from === selected : way === "up" ? line.to === selected : false))
      .map((line) => (way === "down" ? line.to : line.from));
    const beside = this.scene.boxes.filter((box) => {
      const isBeside = Math.abs(box.y - here.y) < 160;
      return box.box !== selected && isBeside && (way === "left" ? box.x < here.x : box.x > here.x);
    });
    const near = (box) => Math.abs(box.x - here.x) + 2 * Math.abs(box.y - here.y);
    const target = linked.length ? linked[0] : way === "left" || way === "right" ? beside.sort((a, b) => near(a) - near(b))[0]?.box : undefined;
    if (target !== undefined) this.goTo(target);
  }

  goTo(box) {
    this.select(box);
    const spot = this.scene.places.get(box);
    const x = spot.x * this.view.k + this.view.x;
    const y = spot.y * this.view.k + this.view.y;
    const isShown = x > 20 && y > 20 && x + spot.w * this.view.k < this.size.width - 20 && y + spot.h * this.view.k < this.size.height - 20;
    if (!isShown) this.center(box);
  }
}
