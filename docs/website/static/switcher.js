// Fills the list of versions from ../versions.js, which every build writes anew. Works from a folder, without a server.
"use strict";
(() => {
  const list = document.getElementById("version-switcher");
  const versions = window.SFUMATO_VERSIONS || [];
  if (!list || versions.length === 0) return;
  const here = list.dataset.version;
  const top = list.dataset.top || "./";
  list.replaceChildren(...versions.map((name) => new Option(name, name, name === here, name === here)));
  list.addEventListener("change", () => {
    window.location.href = `${top}../${list.value}/index.html`;
  });
})();
