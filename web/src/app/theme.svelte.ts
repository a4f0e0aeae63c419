// Light, dark, or as the system has it; remembered in this browser.
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'tocsin.theme';

function remembered(): Theme {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

class ThemeChoice {
  current = $state<Theme>(remembered());

  constructor() {
    this.#show();
    addEventListener('storage', (event) => {
      if (event.key !== KEY) return;
      this.current = remembered();
      this.#show();
    });
  }

  choose(theme: Theme): void {
    this.current = theme;
    localStorage.setItem(KEY, theme);
    this.#show();
  }

  #show(): void {
    if (this.current === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.current;
  }
}

export const theme = new ThemeChoice();
