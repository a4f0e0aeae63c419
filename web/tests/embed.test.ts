// @vitest-environment node
// The script for other sites is small, is one file, and needs nothing else.
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { embedBuild } from '../embed.config';

test('the script for other sites is one file of at most 15 kB', async () => {
  const config = embedBuild('unused');
  const built = await build({ ...config, build: { ...config.build, write: false } });
  const files = [built].flat().flatMap((each) => ('output' in each ? each.output : []));
  expect(files.map((file) => file.fileName)).toEqual(['tocsin.js']);
  const [file] = files;
  const code = file?.type === 'chunk' ? file.code : '';
  expect(gzipSync(code).length).toBeLessThanOrEqual(15 * 1024);
  expect(code).toContain('tocsin-follow');
  expect(code).not.toMatch(/innerHTML|eval\(|import\(|document\.cookie|localStorage/);
});
