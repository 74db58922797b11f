/**
 * The document as the terminal sees it. The terminal writes its styles into <style> elements and style attributes, which the page's
 * content security policy refuses; the same styles as adopted sheets and properties are allowed.
 */
export interface StyledDocument {
  readonly document: Document;
  /** Takes its sheets back. */
  readonly remove: () => void;
}

export function styledDocument(page: Document): StyledDocument {
  const sheets: CSSStyleSheet[] = [];
  const create = (name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = page.createElement(name, options);
    if (name === 'style') {
      const sheet = new CSSStyleSheet();
      sheets.push(sheet);
      page.adoptedStyleSheets = [...page.adoptedStyleSheets, sheet];
      Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text) });
    } else if (name === 'span') {
      element.setAttribute = (attribute: string, value: string) => {
        if (attribute === 'style') element.style.cssText = value;
        else Element.prototype.setAttribute.call(element, attribute, value);
      };
    }
    return element;
  };
  const document = new Proxy(page, {
    get(target, property) {
      if (property === 'createElement') return create;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    document,
    remove: () => {
      page.adoptedStyleSheets = page.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
    },
  };
}
