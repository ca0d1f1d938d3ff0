package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const tailUsage = `usage: weft threads tail THREAD [flags]

Prints the last checkpoints of a thread, and then each new one as it is stored, until Ctrl C.
-follow=false ends after the last one.
`

func runTail(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, tailUsage).ofDatabase().ofServer().asJSON()
	n, every, follow := 10, time.Second, true
	c.flags.IntVar(&n, "n", n, "begin with this `NUMBER` of checkpoints; 0 means all")
	c.flags.DurationVar(&every, "every", every, "look for new checkpoints after this `TIME`")
	c.flags.BoolVar(&follow, "follow", follow, "wait for new checkpoints")
	if err := c.parse(args, "THREAD"); err != nil {
		return err
	}
	if n < 0 || every <= 0 {
		return fmt.Errorf("%w: -n cannot be negative, and -every must be positive", errUsage)
	}
	t, err := c.source.threads(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return c.tail(ctx, t, n, every, follow)
}

// tail prints the last n checkpoints of the thread, or all if n is 0. If follow is true, it then looks for new ones
// until ctx ends.
func (c *call) tail(ctx context.Context, t threads, n int, every time.Duration, follow bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := (step{}); ; {
		steps, err := newSteps(ctx, t, c.args[0], last, n)
		switch {
		case ctx.Err() != nil:
			return nil // the user has ended the command with Ctrl+C
		case err != nil:
			return err
		case last.ID == "" && len(steps) == 0 && c.source.server == "": // a thread of a server may have no checkpoint
			return missing(c.args[0], "")
		}
		for _, s := range slices.Backward(steps) {
			if err := c.printStep(&s); err != nil {
				return err
			}
			last = s
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// newSteps returns the checkpoints after last, newest first, even if last was removed meanwhile. If last is zero, it returns
// the newest n checkpoints, or all if n is 0.
func newSteps(ctx context.Context, t threads, thread string, last step, n int) ([]step, error) {
	var out []step
	if last.ID != "" {
		n = 0
	}
	for s, err := range t.history(ctx, thread, n) {
		if err != nil || s.ID == last.ID || s.Time.Before(last.Time) {
			return out, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *call) printStep(s *step) error {
	if c.json {
		return printLine(c.out, s)
	}
	due := "done"
	if len(s.Next) > 0 {
		due = "due: " + strings.Join(unique(s.Next), ", ")
	}
	say(c.out, "%s  %s  step %-4d %-7s %s", s.Time.Format(time.RFC3339), cell(s.ID), s.Step, cell(s.Source), cell(due))
	return nil
}
