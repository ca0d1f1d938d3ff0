import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import react from "@vitejs/plugin-react";
import tailwind from "@tailwindcss/vite";

// The style sheet is asked for before the modules: the page is shown when it is there.
const stylesFirst = {
  name: "styles-first",
  transformIndexHtml: {
    order: "post",
    handler(html) {
      const sheets = html.match(/ *<link rel="stylesheet"[^>]*>\n/g) ?? [];
      return sheets.reduce((text, sheet) => text.replace(sheet, ""), html).replace(/ *<link rel="icon"/, (icon) => sheets.join("") + icon);
    },
  },
};

// Two pages of one project: each loads its own entry, and they share chunks. Addresses are
// relative, so that a page works under any path.
export default defineConfig({
  base: "./",
  resolve: { alias: [{ find: /^@langchain\/core\/.*/, replacement: fileURLToPath(new URL("src/core.ts", import.meta.url)) }] },
  plugins: [react(), tailwind(), stylesFirst],
  build: {
    target: "es2022",
    outDir: process.env.WEFT_OUT ?? "build",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rollupOptions: { input: { chat: "chat.html", studio: "studio.html" } },
  },
  server: {
    proxy: { "^/(threads|runs|assistants|store|info|ok)": process.env.WEFT_SERVER ?? "http://127.0.0.1:8123" },
  },
});
