import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Tooltip } from "./Tooltip";

type Kind = "primary" | "plain" | "quiet" | "danger";

const looks: Record<Kind, string> = {
  primary: "bg-accent text-on-accent hover:brightness-110",
  plain: "border bg-raised text-text hover:bg-sunk",
  quiet: "text-muted hover:text-text hover:bg-hover",
  danger: "border border-danger text-danger hover:bg-[color-mix(in_srgb,var(--danger)_10%,transparent)]",
};

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { kind?: Kind; icon?: ReactNode };

/** Button is a button with a text. */
export function Button({ kind = "plain", icon, className = "", children, ...rest }: Props) {
  return (
    <button
      type="button"
      className={`inline-flex min-h-9 items-center justify-center gap-2 rounded-control px-3.5 text-sm font-medium whitespace-nowrap transition-colors duration-150 disabled:opacity-50 ${looks[kind]} ${className}`}
      {...rest}
    >
      {icon}
      {children}
    </button>
  );
}

type IconProps = ButtonHTMLAttributes<HTMLButtonElement> & { label: string; kind?: Kind; tip?: boolean };

/** IconButton is a button with an icon. The label is its name, and is shown on hover. */
export function IconButton({ label, kind = "quiet", tip = true, className = "", children, ...rest }: IconProps) {
  const button = (
    <button
      type="button"
      aria-label={label}
      className={`inline-grid size-8 shrink-0 place-items-center rounded-control transition-colors duration-150 disabled:opacity-40 ${looks[kind]} ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
  return tip ? <Tooltip text={label}>{button}</Tooltip> : button;
}
