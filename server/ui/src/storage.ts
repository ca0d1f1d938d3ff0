/**
 * A Store keeps texts in the browser. A browser may refuse that, for instance in a frame of another site; the texts
 * then last until the page is left.
 */
class Store {
  #browser: () => Storage;
  #refused = new Map<string, string>();

  constructor(browser: () => Storage) {
    this.#browser = browser;
  }

  get(key: string): string | null {
    const refused = this.#refused.get(key);
    if (refused !== undefined) return refused;
    try {
      return this.#browser().getItem(key);
    } catch {
      return null;
    }
  }

  /** set keeps a text, or with null removes it. It returns false if the text goes with the page. */
  set(key: string, text: string | null): boolean {
    this.#refused.delete(key);
    try {
      if (text === null) this.#browser().removeItem(key);
      else this.#browser().setItem(key, text);
      return true;
    } catch {
      if (text !== null) this.#refused.set(key, text);
      return false;
    }
  }

  /** keeps reports whether the browser takes texts, and has taken all of them. */
  keeps(): boolean {
    const taken = this.set("weft.try", "");
    this.set("weft.try", null);
    return taken && this.#refused.size === 0;
  }
}

/** perTab keeps texts until the tab is closed. */
export const perTab = new Store(() => sessionStorage);

/** perBrowser keeps texts for all tabs. */
export const perBrowser = new Store(() => localStorage);
