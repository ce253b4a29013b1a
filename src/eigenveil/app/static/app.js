// Without this script all pages work: forms are submitted, and pages in progress reload themselves.
"use strict";

let latest = 0;

// Fetch the page again and renew its parts: elements with data-part. Status texts are changed in place, so that
// screen readers announce them.
async function renew(address) {
  const number = ++latest;
  let page;
  try {
    const answer = await fetch(address);
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    document.getElementById("lost").hidden = false;
    return;
  }
  if (number !== latest) return; // the user has moved on
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.getElementById(part.id);
    if (fresh === null) {
      location.assign(address); // another page, such as an error
      return;
    }
    if (part.getAttribute("role") !== "status") replace(part, fresh);
    else if (part.textContent !== fresh.textContent) part.textContent = fresh.textContent;
  }
}

// Replace a part. What the user has opened stays open, and the focus stays where it is.
function replace(part, fresh) {
  const opened = [...part.querySelectorAll("details[open]")].map((details) => details.id);
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  part.replaceWith(fresh);
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  if (focused !== "") document.getElementById(focused)?.focus();
}

async function poll() {
  const lost = !document.getElementById("lost").hidden;
  if (lost || document.querySelector("[data-poll]") === null) return;
  await renew(location.href);
  setTimeout(poll, 500);
}

function follow(slider) {
  const values = slider.dataset.values.split(" ");
  let timer = 0;
  const move = () => {
    const epsilon = values[slider.value];
    slider.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
    document.getElementById("epsilon").textContent = epsilon;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const address = `${slider.form.action}?${new URLSearchParams(new FormData(slider.form))}`;
      history.replaceState(null, "", address);
      renew(address);
    }, 150);
  };
  slider.addEventListener("input", move);
  if (slider.value !== slider.defaultValue) move(); // moved before this script was loaded, or restored by a reload
}

for (const slider of document.querySelectorAll("[data-values]")) follow(slider);
for (const button of document.querySelectorAll("[data-without-script]")) button.hidden = true;
poll();
