import { type ComponentType, lazy, Suspense, useEffect, useRef, useSyncExternalStore } from "react";
import { parse, unmarked } from "../../exact";
import { Boundary } from "../Boundary";
import { Markdown } from "../Markdown";
import { Skeleton } from "../Skeleton";
import { Tree } from "../Tree";
import { Day } from "./Day";
import { Diff } from "./Diff";
import { Files, Images, Links } from "./Links";
import { Order } from "./Order";
import { Products } from "./Products";
import { Table } from "./Table";
import { isObject } from "./value";
import { tr } from "../../texts";

// The card of a result is chosen by the type that its tool declares. Each card takes any JSON, and
// shows a tree if the value has not the form that it knows.

export type CardProps = { value: unknown };

const Chart = lazy(() => import("./Chart"));

const cards: Record<string, ComponentType<CardProps>> = {
  table: Table, chart: Chart, image: Images, product: Products, order: Order, file: Files, links: Links, day: Day, diff: Diff,
};

type Render = (element: HTMLElement, value: unknown) => void;

const own = new Map<string, Render>();
let version = 0;
const listeners = new Set<() => void>();

/** addCard adds the card of an application. It replaces one of the same type. */
export function addCard(type: string, render: Render) {
  own.set(type, render);
  version++;
  for (const f of listeners) f();
}

function Own({ render, value }: { render: Render; value: unknown }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    element.replaceChildren();
    render(element, unmarked(value));
  }, [render, value]);
  return <div ref={ref} />;
}

/** valueOf reads a result: JSON, or else its text. */
export function valueOf(text: string): unknown {
  if (!/^\s*[[{"\d-]|^\s*(true|false|null)\s*$/.test(text)) return text;
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** hasCard reports whether a type has a card of its own. */
export function hasCard(type: string | undefined): type is string {
  return type !== undefined && (own.has(type) || type in cards);
}

// The field of the list in a value of the type.
const lists: Record<string, string> = { product: "products", file: "files", links: "links", image: "images" };

/** isEmpty reports whether a value of the type is an empty list, or has one. */
function isEmpty(type: string, value: unknown): boolean {
  const list = isObject(value) && type in lists ? value[lists[type]!] : value;
  return Array.isArray(list) && list.length === 0;
}

/** Card shows a result by its type. A value of an unknown type is a tree, and a text is Markdown. */
export function Card({ type, value }: { type?: string; value: unknown }) {
  useSyncExternalStore((f) => {
    listeners.add(f);
    return () => listeners.delete(f);
  }, () => version);
  const render = type ? own.get(type) : undefined;
  const Known = type ? cards[type] : undefined;
  return (
    <Boundary what={tr("The result")}>
      {render ? <Own render={render} value={value} />
        : type && Known && isEmpty(type, value) ? <p className="text-sm text-muted">{tr("Nothing found.")}</p>
        : Known ? <Suspense fallback={<Skeleton lines={5} />}><Known value={value} /></Suspense>
        : typeof value === "string" ? <Markdown text={value} />
        : <Tree value={value} open={2} />}
    </Boundary>
  );
}
