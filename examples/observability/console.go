package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A console prints each trace as a tree when its first span has ended.
type console struct {
	out   io.Writer
	spans []sdk.ReadOnlySpan
}

// ExportSpans stores spans. When a span without a parent has ended, it prints the trace.
func (c *console) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	for _, s := range spans {
		c.spans = append(c.spans, s)
		if s.Parent().IsValid() {
			continue
		}
		slices.SortStableFunc(c.spans, func(a, b sdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
		c.print(trace.SpanID{}, 0)
		c.spans = nil
	}
	return nil
}

// Shutdown does nothing.
func (c *console) Shutdown(context.Context) error { return nil }

// print prints the spans with a parent, each with its attributes of interest.
func (c *console) print(parent trace.SpanID, depth int) {
	for _, s := range c.spans {
		if s.Parent().SpanID() != parent {
			continue
		}
		line := strings.Repeat("  ", depth) + s.Name()
		for _, a := range s.Attributes() {
			switch a.Key {
			case "weft.outcome", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "error.type":
				line += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
			}
		}
		for _, l := range s.Links() {
			line += " linked to " + l.SpanContext.SpanID().String()[:4]
		}
		if depth == 0 {
			line += " id " + s.SpanContext().SpanID().String()[:4]
		}
		fmt.Fprintln(c.out, line)
		c.print(s.SpanContext().SpanID(), depth+1)
	}
}
