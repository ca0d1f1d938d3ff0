package deep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
)

// State returns files that are stored in the state of the agent, with its thread: they are in
// each checkpoint, and a fork has files of its own. An agent and its sub-agents share them. A
// change stores the new text or the edit, and not the other files.
//
// If two sub-agents edit one file at the same time, both edits are made, the one of the first
// call first. An edit whose old text is no longer there has no effect. Once the edits of a file are
// larger than the file and 64 KiB, the next edit stores the whole text, which replaces an edit that
// another sub-agent makes at the same time. A thread has one such tree.
func State() Files { return stateFiles{} }

type stateFiles struct{}

// A change is a change of one file. Without Old, Text is the whole file. Otherwise Text
// replaces Old.
type change struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	Text string `json:"text,omitempty"`
	All  bool   `json:"all,omitempty"`
}

// changeID reads and sets the ids of changes.
type changeID struct{}

func (changeID) ID(c change) string { return c.ID }

func (changeID) WithID(c change, id string) change {
	c.ID = id
	return c
}

// changes are the changes of all files, oldest first.
var changes = state.Keyed("agent_files", changeID{}).Prune(withoutOutdated)

// withoutOutdated removes the changes of a file before its newest whole text.
func withoutOutdated(list []change) []change {
	whole := map[string]bool{}
	var kept []change
	for _, c := range slices.Backward(list) {
		if whole[c.Name] {
			continue
		}
		whole[c.Name] = c.Old == ""
		kept = append(kept, c)
	}
	slices.Reverse(kept)
	return kept
}

// apply returns the text of the file after the change.
func (c change) apply(text string) string {
	switch {
	case c.Old == "":
		return c.Text
	case c.All:
		return strings.ReplaceAll(text, c.Old, c.Text)
	}
	return strings.Replace(text, c.Old, c.Text, 1)
}

func (stateFiles) Channels() []state.Handle { return []state.Handle{changes} }

func (stateFiles) List(_ context.Context, s state.View, dir string) ([]File, error) {
	texts := map[string]string{}
	for _, c := range changes.All(s) {
		if below(c.Name, dir) {
			texts[c.Name] = c.apply(texts[c.Name])
		}
	}
	list := make([]File, 0, len(texts))
	for name, text := range texts {
		list = append(list, File{name, len(text)})
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (stateFiles) Read(_ context.Context, s state.View, name string) (string, error) {
	text, _, err := read(s, name)
	return text, err
}

// read returns the text of a file, and the size of the edits since its whole text was stored.
func read(s state.View, name string) (text string, edits int, err error) {
	found := false
	for _, c := range changes.All(s) {
		if c.Name != name {
			continue
		}
		text, found = c.apply(text), true
		if edits += len(c.Old) + len(c.Text); c.Old == "" {
			edits = 0
		}
	}
	if !found {
		return "", 0, notExist("read", name)
	}
	return text, edits, nil
}

func (stateFiles) Write(_ context.Context, s state.View, name, text string) (state.Update, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", name, ErrTooLarge, len(text), maxSize)
	}
	return state.Update{changes.Put(change{Name: name, Text: text})}, nil
}

const minEdits = 64 << 10 // the size of edits from which on the whole text may be stored

// edit stores the edit. It stores the whole file once the edits are larger than the file.
func (f stateFiles) edit(ctx context.Context, s state.View, e edit) (state.Update, error) {
	_, edits, err := read(s, e.name)
	if err != nil {
		return nil, err
	}
	if edits+len(e.old)+len(e.new) > max(minEdits, len(e.result)) || len(e.result) > maxSize {
		return f.Write(ctx, s, e.name, e.result)
	}
	return state.Update{changes.Put(change{Name: e.name, Old: e.old, Text: e.new, All: e.all})}, nil
}
