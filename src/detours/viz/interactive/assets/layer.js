// The drawing of a large graph, cached as an image: while it is dragged or zoomed, only the image moves.

const LARGE = 1200; // links or nodes
const MARGIN = 0.3; // of the view, drawn beyond each of its sides
const RENDER_INTERVAL = 300; // milliseconds between two images while the view moves out of one

class Layer {
  constructor(panel) {
    this.panel = panel;
    this.canvas = document.createElement("canvas");
    this.region = null;
    this.moving = null; // a node that is dragged; it and its links are not part of the image
    this.rendered = 0;
    const { graph } = panel;
    graph
      .linkCanvasObjectMode(() => "replace").linkCanvasObject(() => {})
      .nodeCanvasObjectMode(() => "replace").nodeCanvasObject(() => {})
      .onRenderFramePre((context) => this.draw(context))
      .onZoom(() => graph.enablePointerInteraction(false).linkDirectionalArrowLength(0)) // no hovering meanwhile
      .onZoomEnd(() => { graph.enablePointerInteraction(true).linkDirectionalArrowLength(panel.model.directed ? 4 : 0); this.invalidate(); })
      .onNodeDrag((node) => { if (this.moving !== node) { this.moving = node; this.invalidate(); } })
      .onNodeDragEnd(() => { this.moving = null; this.invalidate(); });
  }

  // Invalidate the image.
  invalidate() {
    this.region = null;
    this.panel.redraw();
  }

  draw(context) {
    const visible = this.visible(0);
    const outside = this.region && ["left", "top"].some((side) => this.region[side] > visible[side])
      || this.region && ["right", "bottom"].some((side) => this.region[side] < visible[side]);
    if (!this.region || (outside && performance.now() - this.rendered > RENDER_INTERVAL)) this.render();
    const { left, top, right, bottom } = this.region;
    context.drawImage(this.canvas, left, top, right - left, bottom - top);
    if (this.moving) this.paint(context, this.moving.links, [this.moving], this.panel.graph.zoom());
  }

  // The part of the plane in view, with a margin, clipped to the drawing.
  visible(margin) {
    const { graph, width, height, model } = this.panel;
    const [low, high] = [graph.screen2GraphCoords(-margin * width, -margin * height), graph.screen2GraphCoords((1 + margin) * width, (1 + margin) * height)];
    const { box } = model;
    return {
      left: Math.max(low.x, box.left), top: Math.max(low.y, box.top),
      right: Math.max(Math.min(high.x, box.right), low.x + 1, box.left + 1), bottom: Math.max(Math.min(high.y, box.bottom), low.y + 1, box.top + 1),
    };
  }

  render() {
    const { graph, model } = this.panel;
    const zoom = graph.zoom();
    const scale = zoom * window.devicePixelRatio;
    this.region = this.visible(MARGIN);
    this.canvas.width = Math.max(1, Math.ceil((this.region.right - this.region.left) * scale));
    this.canvas.height = Math.max(1, Math.ceil((this.region.bottom - this.region.top) * scale));
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, -this.region.left * scale, -this.region.top * scale);
    const { moving } = this;
    const rest = moving ? model.links.filter((link) => link.source !== moving && link.target !== moving) : model.links;
    this.paint(context, rest, moving ? model.nodes.filter((node) => node !== moving) : model.nodes, zoom);
    this.rendered = performance.now();
  }

  // Links are sorted by colour, so each colour is one stroke.
  paint(context, links, nodes, zoom) {
    let at = 0;
    while (at < links.length) {
      const { colour, width } = links[at];
      context.beginPath();
      for (; at < links.length && links[at].colour === colour; at += 1) {
        const { source, target, bend } = links[at];
        context.moveTo(source.x, source.y);
        const [dx, dy] = [target.x - source.x, target.y - source.y];
        if (bend) context.quadraticCurveTo(source.x + dx / 2 + dy * bend, source.y + dy / 2 - dx * bend, target.x, target.y);
        else context.lineTo(target.x, target.y);
      }
      context.strokeStyle = colour;
      context.lineWidth = width / zoom;
      context.stroke();
    }
    for (const node of nodes) {
      context.beginPath();
      context.arc(node.x, node.y, Math.max(node.radius, 1.5 / zoom), 0, 2 * Math.PI);
      context.fillStyle = node.colour;
      context.fill();
    }
  }
}
