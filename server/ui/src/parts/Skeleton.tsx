import { tr } from "../texts";
/** Skeleton stands for lines of text that are not there yet. */
export function Skeleton({ lines = 3, label = tr("Loading") }: { lines?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="animate-soft space-y-2.5 py-1">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className={`h-3.5 rounded-sm bg-sunk ${i === lines - 1 ? "w-2/5" : i % 2 ? "w-4/5" : "w-full"}`} />
      ))}
    </div>
  );
}
