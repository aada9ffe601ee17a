// The ring, moving: a slider over the moments of a trace, and a button that plays them. The page holds
// the data and the elements (ring.html).
(() => {
  const box = document.querySelector(".moving");
  const one = (what, where = box) => where.querySelector(what);
  const all = (what) => [...box.querySelectorAll(what)];
  const { code, fills, warps, titles, moments, end } = JSON.parse(one("script").textContent);
  const slider = one("input");
  const button = one("button");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const SAID = { empty: "empty", filled: "being filled", full: "full", read: "being read" };
  const EVERY = 250; // milliseconds from one moment to the next
  const AROUND = 2; // lines before and after the one that a warp is at
  let timer = 0;

  const before = (time, end) => end === null || time < end;

  // [state, k-tile, the warps that read it] of a stage at that time.
  function stateOf(stage, time) {
    const fill = stage.filter((fill) => fill.begin <= time).pop();
    if (!fill || !before(time, fill.done)) return ["empty", "", []];
    if (before(time, fill.landed)) return ["filled", fill.what, []];
    if (before(time, fill.taken)) return ["full", fill.what, []];
    const now = fill.readings.filter(([, begin, end]) => begin <= time && before(time, end));
    return ["read", fill.what, now.map(([warp]) => titles[warp].split(" (")[0])];
  }

  function showStage(place, stage, time) {
    const [state, what, readers] = stateOf(stage, time);
    place.dataset.state = state;
    one(".state", place).textContent = SAID[state];
    one(".what", place).textContent = what;
    one(".by", place).textContent = readers.length ? `by ${readers.join(" and ")}` : "";
  }

  // The line of that number and those around it.
  function showCode(place, number, at) {
    const near = Object.keys(code).map(Number).filter((n) => Math.abs(n - number) <= AROUND);
    const lines = near.map((n) => [n, code[n], code[n].replace(/<[^>]*>/g, "").search(/\S/)]);
    const indent = Math.min(...lines.map(([, , blanks]) => blanks).filter((blanks) => blanks >= 0));
    place.replaceChildren(...lines.flatMap(([n, line]) => {
      const copy = document.createElement(n === number && at ? "mark" : "span");
      copy.innerHTML = line;
      const first = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT).nextNode();
      if (first) first.data = first.data.slice(Math.min(indent, first.data.search(/\S|$/)));
      copy.dataset.n = n;
      return [copy, "\n"];
    }));
  }

  // What a warp does at that time; between two events the trace knows of nothing.
  function showWarp(place, events, time) {
    const at = events.findLastIndex(([begin]) => begin <= time);
    const does = one(".does", place);
    if (at < 0) {
      does.textContent = "has done nothing yet";
      one("pre", place).replaceChildren();
      return;
    }
    const [, until, line, words] = events[at];
    const now = time < until;
    const over = !now && at === events.length - 1;
    does.textContent = now ? words : `${over ? "has ended; its last event" : "between two events; the last"}: ${words}`;
    place.classList.toggle("past", !now);
    const known = events.slice(0, at + 1).filter((event) => event[2]).pop();
    if (known) showCode(one("pre", place), known[2], now && line);
  }

  function show() {
    const time = moments[slider.value];
    const said = `step ${time} of ${end}`;
    one("output").textContent = said;
    slider.setAttribute("aria-valuetext", said);
    all(".ring li").forEach((place, i) => showStage(place, fills[i], time));
    all(".warp").forEach((place, i) => showWarp(place, warps[i], time));
    one(".strip i").style.left = `${(100 * slider.value) / slider.max}%`;
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = calm.matches ? "Next step" : "Play";
  }

  function step() {
    if (slider.value === slider.max) return stop();
    slider.stepUp();
    show();
  }

  function press() {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    step();
    if (calm.matches) return; // nothing moves by itself
    button.textContent = "Pause";
    timer = setInterval(step, EVERY);
  }

  // All states of all stages, over the slider.
  function drawStrip() {
    const strip = one(".strip");
    for (const stage of fills) {
      const row = strip.insertBefore(document.createElement("div"), strip.lastElementChild);
      let last;
      moments.forEach((time, i) => {
        const [state] = stateOf(stage, time);
        if (last?.dataset.state !== state) last = row.appendChild(document.createElement("b"));
        last.dataset.state = state;
        last.style.flexGrow = Number(last.style.flexGrow) + (i < moments.length - 1);
      });
    }
  }

  const picture = document.querySelector(`img[src*="${box.dataset.picture}."]`)?.parentElement;
  const caption = picture?.nextElementSibling;
  if (picture) (caption?.matches("p") ? caption : picture).after(box);
  slider.max = moments.length - 1;
  slider.value = moments.findIndex((time) => fills.some((stage) => stateOf(stage, time)[0] === "read"));
  drawStrip();
  slider.addEventListener("input", () => {
    if (timer) stop();
    show();
  });
  button.addEventListener("click", press);
  calm.addEventListener("change", stop);
  stop();
  show();
  box.hidden = false;
})();
