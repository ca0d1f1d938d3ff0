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
// larger than the file and 64 KiB, the next edit stores the whole text too. A thread has one such
// tree.
func State() Files { return stateFiles{} }

type stateFiles struct{}

// A change is a change of one file. Without Old, Text is the whole file. Otherwise Text
// replaces Old. An edit may have the whole file after it, as Whole, if the change before it is Base.
type change struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Old   string `json:"old,omitempty"`
	Text  string `json:"text,omitempty"`
	All   bool   `json:"all,omitempty"`
	Whole string `json:"whole,omitempty"`
	Base  string `json:"base,omitempty"`
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
	last, whole := map[string]string{}, map[string]int{}
	for i, c := range list {
		if c.isWhole(last[c.Name]) {
			whole[c.Name] = i
		}
		last[c.Name] = c.ID
	}
	var kept []change
	for i, c := range list {
		if i >= whole[c.Name] {
			kept = append(kept, c)
		}
	}
	return kept
}

// isWhole reports whether the change has the whole text of its file. The change of the file before
// it has the id previous, or is "" if there is none: the changes before a whole text are removed.
func (c change) isWhole(previous string) bool {
	return c.Old == "" || c.Base != "" && (previous == "" || previous == c.Base)
}

// apply returns the text of the file after the change.
func (c change) apply(text, previous string) string {
	switch {
	case c.Old == "":
		return c.Text
	case c.isWhole(previous):
		return c.Whole
	}
	return replace(text, c.Old, c.Text, c.All)
}

// replace replaces the first place of old in the text, or all places.
func replace(text, old, with string, all bool) string {
	if all {
		return strings.ReplaceAll(text, old, with)
	}
	return strings.Replace(text, old, with, 1)
}

func (stateFiles) Channels() []state.Handle { return []state.Handle{changes} }

func (stateFiles) List(_ context.Context, s state.View, dir string) ([]File, error) {
	texts, last := map[string]string{}, map[string]string{}
	for _, c := range changes.All(s) {
		if below(c.Name, dir) {
			texts[c.Name] = c.apply(texts[c.Name], last[c.Name])
			last[c.Name] = c.ID
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
	text, _, _, err := read(s, name)
	return text, err
}

// read returns the text of a file, the size of the edits since its whole text was stored, and the
// id of its last change.
func read(s state.View, name string) (text string, edits int, last string, err error) {
	found := false
	for _, c := range changes.All(s) {
		if c.Name != name {
			continue
		}
		if edits += len(c.Old) + len(c.Text); c.isWhole(last) {
			edits = 0
		}
		text, last, found = c.apply(text, last), c.ID, true
	}
	if !found {
		return "", 0, "", notExist("read", name)
	}
	return text, edits, last, nil
}

func (stateFiles) Write(_ context.Context, s state.View, name, text string) (state.Update, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", name, ErrTooLarge, len(text), maxSize)
	}
	return state.Update{changes.Put(change{Name: name, Text: text})}, nil
}

const minEdits = 64 << 10 // the size of edits from which on the whole text may be stored

// edit stores the edit, and the whole file too once the edits are larger than the file.
func (stateFiles) edit(_ context.Context, s state.View, e edit) (state.Update, error) {
	_, edits, last, err := read(s, e.name)
	if err != nil {
		return nil, err
	}
	if len(e.result) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", e.name, ErrTooLarge, len(e.result), maxSize)
	}
	c := change{Name: e.name, Old: e.old, Text: e.new, All: e.all}
	if edits+len(e.old)+len(e.new) > max(minEdits, len(e.result)) {
		c.Whole, c.Base = e.result, last
	}
	return state.Update{changes.Put(c)}, nil
}
