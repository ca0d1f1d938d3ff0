package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
		folder = "llm/eval" // the reader's own program, which has the flags of eval.Main
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

// flagsOf returns the flags of each program of the examples, and of eval.Main, by folder. These are the flags that the packages
// of the program in this repository define.
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
		flags = append(flags, flagsOfFile(parsed)...)
	}
	return flags
}

var definer = regexp.MustCompile(`^(Bool|BoolFunc|Duration|Float64|Func|Int|Int64|String|Text|Uint|Uint64)?(Var)?$`)

// flagsOfFile returns the flags that calls of package flag, or of a flag.FlagSet of the file, define.
func flagsOfFile(file *ast.File) (flags []string) {
	sets := []string{"flag"}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && types.ExprString(call.Fun) == "flag.NewFlagSet" {
				sets = append(sets, types.ExprString(n.Lhs[0]))
			}
		case *ast.Field:
			if types.ExprString(n.Type) == "*flag.FlagSet" {
				for _, name := range n.Names {
					sets = append(sets, name.Name)
				}
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			flags = append(flags, flagOf(call, sets)...)
		}
		return true
	})
	return flags
}

// flagOf returns the name of the flag that a call defines. The name is the first argument, or the second after a variable.
func flagOf(call *ast.CallExpr, sets []string) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !definer.MatchString(method.Sel.Name) || !slices.Contains(sets, types.ExprString(method.X)) {
		return nil
	}
	at := 0
	if strings.HasSuffix(method.Sel.Name, "Var") {
		at = 1
	}
	text, ok := call.Args[at].(*ast.BasicLit)
	if !ok {
		return nil
	}
	name, err := strconv.Unquote(text.Value)
	return map[bool][]string{true: {name}}[err == nil]
}

func TestFlagsOfFileAreThoseOfPackageFlag(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", `package main

func define(given *flag.FlagSet) {
	flag.String("plain", "x", "")
	flag.IntVar(&n, "variable", 1, "")
	own := flag.NewFlagSet("program", flag.ContinueOnError)
	own.Func("own", "", f)
	own.Var(v, "value", "")
	given.Bool("given", false, "")
	slog.String("thread", id)
	attribute.Int("step", 1)
}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.Equal(t, []string{"plain", "variable", "own", "value", "given"}, flagsOfFile(file))
}

// tests checks the packages of go test, and that one of them has the test that -run names.
func tests(args []string) string {
	wanted, found := "", false
	if match := regexp.MustCompile(`(?:^| )-run[ =](\S+)`).FindStringSubmatch(strings.Join(args, " ")); match != nil {
		wanted = match[1]
	}
	for _, arg := range args {
		name, isPackage := strings.CutPrefix(arg, "./")
		name = strings.TrimSuffix(name, "/...")
		if !isPackage {
			continue
		}
		if !exists(name) {
			return "there is no folder " + name
		}
		files, err := filepath.Glob(filepath.Join(root, name, "*_test.go"))
		if err != nil {
			return err.Error()
		}
		found = found || slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "func "+wanted)
		})
	}
	return unless(wanted == "" || found, "there is no test "+wanted)
}

func TestTestsWantsTheTestThatRunNames(t *testing.T) {
	t.Parallel()
	const no, none = "TestNo", "there is no test TestNo"
	own := t.Name()
	for _, c := range []struct {
		args    []string
		problem string
	}{
		{[]string{"./internal/docs", "-run", own}, ""},
		{[]string{"-run", own, "./internal/docs"}, ""},
		{[]string{"-run=" + own, "./internal/docs"}, ""},
		{[]string{"./internal/docs", "-run", no, "-v"}, none},
		{[]string{"-run", no, "./internal/docs"}, none},
		{[]string{"-v", "-run=" + no, "./internal/docs"}, none},
		{[]string{"./internal/nothing"}, "there is no folder internal/nothing"},
	} {
		require.Equal(t, c.problem, tests(c.args), c.args)
	}
}
