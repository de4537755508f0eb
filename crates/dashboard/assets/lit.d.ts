// The part of lit-html that the dashboard uses.

export interface Template {
  strings: TemplateStringsArray;
  values: unknown[];
}

export declare const nothing: unique symbol;
export declare function html(strings: TemplateStringsArray, ...values: unknown[]): Template;
export declare function svg(strings: TemplateStringsArray, ...values: unknown[]): Template;
export declare function render(value: unknown, container: HTMLElement): unknown;
export declare function repeat<T>(
  items: Iterable<T>,
  key: (item: T, index: number) => unknown,
  template: (item: T, index: number) => unknown,
): unknown;
export declare function live(value: unknown): unknown;
export declare function guard(on: unknown[], make: () => unknown): unknown;
export declare function keyed(key: unknown, value: unknown): unknown;
