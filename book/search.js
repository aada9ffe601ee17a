// The search: search-index.js has PAGES, [place, title, first sentence, [anchor, heading, first sentence]s].
(() => {
  const MOST = 40; // hits that are shown
  const [field, said, hits] = ['input[name="q"]', "#said", ".hits"].map((what) => document.querySelector(what));
  const plain = (text) => text.toLowerCase();
  const entries = PAGES.flatMap(([place, title, lead, parts]) => [
    { link: place, title, lead, heading: "" },
    ...parts.map(([anchor, heading, lead]) => ({ link: `${place}#${anchor}`, title, heading, lead })),
  ]);

  // 0 for what lacks a word; the page itself goes before its parts, and a title before a sentence.
  function score(words, { title, heading, lead }) {
    let sum = 0;
    for (const word of words) {
      const at = [heading || title, title, lead].findIndex((text) => plain(text).includes(word));
      if (at < 0) return 0;
      sum += [10, 2, 1][at];
    }
    return heading ? sum : sum + words.length;
  }

  function hit({ link, title, heading, lead }) {
    const item = document.createElement("li"), text = document.createElement("p");
    const anchor = item.appendChild(document.createElement("a"));
    anchor.href = link;
    anchor.textContent = heading ? `${title} › ${heading}` : title;
    text.textContent = lead;
    item.append(text);
    return item;
  }

  function search() {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    const scored = words.length ? entries.map((entry) => [score(words, entry), entry]) : [];
    const found = scored.filter(([sum]) => sum).sort(([a], [b]) => b - a);
    said.textContent = words.length ? `${found.length} found` : "Type a word above.";
    hits.replaceChildren(...found.slice(0, MOST).map(([, entry]) => hit(entry)));
  }

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", search);
  search();
})();
