// Folding, search and order. Without a script everything stands there, open, in the order of the table.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

for (const details of all("details.values")) details.open = false;

// what scrolls sideways says so, and can be reached with the keyboard
function tellWider() {
  for (const place of all(".scroll")) {
    const wider = place.scrollWidth > place.clientWidth + 1;
    place.toggleAttribute("data-wider", wider);
    if (wider) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }
}
tellWider();
addEventListener("resize", tellWider);
document.addEventListener("toggle", tellWider, true);

// search and order over all decks
const tools = document.querySelector(".tools");
const decks = all("[data-deck]");
const search = tools?.querySelector("input");
const sort = tools?.querySelector("select");

const orders = {
  place: (a, b) => a.dataset.place - b.dataset.place,
  name: (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, { numeric: true }),
};
const byNumber = (key) => (a, b) => b.dataset[key] - a.dataset[key] || orders.place(a, b);

function said(deck, shown, searched) {
  const count = deck.children.length, plural = deck.dataset.deck;
  const name = (number) => (number === 1 ? plural.replace(/s$/, "") : plural);
  return searched ? `${shown} of ${count} ${name(count)}` : `${count} ${name(count)}`;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
  const found = [];
  for (const deck of decks) {
    let shown = 0;
    for (const item of deck.children) {
      const name = item.dataset.name.toLowerCase();
      item.hidden = !words.every((word) => name.includes(word));
      shown += !item.hidden;
    }
    if (!("silent" in deck.dataset)) found.push(said(deck, shown, words.length));
  }
  tools.querySelector("output").textContent = found.join(", ");
}

function order() {
  const key = sort.value;
  for (const deck of decks) {
    const items = [...deck.children];
    if (items.every((item) => key in item.dataset)) deck.append(...items.sort(orders[key] ?? byNumber(key)));
  }
}

function clear() {
  search.value = "";
  filter();
}

// a link to a card that the search has hidden, or to something folded, shows it
function show() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (tools && target.closest("[hidden]")) clear();
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

if (tools) {
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => event.key === "Escape" && clear());
  sort?.addEventListener("change", order);
  tools.hidden = false;
  filter();
}
addEventListener("hashchange", show);
if (location.hash) show();

// the navigation marks the section that is being read
const links = new Map(all("nav.sections a").map((link) => [link.hash.slice(1), link]));
const headings = all("main h2[id]").filter((heading) => links.has(heading.id));
function mark() {
  const above = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
  for (const [id, link] of links) {
    if (id === above.at(-1)?.id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
if (headings.length) {
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  mark();
}
