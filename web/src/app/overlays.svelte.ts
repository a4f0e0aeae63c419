// What lies over the page: the palette, or the list of keys.
export type Overlay = 'palette' | 'keys';

class Overlays {
  open = $state<Overlay | null>(null);
  /** What is typed into the palette. */
  text = $state('');

  show(overlay: Overlay): void {
    if (overlay !== this.open) this.text = '';
    this.open = overlay;
  }

  close(): void {
    this.open = null;
  }
}

export const overlays = new Overlays();
