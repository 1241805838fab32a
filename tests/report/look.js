// Opens pages one after another in frames of a given width and tells what is wrong with each: run by browser.py.
const { pages, widths } = JSON.parse(document.getElementById("asked").textContent);
const SCROLLERS = ".scroll, nav.sections ul, .index";  // they show that there is more
const MOST = 25;
const pause = (time) => new Promise((done) => setTimeout(done, time));

async function opened(address, width) {
  const frame = document.createElement("iframe");
  frame.width = width;
  frame.height = 900;
  const loaded = new Promise((done) => { frame.onload = done; });
  frame.src = address;
  document.body.append(frame);
  const start = performance.now();
  await loaded;
  await pause(60);
  return { frame, took: performance.now() - start };
}

function unfold(doc) {
  const style = doc.createElement("style");
  style.textContent = "article, .deck > * { content-visibility: visible !important; }";
  doc.head.append(style);
  for (const each of doc.querySelectorAll("details")) each.open = true;
}

const inside = (box, room, slack = 1.5) =>
  box.left >= room.left - slack && box.right <= room.right + slack && box.top >= room.top - slack && box.bottom <= room.bottom + slack;
const both = (a, b) => ({
  left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom),
});
const empty = (box) => box.right - box.left < 1 || box.bottom - box.top < 1;
const overlap = (a, b) => {
  const common = both(a, b);
  return common.right - common.left > 2 && common.bottom - common.top > 3;
};

// the words of a page as boxes: what scrolls away is cut off, what is hidden is left out, what is cut is told
function words(doc, wrong) {
  const root = doc.documentElement, view = doc.defaultView, found = [];
  const page = { left: 0, right: root.clientWidth, top: -1e9, bottom: 1e9 };
  const styles = new Map();
  const styled = (element) => styles.get(element) ?? styles.set(element, view.getComputedStyle(element)).get(element);
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  const range = doc.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement, text = node.textContent.trim();
    if (!text || parent.closest("svg, script, style, noscript, option, .skip") || !parent.checkVisibility()) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.right < -5000 || empty(box)) continue;
      let shown = box, cut = "", scrolls = false;
      for (let above = parent; above !== doc.body && above; above = above.parentElement) {
        const style = styled(above), clipped = [style.overflowX, style.overflowY];
        if (clipped.every((way) => way === "visible")) continue;
        const room = above.getBoundingClientRect();
        if (clipped.includes("hidden") || clipped.includes("clip")) {
          if (!inside(shown, room) && !parent.closest("[title]")) cut = "cut";
        } else {
          scrolls = true;
          if (!inside(shown, { ...room, top: -1e9, bottom: 1e9 }) && !above.matches(SCROLLERS)) cut = "cut without a hint";
        }
        shown = both(shown, room);
      }
      if (!cut && !scrolls && !inside(shown, page)) cut = "beyond the edge";
      if (cut) wrong.push(`${cut}: ${text.slice(0, 40)}`);
      else if (!empty(shown)) found.push({ box: shown, text, node, parent });
    }
  }
  return found;
}

function overlapping(found, wrong) {
  const sorted = [...found].sort((a, b) => a.box.top - b.box.top);
  sorted.forEach((one, place) => {
    for (let next = place + 1; next < sorted.length && sorted[next].box.top < one.box.bottom - 3; next += 1) {
      const other = sorted[next];
      if (one.node !== other.node && overlap(one.box, other.box)) wrong.push(`${one.text.slice(0, 30)} over ${other.text.slice(0, 30)}`);
    }
  });
}

