// The search over all pages: search-index.js has their texts as PAGES, [place, title, parts], and a
// part is [anchor, heading, text].
(() => {
  const MOST = 40; // pages that are shown
  const BEFORE = 60; // characters before the first word found
  const AFTER = 160;
  const field = document.querySelector('input[name="q"]');
  const [said, hits] = ["said", "hits"].map((name) => document.querySelector(`#${name}, .${name}`));
  const plain = (text) => text.toLowerCase();
  for (const [, , parts] of PAGES)
    for (const part of parts) part.push(plain(part[1]), plain(part[2]));

  // Prose before sources, those before records.
  const weight = (place) => (/^source/.test(place) ? 1 : /^results/.test(place) ? 0.5 : 2);

  function score(words, title, heading, text) {
    let sum = 0;
    for (const word of words) {
      const count = text.split(word, 9).length - 1;
      const found = 20 * title.includes(word) + 10 * heading.includes(word) + count;
      if (!found) return 0;
      sum += found;
    }
    return sum;
  }

  // The best part of each page that has all the words, the best first.
  function find(words) {
    const found = [];
    for (const [place, title, parts] of PAGES) {
      const scores = parts.map(([, , , heading, text]) => score(words, plain(title), heading, text));
      const best = Math.max(0, ...scores);
      const more = scores.filter(Boolean).length - 1;
      const part = parts[scores.indexOf(best)];
      if (best) found.push({ place, title, part, more, score: best * weight(place) });
    }
    return found.sort((a, b) => b.score - a.score);
  }

  // A piece of the text around the first word, with the words marked.
  function piece(words, text, from) {
    const begin = from < BEFORE ? 0 : text.indexOf(" ", from - BEFORE) + 1 || from;
    const marked = document.createElement("p");
    const known = words.map((word) => word.replace(/[^\w\s]/g, "\\$&")).join("|");
    for (const [i, part] of text.slice(begin, from + AFTER).split(new RegExp(`(${known})`, "i")).entries()) {
      const mark = document.createElement(i % 2 ? "mark" : "span");
      mark.textContent = part.replace(/\s+/g, " ");
      marked.append(mark);
    }
    return marked;
  }

  function hit(words, { place, title, part, more }) {
    const [anchor, heading, text, , low] = part;
    const from = Math.max(0, Math.min(...words.map((word) => low.indexOf(word)).filter((i) => i >= 0), low.length));
    const at = from < low.length ? from : 0;
    const line = text.slice(0, at).split("\n").length;
    const link = document.createElement("a");
    link.href = place + (anchor === "L" ? `#L${line}` : anchor && `#${anchor}`);
    link.textContent = heading ? `${title} › ${heading}` : title;
    const item = document.createElement("li");
    item.append(link, anchor === "L" ? `, line ${line}` : "", more ? `, and ${more} more parts` : "");
    item.append(piece(words, text, at));
    return item;
  }

  function search() {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    const found = words.length ? find(words) : [];
    const pages = found.length === 1 ? "1 page" : `${found.length} pages`;
    const shown = found.length > MOST ? `; the best ${MOST}` : "";
    said.textContent = words.length ? `${pages} with ${words.join(", ")}${shown}` : "Type a word above.";
    hits.replaceChildren(...found.slice(0, MOST).map((one) => hit(words, one)));
  }

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", search);
  search();
})();
