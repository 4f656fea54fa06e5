// Where boxes and lines go; runs in a worker, one group at a time, so that no layout gets large.
/* global dagre */

const GROUP_PADDING = 14;
const GROUP_TITLE = 26;
const COLLAPSED_WIDTH = 176;
const BOX_HEIGHT = 58;
// Bends that long lines of one layout may have; the longest beyond that are drawn straight.
const MOST_BENDS = 1500;
const IN = "in";
const OUT = "out";

/** Keeps a graph and lays it out for any set of open groups. */
export class Layouter {
  constructor(graph) {
    this.groups = graph.groups;
    this.widths = graph.widths;
    this.groupWidths = graph.groupWidths;
    this.parents = graph.parents;
    this.groupParents = graph.groupParents;
    this.edges = graph.edges;
    this.local = this.groups.map(() => ({ edges: new Map(), into: new Set(), out: new Set() }));
    for (const [from, to] of this.edges) this.lift(from, to);
    this.cache = new Map();
  }

  /** Enters a line into the group where both ends part, and at the borders of the groups it leaves and enters. */
  lift(from, to) {
    const above = new Map();
    let box = from;
    for (let group = this.parents[from]; group >= 0; group = this.groupParents[group]) {
      above.set(group, box);
      box = -group;
    }
    let inner = to;
    let shared = this.parents[to];
    while (!above.has(shared)) {
      this.local[shared].into.add(inner);
      inner = -shared;
      shared = this.groupParents[shared];
    }
    box = from;
    for (let group = this.parents[from]; group !== shared; group = this.groupParents[group]) {
      this.local[group].out.add(box);
      box = -group;
    }
    if (box !== inner) this.local[shared].edges.set(`${box}>${inner}`, [box, inner]);
  }

  /** Boxes, group frames and lines of the picture with these groups open. */
  arrange(open) {
    const expanded = new Set(open);
    const order = [0];
    for (const group of order) {
      for (const member of this.groups[group].members) {
        if (member < 0 && expanded.has(-member)) order.push(-member);
      }
    }
    const arranged = new Map();
    for (const group of order.reverse()) arranged.set(group, this.arrangeGroup(group, arranged));
    return this.place(order.reverse(), arranged, expanded);
  }

  sizeOf(box, arranged) {
    if (box >= 0) return { width: this.widths[box], height: BOX_HEIGHT };
    const inside = arranged.get(-box);
    if (!inside) return { width: this.groupWidths[-box], height: BOX_HEIGHT };
    return { width: inside.width, height: inside.height };
  }

  arrangeGroup(group, arranged) {
    const sizes = this.groups[group].members.map((member) => this.sizeOf(member, arranged));
    const key = `${group}:${sizes.map((size) => `${Math.round(size.width)},${Math.round(size.height)}`).join(";")}`;
    if (!this.cache.has(key)) this.cache.set(key, layOut(this.groups[group], sizes, this.local[group], group));
    return this.cache.get(key);
  }

  /** Turns the layouts of single groups into one picture. */
  place(order, arranged, expanded) {
    const origins = new Map([[0, { x: 0, y: 0 }]]);
    const boxes = [];
    const frames = [];
    for (const group of order) {
      const origin = origins.get(group);
      const inside = arranged.get(group);
      this.groups[group].members.forEach((member, index) => {
        const spot = inside.boxes[index];
        const placed = { box: member, x: origin.x + spot.x, y: origin.y + spot.y, w: spot.width, h: spot.height };
        if (member < 0 && expanded.has(-member)) {
          frames.push(placed);
          origins.set(-member, { x: placed.x, y: placed.y });
        } else {
          boxes.push(placed);
        }
      });
    }
    const whole = arranged.get(0);
    return { boxes, frames, lines: this.route(origins, arranged), width: whole.width, height: whole.height };
  }

  route(origins, arranged) {
    const drawn = new Map();
    for (const [from, to, tensor] of this.edges) {
      const start = this.visible(from, arranged);
      const end = this.visible(to, arranged);
      if (start === end) continue;
      const key = `${start}>${end}`;
      const known = drawn.get(key);
      if (known) known.count += 1;
      else drawn.set(key, { from: start, to: end, tensor, count: 1, points: this.trace(start, end, origins, arranged) });
    }
    return [...drawn.values()];
  }

  visible(node, arranged) {
    let found = node;
    for (let group = this.parents[node]; group > 0; group = this.groupParents[group]) {
      if (!arranged.has(group)) found = -group;
    }
    return found;
  }

  parent(box) {
    return box < 0 ? this.groupParents[-box] : this.parents[box];
  }

  /** The way of one line: out of the groups around its start, across, and into those around its end. */
  trace(start, end, origins, arranged) {
    const around = new Set();
    for (let group = this.parent(start); group >= 0; group = this.groupParents[group]) around.add(group);
    const downward = [];
    let inner = end;
    let shared = this.parent(end);
    while (!around.has(shared)) {
      downward.push(this.find(shared, IN, inner, origins, arranged));
      inner = -shared;
      shared = this.groupParents[shared];
    }
    const points = [];
    let box = start;
    for (let group = this.parent(start); group !== shared; group = this.groupParents[group]) {
      points.push(...this.find(group, box, OUT, origins, arranged));
      box = -group;
    }
    points.push(...this.find(shared, box, inner, origins, arranged));
    for (const part of downward.reverse()) points.push(...part);
    return points;
  }

  find(group, from, to, origins, arranged) {
    const origin = origins.get(group);
    const points = arranged.get(group).lines.get(`${from}>${to}`) || [];
    return points.map((point) => [Math.round(origin.x + point.x), Math.round(origin.y + point.y)]);
  }
}

