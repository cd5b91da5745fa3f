// One drawing: force-graph with fixed positions, and an overlay.

const BOND_WIDTHS = new Map([[1, 3], [1.5, 7], [2, 8], [3, 11]]);

class Panel {
  constructor(model, place, view, events) {
    Object.assign(this, { model, view });
    const figure = document.createElement("figure");
    figure.className = "panel";
    const caption = figure.appendChild(document.createElement("figcaption"));
    caption.appendChild(document.createElement("strong")).appendChild(isolated(model.name));
    caption.append(`: ${plural(model.nodes_in_all, "node")}, ${plural(model.edges_in_all, model.directed ? "arc" : "edge")}`);
    this.telling = caption.appendChild(document.createElement("span"));
    this.drawing = figure.appendChild(document.createElement("div"));
    this.drawing.className = "drawing";
    place.appendChild(figure);
    this.graph = this.makeGraph(events);
    this.layer = Math.max(model.links.length, model.nodes.length) > LARGE && !model.bonds ? new Layer(this) : null;
    new ResizeObserver(() => this.resize()).observe(this.drawing);
    this.resize();
    this.fit();
  }

  makeGraph(events) {
    const { model } = this;
    const graph = new ForceGraph(this.drawing)
      .width(this.drawing.clientWidth).height(this.drawing.clientHeight)
      .cooldownTicks(0)
      .nodeLabel(null).linkLabel(null) // force-graph would write them as HTML
      .nodeRelSize(1).nodeVal((node) => node.radius ** 2).nodeColor((node) => node.colour)
      .linkColor((link) => link.colour).linkWidth((link) => link.width).linkCurvature((link) => link.bend)
      .linkHoverPrecision(6)
      .onNodeHover((node) => events.hover(model, node, "node"))
      .onLinkHover((link) => events.hover(model, link, "link"))
      .onNodeClick((node) => events.select(model, node, "node"))
      .onLinkClick((link) => events.select(model, link, "link"))
      .onBackgroundClick(() => events.select(null))
      .onRenderFramePost((context, zoom) => this.drawAbove(context, zoom));
    for (const force of ["link", "charge", "center"]) graph.d3Force(force, null);
    if (model.directed) graph.linkDirectionalArrowLength(4).linkDirectionalArrowRelPos(1);
    if (model.bonds) {
      graph.linkCanvasObjectMode(() => "after").linkCanvasObject((link, context, zoom) => this.drawBond(link, context, zoom));
    }
    graph.graphData({ nodes: model.nodes, links: model.links });
    const canvas = this.drawing.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Drawing of ${model.name}; the table of edges has the same counts.`);
    return graph;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.drawing;
    if (!width || !height || (width === this.width && height === this.height)) return;
    const first = this.width === undefined;
    [this.width, this.height] = [width, height];
    this.graph.width(width).height(height);
    if (!first) this.fit();
  }

  fit() {
    this.graph.zoomToFit(0, 36);
    // A small graph would fill the screen with a few huge nodes.
    if (this.graph.zoom() > 3.5) this.graph.zoom(3.5);
  }

  centre(node) {
    this.graph.centerAt(node.x, node.y, this.view.calm ? 0 : 300);
    if (this.graph.zoom() < 1.2) this.graph.zoom(1.2);
  }

  // Set colours, widths and radii for the current settings; links with most detours are drawn last.
  recolour(edgeScale, nodeScale, palette) {
    const { view, model } = this;
    const theme = THEMES[view.theme];
    // In a dense graph, thin and transparent lines keep the busy ones visible.
    const crowd = Math.min(1, Math.max(0.25, (6 * model.nodes.length) / Math.max(model.links.length, 1)));
    for (const link of model.links) {
      link.den = total(link, view.k);
      const level = Math.round(edgeScale(link.den) * LEVELS) / LEVELS;
      link.level = level;
      link.stroke = mixed(theme.edges, level);
      link.opacity = 1 - 0.85 * (1 - crowd) * (1 - level);
      link.colour = link.stroke + Math.round(255 * link.opacity).toString(16).padStart(2, "0");
      link.width = model.bonds ? (BOND_WIDTHS.get(link.bond) ?? 3) + 2 * level : (0.8 + 5.2 * level) * (0.3 + 0.7 * crowd);
    }
    model.links.sort((a, b) => a.level - b.level);
    for (const node of model.nodes) {
      node.phi = total(node, view.k);
      const share = nodeScale(node.phi);
      const kind = palette ? model.colours[view.colouring][view.round][node.id] : null;
      node.colour = palette ? palette.get(kind) : mixed(theme.nodes, share);
      node.radius = model.radius * (palette || model.symbols ? 1 : 0.8 + 0.7 * share);
      node.told = palette !== null && model.telling !== null && model.telling[view.colouring][view.round].includes(kind);
    }
    if (this.layer) this.layer.invalidate();
    this.redraw();
  }

  redraw() {
    this.graph.nodeColor(this.graph.nodeColor()); // any setter requests a new frame
  }

  drawBond(link, context, zoom) {
    // The middle of a double or triple bond is left open.
    if (link.bond < 1.5) return;
    const { source, target } = link;
    const length = Math.hypot(target.x - source.x, target.y - source.y) || 1;
    const across = [-(target.y - source.y) / length, (target.x - source.x) / length];
    const width = link.width / zoom;
    context.strokeStyle = THEMES[this.view.theme].paper;
    context.lineWidth = width / (link.bond >= 3 ? 5 : 3);
    context.setLineDash(link.bond === 1.5 ? [3, 2] : []);
    for (const shift of link.bond >= 3 ? [-width / 5, width / 5] : [0]) {
      context.beginPath();
      context.moveTo(source.x + across[0] * shift, source.y + across[1] * shift);
      context.lineTo(target.x + across[0] * shift, target.y + across[1] * shift);
      context.stroke();
    }
    context.setLineDash([]);
  }

  drawAbove(context, zoom) {
    const { view, model } = this;
    const theme = THEMES[view.theme];
    context.save();
    const pixel = 1 / zoom;
    for (const node of model.nodes) {
      if (node.told) ring(context, node, node.radius + 1.5 * pixel, theme.ink, 2 * pixel);
      if (view.alike && view.alike(model, node)) ring(context, node, node.radius + 3 * pixel, theme.path, 2 * pixel);
    }
    const { chosen, hovered } = view;
    for (const [shown, width] of [[hovered, 2], [chosen, 3]]) {
      if (!shown || shown.model !== model) continue;
      if (shown.kind === "node") ring(context, shown.item, shown.item.radius + 2 * pixel, theme.selected, width * pixel);
      else this.drawLine(context, [shown.item.source.id, shown.item.target.id], theme.selected, (shown.item.width + width) * pixel, shown.item.bend);
    }
    if (view.path && chosen && chosen.model === model) {
      this.drawLine(context, view.path, theme.path, 4 * pixel, 0);
      for (const id of view.path) if (id < model.nodes.length) ring(context, model.nodes[id], model.nodes[id].radius, theme.path, 2.5 * pixel);
    }
    this.drawNames(context, zoom, theme);
    context.restore();
    if (!document.documentElement.dataset.painted) document.documentElement.dataset.painted = String(Math.round(performance.now()));
  }

  // A line along nodes, dashed across those that are not in the drawing.
  drawLine(context, ids, colour, width, bend) {
    const { nodes } = this.model;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    let last = ids[0];
    let gap = false;
    for (const id of ids.slice(1)) {
      if (id >= nodes.length) { gap = true; continue; }
      const [a, b] = [nodes[last], nodes[id]];
      context.setLineDash(gap ? [2 * width, 2 * width] : []);
      context.beginPath();
      context.moveTo(a.x, a.y);
      if (bend) context.quadraticCurveTo((a.x + b.x) / 2 + (b.y - a.y) * bend, (a.y + b.y) / 2 - (b.x - a.x) * bend, b.x, b.y);
      else context.lineTo(b.x, b.y);
      context.stroke();
      last = id;
      gap = false;
    }
    context.setLineDash([]);
  }

  drawNames(context, zoom, theme) {
    const { model } = this;
    context.textAlign = "center";
    context.textBaseline = "middle";
    if (model.symbols) {
      context.font = `600 ${model.radius * 1.3}px system-ui, sans-serif`;
      for (const node of model.nodes) {
        context.fillStyle = readable(node.colour);
        context.fillText(node.symbol, node.x, node.y);
      }
      return;
    }
    if (model.nodes.length > 70 && zoom < 2.2) return;
    const size = 11 / zoom;
    context.font = `${size}px system-ui, sans-serif`;
    context.lineWidth = 3 / zoom;
    context.strokeStyle = theme.paper;
    context.fillStyle = theme.ink;
    const corner = this.graph.screen2GraphCoords(0, 0);
    const opposite = this.graph.screen2GraphCoords(this.width, this.height);
    for (const node of model.nodes) {
      if (node.x < corner.x || node.x > opposite.x || node.y < corner.y || node.y > opposite.y) continue;
      const below = node.y + node.radius + size * 0.75;
      context.strokeText(shortened(node.name, 24), node.x, below);
      context.fillText(shortened(node.name, 24), node.x, below);
    }
  }
}

function ring(context, node, radius, colour, width) {
  context.beginPath();
  context.arc(node.x, node.y, radius, 0, 2 * Math.PI);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

// Black or white, whichever contrasts with the colour.
function readable(colour) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}

// A name whose writing direction does not affect its surroundings.
function isolated(name) {
  const element = document.createElement("bdi");
  element.textContent = name;
  return element;
}
