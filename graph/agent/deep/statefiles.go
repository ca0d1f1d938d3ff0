package deep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
)

// State returns files that are stored in the state of the agent. They are in each checkpoint of the
// thread, and a fork has files of its own. An agent and its sub-agents share them. A write stores
// only the text or the edit of one file. A thread has one such tree.
//
// If two sub-agents edit one file at the same time, both edits are made, in the order of the calls. An
// edit whose old text is no longer there has no effect. After 64 edits of a file, or if the edits are
// larger than both the file and 64 KiB, an edit also stores the whole file, and the older edits are
// removed.
func State() Files { return stateFiles{} }

type stateFiles struct{}

// A change is a change of one file. Without Old, Text is the whole file. Otherwise Text replaces Old.
// Whole, if set, is the whole file after the edit, without the edits that other agents made at the
// same time.
type change struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Old   string `json:"old,omitempty"`
	Text  string `json:"text,omitempty"`
	All   bool   `json:"all,omitempty"`
	Whole string `json:"whole,omitempty"`
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

// withoutOutdated removes the changes of a file before its newest whole text. A Whole counts only if it
// equals the current text, because it lacks the edits that other agents made at the same time.
func withoutOutdated(list []change) []change {
	newest, compare := map[string]int{}, map[string]bool{}
	for i, c := range list {
		_, known := newest[c.Name]
		switch {
		case c.Old == "", !known:
			newest[c.Name], compare[c.Name] = i, false
		case c.Whole != "":
			compare[c.Name] = true
		}
	}
	texts := map[string]string{} // computed only for new whole texts, since this is slow
	for i, c := range list {
		if i < newest[c.Name] || !compare[c.Name] {
			continue
		}
		before, known := texts[c.Name]
		texts[c.Name] = c.apply(before, known)
		if c.Whole != "" && c.Whole == texts[c.Name] {
			newest[c.Name] = i
		}
	}
	var kept []change
	for i, c := range list {
		if i >= newest[c.Name] {
			kept = append(kept, c)
		}
	}
	return kept
}

// apply returns the text of the file after the change. The argument known reports whether the list
// has an earlier change of the file. If not, the earlier changes were removed, and Whole has the
// text.
func (c change) apply(text string, known bool) string {
	switch {
	case c.Old == "":
		return c.Text
	case !known:
		return c.Whole
	}
	return replace(text, c.Old, c.Text, c.All)
}

// replace replaces the first occurrence of old in the text, or all occurrences.
func replace(text, old, with string, all bool) string {
	if all {
		return strings.ReplaceAll(text, old, with)
	}
	return strings.Replace(text, old, with, 1)
}

func (stateFiles) Channels() []state.Handle { return []state.Handle{changes} }

func (stateFiles) List(_ context.Context, s state.View, dir string) ([]File, error) {
	texts := map[string]string{}
	for _, c := range changes.All(s) {
		if below(c.Name, dir) {
			before, known := texts[c.Name]
			texts[c.Name] = c.apply(before, known)
		}
	}
	list := make([]File, 0, len(texts))
	for name, text := range texts {
		list = append(list, File{name, len(text)})
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (stateFiles) Read(_ context.Context, s state.View, name string) (text string, err error) {
	found := false
	for _, c := range changes.All(s) {
		if c.Name == name {
			text, found = c.apply(text, found), true
		}
	}
	if !found {
		return "", notExist("read", name)
	}
	return text, nil
}

// edits returns the number and the size of the edits of a file since its whole text was stored.
func edits(s state.View, name string) (number, size int) {
	found := false
	for _, c := range changes.All(s) {
		switch {
		case c.Name != name:
		case c.Old == "", !found:
			number, size, found = 0, 0, true
		default:
			number, size = number+1, size+len(c.Old)+len(c.Text)
		}
	}
	return number, size
}

func (stateFiles) Write(_ context.Context, s state.View, name, text string) (state.Update, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", name, ErrTooLarge, len(text), maxSize)
	}
	return state.Update{changes.Put(change{Name: name, Text: text})}, nil
}

// The whole text of a file is stored with an edit if at least maxEdits edits precede it, because each
// read applies all of them, or if these edits and the new one together are larger than both minEdits
// and the file.
const (
	maxEdits = 64
	minEdits = 64 << 10 // in bytes
)

func (stateFiles) edit(_ context.Context, s state.View, e edit) (state.Update, error) {
	if len(e.result) > maxSize {
		return nil, fmt.Errorf("%s: %w: %d bytes; the limit is %d", e.name, ErrTooLarge, len(e.result), maxSize)
	}
	c := change{Name: e.name, Old: e.old, Text: e.new, All: e.all}
	number, size := edits(s, e.name)
	if number >= maxEdits || size+len(e.old)+len(e.new) > max(minEdits, len(e.result)) {
		c.Whole = e.result
	}
	return state.Update{changes.Put(c)}, nil
}
