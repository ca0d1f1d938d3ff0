import { Tooltip as T } from "radix-ui";
import type { ReactElement } from "react";

/** Tooltip shows a text on hover and focus. */
export function Tooltip({ text, children }: { text: string; children: ReactElement }) {
  return (
    <T.Provider delayDuration={400}>
      <T.Root>
        <T.Trigger asChild>{children}</T.Trigger>
        <T.Portal>
          <T.Content sideOffset={6} collisionPadding={8} className="animate-rise z-50 max-w-72 rounded-lg bg-text px-2.5 py-1 text-xs text-bg shadow-float">
            {text}
          </T.Content>
        </T.Portal>
      </T.Root>
    </T.Provider>
  );
}
