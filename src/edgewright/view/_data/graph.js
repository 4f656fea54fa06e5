// A graph of the document with what drawing and searching need: edges, parents, visible boxes.
// Boxes are numbers: a node is its number, group g is -g (the whole picture, group 0, is never a box).

const KINDS = [
  ["io", /^(input|output|placeholder)$/i],
  ["conv", /conv|fullyconnected|fully_connected|matmul|gemm|dense|einsum|lstm|gru|rnn|attention/i],
  ["norm", /norm|lrn/i],
  ["pool", /pool|reduce|mean|^sum|argm/i],
  ["activation", /relu|sigmoid|tanh|softmax|gelu|elu|swish|neuron|logistic|clip|erf|softplus|act/i],
  ["quant", /quant|convert|cast/i],
  ["move", /reshape|transpose|concat|split|slice|gather|pad|squeeze|tile|expand|pack|stack|resize|shuffle|space|depth|shape|flatten|identity|batch/i],
];

/** The family of an op, which gives its box a colour. */
export function findKind(type) {
  for (const [kind, pattern] of KINDS) if (pattern.test(type)) return kind;
  return "other";
}

/** The last part of a name that says more than the type: what is inside a group need not repeat its name. */
export function shortName(name, type = "") {
  const first = name.split(";", 1)[0];
  const parts = first.split("/").filter((part) => part);
  const last = parts[parts.length - 1] || first;
  const isType = parts.length > 1 && last.replace(/(_output)?[_\d]*$/, "").toLowerCase() === type.toLowerCase();
  return isType ? `${parts[parts.length - 2]}/${last}` : last;
}

/** A shape; a dimension that is computed from others is a question mark where there is no room for it. */
export function spellShape(tensor, longest = Infinity) {
  if (!tensor || !tensor.shape) return "";
  return tensor.shape.length ? tensor.shape.map((dim) => (String(dim).length > longest ? "?" : dim)).join("×") : "scalar";
}

/** Adds indexes to a graph of the document. */
export function prepareGraph(graph) {
  const parents = new Int32Array(graph.nodes.length);
  const groupParents = new Int32Array(graph.groups.length);
  graph.groups.forEach((group, number) => {
    for (const member of group.members) {
      if (member < 0) groupParents[-member] = number;
      else parents[member] = number;
    }
  });
  groupParents[0] = -1;
  const edges = listEdges(graph);
  const sizes = countOps(graph, groupParents, parents);
  return { graph, parents, groupParents, edges, sizes, readers: indexReaders(graph) };
}

function listEdges(graph) {
  const makers = new Map();
  graph.nodes.forEach((node, number) => {
    for (const tensor of node.outputs) if (tensor >= 0 && !makers.has(tensor)) makers.set(tensor, number);
  });
  const edges = [];
  graph.nodes.forEach((node, number) => {
    const sources = new Set();
    for (const tensor of node.inputs) {
      const maker = makers.get(tensor);
      if (maker !== undefined && maker !== number && !sources.has(maker)) {
        sources.add(maker);
        edges.push([maker, number, tensor]);
      }
    }
  });
  return edges;
}

function indexReaders(graph) {
  const readers = new Map();
  const makers = new Map();
  graph.nodes.forEach((node, number) => {
    for (const tensor of new Set(node.inputs)) {
      if (!readers.has(tensor)) readers.set(tensor, []);
      readers.get(tensor).push(number);
    }
    for (const tensor of node.outputs) if (!makers.has(tensor)) makers.set(tensor, number);
  });
  return { readers, makers };
}

function countOps(graph, groupParents, parents) {
  const sizes = new Int32Array(graph.groups.length);
  for (const parent of parents) sizes[parent] += 1;
  for (let group = graph.groups.length - 1; group > 0; group -= 1) sizes[groupParents[group]] += sizes[group];
  return sizes;
}

export function parentOf(prepared, box) {
  return box < 0 ? prepared.groupParents[-box] : prepared.parents[box];
}

/** The groups around a box, innermost first, without the whole picture. */
export function listAncestors(prepared, box) {
  const found = [];
  for (let group = parentOf(prepared, box); group > 0; group = prepared.groupParents[group]) found.push(group);
  return found;
}

/** The box that stands for another one while groups around it are folded: itself where none is. */
export function findVisible(prepared, expanded, box) {
  let visible = box;
  for (const group of listAncestors(prepared, box)) if (!expanded.has(group)) visible = -group;
  return visible;
}

/** Opens groups level by level, small ones first, as long as the picture stays easy to read. */
export function chooseExpanded(prepared, mostBoxes) {
  const expanded = new Set();
  let boxes = prepared.graph.groups[0].members.length;
  let level = prepared.graph.groups[0].members.filter((member) => member < 0);
  while (level.length) {
    const next = [];
    level.sort((a, b) => prepared.sizes[-a] - prepared.sizes[-b]);
    for (const box of level) {
      const members = prepared.graph.groups[-box].members;
      if (boxes + members.length - 1 > mostBoxes) continue;
      boxes += members.length - 1;
      expanded.add(-box);
      next.push(...members.filter((member) => member < 0));
    }
    level = next;
  }
  return expanded;
}

/** All nodes inside a box. */
export function listInside(prepared, box) {
  if (box >= 0) return [box];
  const found = [];
  const left = [box];
  while (left.length) {
    for (const member of prepared.graph.groups[-left.pop()].members) {
      if (member < 0) left.push(member);
      else found.push(member);
    }
  }
  return found;
}

/** The lines of text in a box. */
export function labelBox(prepared, box) {
  const { graph } = prepared;
  if (box < 0) {
    const count = prepared.sizes[-box];
    return [graph.groups[-box].name, `${count} ${count === 1 ? "op" : "ops"}`, ""];
  }
  const node = graph.nodes[box];
  const tensor = graph.tensors[(node.kind === "output" ? node.inputs : node.outputs)[0]];
  const shape = spellShape(tensor, 12);
  return [node.type, shortName(node.source || node.name, node.type), shape ? `${shape} ${tensor.dtype}` : ""];
}
