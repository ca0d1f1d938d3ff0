package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/stored"
)

const showUsage = `usage: weft threads show THREAD [flags]

Prints the newest state of a thread: its status, its tasks with their errors, its open questions with the
ids that weft threads answer takes, and the value of each channel. Long values are cut, but no prompt is;
-json prints all.
`

func runShow(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, showUsage).ofDatabase().ofServer().asJSON()
	if err := c.parse(args, "THREAD"); err != nil {
		return err
	}
	t, err := c.source.threads(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	v, err := t.show(ctx, c.args[0])
	if err != nil {
		return err
	}
	if c.json {
		return printJSON(c.out, v)
	}
	c.printThread(v)
	return nil
}

// printThread prints a thread for a person.
func (c *call) printThread(v *threadView) {
	line := func(title, text string) {
		if text != "" {
			say(c.out, "%-12s%s", title, cell(text))
		}
	}
	line("thread", v.ID)
	line("status", v.Status)
	line("graph", v.Graph)
	line("user", v.User)
	if v.Step != nil {
		line("step", fmt.Sprint(*v.Step))
	}
	line("checkpoint", v.Checkpoint)
	line("run", v.Run)
	line("version", v.Version)
	line("updated", v.Updated.Format(time.RFC3339))
	for _, key := range sortedKeys(v.Metadata) {
		line("metadata", key+" = "+brief(v.Metadata[key], "            ", 100))
	}
	for _, t := range v.Tasks {
		text := t.Node
		switch {
		case t.Finished:
			text += ": finished"
		case t.Error != "":
			text += ": failed: " + oneLine(t.Error, 300)
		}
		line("task", text)
	}
	for _, q := range v.Questions {
		name := q.Node
		if q.Interrupt != "" {
			name += ", " + q.Interrupt
		}
		line("question", q.ID+" ("+name+")")
		if !q.Asked.IsZero() {
			line("", "asked "+q.Asked.Format(time.RFC3339))
		}
		say(c.out, "%-12s%s", "", fullPrompt(q.Prompt, "            ", 100))
		if example := stored.ExampleAnswer(q.Prompt); example != "" {
			line("answer", "for example "+example)
		}
	}
	say(c.out, "\nvalues")
	for _, key := range sortedKeys(v.Values) {
		say(c.out, "  %s = %s", cell(key), brief(v.Values[key], "  ", 160))
	}
}
