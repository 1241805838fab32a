for (const details of document.querySelectorAll("details.values")) details.open = false;
const { config, charts } = JSON.parse(document.getElementById("charts").textContent);
const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config };

// the library only logs what goes wrong while it draws; a page must not stay blank without a word
const problems = [];
const log = console.error;
console.error = (...words) => { problems.push(words); log.apply(console, words); };

function undrawn(place) {
  const sentence = document.createElement("p");
  sentence.className = "undrawn";
  sentence.textContent = "This chart could not be drawn. The table of values holds the same numbers.";
  place.replaceChildren(sentence);
}

for (const [id, spec] of Object.entries(charts)) {
  const place = document.getElementById(id);
  problems.length = 0;
  try {
    await window.vegaEmbed(place, spec, options);
  } catch (error) {
    console.error(error);
  }
  if (problems.length) undrawn(place);
}
