import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['node_modules', 'src/api/schema.ts'] },
  js.configs.recommended,
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  { languageOptions: { globals: globals.browser } },
  { files: ['public/service-worker.js'], languageOptions: { globals: globals.serviceworker } },
  { files: ['*.mjs'], languageOptions: { globals: globals.node } },
  { files: ['**/*.svelte', '**/*.svelte.ts'], languageOptions: { parserOptions: { parser: ts.parser } } },
  {
    rules: {
      'svelte/no-at-html-tags': 'error',
      'svelte/prefer-svelte-reactivity': 'off',
      'max-lines': ['error', 300],
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/words/now.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.object.name="Date"][callee.property.name="now"], NewExpression[callee.name="Date"][arguments.length=0]',
          message: "Clocks of browsers may be wrong: `serverNow()` of words/now.ts is the server's time.",
        },
      ],
    },
  },
);
