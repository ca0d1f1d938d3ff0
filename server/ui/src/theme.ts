import { useSyncExternalStore } from "react";
import { perBrowser } from "./storage";

export type Theme = "light" | "dark" | "system";

const listeners = new Set<() => void>();

function read(): Theme {
  const t = document.documentElement.dataset.theme;
  return t === "light" || t === "dark" ? t : "system";
}

/** setTheme chooses a theme and keeps the choice. */
export function setTheme(theme: Theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  perBrowser.set("weft.theme", theme === "system" ? null : theme);
  for (const f of listeners) f();
}

/** useTheme returns the chosen theme. */
export function useTheme(): Theme {
  return useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, read);
}
