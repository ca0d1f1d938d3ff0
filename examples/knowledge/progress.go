package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/knowledge"
)

// show shows the progress of a run and its result.
func (c *command) show(run iter.Seq2[knowledge.Progress, error], all int) error {
	show := progress{out: c.out, all: all, bar: terminal(c.out)}
	began := time.Now()
	var total knowledge.Report
	for p, err := range run {
		if err != nil {
			show.end()
			return err
		}
		total = p.Total
		show.step(p)
	}
	show.end()
	fmt.Fprintf(c.out, "%d documents in %v: %d added, %d updated, %d unchanged, %d skipped, %d failed, %d removed; %d chunks, %d embedded\n",
		total.Documents(), time.Since(began).Round(time.Millisecond), total.Added, total.Updated, total.Unchanged, total.Skipped, total.Failed,
		total.Pruned, total.Chunks, total.Embedded)
	if total.Failed > 0 {
		return fmt.Errorf("%d documents failed", total.Failed)
	}
	return nil
}

// progress shows a bar on a terminal, and otherwise a line for each document that changed.
type progress struct {
	out  io.Writer
	all  int
	bar  bool
	done int
}

const width = 30

func (p *progress) step(s knowledge.Progress) {
	p.done++
	if s.Status != knowledge.Unchanged && !p.bar || s.Err != nil {
		p.clear()
		fmt.Fprintf(p.out, "%-9s %s", s.Status, quoted(s.URI))
		if s.Err != nil {
			fmt.Fprintf(p.out, ": %s", quoted(s.Err.Error()))
		}
		fmt.Fprintln(p.out)
	}
	if p.bar {
		part := min(1, float64(p.done)/float64(max(p.all, 1)))
		full := int(part * width)
		fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %d of %d, %d chunks", strings.Repeat("=", full), strings.Repeat(" ", width-full), p.done, p.all, s.Total.Chunks)
	}
}

func (p *progress) clear() {
	if p.bar {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) end() {
	if p.bar && p.done > 0 {
		fmt.Fprintln(p.out)
	}
}

// terminal reports whether out is a terminal.
func terminal(out io.Writer) bool {
	switch f := out.(type) {
	case interface{ Terminal() bool }:
		return f.Terminal()
	case *os.File:
		info, err := f.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return false
}
