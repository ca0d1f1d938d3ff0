import { isNumber } from "../../exact";
import { Image } from "../Image";
import { isLocal } from "../Markdown";
import { Tree } from "../Tree";
import { isObject, listOf, money, safeLink, text } from "./value";

// A product is {name, price, currency, image, description, details: {name: value}, url}; several are
// a list, or {products: […]}.

export function Products({ value }: { value: unknown }) {
  const list = listOf(value, "products");
  if (list.length === 0 || !list.every((p) => text(p.name))) return <Tree value={value} />;
  return (
    <ul className="grid gap-3 sm:grid-cols-[repeat(auto-fill,minmax(190px,1fr))]">
      {list.map((p, i) => {
        const picture = text(p.image);
        const link = safeLink(p.url);
        return (
          <li key={i} className="flex overflow-hidden rounded-card border bg-raised sm:flex-col">
            {picture && isLocal(picture) && <Image src={picture} alt="" className="w-28 shrink-0 bg-sunk object-cover sm:aspect-4/3 sm:w-full" />}
            <div className="flex min-w-0 flex-1 flex-col gap-1 p-3.5 text-sm">
              <div className="flex items-baseline justify-between gap-2">
                {link ? <a href={link} target="_blank" rel="noopener noreferrer" className="font-semibold underline">{text(p.name)}</a> : <span className="font-semibold">{text(p.name)}</span>}
                {isNumber(p.price) && <span className="num font-semibold whitespace-nowrap">{money(p.price, text(p.currency) ?? "EUR", true)}</span>}
              </div>
              {text(p.description) && <p className="leading-snug text-muted">{text(p.description)}</p>}
              {isObject(p.details) && (
                <dl className="num mt-auto grid grid-cols-[auto_1fr] gap-x-3 pt-2 text-xs">
                  {Object.entries(p.details).map(([k, v]) => (
                    <div key={k} className="contents">
                      <dt className="text-muted">{k}</dt>
                      <dd className="text-end">{text(v) ?? String(v)}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
