// The table of edges: sortable, paged, and usable with the keyboard only.

const ROWS = 100;

class EdgeTable {
  constructor(models, view, events) {
    Object.assign(this, { models, view, events });
    this.links = models.flatMap((model) => model.byId);
    this.sort = { key: "den", down: true };
    this.first = 0;
    this.active = 0;
    this.body = document.getElementById("rows");
    this.columns = [
      ...(models.length > 1 ? [{ key: "graph", title: "graph", text: true, value: (link) => link.graph }] : []),
      { key: "source", title: models[0].directed ? "from" : "node", text: true, value: (link) => link.source },
      { key: "target", title: models[0].directed ? "to" : "node", text: true, value: (link) => link.target },
      { key: "den", title: "", value: (link) => link.den },
      ...models[0].counts.map((_, i) => ({ key: `length-${i + 2}`, title: `${i + 2}`, value: (link) => link.counts[i] })),
    ];
    this.makeHeadings();
    document.getElementById("earlier").addEventListener("click", () => this.turn(-ROWS));
    document.getElementById("later").addEventListener("click", () => this.turn(ROWS));
    this.body.addEventListener("keydown", (event) => this.press(event));
  }

  makeHeadings() {
    const row = document.getElementById("headings");
    for (const column of this.columns) {
      const cell = row.appendChild(document.createElement("th"));
      cell.scope = "col";
      cell.className = column.text ? "text" : "";
      column.cell = cell;
      column.button = cell.appendChild(document.createElement("button"));
      column.button.type = "button";
      column.button.textContent = column.title;
      if (column.key.startsWith("length-")) column.button.title = `detours of ${column.title} edges`;
      column.button.addEventListener("click", () => this.sortBy(column));
    }
  }

  sortBy(column) {
    const again = this.sort.key === column.key;
    this.sort = { key: column.key, down: again ? !this.sort.down : !column.text };
    [this.first, this.active] = [0, 0];
    this.refresh();
  }

  // Sort and draw again, after the counts or the order have changed.
  refresh() {
    const { key, down } = this.sort;
    const column = this.columns.find((one) => one.key === key);
    this.columns.find((one) => one.key === "den").button.textContent = `${this.view.k}-DeN`;
    for (const one of this.columns) one.cell.setAttribute("aria-sort", one.key !== key ? "none" : down ? "descending" : "ascending");
    const compare = column.text && key !== "graph"
      ? (a, b) => a.name.localeCompare(b.name, "en", { numeric: true })
      : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const sign = down ? -1 : 1;
    this.links.sort((a, b) => sign * compare(column.value(a), column.value(b)) || a.graph - b.graph || a.id - b.id);
    this.draw();
  }

  draw() {
    const shown = this.links.slice(this.first, this.first + ROWS);
    this.body.replaceChildren(...shown.map((link, i) => this.makeRow(link, this.first + i)));
    const last = this.first + shown.length;
    document.getElementById("range").textContent = this.links.length
      ? `${formatted(this.first + 1)}–${formatted(last)} of ${formatted(this.links.length)}` : "no edges";
    document.getElementById("earlier").disabled = this.first === 0;
    document.getElementById("later").disabled = last >= this.links.length;
  }

  makeRow(link, at) {
    const row = document.createElement("tr");
    row.tabIndex = at === this.active ? 0 : -1;
    row.dataset.at = at;
    const { chosen } = this.view;
    row.setAttribute("aria-selected", String(Boolean(chosen && chosen.item === link)));
    for (const column of this.columns) {
      const cell = row.appendChild(document.createElement("td"));
      const value = column.value(link);
      if (column.key === "graph") cell.textContent = "AB"[value];
      else if (column.text) cell.appendChild(isolated(value.name));
      else cell.textContent = formatted(value);
      if (column.text) cell.className = "text";
    }
    row.addEventListener("click", () => { this.active = at; this.choose(link); });
    row.addEventListener("focus", () => this.events.hover(this.models[link.graph], link, "link"));
    row.addEventListener("blur", () => this.events.hover(null, null, "link"));
    return row;
  }

  choose(link) {
    this.events.select(this.models[link.graph], link, "link");
  }

  turn(by) {
    this.first = Math.min(Math.max(this.first + by, 0), Math.floor(Math.max(this.links.length - 1, 0) / ROWS) * ROWS);
    this.active = this.first;
    this.draw();
  }

  press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -this.links.length, End: this.links.length };
    if (event.key in steps) this.moveTo(this.active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.links[this.active]);
    else return;
    event.preventDefault();
  }

  moveTo(at) {
    this.active = Math.min(Math.max(at, 0), this.links.length - 1);
    const first = Math.floor(this.active / ROWS) * ROWS;
    if (first !== this.first) { this.first = first; this.draw(); }
    for (const row of this.body.rows) row.tabIndex = Number(row.dataset.at) === this.active ? 0 : -1;
    this.body.rows[this.active - this.first].focus();
  }

  // Mark the row of the selection; the page of rows does not change, so that readers keep their place.
  mark() {
    const { chosen } = this.view;
    for (const row of this.body.rows) {
      row.setAttribute("aria-selected", String(Boolean(chosen && chosen.item === this.links[Number(row.dataset.at)])));
    }
  }
}
