import { svelte } from '@sveltejs/vite-plugin-svelte';
import { compression } from 'vite-plugin-compression2';
import { defineConfig } from 'vitest/config';

const server = process.env.TOCSIN_URL ?? 'http://127.0.0.1:8585';

// Pages made here are pages of that server: it takes changes from its own pages only.
const proxied = { target: server, changeOrigin: true, headers: { origin: server } };

// What the server sends is hashed and compressed here, so that no machine that runs Tocsin needs Node.
export default defineConfig({
  plugins: [svelte(), compression({ algorithms: ['gzip', 'brotliCompress'], threshold: 512 })],
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
  server: { proxy: { '/api': proxied, '/healthcheck': proxied } },
  ...(process.env.VITEST ? { resolve: { conditions: ['browser'] } } : {}),
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'], setupFiles: ['tests/setup.ts'] },
});
