package named_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/named"
)

type turn struct{}

func (turn) EventName() named.Event { return named.Of[turn]("turn") }

type embedding struct{ turn }

type embeddingPointer struct{ *turn }

type embeddingDeep struct{ embeddingPointer }

type likeNamed struct{}

func (likeNamed) EventName() string { return "turn" }

func TestOnlyAMarkedTypeHasAName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"with a name":               {turn{}, "turn"},
		"embeds a type with a name": {embedding{}, ""},
		"embeds a nil pointer":      {embeddingPointer{}, ""},
		"embeds it in a struct":     {embeddingDeep{}, ""},
		"points to one":             {&turn{}, ""},
		"has a method of the name":  {likeNamed{}, ""},
		"a nil":                     {nil, ""},
		"a nil pointer":             {(*turn)(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := named.NameOf(c.value)
			assert.Equal(t, c.want != "", ok)
			if ok {
				assert.Equal(t, c.want, got)
			}
		})
	}
}
