package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// item is an element of the keyed lists of these tests.
type item struct {
	Key  string `json:"key"`
	Text string `json:"text,omitempty"`
}

// byKey is the Identity that uses the field Key of an item.
type byKey struct{}

func (byKey) ID(e item) string              { return e.Key }
func (byKey) WithID(e item, id string) item { e.Key = id; return e }

// lengths holds the lengths of the lists in benchmarks.
var lengths = []int{10, 1_000, 100_000}

func BenchmarkAppend(b *testing.B) {
	list := state.Append[string]("list")
	schema := schemaOf(b, list)
	text := strings.Repeat("x", 64)
	for _, n := range lengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			base := commit(b, schema, schema.Empty(), list.Overwrite(make([]string, n)))
			v := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%n == 0 { // keeps the length between n and about 2n
					v = commit(b, schema, base, list.Put(text))
				}
				v = commit(b, schema, v, list.Put(text))
			}
		})
	}
}

func BenchmarkKeyedPut(b *testing.B) {
	list := state.Keyed("list", byKey{})
	schema := schemaOf(b, list)
	for _, n := range lengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fill := make([]item, n)
			for i := range fill {
				fill[i].Key = fmt.Sprint("old", i)
			}
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprint("new", i)
			}
			base := commit(b, schema, schema.Empty(), list.Overwrite(fill))
			v := base
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					v = base
				}
				v = commit(b, schema, v, list.Put(item{Key: keys[i%n]}))
			}
		})
	}
}

// BenchmarkSuperstep applies the writes of one superstep.
// The superstep appends a string to a list and adds a number to a sum.
func BenchmarkSuperstep(b *testing.B) {
	list, sum := state.Append[string]("list"), state.Sum[int]("sum")
	schema := schemaOf(b, list, sum)
	text := strings.Repeat("x", 64)
	step := func(b *testing.B, v state.View, words, number state.Write) (*statecore.Tx, state.View) {
		tx := schema.Begin(v)
		if err := statecore.Apply(tx, 0, []state.Write{words}); err != nil {
			b.Fatal(err)
		}
		if err := statecore.Apply(tx, 0, []state.Write{number}); err != nil {
			b.Fatal(err)
		}
		next, err := tx.Finish(true)
		if err != nil {
			b.Fatal(err)
		}
		return tx, next
	}
	const turns = 1_000
	b.Run("transaction", func(b *testing.B) {
		words, number := list.Put(text), sum.Put(1_000)
		v := schema.Empty()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%turns == 0 {
				v = schema.Empty()
			}
			_, v = step(b, v, words, number)
		}
	})
	b.Run("changes", func(b *testing.B) {
		tx, _ := step(b, schema.Empty(), list.Put(text), sum.Put(1_000))
		bytes := 0
		emit := func(_ string, _ statecore.Kind, data []byte) { bytes += len(data) }
		b.ReportAllocs()
		for b.Loop() {
			if err := tx.Changes(emit); err != nil {
				b.Fatal(err)
			}
		}
		if bytes == 0 {
			b.Fatal("nothing was emitted")
		}
	})
	b.Run("whole", func(b *testing.B) {
		v, bytes := schema.Empty(), 0
		emit := func(_ string, _ statecore.Kind, data []byte) { bytes += len(data) }
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%turns == 0 {
				v = schema.Empty()
			}
			tx, next := step(b, v, list.Put(text), sum.Put(1_000))
			if err := tx.Changes(emit); err != nil {
				b.Fatal(err)
			}
			v = next
		}
	})
}

// BenchmarkBranch reads the last element of a list through an overlay. A branch of
// a graph reads a state in this way.
func BenchmarkBranch(b *testing.B) {
	list, keyed := state.Append[string]("list"), state.Keyed("keyed", byKey{})
	schema := schemaOf(b, list, keyed)
	for _, n := range lengths {
		fill := make([]item, n)
		for i := range fill {
			fill[i].Key = fmt.Sprint("old", i)
		}
		base := commit(b, schema, schema.Empty(), list.Overwrite(make([]string, n)), keyed.Overwrite(fill))
		b.Run(fmt.Sprintf("append/%d", n), func(b *testing.B) {
			writes := []state.Write{list.Put("new")}
			b.ReportAllocs()
			for b.Loop() {
				if last, _ := list.Last(statecore.Overlay(schema, base, writes)); last != "new" {
					b.Fatal(last)
				}
			}
		})
		b.Run(fmt.Sprintf("keyed/%d", n), func(b *testing.B) {
			writes := []state.Write{keyed.Put(item{Key: "new"})}
			b.ReportAllocs()
			for b.Loop() {
				if last, _ := keyed.Last(statecore.Overlay(schema, base, writes)); last.Key != "new" {
					b.Fatal(last)
				}
			}
		})
	}
}

// message resembles a message of a conversation.
type message struct {
	ID    string   `json:"id"`
	Role  string   `json:"role"`
	Text  string   `json:"text"`
	Calls []string `json:"calls,omitempty"`
}

func BenchmarkCodec(b *testing.B) {
	strs, structs := state.Append[string]("strings"), state.Append[message]("messages")
	schema := schemaOf(b, strs, structs)
	text := "line one\nline two with \"quotes\" and ünïcode " + strings.Repeat("x", 64)
	for _, c := range []struct {
		name  string
		write state.Write
	}{
		{"string", strs.Put(text)},
		{"struct", structs.Put(message{ID: "m1", Role: "user", Text: text})},
	} {
		b.Run(c.name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := schema.EncodeWrite(c.write.Core()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			k, data, _, err := schema.EncodeWrite(c.write.Core())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schema.DecodeWrite(c.write.Channel(), k, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	list := state.Append[string]("list")
	schema := schemaOf(b, list)
	_, data, _, err := schema.EncodeWrite(list.Put(strings.Repeat("x", 64)).Core())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := schema.Replay(nil)
		for range 1_000 {
			if err := r.Apply("list", statecore.KindAppend, data); err != nil {
				b.Fatal(err)
			}
		}
	}
}
