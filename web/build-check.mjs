// Compares a new build with the one in the repository: `node build-check.mjs NEW OLD`. Compressed files by what they hold.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

const content = (path) => {
  const bytes = readFileSync(path);
  if (path.endsWith('.br')) return brotliDecompressSync(bytes);
  return path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
};
const namesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const [built, committed] = process.argv.slice(2);
const names = new Set([...namesIn(built), ...namesIn(committed)]);
const differing = [...names].filter((name) => {
  try {
    return !content(join(built, name)).equals(content(join(committed, name)));
  } catch {
    return true; // only one of them has it
  }
});
if (differing.length > 0) {
  console.error(
    `${committed} is not what web/ builds: ${differing.join(', ')}. Run make web-build and commit it.`,
  );
  process.exit(1);
}
