package graph_test

import (
	"iter"
	"maps"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// stores are what the tests of this package run on.
var stores = map[string]func(t testing.TB) checkpoint.Store{
	"memory": func(testing.TB) checkpoint.Store { return checkpoint.NewMemory(checkpoint.MemoryOptions{}) },
}

func mapKeys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
