import { Component, type ReactNode } from "react";
import { tr } from "../texts";

/** Boundary shows a text where its children cannot be shown, so that the rest of the page stays. */
export class Boundary extends Component<{ children: ReactNode; what: string }, { failed?: string }> {
  override state: { failed?: string } = {};
  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
  override render() {
    if (this.state.failed === undefined) return this.props.children;
    return (
      <p role="alert" className="rounded-card border border-danger px-4 py-3 text-sm text-danger">
        {tr("{what} cannot be shown: {reason}", { what: this.props.what, reason: this.state.failed })}
      </p>
    );
  }
}
