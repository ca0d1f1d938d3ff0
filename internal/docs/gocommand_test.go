package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golang checks the arguments of the go command.
func (c *checker) golang(d document, args []string) string {
	dir := "."
	if args[0] == "-C" {
		dir, args = args[1], args[2:]
	}
	if !exists(path.Join(dir, "go.mod")) {
		return "there is no module in " + dir
	}
	switch args[0] {
	case "run":
		return c.run(d, args[1:])
	case "test":
		return tests(args[1:])
	case "get":
		for _, arg := range args[1:] {
			name, _, _ := strings.Cut(arg, "@")
			folder, own := strings.CutPrefix(name, module)
			if ok := own && exists(path.Join(".", folder, "go.mod")) || !own && strings.Contains(c.required, "\t"+name+" v"); !ok {
				return "no go.mod has " + name
			}
		}
		return ""
	case "install":
		name, _, _ := strings.Cut(strings.TrimPrefix(args[1], module+"/"), "@")
		return unless(exists(path.Join(name, "main.go")), "there is no such program")
	case "doc":
		name, symbol, _ := strings.Cut(strings.TrimPrefix(args[1], module+"/"), ".")
		text, err := os.ReadFile(filepath.Join(root, "internal", "api", path.Base(name)+".txt"))
		return unless(err == nil && regexp.MustCompile(`(?m)^(type|func) `+symbol+`\b`).Match(text), "there is no such declaration")
	case "mod":
		return unless(slices.Contains([]string{"init", "tidy", "edit"}, args[1]), "go mod has no such command")
	case "list":
		return ""
	}
	return "the test does not know this command of go"
}

// run checks the program of go run, and its flags.
func (c *checker) run(d document, args []string) string {
	for args[0] == "-exec" {
		args = args[2:]
	}
	program, args := args[0], args[1:]
	if program == "golang.org/x/tools/cmd/goimports@latest" {
		return ""
	}
	folder := program
	switch {
	case program == "." && !exists(path.Join(path.Dir(d.path), "main.go")):
		folder = "llm/eval" // the program of the reader, whose flags are those of eval.Main
	case program == ".":
		folder = path.Dir(d.path)
	}
	if !exists(folder) {
		return "there is no folder " + folder
	}
	for _, arg := range args {
		if name, isFlag := strings.CutPrefix(arg, "-"); isFlag && !slices.Contains(c.flags[path.Clean(folder)], name) {
			return "the program has no flag " + arg
		}
	}
	return ""
}

// flagsOf returns the flags that each program of the examples, and eval.Main, define: the packages of this repository that they
// import define them.
func flagsOf(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./examples/...", "./llm/eval")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	flags, own := map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		for _, name := range packages {
			folder, ok := strings.CutPrefix(name, module+"/")
			if !ok {
				continue
			}
			if _, known := own[folder]; !known {
				own[folder] = flagsIn(t, folder)
			}
			program := strings.TrimPrefix(packages[0], module+"/")
			flags[program] = append(flags[program], own[folder]...)
		}
	}
	return flags
}

// flagsIn returns the flags that the files of a package define.
func flagsIn(t *testing.T, folder string) []string {
	t.Helper()
	flags := []string{}
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool { flags = append(flags, flagOf(n)...); return true })
	}
	return flags
}

var definer = regexp.MustCompile(`^(Bool|BoolFunc|Duration|Float64|Func|Int|Int64|String|TextVar|Uint|Uint64|Var)(Var)?$`)

// flagOf returns the name of the flag that a call defines: its first or second argument is the name.
func flagOf(n ast.Node) []string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !definer.MatchString(method.Sel.Name) {
		return nil
	}
	for _, arg := range call.Args[:min(2, len(call.Args))] {
		if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
			name, err := strconv.Unquote(text.Value)
			return map[bool][]string{true: {name}}[err == nil]
		}
	}
	return nil
}

// tests checks the packages of go test, and that -run names a test.
func tests(args []string) string {
	for i, arg := range args {
		name, isPackage := strings.CutPrefix(arg, "./")
		name = strings.TrimSuffix(name, "/...")
		if !isPackage {
			continue
		}
		if !exists(name) {
			return "there is no folder " + name
		}
		if run := slices.Index(args, "-run"); run > i {
			files, err := filepath.Glob(filepath.Join(root, name, "*_test.go"))
			if err != nil {
				return err.Error()
			}
			named := slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "func "+args[run+1])
			})
			return unless(named, "there is no test "+args[run+1])
		}
	}
	return ""
}
