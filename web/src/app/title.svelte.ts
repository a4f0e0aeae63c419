// The title of a page whose name is known only when it is read: an asset's, an alert's. The frame shows it in the tab.
class PageTitle {
  name = $state<string | null>(null);

  /** Name the page while it is shown: `$effect(() => pageTitle.say(table.name))`. */
  say(name: string): () => void {
    this.name = name;
    return () => {
      if (this.name === name) this.name = null;
    };
  }
}

export const pageTitle = new PageTitle();
