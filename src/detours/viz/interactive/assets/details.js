// Details of the selection: counts by length and, for an edge, its detours, drawn one after another.

const STEP = 1100; // milliseconds for which a detour is shown

class Details {
  constructor(view, onPath) {
    Object.assign(this, { view, onPath });
    this.list = document.getElementById("detours");
    this.timer = null;
    this.paths = [];
    this.at = -1;
    document.getElementById("previous").addEventListener("click", () => this.step(-1));
    document.getElementById("next").addEventListener("click", () => this.step(1));
    document.getElementById("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
  }

  show() {
    this.pause();
    const { chosen, k } = this.view;
    const facts = document.getElementById("facts");
    this.paths = [];
    this.at = -1;
    this.list.replaceChildren();
    document.getElementById("steps").hidden = true;
    const unlisted = document.getElementById("unlisted");
    unlisted.hidden = true;
    this.onPath(null);
    if (!chosen) {
      facts.replaceChildren(paragraph("Click an edge, or choose one in the table, to list and draw its detours."));
      return;
    }
    facts.replaceChildren(...describe(chosen, k));
    if (chosen.kind !== "link") return;
    const found = detoursOf(chosen.item, k);
    this.paths = found ?? [];
    this.list.replaceChildren(...this.paths.map((path, at) => this.makeItem(path, at)));
    const number = total(chosen.item, k);
    unlisted.hidden = number === BigInt(this.paths.length);
    unlisted.textContent = found === null
      ? "The detours of this edge are not in the page, which lists those of the busiest edges."
      : `The first ${formatted(this.paths.length)} of ${formatted(number)}, shortest first.`;
    const command = commandOf(chosen, k);
    if (command) unlisted.textContent += ` All of them: ${command}`;
    document.getElementById("steps").hidden = this.paths.length === 0;
    if (this.paths.length) {
      this.choose(0);
      if (!this.view.calm) this.play();
    }
  }

  makeItem(path, at) {
    const item = document.createElement("li");
    const button = item.appendChild(document.createElement("button"));
    button.type = "button";
    const { model } = this.view.chosen;
    const between = model.directed ? " → " : " – ";
    path.forEach((id, i) => button.append(...(i ? [between] : []), isolated(shortened(model.names[id], 40))));
    button.addEventListener("click", () => { this.pause(); this.choose(at); });
    return item;
  }

  choose(at) {
    this.at = at;
    [...this.list.children].forEach((item, i) => item.firstChild.setAttribute("aria-current", String(i === at)));
    document.getElementById("step").textContent = `${at + 1} of ${this.paths.length}`;
    this.onPath(this.paths[at]);
  }

  step(by) {
    this.pause();
    this.choose((this.at + by + this.paths.length) % this.paths.length);
  }

  play() {
    this.timer = setInterval(() => this.choose((this.at + 1) % this.paths.length), STEP);
    document.getElementById("play").textContent = "Pause";
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    document.getElementById("play").textContent = "Play";
  }
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

// The command that lists all detours of an edge, for a POSIX shell; null if a name is not shown as it is in the graph.
function commandOf({ model, item }, k) {
  const ends = [item.source, item.target];
  if (ends.some((node) => node.altered)) return null;
  const words = ["detours paths FILE", `-k ${k}`, model.directed ? "--directed" : "--undirected"];
  if (model.chordless) words.push("--chordless");
  if (ends.some((node) => node.name.startsWith("-"))) words.push("--");
  return [...words, ...ends.map((node) => `'${node.name.replaceAll("'", "'\\''")}'`)].join(" ");
}

// A heading and a list of facts about an edge or a node.
function describe({ model, item, kind }, k) {
  const heading = document.createElement("h2");
  const facts = document.createElement("dl");
  const add = (term, value) => {
    facts.appendChild(document.createElement("dt")).textContent = term;
    facts.appendChild(document.createElement("dd")).textContent = value;
  };
  if (kind === "link") {
    heading.append(model.directed ? "arc " : "edge ", isolated(item.source.name), model.directed ? " → " : " – ", isolated(item.target.name));
    add(`${k}-DeN`, plural(total(item, k), "detour"));
  } else {
    heading.append("node ", isolated(item.name));
    add(model.directed ? "outgoing arcs" : "degree", formatted(item.degree));
    add(`Φ at k = ${k}`, formatted(total(item, k)));
  }
  for (let length = 2; length <= k; length += 1) {
    if (kind === "link") add(`${length} edges`, formatted(item.counts[length - 2]));
    else if (model.directed) add(`over ${length} arcs`, formatted(item.counts[length - 2]));
    else add(`${length + 1}-cycles`, formatted(item.counts[length - 2] / 2n));
  }
  return [heading, facts];
}

// The same for the tooltip, as lines of text.
function tooltipText(model, item, kind, view) {
  const lines = [];
  if (kind === "link") {
    lines.push(`${shortened(item.source.name, 60)} ${model.directed ? "→" : "–"} ${shortened(item.target.name, 60)}`);
    lines.push(`${view.k}-DeN ${formatted(total(item, view.k))}`);
    for (let length = 2; length <= view.k; length += 1) lines.push(`${length} edges: ${formatted(item.counts[length - 2])}`);
  } else {
    lines.push(shortened(item.name, 60), `degree ${formatted(item.degree)}`, `Φ ${formatted(total(item, view.k))}`);
    if (view.colouring !== "phi") lines.push(`colour ${model.colours[view.colouring][view.round][item.id]} of round ${view.round}`);
  }
  return lines.join("\n");
}
