// What a reader can do with the page: sort and filter tables, look at one view, find a sample, copy the code.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const order = new Intl.Collator("en", { numeric: true });
  document.documentElement.classList.add("js");

  // Tables

  const numberIn = (text) => {
    const found = /[-−]?[\d,]*\.?\d+(e[-+]?\d+)?/.exec(text);
    return found ? Number(found[0].replace(/,/g, "").replace("−", "-")) : NaN;
  };

  function sort(table, column, header) {
    const isNumber = header.classList.contains("number");
    const before = header.getAttribute("aria-sort");
    // Numbers are mostly looked at for their largest.
    const down = before ? before === "ascending" : isNumber;
    const value = (row) => row.cells[column].textContent;
    const rows = [...table.tBodies[0].rows].map((row) => [isNumber ? numberIn(value(row)) : value(row), row]);
    const compare = isNumber ? (a, b) => a - b : order.compare;
    rows.sort(([a], [b]) => {
      // What is no number comes last, whichever way.
      if (isNumber && (Number.isNaN(a) || Number.isNaN(b))) return Number.isNaN(a) - Number.isNaN(b);
      return down ? compare(b, a) : compare(a, b);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sort(table, column, header));
      header.append(button);
    });
  }

  function filter(controls) {
    const table = document.getElementById(controls.dataset.filters);
    const name = controls.querySelector("[data-filter=name]").value.trim().toLowerCase();
    const view = controls.querySelector("[data-filter=view]").value;
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const named = [...row.querySelectorAll(".sample")].some((cell) => (
        cell.textContent.toLowerCase().includes(name)));
      row.hidden = !(named && (view === "" || row.dataset.view === view));
      shown += row.hidden ? 0 : 1;
    }
    const [chosen] = controls.querySelector("[data-filter=view]").selectedOptions;
    const notes = [shown === rows.length ? "" : shown ? `${shown} of ${rows.length} shown` : "No row matches"];
    notes.push(chosen.dataset.partly ?? "");
    controls.querySelector("output").textContent = notes.filter(Boolean).join("; ");
  }

  for (const controls of document.querySelectorAll("[data-filters]")) {
    controls.addEventListener("input", () => filter(controls));
  }

  // A box that can be scrolled must be reached by the keyboard; others need not.
  function markScrolling() {
    for (const box of document.querySelectorAll(".box")) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        box.setAttribute("aria-label", box.querySelector("table").getAttribute("aria-label"));
      } else {
        for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      }
    }
  }
  document.addEventListener("toggle", markScrolling, true);
  markScrolling();

  // One view at a time

  function showView(view) {
    for (const panel of document.querySelectorAll("#view-panels > details")) {
      panel.open = panel.dataset.view === String(view);
    }
    const panel = document.getElementById(`view-${view}`);
    panel.scrollIntoView({ block: "nearest" });
    panel.querySelector("summary").focus();
  }

  for (const link of document.querySelectorAll(".view-link")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      showView(link.getAttribute("href").slice("#view-".length));
    });
  }

  for (const button of document.querySelectorAll("[data-show-flagged]")) {
    button.addEventListener("click", () => {
      const controls = document.querySelector("[data-filters=flagged]");
      const select = controls.querySelector("[data-filter=view]");
      select.value = button.dataset.showFlagged;
      filter(controls);
      controls.scrollIntoView({ block: "start" });
      select.focus();
    });
  }

  // Charts

  const charts = reportCharts.start(data, showView);
  // A page may leave out the section with the map.
  document.getElementById("map-colour")?.addEventListener("change", (event) => charts.colour(event.target.value));

  const found = document.getElementById("map-found");
  const drawn = data.map.names.length;
  const ofDrawn = drawn < data.samples ? ` of the ${drawn.toLocaleString("en")} drawn` : "";
  let matches = [];
  let at = 0;

  // The samples of a name, the nearest first: to the letter, except for case, by their beginning, by any part.
  function matching(wanted) {
    const lower = wanted.toLowerCase();
    const rank = (name) => [
      name === wanted, name.toLowerCase() === lower, name.startsWith(wanted),
      name.toLowerCase().startsWith(lower), name.toLowerCase().includes(lower),
    ].indexOf(true);
    return data.map.names.map((name, i) => [rank(name.trim()), i])
      .filter(([nearness]) => nearness >= 0).sort(([a], [b]) => a - b).map(([, i]) => i);
  }

  function showMatch() {
    const several = matches.length > 1;
    const place = `Match ${at + 1} of ${matches.length.toLocaleString("en")}${ofDrawn}; Enter for the next.`;
    charts.point(matches[at]);
    found.textContent = `${charts.describe(matches[at])}. ${several ? place : ""}`.trim();
  }

  const find = document.getElementById("map-find");
  find?.addEventListener("input", () => {
    const wanted = find.value.trim();
    [matches, at] = [wanted ? matching(wanted) : [], 0];
    if (matches.length) return showMatch();
    charts.point(null);
    found.textContent = wanted && (ofDrawn ? `None${ofDrawn} has this name.` : "No sample has this name.");
  });
  find?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || matches.length < 2) return;
    at = (at + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
    showMatch();
  });

  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width || "printing" in document.documentElement.dataset) return;
    width = document.body.clientWidth;
    charts.resize();
    markScrolling();
  }).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.drawAll());

  // Paper is light, and as wide as it is, whatever the screen.
  const PAPER = 660;
  const printing = (begins) => {
    if (begins === "printing" in document.documentElement.dataset) return;
    if (begins) document.documentElement.dataset.printing = "";
    else delete document.documentElement.dataset.printing;
    for (const panel of document.querySelectorAll("#view-panels > details")) {
      if (begins) panel.dataset.open = panel.open ? "yes" : "";
      panel.open = begins || panel.dataset.open === "yes";
    }
    charts.print(begins ? Math.min(PAPER, document.body.clientWidth) : 0);
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  matchMedia("print").addEventListener("change", (event) => printing(event.matches));

  // Copying

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      const code = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // then the reader can copy it
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
})();
