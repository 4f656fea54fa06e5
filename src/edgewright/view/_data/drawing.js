// Draws a picture on a canvas: only what is in view, and text only where it can be read.
import { findKind, labelBox } from "./graph.js";

const READABLE = 0.42;
const SKETCHED = 0.16;
const RADIUS = 7;

/** The colours of the page as the style sheet has them. */
export function readColours(element) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  const names = ["paper", "box", "ink", "soft", "line", "frame", "frame-edge", "accent", "worst", "good"];
  const kinds = ["io", "conv", "norm", "pool", "activation", "quant", "move", "other"];
  return {
    ...Object.fromEntries(names.map((name) => [name, colour(`--${name}`)])),
    kinds: Object.fromEntries(kinds.map((kind) => [kind, colour(`--kind-${kind}`)])),
    font: style.fontFamily,
  };
}

/** Prepares a picture for fast drawing: texts, families, bounds of lines, a grid for finding boxes. */
export function prepareScene(prepared, picture) {
  const boxes = picture.boxes.map((spot) => {
    const lines = labelBox(prepared, spot.box);
    const kind = spot.box < 0 ? "group" : findKind(prepared.graph.nodes[spot.box].type);
    return { ...spot, lines, kind };
  });
  const lines = picture.lines.map((line) => ({ ...line, path: makePath(line.points), bounds: boundPoints(line.points) }));
  const places = new Map([...boxes, ...picture.frames].map((spot) => [spot.box, spot]));
  return { boxes, frames: picture.frames, lines, places, width: picture.width, height: picture.height, fitted: new Map() };
}

function boundPoints(points) {
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function makePath(points) {
  const path = new Path2D();
  if (!points.length) return path;
  path.moveTo(points[0][0], points[0][1]);
  for (let index = 1; index < points.length - 1; index += 1) {
    const [x, y] = points[index];
    const [nextX, nextY] = points[index + 1];
    const isLast = index === points.length - 2;
    path.quadraticCurveTo(x, y, isLast ? nextX : (x + nextX) / 2, isLast ? nextY : (y + nextY) / 2);
  }
  if (points.length === 2) path.lineTo(points[1][0], points[1][1]);
  return path;
}

/** Leaves nothing but the paper. */
export function clearPicture(context, size, colours) {
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, size.width, size.height);
}

/** Draws the part of the scene that is in view; look has the selection and the rings around boxes. */
export function drawScene(context, scene, view, size, colours, look) {
  const ratio = size.ratio;
  clearPicture(context, size, colours);
  context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  const shown = {
    left: -view.x / view.k,
    top: -view.y / view.k,
    right: (size.width - view.x) / view.k,
    bottom: (size.height - view.y) / view.k,
  };
  const isIn = (x, y, right, bottom) => x < shown.right && right > shown.left && y < shown.bottom && bottom > shown.top;
  for (const frame of scene.frames) {
    if (isIn(frame.x, frame.y, frame.x + frame.w, frame.y + frame.h)) drawFrame(context, frame, view, colours, look, scene);
  }
  drawLines(context, scene, view, colours, look, isIn);
  for (const box of scene.boxes) {
    if (isIn(box.x - 4, box.y - 4, box.x + box.w + 4, box.y + box.h + 4)) drawBox(context, box, view, colours, look, scene);
  }
}

function drawFrame(context, frame, view, colours, look, scene) {
  context.fillStyle = colours.frame;
  context.strokeStyle = look.selected === frame.box ? colours.accent : colours["frame-edge"];
  context.lineWidth = look.selected === frame.box ? 2.5 : 1;
  round(context, frame.x, frame.y, frame.w, frame.h, 10);
  context.fill();
  context.stroke();
  if (view.k < SKETCHED) return;
  context.fillStyle = colours.soft;
  context.font = `600 12px ${colours.font}`;
  context.textBaseline = "middle";
  const name = look.nameGroup(frame.box);
  context.fillText(fit(context, scene, `▾ ${name}`, frame.w - 24, 3), frame.x + 12, frame.y + 16);
}

function drawLines(context, scene, view, colours, look, isIn) {
  context.lineCap = "round";
  for (const line of scene.lines) {
    const [left, top, right, bottom] = line.bounds;
    if (!isIn(left - 2, top - 2, right + 2, bottom + 2)) continue;
    const isLit = look.selected !== null && (look.selected === line.from || look.selected === line.to);
    context.strokeStyle = isLit ? colours.accent : colours.line;
    context.lineWidth = isLit ? 2.4 : Math.min(3, 1 + 0.35 * (line.count - 1));
    context.stroke(line.path);
    if (view.k > 0.3) drawHead(context, line.points, context.strokeStyle);
  }
}

