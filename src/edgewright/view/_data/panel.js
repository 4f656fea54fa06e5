// The panel at the side: the model as a whole, a group, or a node with its tensors and weights.
import { listInside, shortName, spellShape } from "./graph.js";
import { make, makeShape, spellNumber } from "./elements.js";

/** Fills the panel; actions has go(box), loadHistogram(tensor), overlays, and what a comparison says. */
export function showPanel(panel, documentShown, prepared, box, actions) {
  const parts =
    box === null || box === undefined
      ? describeModel(documentShown, prepared)
      : box < 0
        ? describeGroup(prepared, box, actions)
        : describeNode(prepared, box, actions);
  panel.replaceChildren(...parts.filter((part) => part));
  panel.scrollTop = 0;
}

function describeModel(documentShown, prepared) {
  const { graph } = prepared;
  const counts = new Map();
  for (const node of graph.nodes) if (!node.kind) counts.set(node.type, (counts.get(node.type) || 0) + 1);
  const ops = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return [
    make("h2", {}, documentShown.title),
    makeTable([["format", documentShown.format], ["graph", graph.name], ...documentShown.facts]),
    documentShown.notes.length ? make("h3", {}, "Notes") : null,
    ...documentShown.notes.map((note) => make("p", { class: "note" }, note)),
    ...["input", "output"].flatMap((kind) => {
      const nodes = graph.nodes.filter((node) => node.kind === kind);
      const tensors = nodes.map((node) => graph.tensors[(kind === "input" ? node.outputs : node.inputs)[0]]);
      return [make("h3", {}, kind === "input" ? "Inputs" : "Outputs"), ...tensors.map((tensor) => makeTensorCard(tensor))];
    }),
    make("h3", {}, `Ops (${graph.nodes.filter((node) => !node.kind).length})`),
    makeTable(ops.map(([type, count]) => [type, String(count)])),
  ];
}

function describeGroup(prepared, box, actions) {
  const nodes = listInside(prepared, box);
  const counts = new Map();
  for (const number of nodes) {
    const { type } = prepared.graph.nodes[number];
    counts.set(type, (counts.get(type) || 0) + 1);
  }
  return [
    make("h2", {}, prepared.graph.groups[-box].name),
    make("p", {}, make("button", { onclick: () => actions.toggle(box) }, "Open or fold")),
    makeTable([["ops inside", String(nodes.length)], ...actions.measure(box)]),
    make("h3", {}, "Ops"),
    makeTable([...counts].sort((a, b) => b[1] - a[1]).map(([type, count]) => [type, String(count)])),
  ];
}

function describeNode(prepared, number, actions) {
  const { graph } = prepared;
  const node = graph.nodes[number];
  const rows = [["type", node.type], ["name", node.name]];
  if (node.source) rows.push(["source name", node.source]);
  if (node.package) rows.push(["package", node.package]);
  return [
    make("h2", {}, node.type),
    make("p", { class: "name" }, node.source || node.name),
    node.note ? make("p", { class: "note" }, node.note) : null,
    ...actions.describeDifference(number),
    ...describeDiff(actions.diff?.[number] ?? []),
    make("h3", {}, "Node"),
    makeTable([...rows, ...actions.measure(number)]),
    node.params ? make("h3", {}, "Parameters") : null,
    node.params ? makeTable(node.params) : null,
    ...describeTensors("Inputs", prepared, number, node.inputs, actions, (tensor) => prepared.readers.makers.get(tensor)),
    ...describeTensors("Outputs", prepared, number, node.outputs, actions, () => undefined),
  ];
}

/** What a comparison of runs says of a node. */
function describeDiff(rows) {
  return rows.length ? [make("h3", {}, "Diff"), makeTable(rows)] : [];
}

function describeTensors(title, prepared, number, tensors, actions, findMaker) {
  if (!tensors.length) return [];
  const cards = tensors.map((place) => {
    if (place < 0) return make("p", { class: "soft" }, "left out");
    const links = [];
    const maker = findMaker(place);
    if (maker !== undefined && maker !== number) links.push(makeLink("from ", prepared, maker, actions));
    if (title === "Outputs") {
      for (const reader of (prepared.readers.readers.get(place) || []).slice(0, 12)) links.push(makeLink("to ", prepared, reader, actions));
    }
    return makeTensorCard(prepared.graph.tensors[place], { links, place, actions });
  });
  return [make("h3", {}, title), ...cards];
}

function makeLink(word, prepared, number, actions) {
  const node = prepared.graph.nodes[number];
  const text = `${node.type} ${shortName(node.source || node.name, node.type)}`;
  return make("button", { class: "link", onclick: () => actions.go(number) }, word + (text.length > 80 ? `${text.slice(0, 80)}…` : text));
}

