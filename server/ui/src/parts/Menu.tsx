import { DropdownMenu as M } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { tr } from "../texts";

export type Item = { label: string; icon?: ReactNode; danger?: boolean; checked?: boolean; onSelect: () => void };

/** Menu opens a list of actions under its trigger, in the landmark of the trigger. */
export function Menu({ trigger, items, align = "end" }: { trigger: ReactElement; items: Item[]; align?: "start" | "end" }) {
  return (
    <M.Root modal={false}>
      <M.Trigger asChild>{trigger}</M.Trigger>
        <M.Content align={align} sideOffset={4} collisionPadding={8} className="animate-rise z-50 min-w-44 rounded-card border bg-raised p-1 shadow-float">
          {items.map((i) => (
            <M.Item
              key={i.label}
              onSelect={i.onSelect}
              className={`flex min-h-9 cursor-default items-center gap-2.5 rounded-lg px-2.5 text-sm outline-none data-highlighted:bg-hover ${i.danger ? "text-danger" : ""}`}
            >
              {i.icon}
              <span className="flex-1">{i.label}</span>
              {i.checked && <span aria-label={tr("chosen")}>✓</span>}
            </M.Item>
          ))}
        </M.Content>
    </M.Root>
  );
}
