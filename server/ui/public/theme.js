// Runs before the first paint, so that the page does not flash in the other theme, or show the start
// where a conversation follows.
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("weft.theme");
  } catch {
    // The browser keeps no values for this page.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  if (location.hash.length > 2) document.documentElement.dataset.follows = "";
}
