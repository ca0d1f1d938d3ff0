declare const weft: {
  card(type: string, render: (element: HTMLElement, value: unknown) => void): void;
  headers(get: (asked: { refused: boolean }) => Record<string, string> | Promise<Record<string, string>>): void;
  send(text: string): Promise<boolean>;
};
