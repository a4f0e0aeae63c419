import { svelte } from '@sveltejs/vite-plugin-svelte';
import { compression } from 'vite-plugin-compression2';
import { build, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { embedBuild } from './embed.config.ts';

const server = process.env.TOCSIN_URL ?? 'http://127.0.0.1:8585';

// Pages made here are pages of that server: it takes changes from its own pages only.
const proxied = { target: server, changeOrigin: true, headers: { origin: server } };

// The script for other sites is built beside the application, and shares nothing with it but source.
const embed = (): Plugin => ({
  name: 'embed',
  apply: 'build',
  async writeBundle({ dir }) {
    await build(embedBuild(`${dir}/embed`));
  },
});

// What the server sends is hashed and compressed here, so that no machine that runs Tocsin needs Node.
export default defineConfig({
  plugins: [svelte(), embed(), compression({ algorithms: ['gzip', 'brotliCompress'], threshold: 512 })],
  build: {
    outDir: '../src/tocsin/ui/static',
    emptyOutDir: true,
    assetsDir: 'static',
    assetsInlineLimit: 0, // the content security policy allows no data: addresses
    modulePreload: { polyfill: false },
    target: 'es2022',
    license: { fileName: 'licences.md' },
  },
  worker: { format: 'es' },
  server: { proxy: { '^/api/': proxied, '/healthcheck': proxied } },
  ...(process.env.VITEST ? { resolve: { conditions: ['browser'] } } : {}),
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'], setupFiles: ['tests/setup.ts'] },
});
