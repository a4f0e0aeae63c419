// Short messages at the foot of the page, with undo in place of "are you sure?".
export type Toast = { id: number; text: string; undo?: (() => void) | undefined };

const SHOWN_MS = 8_000;

class ToastList {
  list = $state<Toast[]>([]);
  #last = 0;

  say(text: string, undo?: () => void): void {
    const id = ++this.#last;
    this.list.push({ id, text, undo });
    setTimeout(() => this.close(id), SHOWN_MS);
  }

  /** Undo what was said last. */
  undo(): void {
    const toast = this.list.findLast(({ undo }) => undo);
    if (!toast) return;
    this.close(toast.id);
    toast.undo?.();
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new ToastList();
