// The graphs of the page: nodes and links as force-graph wants them, with exact counts.
// Counts are BigInt, since they may pass 2^53; only colours and widths use floating point.

function readModels(data) {
  return data.graphs.map((graph, index) => readModel(graph, index, data));
}

function readModel(graph, index, data) {
  const altered = new Set(graph.altered);
  const nodes = graph.x.map((x, id) => ({
    id, x, y: graph.y[id], fx: x, fy: graph.y[id],
    name: graph.names[id],
    altered: altered.has(id), // not the name in the graph, but one that is safe to show
    symbol: graph.symbols ? graph.symbols[id] : null,
    counts: graph.phi.map((column) => BigInt(column[id] ?? 0)), // an empty column stands for zeros
    degree: graph.degree[id],
    links: [],
  }));
  const links = graph.sources.map((source, id) => ({
    id, graph: index,
    source: nodes[source],
    target: nodes[graph.targets[id]],
    counts: graph.counts.map((column) => BigInt(column[id] ?? 0)),
    inner: graph.detours[id],
    bond: graph.bonds ? graph.bonds[id] : 1,
  }));
  const pairs = new Set(links.map((link) => `${link.source.id} ${link.target.id}`));
  for (const link of links) {
    // Opposite arcs are drawn as two curves.
    link.bend = graph.directed && pairs.has(`${link.target.id} ${link.source.id}`) ? 0.15 : 0;
    link.source.links.push(link);
    link.target.links.push(link);
  }
  const radius = graph.symbols ? 7 : 4;
  const edge = 2 * radius + 4;
  const box = {
    left: Math.min(...graph.x) - edge, right: Math.max(...graph.x) + edge,
    top: Math.min(...graph.y) - edge, bottom: Math.max(...graph.y) + edge,
  };
  return { ...graph, index, k: data.k, nodes, links: [...links], byId: links, radius, box };
}

// The number of detours of at most k edges of a link, or around a node.
function total(item, k) {
  let sum = 0n;
  for (let length = 2; length <= k; length += 1) sum += item.counts[length - 2];
  return sum;
}

// The listed detours of at most k edges, each an array of the indices of its nodes.
function detoursOf(link, k) {
  if (link.inner === null) return null;
  return link.inner.filter((inner) => inner.length < k).map((inner) => [link.source.id, ...inner, link.target.id]);
}

function formatted(count) {
  return count.toLocaleString("en-US");
}

function plural(count, noun) {
  return `${formatted(count)} ${noun}${count === 1 || count === 1n ? "" : "s"}`;
}

function shortened(name, letters) {
  const characters = [...name];
  return characters.length > letters ? characters.slice(0, letters - 1).join("") + "…" : name;
}
