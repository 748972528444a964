// Sorts, filters, pages and opens rows. Without it, the first rows are on the page as they are.
document.documentElement.classList.add("scripted");
document.addEventListener("DOMContentLoaded", async () => {
  const PAGE = 100;
  const find = (id) => document.getElementById(id);
  const table = find("row-table");
  if (!table) return;

  const unpacked = async (element) => {
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };

  let keys, index;
  try {
    [keys, index] = await Promise.all([find("row-keys"), find("row-index")].map(unpacked));
  } catch {
    document.documentElement.classList.remove("scripted");
    return;
  }
  const { columns, failing } = keys;
  const maker = rowMaker(keys);
  const heads = Array.from(table.tHead.querySelectorAll("th[data-sort]"));
  const bodies = Array.from(table.tBodies);
  const n_rows = columns.number.length;
  const is_failed = (place) => columns.status[place] === 0;
  const natural = Array.from({ length: n_rows }, (_, place) => place);
  let texts = null;
  let sorted = { name: "", turn: 1 };
  let ordered = natural;
  let matching = natural;
  let first = 0;
  let open = null;

  // ---------------------------------------------------------------------------- making of rows
  const body = (place) => {
    bodies[place] ??= maker.body(place, index.closed[place]);
    return bodies[place];
  };
  let block = { begin: -1, details: null };
  const detail = async (place) => {
    const number = index.blocks.findLastIndex((begin) => begin <= place);
    const begin = index.blocks[number];
    if (block.begin !== begin) {
      block = { begin, details: unpacked(find(`row-block-${number}`)) };
    }
    return maker.opened(place, (await block.details)[place - begin]);
  };
  const place_of = (element) => bodies.indexOf(element.closest("tbody.sample"));
  const fill = async (place) => {
    const own = body(place).querySelector("details.sample-detail");
    if (!own || own.dataset.made) return own;
    own.dataset.made = "yes";
    own.append(await detail(place));
    return own;
  };

  // ------------------------------------------------------------------------------- showing rows
  const number = (value) => value.toLocaleString("en");
  const show = () => {
    const shown = matching.slice(first, first + PAGE).map(body);
    const wanted = new Set(shown);
    for (const each of Array.from(table.tBodies)) if (!wanted.has(each)) each.remove();
    table.append(...shown);
    find("page-previous").disabled = first === 0;
    find("page-next").disabled = first + PAGE >= matching.length;
    find("page-next").parentElement.hidden = matching.length <= PAGE;
    const last = Math.min(first + PAGE, matching.length);
    const which = matching.length > PAGE ? `${number(first + 1)} to ${number(last)} of ` : "";
    const all = matching.length < n_rows ? ` (${number(n_rows)} in total)` : "";
    find("row-count").textContent =
      `${which}${number(matching.length)} ${matching.length === 1 ? "row" : "rows"}${all}`;
    find("failing-previous").disabled = find("failing-next").disabled = !matching.some(is_failed);
  };

  const inputs = {
    find: find("filter-text"), show: find("filter-status"), failing: find("filter-metric"),
  };
  const filter = () => {
    const text = inputs.find.value.trim().toLowerCase();
    const kind = inputs.show.value;
    const metric = inputs.failing.value;
    const fails = metric && new Set(failing[metric]);
    if (text) texts ??= natural.map(maker.searched);
    const is_kind = {
      failed: is_failed,
      unmeasured: (place) => columns.status[place] === 1,
      passed: (place) => columns.status[place] === 2,
      worse: (place) => columns.change[place] < 0,
      better: (place) => columns.change[place] > 0,
    }[kind] || (() => true);
    matching = ordered.filter((place) =>
      is_kind(place) && (!metric || fails.has(place)) && (!text || texts[place].includes(text)));
    first = 0;
  };

  const sort = (name, turn) => {
    sorted = { name, turn };
    for (const head of heads) {
      const way = turn === 1 ? "ascending" : "descending";
      head.setAttribute("aria-sort", head.dataset.sort === name ? way : "none");
    }
    find("sort").value = name;
    const values = columns[name];
    // Rows without a score come last in both directions; of equal ones the order stays.
    ordered = !values ? natural : ordered.slice().sort((left, right) => {
      const [one, other] = [values[left], values[right]];
      if (one === null || other === null) return (one === null) - (other === null);
      return turn * (one - other);
    });
    filter();
  };

  // ---------------------------------------------------------- the address: what is shown, shared
  const save = () => {
    const state = new URLSearchParams();
    if (sorted.name) state.set("sort", (sorted.turn < 0 ? "-" : "") + sorted.name);
    for (const [name, input] of Object.entries(inputs)) {
      if (input.value.trim() && input.value !== "all") state.set(name, input.value.trim());
    }
    if (first) state.set("page", first / PAGE + 1);
    if (open !== null) state.set("row", columns.number[open]);
    const text = String(state);
    const address = location.href.split("#")[0] + (text ? `#?${text}` : "");
    if (address !== location.href) history.replaceState(null, "", address);
  };
  const changed = () => { show(); save(); };

  const opened = async (place, scroll = true) => {
    let at = matching.indexOf(place);
    if (at < 0) {
      inputs.find.value = inputs.failing.value = "";
      inputs.show.value = "all";
      filter();
      at = matching.indexOf(place);
    }
    first = at - (at % PAGE);
    open = place;
    show();
    const own = await fill(place);
    if (own) own.open = true;
    if (scroll) body(place).scrollIntoView({ block: "start" });
    save();
    return own;
  };

  // A link leads to a state, to a row, or to a place in a row.
  const follow = async () => {
    const target = location.hash.slice(1);
    if (target.startsWith("?")) {
      const state = new URLSearchParams(target.slice(1));
      for (const [name, input] of Object.entries(inputs)) {
        input.value = state.get(name) || "";
        // Of a word that it does not have, a list shows nothing.
        if (input.selectedIndex === -1) input.selectedIndex = 0;
      }
      const way = state.get("sort") || "";
      const name = way.replace(/^-/, "");
      ordered = natural;
      sort(Object.hasOwn(columns, name) ? name : "", way.startsWith("-") ? -1 : 1);
      const last = Math.max(Math.ceil(matching.length / PAGE), 1);
      first = (Math.min(Math.max(Math.floor(state.get("page")) || 1, 1), last) - 1) * PAGE;
      show();
      const row = state.has("row") ? columns.number.indexOf(Number(state.get("row"))) : -1;
      if (row >= 0) await opened(row);
      return;
    }
    const row = /^row-(\d+)/.exec(target);
    const place = row ? columns.number.indexOf(Number(row[1])) : -1;
    if (place < 0) return;
    await opened(place, target === row[0]);
    const element = find(target);
    if (element && target !== row[0]) element.scrollIntoView({ block: "nearest" });
  };
  window.addEventListener("hashchange", follow);

  // ----------------------------------------------------------------------------- what people do
  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const name = head.dataset.sort;
      sort(name, sorted.name === name && sorted.turn === 1 ? -1 : 1);
      changed();
    });
  }
  find("sort").addEventListener("change", (event) => {
    if (!event.target.value) ordered = natural;
    sort(event.target.value, 1);
    changed();
  });
  let waiting = 0;
  inputs.find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { filter(); changed(); }, n_rows > 500 ? 150 : 0);
  });
  for (const input of [inputs.show, inputs.failing]) {
    input.addEventListener("change", () => { filter(); changed(); });
  }
  const turn = (step) => {
    first += step * PAGE;
    changed();
    table.scrollIntoView({ block: "start" });
  };
  find("page-previous").addEventListener("click", () => turn(-1));
  find("page-next").addEventListener("click", () => turn(1));

  const next_failing = async (step) => {
    const focused = document.activeElement.closest("tbody.sample");
    const from = open ?? (focused ? place_of(focused) : null);
    let at = from === null ? (step > 0 ? -1 : matching.length) : matching.indexOf(from);
    do { at += step; } while (at in matching && !is_failed(matching[at]));
    if (!(at in matching)) return;
    const before = open === null ? null : body(open).querySelector("details.sample-detail");
    if (before) before.open = false;
    const own = await opened(matching[at]);
    if (own) own.querySelector("summary").focus({ preventScroll: true });
  };
  find("failing-previous").addEventListener("click", () => next_failing(-1));
  find("failing-next").addEventListener("click", () => next_failing(1));

  table.addEventListener("toggle", async (event) => {
    if (!event.target.matches("details.sample-detail")) return;
    const place = place_of(event.target);
    if (event.target.open) {
      open = place;
      await fill(place);
    } else if (open === place) {
      open = null;
    }
    save();
  }, true);
  table.addEventListener("click", (event) => {
    const sentence = event.target.closest("a[href]");
    if (sentence) {
      const target = find(sentence.getAttribute("href").slice(1));
      const row = sentence.closest("tbody.sample");
      event.preventDefault();
      for (const each of row.querySelectorAll(".lit")) each.classList.remove("lit");
      const key = sentence.dataset.key;
      for (const each of key ? row.querySelectorAll("mark.window[data-keys]") : []) {
        if (each.dataset.keys.split(" ").includes(key)) each.classList.add("lit");
      }
      target.classList.add("lit");
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: "nearest" });
      return;
    }
    const line = event.target.closest("tr.scores");
    if (!line || String(window.getSelection())) return;
    const own = line.parentElement.querySelector("details.sample-detail");
    if (own) own.open = !own.open;
  });
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const in_table = table.contains(target);
    // Of a list the arrow opens its options.
    const by_arrow = event.altKey && !target.matches("select") && { ArrowDown: 1, ArrowUp: -1 }[key];
    const by_letter = in_table && !event.ctrlKey && !event.metaKey && !event.altKey
      && { j: 1, k: -1 }[key];
    if (by_arrow || by_letter) {
      event.preventDefault();
      next_failing(by_arrow || by_letter);
    } else if (key === "Escape" && in_table) {
      const own = target.closest("details.sample-detail[open]");
      if (own) {
        own.open = false;
        own.querySelector("summary").focus();
      }
    } else if (key === "Escape" && target === inputs.find && target.value) {
      target.value = "";
      filter();
      changed();
    }
  });

  filter();
  show();
  await follow();
  document.documentElement.classList.add("ready");
});
