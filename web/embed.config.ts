// How the script for other sites is built: one file that is no module, so that any page may load it without CORS.
import type { InlineConfig } from 'vite';

export const embedBuild = (outDir: string): InlineConfig => ({
  configFile: false,
  publicDir: false,
  logLevel: 'error',
  build: {
    outDir,
    target: 'es2022',
    modulePreload: { polyfill: false },
    lib: { entry: 'src/embed/tocsin.ts', formats: ['iife'], name: 'Tocsin', fileName: () => 'tocsin.js' },
  },
});