/** The width of the box of a folded group or a node with these lines of text. */
export function measureBox(lines, measure) {
  const widest = Math.max(...lines.map((line, index) => measure(line, index)));
  return Math.min(240, Math.max(COLLAPSED_WIDTH * 0.62, Math.ceil(widest) + 24));
}

function layOut(group, sizes, local, number) {
  if (!local.edges.size && group.members.length > 3) return layOutGrid(sizes, local, group, number);
  const picture = new dagre.graphlib.Graph({ multigraph: false, compound: false });
  picture.setGraph({
    rankdir: "TB",
    nodesep: 22,
    ranksep: 28,
    edgesep: 14,
    ranker: group.members.length > 60 ? "tight-tree" : "network-simplex",
  });
  picture.setDefaultEdgeLabel(() => ({}));
  const places = new Map(group.members.map((member, index) => [member, index]));
  group.members.forEach((member, index) => picture.setNode(String(member), { ...sizes[index] }));
  const wished = [...local.edges.values()];
  if (number > 0) {
    if (local.into.size) picture.setNode(IN, { width: 1, height: 1 });
    if (local.out.size) picture.setNode(OUT, { width: 1, height: 1 });
    for (const box of local.into) wished.push([IN, box]);
    for (const box of local.out) wished.push([box, OUT]);
  }
  const [bent, straight] = splitLines(wished, places);
  for (const [from, to] of bent) picture.setEdge(String(from), String(to));
  dagre.layout(picture);
  return collect(group, picture, bent, straight, number);
}

/** Rows of boxes that nothing connects. */
function layOutGrid(sizes, local, group, number) {
  const top = number > 0 ? GROUP_TITLE + GROUP_PADDING : 0;
  const pad = number > 0 ? GROUP_PADDING : 0;
  const area = sizes.reduce((sum, size) => sum + (size.width + 20) * (size.height + 20), 0);
  const limit = Math.max(Math.sqrt(area) * 1.3, ...sizes.map((size) => size.width));
  let [x, y, height, width] = [0, 0, 0, 0];
  const boxes = sizes.map((size) => {
    if (x > 0 && x + size.width > limit) [x, y, height] = [0, y + height + 20, 0];
    const spot = { x: x + pad, y: y + top, width: size.width, height: size.height };
    x += size.width + 20;
    height = Math.max(height, size.height);
    width = Math.max(width, x - 20);
    return spot;
  });
  const lines = new Map();
  group.members.forEach((member, index) => {
    const middle = boxes[index].x + boxes[index].width / 2;
    if (local.into.has(member)) lines.set(`${IN}>${member}`, [{ x: middle, y: 0 }, { x: middle, y: boxes[index].y }]);
    const bottom = boxes[index].y + boxes[index].height;
    if (local.out.has(member)) lines.set(`${member}>${OUT}`, [{ x: middle, y: bottom }, { x: middle, y: y + height + top + pad }]);
  });
  return { boxes, lines, width: width + 2 * pad, height: y + height + top + pad };
}

/** Lines that the layout may bend around boxes, and those that are so long that it would take too long. */
function splitLines(lines, places) {
  const ranks = rankBoxes(lines, places);
  const length = ([from, to]) => Math.abs((ranks.get(to) ?? 0) - (ranks.get(from) ?? 0));
  const sorted = [...lines].sort((a, b) => length(a) - length(b));
  let bends = 0;
  let count = 0;
  while (count < sorted.length && bends + length(sorted[count]) - 1 <= MOST_BENDS) {
    bends += Math.max(0, length(sorted[count]) - 1);
    count += 1;
  }
  const kept = new Set(sorted.slice(0, count));
  return [lines.filter((line) => kept.has(line)), lines.filter((line) => !kept.has(line))];
}

function rankBoxes(lines, places) {
  const ranks = new Map([[IN, 0]]);
  const sources = new Map();
  for (const [from, to] of lines) {
    if (!sources.has(to)) sources.set(to, []);
    sources.get(to).push(from);
  }
  for (const box of [...places.keys(), OUT]) {
    let rank = 0;
    for (const from of sources.get(box) || []) if (ranks.has(from)) rank = Math.max(rank, ranks.get(from) + 1);
    ranks.set(box, rank);
  }
  return ranks;
}

function collect(group, picture, bent, straight, number) {
  const top = number > 0 ? GROUP_TITLE : 0;
  const pad = number > 0 ? GROUP_PADDING : 0;
  const size = picture.graph();
  const shift = (point) => ({ x: point.x + pad, y: point.y + pad + top });
  const boxes = group.members.map((member) => {
    const spot = picture.node(String(member));
    return { ...shift({ x: spot.x - spot.width / 2, y: spot.y - spot.height / 2 }), width: spot.width, height: spot.height };
  });
  const lines = new Map();
  for (const [from, to] of bent) {
    lines.set(`${from}>${to}`, picture.edge(String(from), String(to)).points.map(shift));
  }
  for (const [from, to] of straight) {
    const start = picture.node(String(from));
    const end = picture.node(String(to));
    lines.set(`${from}>${to}`, [
      shift({ x: start.x + start.width / 2, y: start.y }),
      shift({ x: Math.max(start.x + start.width / 2, end.x + end.width / 2) + 24, y: (start.y + end.y) / 2 }),
      shift({ x: end.x + end.width / 2, y: end.y }),
    ]);
  }
  return { boxes, lines, width: Math.max(size.width || 0, number > 0 ? 120 : 0) + 2 * pad, height: (size.height || 0) + 2 * pad + top };
}
