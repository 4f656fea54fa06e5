// The worker: keeps one layouter for each graph and answers with pictures.
import { Layouter } from "./layout.js";

const layouters = new Map();

self.onmessage = ({ data }) => {
  try {
    if (data.graph) layouters.set(data.key, new Layouter(data.graph));
    const picture = layouters.get(data.key).arrange(data.expanded);
    self.postMessage({ number: data.number, picture });
  } catch (problem) {
    self.postMessage({ number: data.number, problem: String(problem) });
  }
};
