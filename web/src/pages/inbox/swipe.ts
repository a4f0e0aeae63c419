// A swipe of a row by touch: to the right or to the left, and never while one scrolls.
const DECIDED_PX = 12;
export const SWIPE_PX = 80;

type Swipe = { onmove: (byPx: number) => void; onswipe: (side: 'right' | 'left') => void };
type Start = { x: number; y: number; isSideways: boolean | null };

/** Listen to swipes of an element; what moves more up or down than sideways at first is a scroll, to its end. */
export function swiped(node: HTMLElement, { onmove, onswipe }: Swipe) {
  let start: Start | null = null;
  const stop = () => {
    if (start?.isSideways) onmove(0);
    start = null;
  };
  const down = (event: PointerEvent) => {
    const isFirst = event.pointerType === 'touch' && event.isPrimary;
    start = isFirst ? { x: event.clientX, y: event.clientY, isSideways: null } : null;
  };
  const move = (event: PointerEvent) => {
    if (!start) return;
    const [byX, byY] = [event.clientX - start.x, event.clientY - start.y];
    if (start.isSideways === null && Math.hypot(byX, byY) > DECIDED_PX)
      start.isSideways = Math.abs(byX) > 2 * Math.abs(byY);
    if (start.isSideways === false) start = null;
    else if (start.isSideways) onmove(byX);
  };
  const up = (event: PointerEvent) => {
    const byX = start?.isSideways ? event.clientX - start.x : 0;
    stop();
    if (Math.abs(byX) > SWIPE_PX) onswipe(byX > 0 ? 'right' : 'left');
  };
  node.addEventListener('pointerdown', down);
  node.addEventListener('pointermove', move);
  node.addEventListener('pointerup', up);
  node.addEventListener('pointercancel', stop);
  return {
    update: (next: Swipe) => ({ onmove, onswipe } = next),
    destroy: () => {
      node.removeEventListener('pointerdown', down);
      node.removeEventListener('pointermove', move);
      node.removeEventListener('pointerup', up);
      node.removeEventListener('pointercancel', stop);
    },
  };
}
