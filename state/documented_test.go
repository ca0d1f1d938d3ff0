package state_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestEachChannelKindIsDocumentedAndTested(t *testing.T) {
	t.Parallel()
	kinds := constructors(t)
	require.Contains(t, kinds, "Keyed")
	require.Contains(t, kinds, "NewChannel")
	for path, form := range map[string]string{
		"../docs/glossary.md": "kind of a channel .*`%s`", "../docs/storage.md": "`%s`", "../docs/concepts/state.md": "`state\\.%s`",
		"kinds_test.go": `state\.%s[\[(]`, "channels_test.go": `state\.%s[\[(]`, "tx_test.go": `state\.%s[\[(]`,
	} {
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
}
