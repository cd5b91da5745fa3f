// The view as a file: SVG made from the same data, or PNG from the canvases.

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function exportPng(panels, view) {
  const ratio = window.devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = panels.reduce((sum, panel) => sum + panel.width, 0) * ratio;
  canvas.height = Math.max(...panels.map((panel) => panel.height)) * ratio;
  const context = canvas.getContext("2d");
  context.fillStyle = THEMES[view.theme].paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  let left = 0;
  for (const panel of panels) {
    context.drawImage(panel.drawing.querySelector("canvas"), left, 0);
    left += panel.width * ratio;
  }
  canvas.toBlob((blob) => save("detours.png", blob));
}

function exportSvg(panels, view) {
  save("detours.svg", new Blob([svgText(panels, view)], { type: "image/svg+xml" }));
}

function svgText(panels, view) {
  const theme = THEMES[view.theme];
  const [width, height] = [panels.reduce((sum, panel) => sum + panel.width, 0), Math.max(...panels.map((panel) => panel.height))];
  const root = svgElement(null, "svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  svgElement(root, "rect", { width, height, fill: theme.paper });
  let left = 0;
  for (const panel of panels) {
    const inner = svgElement(root, "svg", { x: left, y: 0, width: panel.width, height: panel.height });
    drawSvg(inner, panel, theme);
    left += panel.width;
  }
  return new XMLSerializer().serializeToString(root);
}

function drawSvg(place, panel, theme) {
  const { model, graph, view } = panel;
  const zoom = graph.zoom();
  const at = (node) => graph.graph2ScreenCoords(node.x, node.y);
  const line = (ids, attributes) => svgElement(place, "polyline", {
    points: ids.filter((id) => id < model.nodes.length).map((id) => { const p = at(model.nodes[id]); return `${p.x.toFixed(1)},${p.y.toFixed(1)}`; }).join(" "),
    fill: "none", "stroke-linejoin": "round", ...attributes,
  });
  for (const link of model.links) line([link.source.id, link.target.id], { stroke: link.stroke, "stroke-opacity": link.opacity.toFixed(2), "stroke-width": link.width.toFixed(2) });
  if (view.path && view.chosen.model === model) line(view.path, { stroke: theme.path, "stroke-width": 4 });
  for (const node of model.nodes) {
    const { x, y } = at(node);
    const mark = node.told ? { stroke: theme.ink, "stroke-width": 2 } : {};
    svgElement(place, "circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: (node.radius * zoom).toFixed(1), fill: node.colour, ...mark });
    const text = { x: x.toFixed(1), "text-anchor": "middle", "font-family": "system-ui, sans-serif", direction: "ltr" };
    if (model.symbols) {
      const size = model.radius * 1.3 * zoom;
      svgElement(place, "text", { ...text, y: (y + size * 0.35).toFixed(1), "font-size": size.toFixed(1), fill: readable(node.colour) }).textContent = node.symbol;
    } else if (model.nodes.length <= 70) {
      svgElement(place, "text", { ...text, y: (y + node.radius * zoom + 12).toFixed(1), "font-size": 11, fill: theme.ink }).textContent = shortened(node.name, 24);
    }
  }
}

function svgElement(parent, name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.appendChild(element);
  return element;
}