function drawHead(context, points, colour) {
  if (points.length < 2) return;
  const [x, y] = points[points.length - 1];
  const [fromX, fromY] = points[points.length - 2];
  const turn = Math.atan2(y - fromY, x - fromX);
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 8 * Math.cos(turn - 0.4), y - 8 * Math.sin(turn - 0.4));
  context.lineTo(x - 8 * Math.cos(turn + 0.4), y - 8 * Math.sin(turn + 0.4));
  context.fill();
}

function drawBox(context, box, view, colours, look, scene) {
  const { x, y, w, h } = box;
  const rings = look.rings ? look.rings(box.box) : [];
  const isSelected = look.selected === box.box;
  context.globalAlpha = look.isDim && look.isDim(box.box) ? 0.55 : 1;
  if (box.kind === "group") {
    context.fillStyle = colours.frame;
    context.strokeStyle = colours["frame-edge"];
    context.lineWidth = 1;
    round(context, x + 5, y - 5, w - 1, h, RADIUS);
    context.fill();
    context.stroke();
  }
  rings.forEach((colour, index) => {
    // Beside the border of what is selected, not under it.
    const gap = (isSelected ? 4.5 : 2.5) + 4 * index;
    context.strokeStyle = colour;
    context.lineWidth = 3.5;
    round(context, x - gap, y - gap, w + 2 * gap, h + 2 * gap, RADIUS + gap);
    context.stroke();
  });
  context.fillStyle = colours.box;
  context.strokeStyle = isSelected ? colours.accent : colours["frame-edge"];
  context.lineWidth = isSelected ? 3 : 1;
  round(context, x, y, w, h, RADIUS);
  context.fill();
  context.stroke();
  context.fillStyle = box.kind === "group" ? colours.soft : colours.kinds[box.kind];
  if (view.k >= SKETCHED) {
    round(context, x, y, 6, h, [RADIUS, 0, 0, RADIUS]);
    context.fill();
  } else {
    round(context, x, y, w, h, RADIUS);
    context.fill();
  }
  if (view.k >= READABLE) drawTexts(context, box, colours, look, scene);
  else if (view.k >= SKETCHED) drawTitle(context, box, colours, scene);
  context.globalAlpha = 1;
}

function drawTexts(context, box, colours, look, scene) {
  const { x, y, w } = box;
  const value = look.describe ? look.describe(box.box) : "";
  const lines = [box.lines[0], box.lines[1], value || box.lines[2]];
  const title = box.kind === "group" ? `▸ ${lines[0]}` : lines[0];
  context.textBaseline = "middle";
  context.fillStyle = colours.ink;
  context.font = `600 13px ${colours.font}`;
  context.fillText(fit(context, scene, title, w - 22, 0), x + 14, y + 15);
  context.fillStyle = colours.soft;
  context.font = `11px ${colours.font}`;
  context.fillText(fit(context, scene, lines[1], w - 22, 1), x + 14, y + 32);
  if (value) context.fillStyle = colours.ink;
  context.fillText(fit(context, scene, lines[2], w - 22, 1), x + 14, y + 46);
}

function drawTitle(context, box, colours, scene) {
  context.textBaseline = "middle";
  context.fillStyle = colours.ink;
  context.font = `600 22px ${colours.font}`;
  context.fillText(fit(context, scene, box.lines[0], box.w - 20, 2), box.x + 14, box.y + box.h / 2);
}

/** The text, with its middle left out where it is too long for the width; remembered, measuring is slow. */
function fit(context, scene, text, width, style) {
  const key = `${style}|${Math.round(width)}|${text}`;
  const known = scene.fitted.get(key);
  if (known !== undefined) return known;
  let fitting = text.length > 120 ? `${text.slice(0, 60)}…${text.slice(-50)}` : text;
  while (fitting.length > 3 && context.measureText(fitting).width > width) {
    const half = Math.max(1, Math.floor((fitting.length - 3) / 2));
    fitting = `${fitting.slice(0, half)}…${fitting.slice(-half)}`;
  }
  scene.fitted.set(key, fitting);
  return fitting;
}

function round(context, x, y, w, h, radius) {
  context.beginPath();
  context.roundRect(x, y, w, h, radius);
}

/** The box at a point of the scene: a node or folded group first, then the innermost open group's title. */
export function findBox(scene, x, y) {
  for (const box of scene.boxes) {
    if (x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h) return box.box;
  }
  for (let index = scene.frames.length - 1; index >= 0; index -= 1) {
    const frame = scene.frames[index];
    if (x >= frame.x && x <= frame.x + frame.w && y >= frame.y && y <= frame.y + 30) return frame.box;
  }
  return null;
}
