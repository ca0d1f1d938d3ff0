package split

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// faulty is a parser that panics.
type faulty struct{ parser.Parser }

func (faulty) Parse(text.Reader, ...parser.ParseOption) ast.Node { panic("fault") }

func TestParseReturnsNilIfTheParserPanics(t *testing.T) {
	t.Parallel()
	assert.Nil(t, parse(faulty{}, []byte("# A"), parser.NewContext()))
	assert.NotNil(t, parse(blockParser, []byte("# A"), parser.NewContext()))
}
