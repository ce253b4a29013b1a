// What the theme leaves out for keyboards and screen readers: the level of captions, and focus where one scrolls.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("p.caption[role=heading]").forEach((one) => one.setAttribute("aria-level", "2"));
  document.querySelectorAll("pre, .table-wrapper, .cell_output").forEach((one) => {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
  });
});
