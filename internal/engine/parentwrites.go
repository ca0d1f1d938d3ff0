package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// These names mark changes that hold writes of a subgraph for its parent.
// Such a change does not change the state of the subgraph.
// A run that resumes the call restores the writes from these changes.
const (
	changeShared = "$out:"   // a prefix: the name of a shared channel follows
	changeParent = "$parent" // the data is a storedParent
)

// changesFollow is the name of the last change of a subgraph's snapshot under Exit.
// The exitWriter may append the changes of later steps after it.
// A run that resumes the call restores writes to shared channels from the later changes.
const changesFollow = "$changes"

// collectParentWrites appends a task's writes for the parent to r.shared and r.toParent.
func (r *run) collectParentWrites(t *Task) {
	if r.parent == nil {
		return
	}
	for _, w := range t.writes {
		if name := w.Channel(); name != "" && r.shares(name) {
			r.shared = append(r.shared, w)
		}
	}
	r.toParent = append(r.toParent, t.extrasOrNone().toParent...)
}

// shares reports whether the subgraph shares a channel with its parent.
func (r *run) shares(channel string) bool {
	t := r.parent
	return !slices.Contains(t.node.Subgraph.Private, channel) && r.plan.Schema.Shared(channel, t.scope.plan.Schema)
}

// leavesSubgraph reports whether a write for the parent ends the subgraph.
func leavesSubgraph(w state.Write) bool {
	switch s := w.Signal().(type) {
	case Goto, *Send:
		return true
	case ToParent:
		return leavesSubgraph(s.Write)
	}
	return false
}

// appendParentWrites appends the stored form of a task's writes for the parent.
// It omits writes that can be decoded from the stored changes of their channels.
func (r *run) appendParentWrites(list []checkpoint.Change, t *Task) ([]checkpoint.Change, error) {
	schema := r.plan.Schema
	for _, w := range t.writes {
		name := w.Channel()
		if name == "" || !r.shares(name) || schema.ChangesAreWrites(name) {
			continue
		}
		k, data, ok, err := schema.EncodeWrite(w.Write)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, checkpoint.Change{Channel: changeShared + name, Kind: uint8(k), Data: data})
		}
	}
	for _, w := range t.extrasOrNone().toParent {
		stored, err := r.encodeParentWrite(w)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(stored)
		if err != nil {
			return nil, err
		}
		list = append(list, checkpoint.Change{Channel: changeParent, Data: data})
	}
	return list, nil
}

// encodeParentWrite encodes a write for the parent graph.
func (s *scope) encodeParentWrite(w state.Write) (storedParent, error) {
	outer := s.parent.scope
	switch sig := w.Signal().(type) {
	case Goto:
		return storedParent{Goto: sig.Node}, nil
	case *Send:
		stored, err := outer.plan.encodeSend(sig.Node, sig.Writes, sig.Over)
		return storedParent{Send: &stored}, err
	case ToParent:
		if outer.parent == nil {
			return storedParent{}, fmt.Errorf("%s: %w: the graph has no parent; make it a node of another graph", sig.Signal(), ErrSignal)
		}
		up, err := outer.encodeParentWrite(sig.Write)
		return storedParent{Up: &up}, err
	case nil:
		k, data, ok, err := outer.plan.Schema.EncodeWrite(w.Write)
		if !ok {
			return storedParent{}, err
		}
		return storedParent{Write: &storedWrite{Channel: w.Channel(), Kind: k, Data: data}}, nil
	default:
		return storedParent{}, fmt.Errorf("%s: %w", sig.Signal(), ErrSignal)
	}
}

// decodeParentWrite decodes a write that encodeParentWrite encoded.
func (s *scope) decodeParentWrite(stored storedParent) (state.Write, error) {
	outer := s.parent.scope
	switch {
	case stored.Goto != "":
		return signalWrite(Goto{outer.plan.current(stored.Goto)}), nil
	case stored.Send != nil:
		send := &Send{Node: outer.plan.current(stored.Send.Node), Over: stored.Send.Over}
		for _, w := range stored.Send.Writes {
			write, err := outer.plan.Schema.DecodeWrite(w.Channel, w.Kind, w.Data)
			if err != nil {
				return state.Write{}, err
			}
			send.Writes = append(send.Writes, state.Write{Write: write})
		}
		return signalWrite(send), nil
	case stored.Up != nil:
		w, err := outer.decodeParentWrite(*stored.Up)
		return signalWrite(ToParent{w}), err
	case stored.Write != nil:
		w, err := outer.plan.Schema.DecodeWrite(stored.Write.Channel, stored.Write.Kind, stored.Write.Data)
		return state.Write{Write: w}, err
	}
	return state.Write{}, nil
}
