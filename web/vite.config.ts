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

/** By how many pages and parts loaded later a module is used that is loaded with the first of them. */
const SHARED_BY = 3;

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
    // Two files beside each page's own, not sixty little ones: on a slow line each would wait for its turn.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'start', tags: ['$initial'], priority: 2 },
            {
              name: 'overlays',
              test: /node_modules[\\/](bits-ui|@floating-ui|svelte-toolbelt|runed|tabbable)|components[\\/](AssetRef|Dialog|Menu|Popover|SplitButton)\.svelte/,
              includeDependenciesRecursively: false, // a page without menus shares buttons, not overlays
              priority: 1,
            },
            { name: 'shared', minShareCount: SHARED_BY },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '^/api/': proxied, '/healthcheck': proxied } },
  ...(process.env.VITEST ? { resolve: { conditions: ['browser'] } } : {}),
  test: { environment: 'jsdom', include: ['tests/**/*.test.ts'], setupFiles: ['tests/setup.ts'] },
});
