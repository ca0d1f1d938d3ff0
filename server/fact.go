package server

import (
	"net/http"
	"slices"

	"github.com/weft-go/weft/memory"
)

// The paths below /weft/memory/ return the facts of [Options.Memory] for the studio. They change nothing.

const maxFacts = 200 // in a response

var errNoMemory = &Refusal{Status: http.StatusNotImplemented, Detail: "This server shows no facts. Set Options.Memory."}

// factScopes sends the scopes whose facts the user may see.
func (c *call) factScopes() error {
	if c.s.o.Memory == nil {
		return errNoMemory
	}
	list, all, err := c.ownScopes()
	if err != nil {
		return err
	}
	more := false
	if all {
		for s, err := range c.s.o.Memory.Scopes(c.ctx()) {
			if err != nil {
				return err
			}
			if more = len(list) == maxLimit; more {
				break
			}
			list = append(list, s)
		}
	}
	return c.send(map[string]any{"scopes": append([]memory.Scope{}, list...), "more": more})
}

// ownScopes returns the scopes whose facts the user may see, or that the user may see all.
func (c *call) ownScopes() (list []memory.Scope, all bool, err error) {
	if c.s.o.Scopes == nil {
		return nil, c.s.o.Auth == nil, nil
	}
	list, err = c.s.o.Scopes(c.ctx(), c.user)
	return list, false, err
}

// A scoredFact is a fact. If a question was asked, it has the score of the fact for the question.
type scoredFact struct {
	memory.Fact
	Score *memory.Score `json:"score,omitempty"`
}

// searchFacts sends the facts of a scope that a question recalls, or the newest facts if there is no question. A scope
// that the user may not see looks like one without facts.
func (c *call) searchFacts() error {
	var b struct {
		Scope     memory.Scope `json:"scope"`
		Text      string       `json:"text"`
		Untrusted bool         `json:"untrusted"`
		Closed    bool         `json:"closed"` // also facts that are no longer valid; only without a text
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	if c.s.o.Memory == nil {
		return errNoMemory
	}
	list, all, err := c.ownScopes()
	if err != nil {
		return err
	}
	found := []scoredFact{}
	switch {
	case !all && !slices.Contains(list, b.Scope):
	case b.Text != "":
		found, err = c.recall(memory.Question{Reach: b.Scope.Only(), Text: b.Text, Limit: maxFacts}, memory.FactFilter{Untrusted: b.Untrusted})
	default:
		found, err = c.listFacts(memory.FactQuery{Reach: b.Scope.Only(), Untrusted: b.Untrusted, Closed: b.Closed, Limit: maxFacts + 1})
	}
	if err != nil {
		return failedItem(err)
	}
	more := len(found) > maxFacts
	return c.send(map[string]any{"facts": found[:min(len(found), maxFacts)], "more": more})
}

func (c *call) recall(q memory.Question, f memory.FactFilter) ([]scoredFact, error) {
	hits, err := c.s.o.Memory.Recall(c.ctx(), q, f)
	out := make([]scoredFact, len(hits))
	for i := range hits {
		out[i] = scoredFact{hits[i].Item, &hits[i].Score}
	}
	return out, err
}

func (c *call) listFacts(q memory.FactQuery) ([]scoredFact, error) {
	out := []scoredFact{}
	for f, err := range c.s.o.Memory.List(c.ctx(), q) {
		if err != nil {
			return nil, err
		}
		out = append(out, scoredFact{Fact: f})
	}
	return out, nil
}