function makeTensorCard(tensor, { links = [], place = -1, actions = null } = {}) {
  const rows = [["shape", spellShape(tensor) || "not known"], ["datatype", tensor.dtype || "not known"]];
  if (tensor.source) rows.push(["source name", tensor.source]);
  rows.push(...describeEncoding(tensor));
  if (tensor.stored !== undefined) rows.push(["stored", spellNumber(tensor.stored, "B")]);
  const card = make("div", { class: "card" }, make("p", { class: "name" }, tensor.name), makeTable(rows));
  if (links.length) card.append(make("p", { class: "links" }, ...links));
  if ((tensor.stored !== undefined || tensor.hasValues) && actions?.loadHistogram) card.append(makeHistogramButton(tensor, place, actions));
  return card;
}

function describeEncoding(tensor) {
  const rows = tensor.encodingText ? [["encoding", tensor.encodingText]] : [];
  const { encoding } = tensor;
  if (!encoding) return rows;
  const [low, high] = findRange(tensor);
  rows.push(["bits", String(encoding.bits)]);
  if (encoding.count === 1) {
    rows.push(["scale", String(Number(encoding.scales[0].toPrecision(7)))], ["offset", String(encoding.offsets[0])]);
    rows.push(["range", `${spellNumber(low)} … ${spellNumber(high)}`]);
  } else {
    const scales = encoding.scales;
    rows.push(["encodings", `${encoding.count} along axis ${encoding.axis}${encoding.blockSize ? `, blocks of ${encoding.blockSize}` : ""}`]);
    rows.push(["scales", `${spellNumber(Math.min(...scales))} … ${spellNumber(Math.max(...scales))}`]);
  }
  return rows;
}

function findRange(tensor) {
  const { bits, scales, offsets } = tensor.encoding;
  const isSigned = /^s|^int/.test(tensor.dtype);
  const lowest = isSigned ? -(2 ** (bits - 1)) : 0;
  return [lowest, lowest + 2 ** bits - 1].map((stored) => scales[0] * (stored + offsets[0]));
}

function makeHistogramButton(tensor, place, actions) {
  const spot = make("div", { class: "histogram" });
  const button = make("button", { "aria-expanded": "false" }, tensor.hasValues ? "Values" : "Histogram");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      spot.replaceChildren(...drawHistogram(await actions.loadHistogram(place), tensor));
      button.remove();
    } catch (problem) {
      spot.replaceChildren(make("p", { class: "note" }, String(problem.message || problem)));
    }
  });
  spot.append(button);
  return spot;
}

function drawHistogram(summary, tensor) {
  if (!summary || summary.text) return [make("p", { class: "soft" }, summary ? summary.text : "not in this page")];
  const most = Math.max(...summary.counts);
  const width = 280;
  const height = 72;
  const bar = width / summary.counts.length;
  const bars = summary.counts.map((count, index) => {
    const size = count ? Math.max(1.5, (height * Math.log1p(count)) / Math.log1p(most)) : 0;
    return makeShape("rect", { x: index * bar, y: height - size, width: Math.max(bar - 0.6, 0.5), height: size, class: "bar" });
  });
  const label = `Histogram of ${summary.count} elements from ${spellNumber(summary.min)} to ${spellNumber(summary.max)}`;
  const picture = makeShape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...bars);
  return [
    picture,
    make("p", { class: "ends" }, make("span", {}, spellNumber(summary.min)), make("span", {}, "log scale"), make("span", {}, spellNumber(summary.max))),
    makeTable([
      ["elements", String(summary.count)],
      ["mean, deviation", `${spellNumber(summary.mean)}, ${spellNumber(summary.std)}`],
      ["zeros", String(summary.zeros)],
      ...(summary.notFinite ? [["not finite", String(summary.notFinite)]] : []),
    ]),
    ...(summary.channels ? drawChannels(summary.channels, tensor) : []),
  ];
}

/** The range of each channel; darker where more of its elements lie. */
function drawChannels(channels, tensor) {
  const count = channels.low.length;
  const width = 280;
  const height = 96;
  const low = Math.min(...channels.low);
  const high = Math.max(...channels.high);
  const y = (value) => (high > low ? height - ((value - low) / (high - low)) * height : height / 2);
  const step = width / count;
  const shapes = [];
  channels.low.forEach((lowest, channel) => {
    const top = y(channels.high[channel]);
    shapes.push(makeShape("rect", { x: channel * step, y: top, width: Math.max(step * 0.8, 0.4), height: Math.max(y(lowest) - top, 0.8), class: "channel" }));
    const counts = channels.counts && channels.counts[channel];
    if (!counts) return;
    const most = Math.max(...counts, 1);
    counts.forEach((number, bin) => {
      if (number <= most * 0.05) return;
      const size = height / counts.length;
      shapes.push(makeShape("rect", { x: channel * step, y: height - (bin + 1) * size, width: Math.max(step * 0.8, 0.4), height: size, class: "bar", "fill-opacity": (number / most).toFixed(2) }));
    });
  });
  const label = `Ranges of ${count} channels of ${tensor.name.slice(0, 80)}`;
  return [
    make("p", { class: "soft" }, `${count} channels along axis ${channels.axis}`),
    makeShape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...shapes),
  ];
}

export function makeTable(rows) {
  const body = make("tbody");
  for (const [name, value] of rows) body.append(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  return make("table", {}, body);
}
