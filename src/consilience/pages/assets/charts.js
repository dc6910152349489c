// The charts of the report, drawn by ECharts. Names reach the page as text only: tooltips are DOM nodes.
"use strict";
const reportCharts = (() => {
  // Okabe and Ito's colours, easy to tell apart by colour-blind readers; the last is that of the text.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
  const SHAPES = ["circle", "triangle", "diamond", "rect", "pin", "arrow"];
  const MOST_LISTED = 12; // views in a tooltip
  const MOST_SVG = 6000; // marks; more are drawn on a canvas

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      paper: read("--paper"), ink: read("--ink"), muted: read("--muted"), rule: read("--rule"),
      accent: read("--accent"), font: getComputedStyle(document.body).fontFamily,
    };
  }

  function mixed(from, to, share) {
    const parts = (hex) => {
      const full = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex;
      return [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
    };
    const [a, b] = [parts(from), parts(to)];
    return `rgb(${a.map((x, i) => Math.round(x + (b[i] - x) * share)).join(",")})`;
  }

  const written = (value, digits = 2) => (value === null ? "–" : value.toFixed(digits));

  function node(tag, text, ...children) {
    const made = document.createElement(tag);
    if (text !== null) made.textContent = text;
    made.append(...children);
    return made;
  }

  function tip(title, lines, rows) {
    const box = node("div", null, node("strong", title), ...lines.map((line) => node("div", line)));
    box.className = "tip";
    if (rows.length) {
      box.append(node("table", null, ...rows.map((row) => node("tr", null, ...row.map((x) => node("td", x))))));
    }
    return box;
  }

  function base(look, formatter) {
    return {
      animation: false,
      textStyle: { fontFamily: look.font, color: look.ink },
      tooltip: {
        confine: true, formatter, backgroundColor: look.paper, borderColor: look.muted,
        textStyle: { color: look.ink, fontFamily: look.font, fontSize: 13 }, extraCssText: "box-shadow:none",
      },
    };
  }

  function axis(look, more) {
    return {
      nameTextStyle: { color: look.muted }, axisLine: { lineStyle: { color: look.muted } },
      axisLabel: { color: look.muted }, splitLine: { lineStyle: { color: look.rule } }, ...more,
      ...(more.axisLabel ? { axisLabel: { color: look.muted, ...more.axisLabel } } : {}),
    };
  }

  // What each view says of one sample, the worst first.
  function opinions(data, i) {
    const { scores, flags } = data.map;
    const order = data.views.map((_, view) => view).sort((a, b) => (scores[i][b] ?? -1) - (scores[i][a] ?? -1));
    const rows = order.slice(0, MOST_LISTED).map((view) => [
      data.views[view],
      scores[i][view] === null ? "nothing to compare" : written(scores[i][view]),
      flags[i].includes(view) ? "flagged" : "",
    ]);
    if (order.length > MOST_LISTED) rows.push([`and ${order.length - MOST_LISTED} more`, "", ""]);
    return rows;
  }

  function aboutSample(data, i) {
    const { clusters, seconds, confidence } = data.map;
    if (seconds[i] < 0) return [`cluster ${clusters[i]}`];
    return [`cluster ${clusters[i]}, second ${seconds[i]}`, `confidence ${written(confidence[i])}`];
  }

  const sampleTip = (data, i) => tip(data.map.names[i], aboutSample(data, i), [
    ["view", "score", ""], ...opinions(data, i),
  ]);

  const colourOf = (look, cluster) => [...COLOURS, look.ink][cluster % (COLOURS.length + 1)];
  const shapeOf = (cluster) => SHAPES[Math.floor(cluster / (COLOURS.length + 1)) % SHAPES.length];

  function numbersOnMap(data, look) {
    const groups = new Map();
    data.map.clusters.forEach((cluster, i) => groups.set(cluster, [...(groups.get(cluster) ?? []), i]));
    const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
    return {
      type: "scatter", silent: true, symbolSize: 1, itemStyle: { color: "transparent" }, z: 5, tooltip: { show: false },
      data: [...groups].map(([cluster, members]) => ({
        value: [middle(members.map((i) => data.map.x[i])), middle(members.map((i) => data.map.y[i]))],
        label: {
          show: true, position: "top", distance: 6, fontSize: groups.size > 20 ? 9 : 12,
          formatter: () => String(cluster), color: look.ink, backgroundColor: look.paper,
          borderColor: look.muted, borderWidth: 1, borderRadius: 2, padding: [2, 4], fontWeight: 600,
        },
      })),
    };
  }

  function mapOption(data, look, state) {
    const { x, y, clusters, confidence, scores, flags } = data.map;
    const edge = { borderColor: mixed(look.paper, look.ink, 0.6), borderWidth: 0.5, opacity: 0.85 };
    const option = {
      ...base(look, (hit) => sampleTip(data, hit.data.value[2])),
      grid: { left: 4, right: 4, top: 8, bottom: 44 },
      xAxis: { type: "value", show: false, scale: true },
      yAxis: { type: "value", show: false, scale: true },
    };
    if (!matchMedia("(pointer: coarse)").matches) {
      const zoom = { type: "inside", zoomOnMouseWheel: "ctrl", filterMode: "none" };
      option.dataZoom = [{ ...zoom, xAxisIndex: 0 }, { ...zoom, yAxisIndex: 0 }];
    }
    const numbers = numbersOnMap(data, look);
    if (state.colour === "cluster") {
      const present = [...new Set(clusters)].sort((a, b) => a - b);
      const few = present.length <= SHAPES.length * (COLOURS.length + 1);
      option.legend = {
        show: few, type: "scroll", bottom: 0, textStyle: { color: look.ink }, itemGap: 14, itemWidth: 12,
        pageTextStyle: { color: look.ink }, pageIconColor: look.accent, pageIconInactiveColor: look.rule,
      };
      option.series = present.map((cluster) => ({
        type: "scatter", name: `${cluster}`, symbol: shapeOf(cluster),
        symbolSize: 8, itemStyle: { color: colourOf(look, cluster), ...edge },
        data: clusters.flatMap((c, i) => (c === cluster ? [{ value: [x[i], y[i], i] }] : [])),
      }));
      option.series.push(numbers);
      return option;
    }
    const worst = (row) => row.reduce((a, b) => (b === null ? a : Math.max(a ?? 0, b)), null);
    const values = state.colour === "confidence" ? confidence
      : scores.map((row) => (state.colour === "conflict" ? worst(row) : row[Number(state.colour)]));
    const marked = (i) => (state.colour === "confidence" ? false
      : state.colour === "conflict" ? flags[i].length > 0 : flags[i].includes(Number(state.colour)));
    const pale = mixed(look.paper, look.muted, 0.3);
    option.visualMap = {
      type: "continuous", min: 0, max: 1, dimension: 3, seriesIndex: 0, orient: "horizontal", left: "center",
      bottom: 0, itemHeight: 120, itemWidth: 12, textStyle: { color: look.ink },
      text: state.colour === "confidence" ? ["1 sure", "0"] : ["1 misplaced (diamonds: flagged)", "0"],
      inRange: { color: state.colour === "confidence" ? [look.accent, pale] : [pale, look.accent] },
      outOfRange: { color: pale },
    };
    const order = x.map((_, i) => i).sort((a, b) => Number(marked(a)) - Number(marked(b)));
    option.series = [{
      type: "scatter", itemStyle: edge,
      data: order.map((i) => ({
        value: [x[i], y[i], i, values[i] ?? 0],
        symbol: values[i] === null ? "emptyCircle" : marked(i) ? "diamond" : "circle",
        symbolSize: marked(i) ? 11 : 8,
      })),
    }, numbers];
    return option;
  }

  function confidenceOption(data, look, state) {
    const { clusters, counts, bounds } = data.confidence;
    const sizes = counts.map((row) => row.reduce((a, b) => a + b, 0));
    const steps = bounds.length - 1;
    const words = (k) => `${bounds[k]} to ${bounds[k + 1]}`;
    return {
      ...base(look, (hit) => tip(`Cluster ${clusters[hit.dataIndex]}`, [
        `confidence ${words(hit.seriesIndex)}: ${counts[hit.dataIndex][hit.seriesIndex]} of `
        + `${sizes[hit.dataIndex]} samples`,
      ], [])),
      grid: { left: 8, right: 16, top: state.width < 420 ? 58 : 34, bottom: 8 }, // below the legend
      legend: { top: 0, left: 0, textStyle: { color: look.ink }, itemWidth: 14, itemGap: 14 },
      xAxis: axis(look, {
        type: "value", max: 1, axisLabel: { formatter: (value) => `${Math.round(100 * value)} %` },
      }),
      yAxis: axis(look, {
        type: "category", data: clusters.map(String), inverse: true, axisTick: { show: false },
        axisLabel: { interval: 0 },
      }),
      series: Array.from({ length: steps }, (_, k) => ({
        type: "bar", stack: "all", name: words(k), barCategoryGap: "25%",
        itemStyle: {
          color: mixed(look.paper, look.accent, 1 - 0.28 * k), borderColor: look.paper, borderWidth: 1,
        },
        data: counts.map((row, i) => row[k] / sizes[i]),
      })),
    };
  }

  function eigenvaluesOption(data, look) {
    const { values, asked, was } = data.eigenvalues;
    return {
      ...base(look, (hit) => tip(`Eigenvalue ${hit.data[0]}`, [written(hit.data[1], 4)], [])),
      grid: { left: 8, right: 16, top: 28, bottom: 8 },
      xAxis: axis(look, {
        type: "value", min: 0, max: values.length + 1, interval: 1, splitLine: { show: false },
        axisLabel: { formatter: (value) => (value >= 1 && value <= values.length ? String(value) : ""), hideOverlap: true },
        name: "number of the eigenvalue", nameLocation: "middle", nameGap: 28,
      }),
      yAxis: axis(look, { type: "value", min: 0 }),
      series: [{
        type: "line", symbol: "circle", symbolSize: 7, step: false, color: look.accent,
        lineStyle: { width: 1, opacity: 0.5 },
        data: values.map((value, i) => [i + 1, value]),
        markLine: asked > values.length ? undefined : {
          silent: true, symbol: "none", lineStyle: { color: look.ink, type: "dashed" },
          label: { formatter: () => `${asked} ${was}`, color: look.ink, position: "end" },
          data: [{ xAxis: asked + 0.5 }],
        },
      }],
    };
  }

  // Two charts over one axis, the number of clusters: eigengaps above, stability below.
  function selectionOption(data, look) {
    const { clusters, gaps, stability, errors, null: chance, scores, chosen } = data.selection;
    const names = clusters.map(String);
    const about = (hit) => {
      const i = hit.dataIndex;
      return tip(`${names[i]} clusters`, [], [
        ["eigengap", written(gaps[i])], ["stability", `${written(stability[i])} ± ${written(errors[i])}`],
        ["without structure", written(chance[i])], ["score", written(scores[i])],
      ]);
    };
    const isHere = clusters.includes(chosen);
    const mark = (label) => (isHere ? {
      silent: true, symbol: "none", lineStyle: { color: look.ink, type: "dashed" },
      label: { show: label, formatter: () => `${chosen} chosen`, color: look.ink, position: "end" },
      data: [{ xAxis: String(chosen) }],
    } : undefined);
    const line = (name, values, more) => ({
      type: "line", name, xAxisIndex: 1, yAxisIndex: 1, symbol: "circle", symbolSize: 7, data: values, ...more,
    });
    const across = (more) => axis(look, {
      type: "category", data: names, splitLine: { show: false }, axisTick: { show: false }, ...more,
    });
    const up = (name, more) => axis(look, {
      type: "value", min: 0, name, nameLocation: "end",
      nameTextStyle: { color: look.muted, align: "left", padding: [0, 0, 0, -30] }, ...more,
    });
    const bounds = (sign) => stability.map((value, i) => value + sign * errors[i]);
    return {
      ...base(look, about),
      legend: {
        top: 192, left: 8, itemWidth: 18, textStyle: { color: look.ink },
        data: ["halves of the samples", "without structure"],
      },
      grid: [{ left: 44, right: 16, top: 48, height: 130 }, { left: 44, right: 16, top: 248, height: 120 }],
      xAxis: [
        across({ gridIndex: 0, axisLabel: { show: false } }),
        across({ gridIndex: 1, name: "number of clusters", nameLocation: "middle", nameGap: 28 }),
      ],
      // The name stands above the label of the number chosen.
      yAxis: [up("eigengap", { gridIndex: 0, nameGap: 26 }), up("stability", { gridIndex: 1, max: 1 })],
      series: [
        {
          type: "bar", name: "eigengap", barMaxWidth: 22, markLine: mark(true),
          data: gaps.map((value, i) => ({
            value, itemStyle: { color: clusters[i] === chosen ? look.accent : look.muted },
          })),
        },
        line("lower", bounds(-1), { stack: "error", symbol: "none", lineStyle: { opacity: 0 }, silent: true }),
        line("upper", errors.map((error) => 2 * error), {
          stack: "error", symbol: "none", lineStyle: { opacity: 0 }, silent: true,
          areaStyle: { color: look.accent, opacity: 0.2 },
        }),
        line("halves of the samples", stability, { color: look.accent, markLine: mark(false) }),
        line("without structure", chance, {
          color: look.muted, symbol: "emptyCircle", lineStyle: { type: "dotted", width: 2 },
        }),
      ],
    };
  }

  function convergenceOption(data, look) {
    const { rounds, objective } = data.convergence;
    return {
      ...base(look, (hit) => tip(`Round ${hit.data[0]}`, [`objective ${written(hit.data[1], 4)}`], [])),
      grid: { left: 8, right: 16, top: 12, bottom: 8 },
      xAxis: axis(look, {
        type: "value", minInterval: 1, splitLine: { show: false }, name: "round", nameLocation: "middle",
        nameGap: 28,
      }),
      yAxis: axis(look, { type: "value", scale: true }),
      series: [{
        type: "line", symbol: "circle", symbolSize: rounds.length > 60 ? 0 : 7, color: look.accent,
        lineStyle: { width: 1.5 }, data: rounds.map((round, i) => [round, objective[i]]),
      }],
    };
  }

  function conflictsOption(data, look, state) {
    const { clusters, sizes, names, means, judged, flagged } = data.conflicts;
    const starts = clusters.map((cluster, i) => i === 0 || clusters[i - 1] !== cluster);
    const count = new Map();
    clusters.forEach((cluster) => count.set(cluster, (count.get(cluster) ?? 0) + 1));
    const first = new Map();
    clusters.forEach((cluster, i) => first.has(cluster) || first.set(cluster, i));
    const centre = (i) => i === first.get(clusters[i]) + Math.floor(count.get(clusters[i]) / 2);
    const about = (bin, view) => tip(data.views[view], [
      `cluster ${clusters[bin]}, ${sizes[bin]} ${sizes[bin] === 1 ? "sample" : "samples"}: `
      + names[bin].join(", ") + (sizes[bin] > names[bin].length ? ", …" : ""),
      `score ${written(means[bin][view])}, flagged ${flagged[bin][view]} of ${judged[bin][view]} `
      + (judged[bin][view] === 1 ? "row" : "rows"),
    ], []);
    return {
      ...base(look, (hit) => (hit.componentType === "series" ? about(hit.data[0], hit.data[1]) : "")),
      grid: { left: 8, right: 8, top: 8, bottom: 54 },
      xAxis: axis(look, {
        type: "category", data: clusters.map((_, i) => String(i)), axisTick: { show: true, interval: (i) => starts[i] },
        axisLabel: { interval: (i) => centre(i), formatter: (i) => String(clusters[Number(i)]), hideOverlap: true },
        splitLine: { show: false },
      }),
      yAxis: axis(look, {
        type: "category", data: data.views.map((_, view) => String(view)), inverse: true, triggerEvent: true,
        axisTick: { show: false },
        axisLabel: {
          interval: 0, color: look.accent, width: state.width < 500 ? 96 : 160, overflow: "truncate",
          formatter: (view) => (state.width < 500 ? data.shorter : data.short)[Number(view)],
        },
      }),
      visualMap: {
        type: "continuous", min: 0, max: 1, orient: "horizontal", left: "center", bottom: 0, itemHeight: 120,
        itemWidth: 12, text: ["1 misplaced", "0"], textStyle: { color: look.ink },
        inRange: { color: [mixed(look.paper, look.muted, 0.13), look.accent] },
      },
      series: [{
        type: "heatmap", progressive: 0,
        itemStyle: { borderWidth: 0 }, emphasis: { itemStyle: { borderColor: look.ink, borderWidth: 1 } },
        data: means.flatMap((row, bin) => row.flatMap((value, view) => (
          value === null ? [] : [[bin, view, value]]))),
      }],
    };
  }

  const OPTIONS = {
    "chart-map": mapOption,
    "chart-confidence": confidenceOption,
    "chart-selection": selectionOption,
    "chart-eigenvalues": eigenvaluesOption,
    "chart-convergence": convergenceOption,
    "chart-conflicts": conflictsOption,
  };

  function marks(data, name) {
    return name === "chart-conflicts" ? data.conflicts.clusters.length * data.views.length : 0;
  }

  // Draw all charts; return what else the page may ask of them.
  function start(data, onView) {
    const state = { colour: "cluster", width: 0 };
    const charts = new Map();
    const isLarge = (name) => marks(data, name) > MOST_SVG;
    for (const name of Object.keys(OPTIONS)) {
      const place = document.getElementById(name);
      if (place) charts.set(name, echarts.init(place, null, { renderer: isLarge(name) ? "canvas" : "svg" }));
    }
    const draw = (name, chart = charts.get(name)) => {
      state.width = chart.getWidth();
      chart.setOption(OPTIONS[name](data, theme(), state), { notMerge: true });
    };
    const drawAll = () => [...charts.keys()].forEach((name) => draw(name));
    charts.get("chart-conflicts")?.on("click", (hit) => {
      if (hit.componentType === "series") onView(hit.data[1]);
      if (hit.componentType === "yAxis") onView(Number(hit.value));
    });

    // A canvas that was just drawn on is blank on paper: there, another drawing takes its place.
    const twins = new Map();
    const showTwin = (name, width) => {
      const place = document.getElementById(name);
      if (!twins.has(name)) {
        const twin = document.createElement("div");
        [twin.className, twin.style.height] = ["chart", place.style.height];
        place.before(twin);
        twins.set(name, echarts.init(twin, null, { renderer: "svg", width }));
      }
      const chart = twins.get(name);
      [place, chart.getDom()].forEach((one, i) => { one.style.display = (i === 1) === (width > 0) ? "" : "none"; });
      if (width > 0) draw(name, chart);
    };
    drawAll();
    return {
      drawAll,
      resize: () => {
        charts.forEach((chart) => chart.resize({ width: "auto" }));
        drawAll();
      },
      // Draw for paper of this width, or for the screen again.
      print: (width) => {
        [...charts.keys()].filter(isLarge).forEach((name) => showTwin(name, width));
        charts.forEach((chart) => chart.resize({ width: width || "auto" }));
        drawAll();
      },
      colour: (by) => { state.colour = by; draw("chart-map"); },
      // Point at a sample of the map; without one, at nothing.
      point: (i) => {
        const chart = charts.get("chart-map");
        chart.dispatchAction({ type: "downplay" });
        if (i === null) return chart.dispatchAction({ type: "hideTip" });
        const series = chart.getOption().series;
        for (let s = 0; s < series.length; s++) {
          const at = series[s].data.findIndex((one) => one.value[2] === i);
          if (at < 0) continue;
          chart.dispatchAction({ type: "highlight", seriesIndex: s, dataIndex: at });
          return chart.dispatchAction({ type: "showTip", seriesIndex: s, dataIndex: at });
        }
      },
      describe: (i) => [data.map.names[i], ...aboutSample(data, i),
        `scores: ${opinions(data, i).map((row) => row.filter(Boolean).join(" ")).join(", ")}`].join("; "),
    };
  }

  return { start };
})();
