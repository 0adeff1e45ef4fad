// Loaded before anything is drawn, so that nobody who chose dark sees a white flash.
"use strict";
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("turnlog-theme");
  } catch {
    // A browser may keep nothing; then the system's own choice stands.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
}