function pictures(doc, wrong) {
  const all = [...doc.querySelectorAll("svg")].filter((each) => each.checkVisibility());
  for (const picture of all) {
    const room = picture.getBoundingClientRect(), name = (picture.getAttribute("aria-label") ?? "").slice(0, 40);
    const hidden = picture.getAttribute("aria-hidden") === "true";
    if (!hidden && (picture.getAttribute("role") !== "img" || name.length < 10)) wrong.push(`picture without words: ${picture.outerHTML.slice(0, 80)}`);
    if (room.width < 5 || room.height < 5 || !picture.querySelector("path, rect, circle, line, polyline, polygon, use, image")) wrong.push(`not drawn: ${name}`);
    const scale = room.width / (picture.viewBox.baseVal?.width || room.width);
    const texts = [...picture.querySelectorAll("text")].map((text) => ({ text: text.textContent.trim(), box: text.getBoundingClientRect(), size: scale * parseFloat(getComputedStyle(text).fontSize), turned: (text.getAttribute("transform") ?? "").includes("rotate") }));
    for (const { text, box, size } of texts) {
      if (!inside(box, room)) wrong.push(`cut in a picture: ${text} (${name})`);
      if (size < 8.8) wrong.push(`words of ${size.toFixed(1)} px in a picture: ${text} (${name})`);
    }
    texts.forEach((one, place) => {
      for (const other of texts.slice(place + 1)) if (overlap(one.box, other.box) && !(one.turned && other.turned)) wrong.push(`in a picture ${one.text} over ${other.text} (${name})`);
    });
    for (const shape of picture.querySelectorAll("path, rect, circle")) {
      if (shape.closest("defs, clipPath, marker, [clip-path]")) continue;
      const box = shape.getBoundingClientRect();
      if (!inside(box, room, 3)) wrong.push(`a shape outside its picture: ${shape.outerHTML.slice(0, 60)} (${name})`);
    }
  }
  for (const place of doc.querySelectorAll(".chart, .picture")) if (!place.childElementCount && place.checkVisibility()) wrong.push(`empty chart ${place.id}`);
  return all.length;
}

// colours, composed from what lies below
const parsed = (colour) => {
  const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
  return { red, green, blue, alpha };
};
const over = (top, below) => Object.fromEntries(["red", "green", "blue"].map((part) => [part, top.alpha * top[part] + (1 - top.alpha) * below[part]]));
function ground(element, view) {
  const layers = [];
  for (let above = element; above; above = above.parentElement) {
    const colour = parsed(view.getComputedStyle(above).backgroundColor);
    if (colour.alpha) layers.push(colour);
    if (colour.alpha === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), { red: 255, green: 255, blue: 255 });
}
const light = ({ red, green, blue }) => {
  const [r, g, b] = [red, green, blue].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
function contrasts(found, view, wrong) {
  const known = new Set();
  for (const { parent, text } of found) {
    if (known.has(parent)) continue;
    known.add(parent);
    const style = view.getComputedStyle(parent), below = ground(parent, view);
    const [low, high] = [light(over(parsed(style.color), below)), light(below)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05), large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
  }
}

function structure(doc, wrong) {
  const count = (selector) => doc.querySelectorAll(selector).length;
  for (const landmark of ["body > header", "main", "body > footer", "h1", "head > title"]) if (count(landmark) !== 1) wrong.push(`${count(landmark)} of ${landmark}`);
  let before = 0;
  for (const heading of doc.querySelectorAll("h1, h2, h3, h4, h5")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) wrong.push(`heading jumps from ${before} to ${level}: ${heading.textContent.slice(0, 40)}`);
    if (!heading.textContent.trim()) wrong.push("an empty heading");
    before = level;
  }
  const ids = [...doc.querySelectorAll("[id]")].map((each) => each.id);
  if (new Set(ids).size < ids.length) wrong.push(`an id twice: ${ids.find((id, place) => ids.indexOf(id) < place)}`);
  for (const link of doc.querySelectorAll('a[href^="#"]')) if (!ids.includes(decodeURIComponent(link.hash.slice(1)))) wrong.push(`a link leads nowhere: ${link.hash}`);
  for (const field of doc.querySelectorAll("input, select, textarea, button")) {
    if (!field.getAttribute("aria-label") && !field.closest("label") && !field.textContent.trim()) wrong.push(`no label: ${field.outerHTML.slice(0, 60)}`);
  }
  for (const table of doc.querySelectorAll("table")) if (!table.querySelector("th")) wrong.push("a table without headings");
  for (const picture of doc.querySelectorAll("img")) if (!picture.alt) wrong.push("an image without words");
  for (const wide of doc.querySelectorAll(".scroll")) if (wide.checkVisibility() && wide.scrollWidth > wide.clientWidth + 1 && wide.tabIndex !== 0) wrong.push(`a wide table that no key reaches: ${wide.scrollWidth} in ${wide.clientWidth}`);
  const first = doc.querySelector("a[href], button, input, [tabindex='0']");
  if (first?.className !== "skip") wrong.push("the first thing that a key reaches is not the way to the content");
  if (doc.documentElement.lang !== "en") wrong.push("no language");
}

