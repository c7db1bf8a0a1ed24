// Live updates: when the collector says that runs were stored, the same page is fetched again and its live part replaced.
// Everything else on these pages works without this file.
"use strict";
const live = document.querySelector("[data-live]");
let wanted = false, busy = false, paused = false, last = 0;
const PAUSE = 2000, RETRY = 30000;

async function refresh() {
  if (busy || paused || document.hidden || Date.now() - last < PAUSE) { wanted = true; return; }
  busy = true; wanted = false;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(live.id), health = page.querySelector(".health");
      const focused = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      const scrolled = [...live.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      if (fresh) live.replaceChildren(...fresh.childNodes);
      if (health) document.querySelector(".health").replaceChildren(...health.childNodes);
      [...live.querySelectorAll(".scroll")].forEach((one, at) => { one.scrollLeft = scrolled[at] || 0; });
      if (focused) [...live.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
      live.dataset.refreshed = String(Number(live.dataset.refreshed || 0) + 1);
    }
  } catch { /* the next event tries again */ }
  last = Date.now(); busy = false;
}

if (live && !new URLSearchParams(location.search).has("after")) {
  let events = null;
  const listen = () => {
    // A browser has six connections to a collector, for all its tabs together: one that nobody sees must keep none.
    if (document.hidden) events?.close();
    else if (!events || events.readyState === EventSource.CLOSED) {
      events = new EventSource("/console/events");
      events.addEventListener("stored", refresh);
    }
  };
  listen();
  document.addEventListener("visibilitychange", () => { listen(); refresh(); });
  // A browser does not try again by itself where the collector has as many open pages as it takes.
  setInterval(listen, RETRY);
  setInterval(() => { if (wanted) refresh(); }, 500);
  addEventListener("pagehide", () => events?.close());
  const pause = document.querySelector("[data-pause]");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    if (!paused && wanted) refresh();
  });
}

// j and k move from run to run, / goes to the text filter.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "/") {
    const box = document.querySelector("input[type=search]");
    if (box) { event.preventDefault(); box.focus(); }
  }
  const step = { j: 1, k: -1 }[event.key], rows = [...document.querySelectorAll(".runs a.id")];
  if (!step || !rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))].focus();
});
