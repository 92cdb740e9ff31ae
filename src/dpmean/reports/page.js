"use strict";
// Shows the numbers of a table while the pointer is over their drawing; the page is complete without.
for (const drawing of document.querySelectorAll("svg[data-table]")) {
  const rows = [...document.getElementById(drawing.dataset.table).rows].filter((row) => row.cells.length > 1);
  const [across, down] = drawing.dataset.cells.split(" ").map(Number);
  const figure = drawing.closest("figure");
  const words = document.createElement("div");
  words.className = "hover";
  words.hidden = true;
  figure.append(words);
  drawing.addEventListener("pointerleave", () => { words.hidden = true; });
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect(), around = figure.getBoundingClientRect();
    const cell = (part, count) => Math.min(count - 1, Math.max(0, Math.floor(part * count)));
    const x = cell((event.clientX - box.left) / box.width, across);
    const y = cell((event.clientY - box.top) / box.height, down);
    const [name, value, interval] = rows[y * across + x].cells;
    words.textContent = `${(name.querySelector("bdi") || name).textContent}: ${value.textContent} (${interval.textContent})`;
    words.hidden = false;
    const half = words.offsetWidth / 2;
    words.style.left = `${Math.min(Math.max(event.clientX - around.left, half), around.width - half)}px`;
    words.style.top = `${event.clientY - around.top}px`;
  });
}
