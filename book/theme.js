// Light or dark: what the reader chose, or else what the system asks for.
(() => {
  const root = document.documentElement;
  const asked = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : asked.matches);
  try {
    root.dataset.theme = localStorage.theme ?? "";
  } catch {} // a reader may forbid storage
  addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("#theme");
    const name = () => (button.textContent = isDark() ? "Light" : "Dark");
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.theme = root.dataset.theme;
      } catch {}
      name();
    });
    asked.addEventListener("change", name);
    name();
    button.hidden = false;
    const here = document.querySelector(".rail [aria-current]"), rail = document.querySelector(".rail");
    if (here) rail.scrollTop = here.offsetTop - rail.offsetTop - rail.clientHeight / 2;
  });
})();
