// The clipboard, on servers without TLS too: there browsers offer no clipboard, and copying what is selected remains.

import { toasts } from './toasts.svelte';

/** Put a text into the clipboard. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.setAttribute('aria-hidden', 'true');
  const focused = document.activeElement;
  (document.querySelector('dialog[open], [role=dialog]') ?? document.body).append(field); // a dialog keeps the focus
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied)
    throw new Error('This browser does not let pages without TLS copy. Select the text, and copy it.');
}

/** Put a text into the clipboard and say so, or say why it could not be copied; returns whether it was. */
export async function copy(text: string, said?: string): Promise<boolean> {
  try {
    await copyText(text);
  } catch (error) {
    toasts.say((error as Error).message);
    return false;
  }
  if (said) toasts.say(said);
  return true;
}
