// The page: reads the data, creates the components, and passes on hovering, selection and settings.

const data = JSON.parse(document.getElementById("data").textContent);
const models = readModels(data);
const byId = (id) => document.getElementById(id);
const darkWanted = matchMedia("(prefers-color-scheme: dark)");
const calmWanted = matchMedia("(prefers-reduced-motion: reduce)");
const view = {
  k: data.k, scale: data.scale, colouring: "phi", round: 0, theme: darkWanted.matches ? "dark" : "light",
  calm: calmWanted.matches, hovered: null, chosen: null, path: null, alike: null,
};
let pointer = { x: 0, y: 0 };

const events = {
  hover(model, item, kind) {
    view.hovered = item ? { model, item, kind } : null;
    view.alike = kind === "node" && item && view.colouring !== "phi" ? alike(model, item) : null;
    const tooltip = byId("tooltip");
    tooltip.hidden = !item || document.activeElement?.tagName === "TR";
    if (item) tooltip.textContent = tooltipText(model, item, kind, view);
    placeTooltip();
    redraw();
  },
  select(model, item, kind) {
    view.chosen = item ? { model, item, kind } : null;
    details.show();
    table.mark();
    redraw();
  },
};

// A test for nodes, in any graph, with the same colour of the refinement.
function alike(model, node) {
  const colours = (one) => one.colours[view.colouring][view.round];
  const wanted = colours(model)[node.id];
  return (other, candidate) => colours(other)[candidate.id] === wanted;
}

const panels = models.map((model) => new Panel(model, byId("panels"), view, events));
const details = new Details(view, (path) => { view.path = path; redraw(); });
const table = new EdgeTable(models, view, events);

function redraw() {
  for (const panel of panels) panel.redraw();
}

// The smallest and the largest number of detours of the edges, or around the nodes.
function rangeOf(items) {
  const counts = items.map((item) => total(item, view.k));
  return {
    least: counts.reduce((least, own) => (own < least ? own : least), counts[0] ?? 0n),
    most: counts.reduce((most, own) => (own > most ? own : most), 0n),
  };
}

function recolour() {
  const edges = rangeOf(models.flatMap((model) => model.links));
  const nodes = rangeOf(models.flatMap((model) => model.nodes));
  const palette = view.colouring === "phi" ? null : paletteOf(models, view.colouring, view.round);
  for (const panel of panels) {
    panel.recolour(scaleOf(edges, view.scale), scaleOf(nodes, view.scale), palette);
    const told = panel.model.nodes.filter((node) => node.told).length;
    panel.telling.textContent = told ? ` · ${plural(told, "node")} ringed` : "";
  }
  const theme = THEMES[view.theme];
  byId("edge-legend").textContent = `edges: ${view.k}-DeN${view.scale === "log" ? ", log scale" : ""}`;
  drawRamp(byId("edge-ramp"), theme.edges);
  writeTicks(byId("edge-ticks"), edges);
  byId("node-legend").textContent = palette
    ? `nodes: ${plural(palette.size, "colour")} in round ${view.round}${panels.length > 1 ? "; ringed: more or fewer in the other graph" : ""}` : `nodes: Φ${view.scale === "log" ? ", log scale" : ""}`;
  byId("node-ramp").hidden = byId("node-ticks").hidden = palette !== null;
  drawRamp(byId("node-ramp"), theme.nodes);
  writeTicks(byId("node-ticks"), nodes);
}

function writeTicks(place, range) {
  place.replaceChildren(...ticksOf(range, view.scale).map((value) => {
    const tick = document.createElement("span");
    tick.textContent = value < 100000n ? formatted(value) : Number(value).toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 3 });
    tick.title = formatted(value);
    return tick;
  }));
}

function setK(k) {
  view.k = k;
  byId("k-value").textContent = String(k);
  recolour();
  table.refresh();
  details.show();
}

