// Inter, which is loaded after the page: on a slow line the page is there a second sooner, in letters as wide and high.

/** Load the font; what is drawn takes it once it is there. */
export async function loadFont(): Promise<void> {
  await import('@fontsource-variable/inter/wght.css').catch(() => null);
}
