// Builds the pages into a folder: the pages as they are, and what they load compressed.
//   node scripts/build.mjs OUT
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const source = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = resolve(process.argv[2] ?? join(source, "dist"));
const made = mkdtempSync(join(tmpdir(), "weft-pages-"));
const run = (...args) => execFileSync(process.execPath, args, { cwd: source, stdio: "inherit", env: { ...process.env, WEFT_OUT: made } });

function filesOf(folder, under = "") {
  return readdirSync(join(folder, under)).sort().flatMap((name) => {
    const path = join(under, name);
    return statSync(join(folder, path)).isDirectory() ? filesOf(folder, path) : [path];
  });
}

try {
  run(join("node_modules", "typescript", "bin", "tsc"), "--noEmit");
  run(join("node_modules", "vite", "bin", "vite.js"), "build", "--logLevel", "warn");
  rmSync(out, { recursive: true, force: true });
  let total = 0;
  for (const path of filesOf(made)) {
    const to = join(out, path);
    mkdirSync(dirname(to), { recursive: true });
    if (path.endsWith(".html")) {
      cpSync(join(made, path), to);
      continue;
    }
    const data = gzipSync(readFileSync(join(made, path)), { level: 9 });
    data[9] = 255; // the operating system is not part of the file
    total += data.length;
    writeFileSync(`${to}.gz`, data);
  }
  console.log(`pages: ${Math.ceil(total / 1000)} kB compressed`);
} finally {
  rmSync(made, { recursive: true, force: true });
}
