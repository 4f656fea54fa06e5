// The outline: all groups and nodes as a tree for keyboard and screen reader; branches are made when opened.
import { labelBox } from "./graph.js";
import { make } from "./elements.js";

/** Fills the tree; go(box) is called for what is chosen. */
export function showOutline(tree, prepared, go) {
  tree.replaceChildren(...prepared.graph.groups[0].members.map((member) => makeItem(prepared, member, go, 1)));
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  tree.onkeydown = (event) => moveFocus(tree, event);
}

function makeItem(prepared, box, go, level) {
  const [title, name] = labelBox(prepared, box);
  const isGroup = box < 0;
  const text = isGroup ? `${title}, ${name}` : `${title} ${name}`;
  const row = make("span", { class: isGroup ? "row group" : "row" }, isGroup ? title : make("b", {}, title), " ", make("span", { class: "soft" }, name));
  const item = make("li", { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-label": text.slice(0, 200), "aria-expanded": isGroup ? "false" : undefined }, row);
  item.openBranch = (isOpen) => {
    if (!isGroup) return;
    item.setAttribute("aria-expanded", String(isOpen));
    if (isOpen && !item.querySelector("ul")) {
      const members = prepared.graph.groups[-box].members;
      item.append(make("ul", { role: "group" }, ...members.map((member) => makeItem(prepared, member, go, level + 1))));
    }
    const branch = item.querySelector("ul");
    if (branch) branch.hidden = !isOpen;
  };
  item.choose = () => go(box);
  row.addEventListener("click", () => {
    item.openBranch(item.getAttribute("aria-expanded") === "false");
    item.focus();
    go(box);
  });
  return item;
}

function moveFocus(tree, event) {
  const item = event.target.closest("[role=treeitem]");
  if (!item) return;
  const shown = [...tree.querySelectorAll("[role=treeitem]")].filter((one) => !one.parentElement.closest("ul[hidden]"));
  const place = shown.indexOf(item);
  const isOpen = item.getAttribute("aria-expanded");
  const targets = { ArrowDown: shown[place + 1], ArrowUp: shown[place - 1], Home: shown[0], End: shown[shown.length - 1] };
  if (event.key in targets) focusItem(tree, targets[event.key]);
  else if (event.key === "ArrowRight" && isOpen === "false") item.openBranch(true);
  else if (event.key === "ArrowLeft" && isOpen === "true") item.openBranch(false);
  else if (event.key === "ArrowLeft") focusItem(tree, item.parentElement.closest("[role=treeitem]"));
  else if (event.key === "Enter" || event.key === " ") item.choose();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function focusItem(tree, item) {
  if (!item) return;
  for (const other of tree.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}