// search, order and index, as a reader uses them
async function used(doc) {
  const tools = doc.querySelector(".tools");
  if (!tools) return null;
  const [input, output] = [tools.querySelector("input"), tools.querySelector("output")];
  const decks = [...doc.querySelectorAll("[data-deck]")], cards = decks.find((deck) => deck.matches(".deck"));
  const shown = (deck) => [...deck.children].filter((each) => each.offsetHeight).map((each) => each.dataset.name);
  const type = (text) => { input.value = text; input.dispatchEvent(new Event("input")); };
  const all = shown(cards), said = output.textContent, sorted = {};
  type(all.at(-1).toUpperCase());
  const searched = { name: all.at(-1), shown: decks.map(shown), said: output.textContent };
  type("no column is called like this");
  const none = decks.flatMap(shown).length;
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  const after = shown(cards).length;
  const select = tools.querySelector("select");
  for (const option of select?.options ?? []) {
    select.value = option.value;
    select.dispatchEvent(new Event("change"));
    sorted[option.value] = shown(cards);
  }
  const link = [...doc.querySelectorAll(".index a")].at(-1);
  if (!link) return { all, said, searched, none, after, sorted, reached: true };
  type("no column is called like this");
  link.click();
  await pause(60);
  const target = doc.getElementById(decodeURIComponent(link.hash.slice(1))), box = target.getBoundingClientRect();
  const covered = Math.max(...[...doc.querySelectorAll("nav.sections, .tools")].map((each) => each.getBoundingClientRect().bottom));
  return { all, said, searched, none, after, sorted, reached: target.offsetHeight > 0 && box.top > covered - 6 && box.top < 700 };
}

async function look(name, address, width) {
  const { frame, took } = await opened(address, width);
  const doc = frame.contentDocument, root = doc.documentElement, wrong = [];
  const left = frame.contentWindow.performance.getEntriesByType("resource").map((each) => each.name).filter((each) => !each.startsWith("data:"));
  const dark = frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches;
  const folded = [...doc.querySelectorAll("details.values")].every((each) => !each.open);
  if (!folded) wrong.push("values are not folded");
  structure(doc, wrong);
  if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide`);
  const use = await used(doc);
  frame.contentWindow.scrollTo(0, 0);
  unfold(doc);
  await pause(30);
  if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide when unfolded`);
  const found = words(doc, wrong);
  overlapping(found, wrong);
  contrasts(found, frame.contentWindow, wrong);
  const drawn = pictures(doc, wrong);
  frame.remove();
  return { name, width, dark, took: Math.round(took), left, words: found.length, pictures: drawn, used: use, wrong: wrong.slice(0, MOST), count: wrong.length };
}

const told = [];
for (const [name, address] of Object.entries(pages)) for (const width of widths) {
  try {
    told.push(await look(name, address, width));
  } catch (error) {
    told.push({ name, width, wrong: [`the look failed: ${error.stack}`], left: [], pictures: 0, words: 0, used: null });
  }
}
const place = document.createElement("pre");
place.id = "told";
place.textContent = JSON.stringify(told);
document.body.append(place);
