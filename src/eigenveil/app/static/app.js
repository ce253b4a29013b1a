// Without this script all pages work: forms are submitted, and pages in progress reload themselves.
"use strict";

let latest = 0;

// Fetch the page again and renew its parts: elements with data-part. Status texts are changed in place, so that
// screen readers announce them.
async function renew(address) {
  const number = ++latest;
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== latest) return; // the user has moved on
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.getElementById(part.id);
    if (fresh === null) {
      location.assign(address); // another page, such as an error
      return;
    }
    if (part.getAttribute("role") !== "status") part.replaceWith(fresh);
    else if (part.textContent !== fresh.textContent) part.textContent = fresh.textContent;
  }
}

async function poll() {
  if (document.querySelector("[data-poll]") === null) return;
  try {
    await renew(location.href);
    setTimeout(poll, 500);
  } catch {
    document.getElementById("lost").hidden = false;
  }
}

function follow(slider) {
  const values = slider.dataset.values.split(" ");
  let timer = 0;
  const show = () => {
    const epsilon = values[slider.value];
    slider.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
    document.getElementById("epsilon").textContent = epsilon;
  };
  show(); // a browser may restore another position than that of the page
  slider.addEventListener("input", () => {
    show();
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const address = `${slider.form.action}?${new URLSearchParams(new FormData(slider.form))}`;
      history.replaceState(null, "", address);
      await renew(address);
    }, 150);
  });
}

for (const slider of document.querySelectorAll("[data-values]")) follow(slider);
for (const button of document.querySelectorAll("[data-without-script]")) button.hidden = true;
poll();
