// Search over names of nodes, their source names, types and tensors.
import { make } from "./elements.js";

const MOST_RESULTS = 60;

/** The numbers of nodes that have all words of the question: those of that type first, then those named so. */
export function searchNodes(prepared, question) {
  const words = question.toLowerCase().split(/\s+/).filter((word) => word);
  if (!words.length) return [];
  prepared.texts ??= prepared.graph.nodes.map((node) => {
    const tensors = [...node.inputs, ...node.outputs].filter((place) => place >= 0);
    const names = tensors.flatMap((place) => [prepared.graph.tensors[place].name, prepared.graph.tensors[place].source || ""]);
    return { own: `${node.type} ${node.name} ${node.source || ""}`.toLowerCase(), all: names.join(" ").toLowerCase() };
  });
  const has = (text) => words.every((word) => text.includes(word));
  const typed = [];
  const own = [];
  const others = [];
  prepared.texts.forEach((text, number) => {
    if (prepared.graph.nodes[number].type.toLowerCase() === question.trim().toLowerCase()) typed.push(number);
    else if (has(text.own)) own.push(number);
    else if (has(`${text.own} ${text.all}`)) others.push(number);
  });
  return [...typed, ...own, ...others];
}

/** Connects the search field with its list of results. */
export function watchSearch(field, list, current, go) {
  let chosen = -1;
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (index) => {
    const items = [...list.querySelectorAll("[role=option]")];
    chosen = Math.max(0, Math.min(items.length - 1, index));
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
    if (items[chosen]) {
      items[chosen].scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", items[chosen].id);
    }
  };
  const open = () => {
    const prepared = current();
    const found = prepared ? searchNodes(prepared, field.value) : [];
    const items = found.slice(0, MOST_RESULTS).map((number, place) => {
      const node = prepared.graph.nodes[number];
      const name = node.source || node.name;
      return make(
        "li",
        { role: "option", id: `result-${place}`, "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), go(number), close()) },
        make("b", {}, node.type),
        " ",
        make("span", { class: "soft" }, name.length > 160 ? `${name.slice(0, 160)}…` : name),
      );
    });
    const more = found.length - items.length;
    const last = !found.length ? "nothing found" : more > 0 ? `and ${more} more` : "";
    if (last) items.push(make("li", { class: "soft", role: "presentation" }, last));
    list.replaceChildren(...items);
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
    list.found = found;
    if (found.length) choose(0);
  };
  field.addEventListener("input", open);
  field.addEventListener("focus", () => field.value && open());
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter" && list.found?.length) {
      go(list.found[Math.max(0, chosen)]);
      close();
    } else if (event.key === "Escape") {
      close();
      field.blur();
    } else return;
    event.preventDefault();
  });
}
