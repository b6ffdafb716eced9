// SPDX-License-Identifier: BSD-2-Clause
// Tables that sort by a click on a column's heading.

const ROWS_AT_FIRST = 500;
const ROWS_AT_ONCE = 1000;

/**
 * columns: {title, value(row): what sorts, text(row): what shows (value's text if left out), number: flush right,
 *           alert(row): whether it is trouble, wrap, end: an address}
 * options: id, onChoose(row), tall
 * Returns {element, choose(row), filter(words)}.
 */
function makeTable(columns, rows, options = {}) {
  const body = make("tbody");
  const more = make("button", {class: "button", click: () => show(Infinity)});
  const headings = columns.map((column, index) => make("th",
    {scope: "col", class: column.number ? "number" : null, "aria-sort": "none"},
    make("button", {type: "button", click: () => sortBy(index)}, column.title)));
  const lines = new Map(rows.map((row) => [row, null]));
  let shown = [...rows];
  let limit = ROWS_AT_FIRST;
  let words = "";

  function cell(column, row) {
    const value = column.value(row);
    const text = column.text ? column.text(row) : typeof value === "number" ? formatCount(value) : String(value);
    const names = [column.number ? "number" : "", column.wrap ? "wrap" : "", column.end ? "end" : "",
                   column.alert && column.alert(row) ? "alert" : ""].join(" ").trim();
    return make("td", {class: names || null}, text);
  }
  function line(row) {
    if (lines.get(row)) return lines.get(row);
    const attributes = options.onChoose
      ? {class: "choice", tabindex: 0, click: () => options.onChoose(row),
         keydown: (event) => { if (event.key === "Enter") options.onChoose(row); }}
      : {};
    lines.set(row, make("tr", attributes, ...columns.map((column) => cell(column, row))));
    return lines.get(row);
  }
  function show(most) {
    limit = most;
    const found = words === "" ? shown : shown.filter((row) => line(row).textContent.toLowerCase().includes(words));
    body.replaceChildren();
    // A call has room for so many arguments only.
    for (let at = 0; at < Math.min(found.length, limit); at += ROWS_AT_ONCE) {
      body.append(...found.slice(at, Math.min(at + ROWS_AT_ONCE, limit)).map(line));
    }
    more.hidden = found.length <= limit;
    more.textContent = "Show all " + formatCount(found.length) + " rows";
  }
  function sortBy(index) {
    const heading = headings[index];
    // Numbers are read from the largest one on.
    const first = columns[index].number ? "descending" : "ascending";
    const second = columns[index].number ? "ascending" : "descending";
    const order = heading.getAttribute("aria-sort") === first ? second : first;
    for (const other of headings) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const value = columns[index].value;
    shown = [...shown].sort((a, b) => compare(value(a), value(b), sign));
    show(limit);
  }
  function choose(row) {
    for (const one of body.querySelectorAll(".chosen")) one.classList.remove("chosen");
    line(row).classList.add("chosen");
  }

  show(limit);
  const table = make("table", {id: options.id}, make("thead", {}, make("tr", {}, ...headings)), body);
  const element = make("div", {}, make("div", {class: options.tall ? "scroll tall" : "scroll"}, table), more);
  return {element, choose, filter: (text) => { words = text.trim().toLowerCase(); show(limit); }};
}

/** Numbers by value, all else as text; `sign` -1: the other way round. What is missing comes last in either order. */
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  const numbers = typeof a === "number" && typeof b === "number";
  return sign * (numbers ? a - b : String(a).localeCompare(String(b), "en", {numeric: true}));
}
