"use strict";
// Sorts, filters, pages and opens rows. Without it, all rows are visible.
document.documentElement.classList.add("scripted");
document.addEventListener("DOMContentLoaded", () => {
  const PAGE = 100;
  const table = document.getElementById("row-table");
  const find = (id) => document.getElementById(id);

  // ---------------------------------------------------------------- sentences and their windows
  const lit = (row, keys) => {
    for (const each of row.querySelectorAll(".lit")) each.classList.remove("lit");
    for (const each of row.querySelectorAll("mark.window")) {
      if (each.dataset.keys.split(" ").some((key) => keys.includes(key))) each.classList.add("lit");
    }
  };
  document.addEventListener("click", (event) => {
    const sentence = event.target.closest(".sentence[data-key]");
    if (sentence) lit(sentence.closest("tbody.sample"), [sentence.dataset.key]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const detail = event.target.closest && event.target.closest("details.sample-detail[open]");
    if (detail) {
      detail.open = false;
      detail.querySelector("summary").focus();
    } else if (event.target.id === "filter-text" && event.target.value) {
      event.target.value = "";
      filter();
    }
  });
  if (!table) {
    find("filter-text").disabled = find("filter-status").disabled = true;
    find("filter-metric").disabled = true;
    find("page-previous").disabled = find("page-next").disabled = true;
    find("row-count").textContent = "0 rows";
    return;
  }

  // ------------------------------------------------------------------------------------- rows
  const rows = Array.from(table.tBodies);
  const heads = Array.from(table.tHead.querySelectorAll("th[data-sort]"));
  const texts = new Map();
  let ordered = rows.slice();
  let matching = ordered;
  let first = 0;

  const cell = (row, metric) => row.querySelector(`td[data-metric="${CSS.escape(metric)}"]`);

  const words = (row) => {
    if (!texts.has(row)) {
      const parts = [row.dataset.id, row.querySelector(".question").textContent];
      for (const each of row.querySelectorAll(".texts > .text, .sample-detail > summary")) {
        parts.push(each.textContent);
      }
      texts.set(row, parts.join("\n").toLowerCase());
    }
    return texts.get(row);
  };

  const show = () => {
    const shown = matching.slice(first, first + PAGE);
    const wanted = new Set(shown);
    for (const row of table.querySelectorAll("tbody.shown")) {
      if (!wanted.has(row)) row.classList.remove("shown");
    }
    for (const row of shown) row.classList.add("shown");
    find("page-previous").disabled = first === 0;
    find("page-next").disabled = first + PAGE >= matching.length;
    const number = (value) => value.toLocaleString("en");
    const last = Math.min(first + PAGE, matching.length);
    const which = matching.length > PAGE ? `${number(first + 1)} to ${number(last)} of ` : "";
    const all = matching.length < rows.length ? ` (${number(rows.length)} in total)` : "";
    find("row-count").textContent =
      `${which}${number(matching.length)} ${matching.length === 1 ? "row" : "rows"}${all}`;
  };

  const filter = (place = 0) => {
    const text = find("filter-text").value.trim().toLowerCase();
    const status = find("filter-status").value;
    const metric = find("filter-metric").value;
    matching = ordered.filter((row) =>
      (status === "all" || row.dataset.status === status) &&
      (!metric || cell(row, metric).classList.contains("failed")) &&
      (!text || words(row).includes(text)));
    first = place;
    show();
  };

  // ------------------------------------------------------------------------------------- sorting
  const value = (row, name) => {
    if (name === "number") return Number(row.dataset.number);
    if (name === "id") return row.querySelector("th").textContent;
    if (name === "question") return row.querySelector(".question").textContent;
    if (name === "status") return row.dataset.status;
    const found = cell(row, name).dataset.value;
    return found === "" ? null : Number(found);
  };
  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (left, right) =>
    typeof left === "string" ? collator.compare(left, right) : left - right;

  const sort = (head) => {
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const each of heads) each.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
    const keyed = ordered.map((row) => [value(row, head.dataset.sort), row]);
    // Rows without a score come last in both directions.
    keyed.sort(([left], [right]) => {
      if (left === null || right === null) return (left === null) - (right === null);
      return turn * compare(left, right);
    });
    ordered = keyed.map(([, row]) => row);
    table.append(...ordered);
    filter();
  };
  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => sort(head));
  }

  // ----------------------------------------------------------------------------- filters, pages
  let waiting = 0;
  find("filter-text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, rows.length > 500 ? 150 : 0);
  });
  find("filter-status").addEventListener("change", () => filter());
  find("filter-metric").addEventListener("change", () => filter());
  const turn = (step) => {
    first += step * PAGE;
    show();
    table.scrollIntoView({ block: "start" });
  };
  find("page-previous").addEventListener("click", () => turn(-1));
  find("page-next").addEventListener("click", () => turn(1));

  // ------------------------------------------------------------------------------------- opening
  table.addEventListener("click", (event) => {
    const line = event.target.closest("tr.scores");
    if (!line || String(window.getSelection())) return;
    const detail = line.parentElement.querySelector("details.sample-detail");
    if (detail) detail.open = !detail.open;
  });

  // A link may lead to a row that is on another page or filtered out.
  const follow = () => {
    const target = location.hash && find(decodeURIComponent(location.hash.slice(1)));
    const row = target && target.closest("tbody.sample");
    if (!row) return;
    if (!matching.includes(row)) {
      find("filter-text").value = "";
      find("filter-status").value = "all";
      find("filter-metric").value = "";
      filter();
    }
    const place = matching.indexOf(row);
    first = place - (place % PAGE);
    show();
    const detail = row.querySelector("details.sample-detail");
    if (detail) detail.open = true;
    target.scrollIntoView({ block: target === row ? "start" : "nearest" });
  };
  window.addEventListener("hashchange", follow);
  filter();
  follow();
});
