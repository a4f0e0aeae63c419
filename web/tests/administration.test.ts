// Passwords that are made in the browser.
import { describe, expect, it } from 'vitest';
import { freshPassword } from '../src/pages/admin/passwords';

describe('a fresh password', () => {
  it('has 20 letters and digits in groups, and is never the same', () => {
    const made = Array.from({ length: 50 }, freshPassword);
    for (const password of made)
      expect(password).toMatch(/^([A-HJ-NP-Za-km-z2-9]{5}-){3}[A-HJ-NP-Za-km-z2-9]{5}$/);
    expect(new Set(made).size).toBe(50);
  });
});
