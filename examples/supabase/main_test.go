package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m).Run()) }

// output returns the output of the program in README.md.
func output(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "```text\n")
	want, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md shows no output")
	}
	return want
}

// Each user sees only their own threads, in a local project and in a project that the environment
// names. The program removes all that it adds to that project.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "supabase")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const secret = "SUPABASE_JWT_SECRET=a secret of at least thirty-two bytes"
	project := supatest.Database(t, nil)
	for name, env := range map[string][]string{
		"local":           {"DATABASE_URL=" + pgtest.DirectURL(t)},
		"a project":       {"SUPABASE_DB_URL=" + project, "SUPABASE_URL=https://abcdefgh.supabase.co", secret},
		"a project again": {"SUPABASE_DB_URL=" + project, "SUPABASE_URL=https://abcdefgh.supabase.co", secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := command(t, program, env...)
			if want := output(t); err != nil || out != want {
				t.Errorf("error %v, got\n%s\nwant\n%s", err, out, want)
			}
		})
	}
	for name, c := range map[string]struct {
		env  []string
		says string
	}{
		"no secret":    {[]string{"SUPABASE_DB_URL=" + project}, "SUPABASE_JWT_SECRET is not set"},
		"the anon key": {[]string{"SUPABASE_DB_URL=" + project, secret, "SUPABASE_KEY=sb_publishable_1"}, "SUPABASE_KEY"},
		"no server":    {[]string{"DATABASE_URL=postgres://127.0.0.1:1/postgres"}, "a local project"},
	} {
		if out, err := command(t, program, c.env...); err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: got error %v, output %s", name, err, out)
		}
	}
}

func command(t *testing.T, program string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SUPABASE_") && !strings.HasPrefix(v, "DATABASE_URL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
