package modeltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/weft-go/weft/internal/suitetest"
)

// An Embedder converts texts to vectors. It has the methods of memory.Embedder.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
	Dimension() int
}

// maxDimension is the maximum length of a vector, memory.MaxDimension.
const maxDimension = 16_000

// RunEmbedder checks that an embedder keeps the rules of memory.Embedder. The embedder must return one vector of the right
// length for each text, in the order of the texts, even for hundreds of texts and in concurrent calls. It must return an
// error if its context has ended. It must share no memory with its caller.
//
// The function newEmbedder returns the embedder, connected to its provider or to a server that stands in for it. Different
// texts must have different vectors. RunEmbedder makes about 20 calls.
func RunEmbedder(t *testing.T, newEmbedder func(*testing.T) Embedder) {
	for _, c := range embedderCases {
		t.Run(c.name, func(t *testing.T) { c.run(t, func() Embedder { return newEmbedder(t) }) })
	}
}

type embedderCase struct {
	name, promise string
	check         func(testing.TB, Embedder)
}

func (c embedderCase) run(tb testing.TB, newEmbedder func() Embedder) {
	tb.Helper()
	suitetest.Run(tb, c.promise, sceneLimit, func() { c.check(tb, suitetest.Opened(tb, "embedder", newEmbedder())) })
}

var embedderCases = []embedderCase{
	{"model", "Model and Dimension are known before the first call of Embed", checkModel},
	{"vectors", "Embed returns a vector of the length Dimension for each text", checkVectors},
	{"order", "vectors have the order of their texts, and a text that comes twice has two", checkOrder},
	{"none", "no texts have no vectors, and are no error", checkNone},
	{"many", "one call may have hundreds of texts", checkMany},
	{"cancelled", "a call whose context has ended returns the error of the context", checkCancelled},
	{"concurrent", "an embedder is safe for concurrent use", checkConcurrent},
	{"owns nothing", "an embedder keeps no texts, and the caller owns the vectors", checkOwnership},
}

func checkModel(t testing.TB, e Embedder) {
	t.Helper()
	if e.Model() == "" {
		t.Errorf("the model has no name")
	}
	if n := e.Dimension(); n < 1 || n > maxDimension {
		t.Errorf("the dimension is %d, want 1 to %d", n, maxDimension)
	}
}

func checkVectors(t testing.TB, e Embedder) {
	t.Helper()
	want, model := e.Dimension(), e.Model()
	vectors := embed(t, e, numbered(3)...)
	for i, v := range vectors {
		var size float64
		for _, x := range v {
			size += float64(x) * float64(x)
		}
		if len(v) != want || size == 0 || math.IsNaN(size) || math.IsInf(size, 0) {
			t.Errorf("vector %d has %d numbers and the length %v, want %d numbers that are not all 0", i, len(v), math.Sqrt(size), want)
		}
	}
	if like(vectors[0], vectors[1]) {
		t.Errorf("two different texts have the same vector")
	}
	if e.Dimension() != want || e.Model() != model {
		t.Errorf("a call changed the model from %q of %d to %q of %d", model, want, e.Model(), e.Dimension())
	}
}

func checkOrder(t testing.TB, e Embedder) {
	t.Helper()
	texts := numbered(2)
	one, two := embed(t, e, texts[0], texts[1], texts[0]), embed(t, e, texts[1], texts[0])
	if !like(one[0], one[2]) || !like(one[0], two[1]) || !like(one[1], two[0]) {
		t.Errorf("a text has another vector at another place of the call")
	}
}

func checkNone(t testing.TB, e Embedder) {
	t.Helper()
	for _, texts := range [][]string{nil, {}} {
		embed(t, e, texts...)
	}
}

func checkMany(t testing.TB, e Embedder) {
	t.Helper()
	const n = 300
	texts := numbered(n)
	vectors := embed(t, e, texts...)
	for _, i := range []int{0, n / 2, n - 1} {
		if !like(vectors[i], embed(t, e, texts[i])[0]) {
			t.Errorf("text %d of %d has another vector than in a call of its own", i, n)
		}
	}
}

func checkCancelled(t testing.TB, e Embedder) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if vectors, err := e.Embed(ctx, numbered(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %d vectors and the error %s, want the error of the context", len(vectors), fmt.Sprint(err))
	}
}

func checkConcurrent(t testing.TB, e Embedder) {
	t.Helper()
	const n = 4
	texts, errs := numbered(n), make([]error, n)
	want := embed(t, e, texts...)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = suitetest.Recovered(func() error {
				got, err := e.Embed(t.Context(), texts[i:i+1])
				if err == nil && (len(got) != 1 || !like(got[0], want[i])) {
					err = fmt.Errorf("text %d has another vector in a concurrent call", i)
				}
				return err
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("%v", err)
	}
}

func checkOwnership(t testing.TB, e Embedder) {
	t.Helper()
	texts := numbered(2)
	first := embed(t, e, texts...)
	want := append([]float32(nil), first[1]...)
	texts[0] = texts[1] // the embedder must not cache vectors by the slice of texts
	if again := embed(t, e, texts...); !like(again[0], want) {
		t.Errorf("a text that the caller has replaced still counts")
	}
	for i := range first[1] {
		first[1][i] = 9
	}
	if again := embed(t, e, texts[1]); !like(again[0], want) {
		t.Errorf("a vector that the caller changed is returned again")
	}
}

// numbered returns n different texts.
func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("order number%d of the customer%d", i, i)
	}
	return texts
}

// embed returns the vectors of texts, one for each.
func embed(t testing.TB, e Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("embed %d texts: %v", len(texts), err)
	}
	if len(vectors) != len(texts) {
		t.Fatalf("got %d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors
}

// like reports whether two vectors are equal, apart from the small differences between two calls of a provider.
func like(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	var difference, size float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		difference += d * d
		size += float64(a[i]) * float64(a[i])
	}
	return difference <= 1e-4*size
}