function setColouring(colouring, round) {
  const rounds = colouring === "phi" ? 0 : models[0].colours[colouring].length - 1;
  Object.assign(view, { colouring, round: Math.min(round, rounds), alike: null });
  byId("round-label").hidden = colouring === "phi";
  byId("round").max = String(rounds);
  byId("round").value = String(view.round);
  byId("round-value").textContent = `${view.round} of ${rounds}`;
  recolour();
}

function setTheme(theme) {
  view.theme = theme;
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
  recolour();
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return;
  const tests = [(name) => name === wanted, (name) => name.startsWith(wanted), (name) => name.includes(wanted)];
  for (const test of tests) {
    for (const panel of panels) {
      const node = panel.model.nodes.find((one) => test(one.name.toLowerCase()));
      if (!node) continue;
      panel.centre(node);
      events.select(panel.model, node, "node");
      byId("status").textContent = `Found node ${node.name}.`;
      return;
    }
  }
  byId("status").textContent = `No node is named ${text}.`;
}

function placeTooltip() {
  const tooltip = byId("tooltip");
  if (tooltip.hidden) return;
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  tooltip.style.left = `${Math.max(4, Math.min(pointer.x + 14, innerWidth - width - 6))}px`;
  tooltip.style.top = `${Math.max(4, Math.min(pointer.y + 14, innerHeight - height - 6))}px`;
}

function start() {
  byId("title").textContent = data.title;
  byId("subtitle").textContent = data.subtitle;
  for (const id of ["note", "verdict"]) {
    byId(id).hidden = !data[id];
    byId(id).textContent = data[id] ?? "";
  }
  byId("k").max = String(data.k);
  byId("k").value = String(data.k);
  byId("scale").value = view.scale;
  const names = [...new Set(models.flatMap((model) => model.nodes.map((node) => node.name)))].slice(0, 1000);
  byId("names").replaceChildren(...names.map((name) => { const option = document.createElement("option"); option.value = name; return option; }));
  for (const option of [...byId("colouring").options]) {
    if (option.value !== "phi" && !models[0].colours[option.value]) option.remove();
    const kind = data.graphs[0].chordless ? "chordless " : "";
    if (option.value === "den") option.textContent = `refinement from ${kind}${data.k}-DeN`;
  }

  byId("k").addEventListener("input", (event) => setK(Number(event.target.value)));
  byId("scale").addEventListener("change", (event) => { view.scale = event.target.value; recolour(); });
  byId("colouring").addEventListener("change", (event) => setColouring(event.target.value, 0));
  byId("round").addEventListener("input", (event) => setColouring(view.colouring, Number(event.target.value)));
  byId("search").addEventListener("change", (event) => find(event.target.value));
  byId("controls").addEventListener("submit", (event) => { event.preventDefault(); find(byId("search").value); });
  byId("fit").addEventListener("click", () => panels.forEach((panel) => panel.fit()));
  byId("svg").addEventListener("click", () => exportSvg(panels, view));
  byId("png").addEventListener("click", () => exportPng(panels, view));
  byId("theme").addEventListener("click", () => setTheme(view.theme === "dark" ? "light" : "dark"));
  byId("show-licences").addEventListener("click", () => { byId("licences").hidden = !byId("licences").hidden; });
  darkWanted.addEventListener("change", () => setTheme(darkWanted.matches ? "dark" : "light"));
  calmWanted.addEventListener("change", () => { view.calm = calmWanted.matches; if (view.calm) details.pause(); });
  document.addEventListener("pointermove", (event) => { pointer = { x: event.clientX, y: event.clientY }; placeTooltip(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") events.select(null); });

  setTheme(view.theme);
  setK(data.k);
  if (data.chosen) {
    const { kind, at } = data.chosen;
    events.select(models[0], (kind === "link" ? models[0].byId : models[0].nodes)[at], kind);
  }
}

start();
window.detoursPanels = panels; // for the console, and for tests
