// Builds the pages into a temporary folder, and fails if dist has other files. It compares what the
// compressed files contain, since other versions of zlib compress otherwise.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = resolve(here, "..", "dist");
const fresh = mkdtempSync(join(tmpdir(), "weft-check-"));

function contents(folder, under = "", into = new Map()) {
  for (const name of readdirSync(join(folder, under))) {
    const path = join(under, name);
    if (statSync(join(folder, path)).isDirectory()) contents(folder, path, into);
    else {
      const data = readFileSync(join(folder, path));
      into.set(path, (path.endsWith(".gz") ? gunzipSync(data) : data).toString("base64"));
    }
  }
  return into;
}

try {
  execFileSync(process.execPath, [join(here, "build.mjs"), fresh], { stdio: "inherit" });
  const want = contents(fresh);
  const have = contents(dist);
  const stale = [...new Set([...want.keys(), ...have.keys()])].filter((p) => want.get(p) !== have.get(p)).sort();
  if (stale.length > 0) {
    console.error(`studio-check: server/ui/dist is stale; run make studio. These files differ:\n  ${stale.join("\n  ")}`);
    process.exitCode = 1;
  } else console.log(`studio-check: ${have.size} files are current`);
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
