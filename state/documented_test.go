package state_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// constructors returns the names of the functions of package state that return a channel.
func constructors(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && returnsChannel(f) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

func returnsChannel(f *ast.FuncDecl) bool {
	if f.Type.Results == nil {
		return false
	}
	pointer, ok := f.Type.Results.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	result := pointer.X
	switch x := result.(type) {
	case *ast.IndexExpr:
		result = x.X
	case *ast.IndexListExpr:
		result = x.X
	}
	name, ok := result.(*ast.Ident)
	return ok && strings.HasSuffix(name.Name, "Channel")
}

// kindFiles maps each page and test that must have every kind of channel to a pattern of how it names a kind.
var kindFiles = map[string]string{
	"../docs/glossary.md": "kind of a channel .*`%s`", "../docs/concepts/state.md": "`state\\.%s`", "example_test.go": `func Example%s\(`,
	"kinds_test.go": construction, "channels_test.go": construction, "tx_test.go": construction,
	"../internal/stored/graph_test.go": construction, "../server/initial_test.go": construction,
}

const construction = `state\.%s[\[(]`

func TestEachChannelKindIsDocumentedAndTested(t *testing.T) {
	t.Parallel()
	kinds := constructors(t)
	require.Contains(t, kinds, "Keyed")
	require.Contains(t, kinds, "NewChannel")
	for path, form := range kindFiles {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, kind := range kinds {
			if kind == "NewChannel" && strings.HasSuffix(path, "glossary.md") {
				continue // the glossary calls it a custom reducer
			}
			found := regexp.MustCompile(strings.ReplaceAll(form, "%s", kind)).Match(text)
			assert.True(t, found, "%s does not have the kind %s", path, kind)
		}
	}

	all := newKinds()
	channels := reflect.TypeOf(*all).NumField()
	assert.Len(t, all.handles(), channels, "handles of kinds_test.go")
	written := map[string]bool{}
	for _, w := range all.fill() {
		written[w.Channel()] = true
	}
	assert.Len(t, written, channels, "fill of kinds_test.go")
	schema := schemaOf(t, all.handles()...)
	assert.Len(t, all.dump(commit(t, schema, schema.Empty(), all.fill()...)), channels-1, "dump of kinds_test.go, which omits untracked channels")
	hasEachKind(t, "random of kinds_test.go", func(yield func(string) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			if !yield(all.random(r).Channel()) {
				return
			}
		}
	})
	read := body(t, "kinds_test.go", "read")
	for _, name := range fieldsWithMethodsOfTheirOwn(all) {
		assert.True(t, strings.Contains(read, "k."+name+"."), "read of kinds_test.go calls no method of k.%s", name)
	}
}

// The test program of internal/stored must write to a channel of each kind, because a declaration alone tests nothing.
func TestTheProgramThatIsReadWithoutItsGraphWritesEachKind(t *testing.T) {
	t.Parallel()
	const path = "../internal/stored/graph_test.go"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	program := body(t, path, "program")
	for _, kind := range constructors(t) {
		variables := regexp.MustCompile(`(?m)^\t(\w+) += state\.`+kind+`[\[(]`).FindAllSubmatch(text, -1)
		assert.True(t, slices.ContainsFunc(variables, func(v [][]byte) bool {
			return regexp.MustCompile(`\b` + string(v[1]) + `\.Put\(`).MatchString(program)
		}), "the function program of %s writes to no channel of the kind %s", path, kind)
	}
}

// hasEachKind fails the test unless the names include each stored channel of newKinds. The argument list says where the
// names come from, for the error.
func hasEachKind(t *testing.T, list string, names iter.Seq[string]) {
	t.Helper()
	has := map[string]bool{}
	for name := range names {
		has[name] = true
	}
	for _, h := range newKinds().handles() {
		if !h.Core().Untracked {
			assert.True(t, has[h.Name()], "%s does not have the channel %q of newKinds", list, h.Name())
		}
	}
}

// fieldsWithMethodsOfTheirOwn returns the fields of k whose type is not Channel. These types have further methods that
// read a state.
func fieldsWithMethodsOfTheirOwn(k *kinds) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(*k)) {
		if !strings.HasPrefix(f.Type.Elem().Name(), "Channel[") {
			names = append(names, f.Name)
		}
	}
	return names
}

// body returns the text of a method or function of a file.
func body(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return string(text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset])
		}
	}
	require.Fail(t, "no such function", "%s of %s", name, path)
	return ""
}

// TestStoragePageNamesTheKindsThatStoreEachChange compares the table of docs/storage.md with the changes that the
// channels store.
func TestStoragePageNamesTheKindsThatStoreEachChange(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/storage.md")
	require.NoError(t, err)
	source := body(t, "kinds_test.go", "newKinds")
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	stored := map[string]map[statecore.Kind]bool{}
	r := rand.New(rand.NewPCG(1, 2))
	v := schema.Empty()
	for i := range 2000 {
		writes := []state.Write{all.random(r)}
		if i == 0 {
			writes = all.fill()
		}
		tx := schema.Begin(v)
		require.NoError(t, statecore.Apply(tx, 0, writes))
		next, err := tx.Finish(true)
		require.NoError(t, err)
		require.NoError(t, tx.Changes(func(channel string, k statecore.Kind, _ []byte) {
			if stored[channel] == nil {
				stored[channel] = map[statecore.Kind]bool{}
			}
			stored[channel][k] = true
		}))
		v = next
	}
	for _, h := range all.handles() {
		kinds := stored[h.Name()]
		if len(kinds) > 1 {
			delete(kinds, statecore.KindSet) // an Overwrite stores it, or a first write with a default
		}
		made := regexp.MustCompile(`state\.(\w+)[^\n]*\("` + h.Name() + `"`).FindStringSubmatch(source)
		require.NotNil(t, made, "newKinds makes the channel %q in one line", h.Name())
		for k := range kinds {
			row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %s \\| %d \\|.*`%s`", k, k, made[1]))
			assert.True(t, row.Match(page), "the row %s of the table of docs/storage.md does not name %s, which stores such changes", k, made[1])
		}
	}
}
