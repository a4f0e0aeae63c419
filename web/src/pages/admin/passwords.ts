// Passwords that are made here, to be handed on once.

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789'; // without those that look alike
const LENGTH = 20;

/** Return a password of 20 letters and digits, about 116 bits, in groups of five. */
export function freshPassword(): string {
  const letters: string[] = [];
  while (letters.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      // Bytes beyond the last whole multiple would make some letters likelier.
      if (byte < 256 - (256 % LETTERS.length)) letters.push(LETTERS[byte % LETTERS.length]!);
    }
  }
  return letters
    .slice(0, LENGTH)
    .join('')
    .replace(/(.{5})(?=.)/g, '$1-');
}
