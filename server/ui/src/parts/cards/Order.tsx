import { isNumber } from "../../exact";
import { Image } from "../Image";
import { isLocal } from "../Markdown";
import { Tree } from "../Tree";
import { grouped, isObject, listOf, money, text } from "./value";
import { tr } from "../../texts";

// An order is {id, lines: [{id, name, image, quantity, price, sum}], total, currency}: a quote, an order or a bill.

export function Order({ value }: { value: unknown }) {
  const order = isObject(value) ? value : {};
  const lines = Array.isArray(order.lines) ? listOf(value, "lines") : [];
  if (lines.length === 0 || !lines.every((l) => text(l.name)) || !isNumber(order.total)) return <Tree value={value} />;
  const currency = text(order.currency) ?? "EUR";
  return (
    <div className="max-w-xl overflow-hidden rounded-card border bg-raised text-sm">
      {text(order.id) && <div className="num border-b bg-surface px-3.5 py-2 font-semibold">{text(order.id)}</div>}
      <ul className="divide-y">
        {lines.map((l, i) => {
          const picture = text(l.image);
          return (
            <li key={i} className="flex items-center gap-3 px-3.5 py-2">
              {picture && isLocal(picture) && <Image src={picture} alt="" className="size-12 shrink-0 rounded-lg bg-sunk object-cover" />}
              <div className="min-w-0 flex-1">
                <div dir="auto" className="font-medium break-words">{text(l.name)}</div>
                <div className="num text-xs text-muted">{[text(l.id), isNumber(l.quantity) && isNumber(l.price) && `${grouped(l.quantity)} × ${money(l.price, currency)}`].filter(Boolean).join(" · ")}</div>
              </div>
              {isNumber(l.sum) && <span className="num whitespace-nowrap">{money(l.sum, currency)}</span>}
            </li>
          );
        })}
      </ul>
      <div className="num flex justify-between gap-3 border-t bg-surface px-3.5 py-2 font-semibold"><span>{tr("Total")}</span><span>{money(order.total, currency)}</span></div>
    </div>
  );
}
