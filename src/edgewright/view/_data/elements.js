// Elements of the page. Everything that comes from a model is put in as text, never as markup.

/** Makes an element: attributes, then children that are elements or texts. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function makeShape(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function find(id) {
  return document.getElementById(id);
}

/** A number with few digits; large ones with a letter. */
export function spellNumber(value, unit = "") {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  const steps = unit === "B" ? [[1024 ** 3, "Gi"], [1024 ** 2, "Mi"], [1024, "Ki"]] : [[1e9, "G"], [1e6, "M"], [1e4, "k"]];
  for (const [step, letter] of unit === "dB" ? [] : steps) {
    if (size >= (letter === "k" ? 1e4 : step)) return `${trim(value / (letter === "k" ? 1e3 : step))} ${letter}${unit}`;
  }
  return unit ? `${trim(value)} ${unit}` : trim(value);
}

function trim(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return String(Number(value.toPrecision(4)));
}
