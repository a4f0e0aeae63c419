// What lies over the page: the palette, or the list of keys.
export type Overlay = 'palette' | 'keys';

class Overlays {
  open = $state<Overlay | null>(null);

  show(overlay: Overlay): void {
    this.open = overlay;
  }

  close(): void {
    this.open = null;
  }
}

export const overlays = new Overlays();
