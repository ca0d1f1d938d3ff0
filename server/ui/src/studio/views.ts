import { Boxes, CircleHelp, Database, ListTree, MessagesSquare, Settings2 } from "lucide-react";
import type { ComponentType } from "react";

type Icon = ComponentType<{ size?: number; "aria-hidden"?: boolean }>;

export const views: { path: string; label: string; icon: Icon; key: string }[] = [
  { path: "graphs", label: "Graphs", icon: Boxes, key: "g" },
  { path: "threads", label: "Threads", icon: MessagesSquare, key: "t" },
  { path: "runs", label: "Runs", icon: ListTree, key: "r" },
  { path: "questions", label: "Questions", icon: CircleHelp, key: "q" },
  { path: "memory", label: "Memory", icon: Database, key: "m" },
  { path: "settings", label: "Settings", icon: Settings2, key: "s" },
];
